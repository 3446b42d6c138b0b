package factories

import (
	"context"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
)

// checkAgentParts holds an agent against what else there is: names, secrets and the
// environment.
func (s *Factories) checkAgentParts(ctx context.Context, tx *store.Tx, c lineshaft.Caller, others []lineshaft.Agent, before lineshaft.AgentConfig, a lineshaft.Agent) error {
	if slices.ContainsFunc(others, func(o lineshaft.Agent) bool { return o.Name == a.Name && o.UID != a.UID }) {
		return errNameTaken(a.Name, nil)
	}
	if err := secrets.MayName(c, before.NamedSecrets(), a.Config.NamedSecrets()); err != nil {
		return err
	}
	if err := s.secrets.CheckGrants(ctx, tx, a.Config); err != nil {
		return err
	}
	if err := s.checkAgentKey(ctx, tx, a); err != nil {
		return err
	}
	if err := runs.CheckEnvironment(ctx, tx, c, "config.environment_id", before.EnvironmentID, a.Config.EnvironmentID); err != nil {
		return err
	}
	return checkAgentRunner(ctx, tx, before.RunnerID, a)
}

// checkAgentKey wants an agent that chooses its model's key to be one that can have it,
// with what its factory says.
func (s *Factories) checkAgentKey(ctx context.Context, tx *store.Tx, a lineshaft.Agent) error {
	if h := a.Config.Harness; h == nil || h.Auth == nil {
		return nil
	}
	d := runs.Definitions{Agent: &a}
	if a.FactoryUID != "" {
		f, err := tx.GetFactory(ctx, a.FactoryUID)
		if err != nil {
			return err
		}
		d.Factory = f
	}
	config, _ := s.runs.ResolveLayers(lineshaft.AgentConfig{}, d)
	return config.CheckAuth()
}

// checkAgentRunner wants the runner that an agent names to be its factory's.
func checkAgentRunner(ctx context.Context, tx *store.Tx, before string, a lineshaft.Agent) error {
	if a.Config.RunnerID == "" || a.Config.RunnerID == before {
		return nil
	}
	runner, err := tx.GetRunner(ctx, a.Config.RunnerID)
	if base.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil || runner.FactoryUID != a.FactoryUID {
		return lineshaft.Invalid("config.runner_id", "the agent's factory has no runner %q", lineshaft.Clip(a.Config.RunnerID, 100))
	}
	return nil
}
