package secrets

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// RunOrigin is the layer of a run's own request. Any caller may have written it; wider
// layers were written by people who manage the factory.
const RunOrigin = "run"

// CheckSecrets says whether a caller may name the secrets of a configuration, for the
// agent or for tool servers, for a run of its own: those for all runs. What an agent may
// give to a child is decided by what its own run has.
func (s *Secrets) CheckSecrets(ctx context.Context, c lineshaft.Caller, config lineshaft.AgentConfig) error {
	if c.Role == lineshaft.RoleRun {
		return nil
	}
	for _, name := range config.NamedSecrets() {
		field := secretField(config, name)
		secret, err := s.Store.GetSecret(ctx, name)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			return lineshaft.Invalid(field, "there is no secret %s; check the name, or ask an administrator to create it", name)
		}
		if err != nil {
			return err
		}
		if refusal := RefuseToRun(secret.Secret, true); refusal != "" {
			return &lineshaft.Error{Code: lineshaft.CodeNotAuthorized, Field: field, Message: refusal}
		}
	}
	return nil
}

// secretField is where a configuration names a secret.
func secretField(config lineshaft.AgentConfig, name string) string {
	switch {
	case slices.Contains(config.Secrets, name):
		return "config.secrets"
	case name == config.AuthSecret():
		return "config.harness.auth.secret_name"
	}
	return "config.mcp_servers"
}

// RefuseToRun says why a run may not have a secret; "" when it may. own means that
// only the run's own request names it.
func RefuseToRun(secret lineshaft.Secret, own bool) string {
	switch {
	case secret.Kind == lineshaft.SecretWebhook:
		return "secret " + secret.Name + " is the credential of a webhook, which no run gets; store what the run needs under another name"
	case own && secret.Access != lineshaft.AccessRuns:
		return "secret " + secret.Name + " can only be granted by definitions; name it in the factory, agent, automation or environment, or have " +
			"an administrator run: lineshaft secret update " + secret.Name + " --access runs"
	}
	return ""
}

// CheckGrants says whether a definition may name the secrets of its configuration, and
// keeps them from being deleted until the transaction ends. Any change to a factory, agent or
// automation with secrets calls it.
func (s *Secrets) CheckGrants(ctx context.Context, tx *store.Tx, config lineshaft.AgentConfig) error {
	for _, name := range slices.Sorted(slices.Values(config.NamedSecrets())) { // in one order, so that two changes cannot wait for each other
		if err := lockGrant(ctx, tx, secretField(config, name), name); err != nil {
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
	if refusal := RefuseToRun(secret.Secret, false); refusal != "" {
		return lineshaft.Invalid(field, "%s", refusal)
	}
	return nil
}

// MayName says whether a caller may add secrets to a definition. They belong to the
// team: a key that is limited to some factories must not get at them that way.
func MayName(c lineshaft.Caller, before, after []string) error {
	for _, name := range after {
		if !slices.Contains(before, name) {
			return TeamSecrets(c)
		}
	}
	return nil
}

// CheckAutomationSecrets is checkGrants for an automation.
func (s *Secrets) CheckAutomationSecrets(ctx context.Context, tx *store.Tx, a lineshaft.Automation) error {
	return s.CheckGrants(ctx, tx, a.Config)
}

// GiveSecrets puts the values that a run may use into its job, and records their
// use. If one cannot be given the job gets none and says why: the run fails rather
// than working without it, and other runs of the same claim are not held up.
func (s *Secrets) GiveSecrets(ctx context.Context, tx *store.Tx, job *lineshaft.Job) error {
	if err := job.Config.CheckAuth(); err != nil {
		job.Fault = base.Reason(err)
		return nil
	}
	names := job.Config.NamedSecrets()
	if len(names) == 0 {
		return nil
	}
	body, err := tx.GetRunBody(ctx, job.RunID) // a claim does not have all of it
	if err != nil {
		return err
	}
	values := make(lineshaft.SecretValues, len(names))
	for _, name := range names {
		value, fault, err := s.giveSecret(ctx, tx, job, name, OwnSecret(body, name))
		if err != nil {
			return err
		}
		if job.Fault = fault; fault != "" {
			return nil
		}
		values[name] = value
	}
	job.Secrets, job.ToolSecrets = pick(values, job.Config.Secrets), pick(values, job.Config.ToolSecrets())
	if name := job.Config.AuthSecret(); name != "" {
		job.ModelKey = lineshaft.SecretText(values[name])
	}
	return s.Audit(ctx, tx, base.RunCaller(job), "secret.use", "run", job.RunID, map[string]string{"secrets": strings.Join(names, " ")})
}

// giveSecret opens one secret for a run, or says why the run cannot have it.
func (s *Secrets) giveSecret(ctx context.Context, tx *store.Tx, job *lineshaft.Job, name string, own bool) (value, fault string, err error) {
	secret, err := base.OrNil(tx.GetSecret(ctx, name))
	if err != nil {
		return "", "", err
	}
	if secret == nil {
		return "", "secret " + name + " does not exist any more; create it again, or start the run without it", nil
	}
	if fault := RefuseToRun(secret.Secret, own); fault != "" {
		return "", fault, nil
	}
	opened, err := s.OpenSealed(SecretSeal(name), secret.Sealed)
	if err != nil {
		s.Log.ErrorContext(ctx, "secret cannot be opened", "secret", name, "run_id", job.RunID, "err", err)
		return "", Unopened(name), nil
	}
	return string(opened), "", nil
}

// OwnSecret says whether the run's own request names a secret somewhere: then it has
// to be one for all runs, even if a definition names it elsewhere.
func OwnSecret(body *store.RunBody, name string) bool {
	if slices.Contains(body.Config.Secrets, name) {
		origin := cmp.Or(body.Origins[lineshaft.SecretOrigin(name)], body.Origins["secrets"]) // the latter in runs of older servers
		if origin == "" || Asked(origin) {
			return true
		}
	}
	if body.Config.AuthSecret() == name {
		origin := cmp.Or(body.Origins[lineshaft.AuthOrigin], body.Origins["harness"])
		if origin == "" || Asked(origin) {
			return true
		}
	}
	for server, config := range body.Config.MCPServers {
		origin := cmp.Or(body.Origins["mcp_servers."+server], body.Origins["mcp_servers"])
		if (origin == "" || Asked(origin)) && slices.Contains(config.SecretNames(), name) {
			return true
		}
	}
	return false
}

// pick takes the values of some names; nil when there are none.
func pick(values lineshaft.SecretValues, names []string) lineshaft.SecretValues {
	if len(names) == 0 {
		return nil
	}
	some := make(lineshaft.SecretValues, len(names))
	for _, name := range names {
		some[name] = values[name]
	}
	return some
}

// Unopened is the fault of a run whose secret this server cannot open.
func Unopened(name string) string {
	return "the value of secret " + name + " cannot be opened by this server; its log says why. Update the secret, or fix the master key"
}

// Asked says that the caller named a value, for this run or for one before it.
func Asked(origin string) bool { return origin == RunOrigin || origin == ConversationOrigin }

// ConversationOrigin is the layer of what a run takes over from the one that it continues.
const ConversationOrigin = "conversation"
