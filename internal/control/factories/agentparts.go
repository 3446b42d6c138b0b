package factories

import (
	"context"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
)

// keepForeman makes sure that a factory has exactly one foreman and knows its name.
func (s *Factories) keepForeman(ctx context.Context, tx *store.Tx, f *lineshaft.Factory, agents []lineshaft.Agent, before, after lineshaft.Agent) error {
	was, is := before.Type == lineshaft.AgentForeman, after.Type == lineshaft.AgentForeman
	if was && !is {
		return lineshaft.Invalid("agent_type", "%q is the foreman of the factory; change the agent_type of another agent to FOREMAN, and this one becomes CUSTOM", before.Name)
	}
	if !is || was && before.Name == after.Name {
		return nil
	}
	for _, other := range agents {
		if other.UID == after.UID || other.Type != lineshaft.AgentForeman {
			continue
		}
		other.Type, other.UpdatedAt = lineshaft.AgentCustom, after.UpdatedAt
		if err := tx.PutAgent(ctx, other); err != nil {
			return err
		}
	}
	f.Foreman = after.Name
	return tx.UpdateFactory(ctx, *f)
}

// renameInFactory gives the new name to everything that refers to the old one:
// automations, their triggers on finished runs, and skills.
func renameInFactory(ctx context.Context, tx *store.Tx, before lineshaft.Agent, name string) error {
	if before.FactoryUID == "" || before.Name == name {
		return nil
	}
	automations, err := tx.ListAutomations(ctx, before.FactoryUID)
	if err != nil {
		return err
	}
	for _, a := range automations {
		if !usesAgent(&a, before.Name, name) {
			continue
		}
		if err := tx.PutAutomation(ctx, a); err != nil {
			return err
		}
	}
	return changeSkills(ctx, tx, before, func(skill *lineshaft.Skill) bool { skill.Agent = name; return true })
}

// usesAgent says whether an automation names an agent of its factory, and replaces the
// name.
func usesAgent(a *lineshaft.Automation, name, by string) bool {
	found := a.Agent == name
	if found {
		a.Agent = by
	}
	for _, t := range a.Triggers {
		if t.Filter.Set(lineshaft.KeyFactories) == nil { // agents of other factories may have that name too
			found = trigger.ReplaceChoice(t.Filter.Set(lineshaft.KeyAgents), name, by) || found
		}
	}
	return found
}

// changeSkills writes the skills of an agent again, without those that keep refuses.
func changeSkills(ctx context.Context, tx *store.Tx, agent lineshaft.Agent, keep func(*lineshaft.Skill) bool) error {
	skills, err := tx.ListSkills(ctx, agent.FactoryUID)
	if err != nil {
		return err
	}
	var left []lineshaft.Skill
	touched := false
	for _, skill := range skills {
		if skill.Agent == agent.Name {
			if touched = true; !keep(&skill) {
				continue
			}
		}
		left = append(left, skill)
	}
	if !touched {
		return nil
	}
	return tx.ReplaceSkills(ctx, agent.FactoryUID, left)
}

// agentUses says what names an agent.
func agentUses(ctx context.Context, tx *store.Tx, a lineshaft.Agent) ([]string, error) {
	var uses []string
	schedules, err := tx.SchedulesOfAgent(ctx, a.UID)
	if err != nil {
		return nil, err
	}
	for _, name := range schedules {
		uses = append(uses, "schedule "+name)
	}
	if a.FactoryUID == "" {
		return uses, nil
	}
	automations, err := tx.ListAutomations(ctx, a.FactoryUID)
	if err != nil {
		return nil, err
	}
	for _, automation := range automations {
		if usesAgent(&automation, a.Name, a.Name) {
			uses = append(uses, "automation "+automation.Name)
		}
	}
	return uses, nil
}

// checkAgentParts checks an agent against everything else: names, secrets and the
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

// checkAgentKey requires that an agent that chooses its model's key can have it, with
// what its factory says.
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

// checkAgentRunner requires the runner that an agent names to be its factory's.
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
