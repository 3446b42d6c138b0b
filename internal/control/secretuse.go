package control

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// runOrigin is the layer of a run's own request. What it names, any caller may
// have written; wider layers were written by who manages the factory.
const runOrigin = "run"

// checkSecrets says whether a caller may name these secrets for a run of its own:
// those for all runs. An agent may pass on only what its own run has, or a payload
// could talk it into giving a child what the automation was not granted.
func (s *Service) checkSecrets(ctx context.Context, c lineshaft.Caller, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var held []string
	if c.Role == lineshaft.RoleRun {
		body, err := s.store.GetRunBody(ctx, c.RunID)
		if err != nil {
			return err
		}
		held = body.Config.Secrets
	}
	for _, name := range names {
		secret, err := s.store.GetSecret(ctx, name)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			return lineshaft.Invalid("config.secrets", "there is no secret %s; check the name, or ask an administrator to create it", name)
		}
		if err != nil {
			return err
		}
		if refusal := refuseToRun(secret.Secret, true); refusal != "" {
			return &lineshaft.Error{Code: lineshaft.CodeNotAuthorized, Field: "config.secrets", Message: refusal}
		}
		if c.Role == lineshaft.RoleRun && !slices.Contains(held, name) {
			return &lineshaft.Error{
				Code: lineshaft.CodeNotAuthorized, Field: "config.secrets",
				Message: "run " + c.RunID + " has no secret " + name + " itself, so it cannot pass it on; name the secret where that run is started",
			}
		}
	}
	return nil
}

// refuseToRun says why a run may not have a secret; "" when it may. own means that
// only the run's own request names it.
func refuseToRun(secret lineshaft.Secret, own bool) string {
	switch {
	case secret.Kind == lineshaft.SecretWebhook:
		return "secret " + secret.Name + " is the credential of a webhook, which no run gets; store what the run needs under another name"
	case own && secret.Access != lineshaft.AccessRuns:
		return "secret " + secret.Name + " is granted by definitions only; name it in the factory, agent or automation, or let an administrator set its access to runs"
	}
	return ""
}

// checkGrants says whether a definition may name these secrets, and keeps them from
// being deleted until the transaction ends. Any change to a factory, agent or
// automation with secrets calls it.
func (s *Service) checkGrants(ctx context.Context, tx *store.Tx, names []string) error {
	for _, name := range slices.Sorted(slices.Values(names)) { // in one order, so that two changes cannot wait for each other
		if err := lockGrant(ctx, tx, "config.secrets", name); err != nil {
			return err
		}
	}
	return nil
}

// lockGrant says whether a definition may name a secret in a field, and keeps the
// secret from being deleted until the transaction ends.
func lockGrant(ctx context.Context, tx *store.Tx, field, name string) error {
	secret, err := tx.LockSecret(ctx, name)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return lineshaft.Invalid(field, "there is no secret %s; create it first", name)
	}
	if err != nil {
		return err
	}
	if refusal := refuseToRun(secret.Secret, false); refusal != "" {
		return lineshaft.Invalid(field, "%s", refusal)
	}
	return nil
}

// mayName says whether a caller may add secrets to a definition. They belong to the
// team: a key that is limited to some factories must not get at them that way.
func mayName(c lineshaft.Caller, before, after []string) error {
	for _, name := range after {
		if !slices.Contains(before, name) {
			return teamSecrets(c)
		}
	}
	return nil
}

// checkAutomationSecrets is checkGrants for an automation.
func (s *Service) checkAutomationSecrets(ctx context.Context, tx *store.Tx, a lineshaft.Automation) error {
	return s.checkGrants(ctx, tx, a.Config.Secrets)
}

// giveSecrets puts the values that a run may use into its job, and records their
// use. If one cannot be given the job gets none and says why: the run fails rather
// than working without it, and other runs of the same claim are not held up.
func (s *Service) giveSecrets(ctx context.Context, tx *store.Tx, job *lineshaft.Job) error {
	names := job.Config.Secrets
	if len(names) == 0 {
		return nil
	}
	body, err := tx.GetRunBody(ctx, job.RunID) // a claim does not have all of it
	if err != nil {
		return err
	}
	values := make(lineshaft.SecretValues, len(names))
	for _, name := range names {
		secret, err := tx.GetSecret(ctx, name)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			job.Fault = "secret " + name + " does not exist any more; create it again, or start the run without it"
			return nil
		}
		if err != nil {
			return err
		}
		origin := cmp.Or(body.Origins[lineshaft.SecretOrigin(name)], body.Origins["secrets"]) // the latter in runs of older servers
		if job.Fault = refuseToRun(secret.Secret, origin == "" || origin == runOrigin); job.Fault != "" {
			return nil
		}
		value, err := s.open(secretSeal(name), secret.Sealed)
		if err != nil {
			s.log.ErrorContext(ctx, "secret cannot be opened", "secret", name, "run_id", job.RunID, "err", err)
			job.Fault = unopened(name)
			return nil
		}
		values[name] = string(value)
	}
	job.Secrets = values
	return s.audit(ctx, tx, runCaller(job), "secret.use", "run", job.RunID, map[string]string{"secrets": strings.Join(names, " ")})
}
