package factories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// check holds the definition against the server: what it names must exist and be
// allowed. Mistakes are gathered; an error is a failure of the check itself.
func (w *work) check(ctx context.Context, tx *store.Tx) error {
	if err := inOrder(ctx, tx, w.lockSecrets, w.checkAlias, w.checkConfigs); err != nil {
		return err
	}
	w.checkKeys()
	if err := w.checkWebhooks(); err != nil {
		return err
	}
	w.checkWebhookCount()
	return inOrder(ctx, tx, w.checkReferences, w.checkWatches, w.checkRemovedAgents)
}

func (w *work) problem(kind definition.Kind, name, field, message, hint string) {
	w.problems = append(w.problems, w.d.Problem(kind, name, field, message, hint))
}

// layer is a place of the definition that configures runs.
type layer struct {
	kind definition.Kind
	name string
	// prefix comes before the keys in the file.
	prefix string
	config lineshaft.AgentConfig
	// before is what it said until now.
	before lineshaft.AgentConfig
}

// layers are all places that configure runs.
func (w *work) layers() []layer {
	f, was := w.d.Factory, w.parts.factory
	all := []layer{
		{definition.KindFactory, f.Name, "", f.Shared(), was.Shared()},
		{definition.KindFactory, f.Name, "agentDefaults.", f.Defaults, was.Defaults},
	}
	for _, a := range w.d.Agents {
		before, _ := base.Named(w.parts.agents, a.Name, agentName)
		all = append(all, layer{definition.KindAgent, a.Name, "", a.Config, before.Config})
	}
	for _, a := range w.d.Automations {
		before, _ := base.Named(w.parts.automations, a.Name, trigger.AutomationName)
		all = append(all, layer{definition.KindAutomation, a.Name, "", a.Config, before.Config})
	}
	return all
}

// lockSecrets reads every secret that the definition names and keeps them from being
// deleted until the transaction ends. It locks in one order: two changes cannot wait
// for each other.
func (w *work) lockSecrets(ctx context.Context, tx *store.Tx) error {
	var names []string
	for _, l := range w.layers() {
		names = append(names, l.config.NamedSecrets()...)
	}
	for _, hook := range w.d.Webhooks {
		names = append(names, hook.SecretName)
	}
	slices.Sort(names)
	w.secrets = map[string]*store.Secret{}
	for _, name := range slices.Compact(names) {
		secret, err := tx.LockSecret(ctx, name)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		w.secrets[name] = secret
	}
	return nil
}

func (w *work) checkAlias(ctx context.Context, tx *store.Tx) error {
	f := w.d.Factory
	f.UID = w.factory.UID
	err := checkAlias(ctx, tx, f)
	if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
		w.problem(definition.KindFactory, f.Name, "alias", fmt.Sprintf("another factory has the alias %q, in this or another case", f.Alias), "choose another")
		return nil
	}
	return err
}

// checkConfigs checks the secrets and environments that runs would get. It locks the
// environments in one order, as lockSecrets does.
func (w *work) checkConfigs(ctx context.Context, tx *store.Tx) error {
	layers := w.layers()
	slices.SortStableFunc(layers, func(a, b layer) int { return strings.Compare(a.config.EnvironmentID, b.config.EnvironmentID) })
	for _, l := range layers {
		for i, name := range l.config.Secrets {
			w.checkGrant(l, fmt.Sprintf("secrets[%d]", i), name)
		}
		for _, server := range slices.Sorted(maps.Keys(l.config.MCPServers)) {
			for _, name := range l.config.MCPServers[server].SecretNames() {
				w.checkGrant(l, "mcpServers."+server, name)
			}
		}
		if name := l.config.AuthSecret(); name != "" {
			w.checkGrant(l, "harness.auth.secretName", name)
		}
		field := l.prefix + "environmentId"
		err := runs.CheckEnvironment(ctx, tx, w.c, field, l.before.EnvironmentID, l.config.EnvironmentID)
		if err := w.blame(l.kind, l.name, field, err); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys holds what agents and automations say about their model's key against what
// they inherit. The foreman replaces an agent that does not exist; another check
// reports that mistake.
func (w *work) checkKeys() {
	check := func(kind definition.Kind, name string, d runs.Definitions) {
		config, _ := w.s.runs.ResolveLayers(lineshaft.AgentConfig{}, d)
		if err := config.CheckAuth(); err != nil {
			w.problem(kind, name, "harness.auth", base.Reason(err), "")
		}
	}
	for i := range w.d.Agents {
		check(definition.KindAgent, w.d.Agents[i].Name, runs.Definitions{Agent: &w.d.Agents[i], Factory: &w.d.Factory})
	}
	for i, a := range w.d.Automations {
		d := runs.Definitions{Automation: &w.d.Automations[i], Factory: &w.d.Factory}
		for j, agent := range w.d.Agents {
			if agent.Name == a.Agent || a.Agent == "" && agent.Type == lineshaft.AgentForeman {
				d.Agent = &w.d.Agents[j]
			}
		}
		if h := a.Config.Harness; h != nil || a.Config.WorkerHost != "" { // else it is the agent's
			check(definition.KindAutomation, a.Name, d)
		}
	}
}

// blame makes a problem of an error that says what is wrong with a part. Any other is
// a failure of the check and is returned.
func (w *work) blame(kind definition.Kind, name, field string, err error) error {
	switch lineshaft.CodeOf(err) {
	case lineshaft.CodeInvalidRequest, lineshaft.CodeNotAuthorized:
		w.problem(kind, name, field, base.Reason(err), "")
		return nil
	default:
		return err
	}
}

// checkWatches holds the triggers that are new or changed to what the caller may wait
// for. Others stay: their authors could see those factories.
func (w *work) checkWatches(ctx context.Context, tx *store.Tx) error {
	watch := trigger.Watchable(w.c)
	retriggered := func(f definition.FieldChange) bool { return strings.HasPrefix(f.Field, "triggers") }
	for _, change := range w.of(definition.KindAutomation) {
		if change.Action == definition.ActionRemove {
			continue
		}
		a, _ := base.Named(w.d.Automations, change.Name, trigger.AutomationName)
		err := trigger.CheckKey(ctx, tx, a)
		if err == nil && (change.Action != definition.ActionChange || slices.ContainsFunc(change.Fields, retriggered)) {
			err = watch(ctx, tx, a)
		}
		field := "triggers"
		if pub, ok := errors.AsType[*lineshaft.Error](err); ok && pub.Field != "" {
			field = pub.Field
		}
		if err := w.blame(definition.KindAutomation, a.Name, field, err); err != nil {
			return err
		}
	}
	return nil
}

// checkRemovedAgents keeps agents that schedules start: no folder says anything about
// schedules, so they would be left without one.
func (w *work) checkRemovedAgents(ctx context.Context, tx *store.Tx) error {
	for _, change := range w.of(definition.KindAgent) {
		if change.Action != definition.ActionRemove || w.bad[change.File] {
			continue
		}
		was, _ := base.Named(w.parts.agents, change.Name, agentName)
		schedules, err := tx.SchedulesOfAgent(ctx, was.UID)
		if err != nil {
			return err
		}
		if len(schedules) > 0 {
			w.problem(definition.KindAgent, change.Name, "", fmt.Sprintf("agent %q is no longer in the definition, but in use by schedule %s", change.Name, secrets.NameUses(schedules)),
				"keep the agent's file, or first delete these schedules or give them another agent")
		}
	}
	return nil
}

// checkGrant says whether runs of a layer may get a secret (S-1).
func (w *work) checkGrant(l layer, field, name string) {
	field = l.prefix + field
	secret := w.secrets[name]
	if secret == nil {
		w.problem(l.kind, l.name, field, "there is no secret "+name, createSecretHint(name))
		return
	}
	if refusal := secrets.RefuseToRun(secret.Secret, false); refusal != "" {
		w.problem(l.kind, l.name, field, refusal, "")
		return
	}
	if err := secrets.MayName(w.c, l.before.NamedSecrets(), []string{name}); err != nil {
		w.problem(l.kind, l.name, field, base.Reason(err), "")
	}
}

// checkWebhookCount lets a factory that has too many already keep them.
func (w *work) checkWebhookCount() {
	most := max(w.s.Cfg.MaxWebhooks, len(w.parts.webhooks))
	for i, hook := range w.d.Webhooks {
		if i >= most {
			w.problem(definition.KindWebhook, hook.Name, "", fmt.Sprintf("the definition has %d webhooks, and a factory may have %d", len(w.d.Webhooks), w.s.Cfg.MaxWebhooks),
				"remove some, or ask the operator to raise --max-webhooks-per-factory")
			return
		}
	}
}

// checkReferences requires every webhook that an automation names by its uid, and every
// automation whose runs it waits for, to belong to the factory, and to stay there. What
// it named before may be gone by now: an export always applies. Webhooks that it names
// by name are checked with the folder.
func (w *work) checkReferences(ctx context.Context, tx *store.Tx) error {
	live := map[string]bool{}
	for _, hook := range w.webhooks {
		if hook.was != nil {
			live[hook.was.UID] = true
		}
	}
	for _, a := range w.d.Automations {
		before, _ := base.Named(w.parts.automations, a.Name, trigger.AutomationName)
		for i, t := range a.Triggers {
			for j, uid := range t.Filter.WebhookIDs {
				known, err := w.wasWebhook(ctx, tx, uid)
				if err != nil {
					return err
				}
				if !live[uid] && !known {
					w.problem(definition.KindAutomation, a.Name, fmt.Sprintf("triggers[%d].filter.webhook_ids[%d]", i, j),
						fmt.Sprintf("%s is not a webhook of this factory, or its file is not in the definition", strconv.Quote(lineshaft.Clip(uid, 100))),
						"name webhooks of the definition by their file names in webhooks:")
				}
			}
			if name, ok := trigger.UnknownChain(t, w.d.Automations, before.Triggers); ok {
				w.problem(definition.KindAutomation, a.Name, fmt.Sprintf("triggers[%d].filter.automations", i),
					fmt.Sprintf("there is no automation %s in the definition", strconv.Quote(lineshaft.Clip(name, 100))), "name automations by their folder names")
			}
		}
	}
	return nil
}

// wasWebhook says whether a uid is that of a deleted webhook of the factory.
func (w *work) wasWebhook(ctx context.Context, tx *store.Tx, uid string) (bool, error) {
	hook, err := tx.GetWebhook(ctx, w.factory.UID, uid)
	return err == nil && !hook.DeletedAt.IsZero(), base.IgnoreNotFound(err)
}
