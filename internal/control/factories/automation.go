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
	"github.com/lineshaft/lineshaft/internal/catalog"
	"github.com/lineshaft/lineshaft/internal/control/base"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
)

// AutomationChange says what to change of an automation.
type AutomationChange = lineshaft.AutomationChange

// AutomationPage is a page of automations by factory and name.
type AutomationPage = base.Page[lineshaft.Automation]

// CreateAutomation adds an automation to a factory. Its uid, times and notices are given here.
func (s *Factories) CreateAutomation(ctx context.Context, c lineshaft.Caller, factoryUID string, made lineshaft.Automation) (*lineshaft.Automation, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	uid, at := s.Store.NewID()
	made.UID, made.FactoryUID, made.CreatedAt, made.UpdatedAt = uid, factoryUID, at, at
	if err := checkAutomation(made); err != nil {
		return nil, err
	}
	if err := secrets.MayName(c, nil, made.Config.NamedSecrets()); err != nil {
		return nil, err
	}
	err := s.changeFactory(ctx, c, factoryUID, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		notices, err := noticesOf(ctx, tx, made, f.Alias)
		if err != nil {
			return err
		}
		made.Notices = notices
		for _, check := range []func(context.Context, *store.Tx, lineshaft.Automation) error{checkAutomationName, checkAgent, checkWebhooks, s.secrets.CheckAutomationSecrets, controlruns.EnvironmentOf(c, ""), trigger.Watchable(c), trigger.CheckKey, trigger.CheckChains} {
			if err := check(ctx, tx, made); err != nil {
				return err
			}
		}
		if err := tx.PutPrincipal(ctx, trigger.AutomationPrincipal(uid, made.Name), at); err != nil {
			return err
		}
		if err := tx.PutAutomation(ctx, made); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "automation.create", "automation", uid, map[string]string{"name": made.Name, "factory": factoryUID})
	})
	if err != nil {
		return nil, err
	}
	return &made, nil
}

// checkAutomation checks what needs no store: the rules of the noun and the filters of
// the triggers.
func checkAutomation(a lineshaft.Automation) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if err := trigger.CheckTimings(a); err != nil {
		return err
	}
	return checkFilters(a.Triggers)
}

func checkFilters(triggers []lineshaft.Trigger) error {
	for i, t := range triggers {
		if err := catalog.Check(t); err != nil {
			return trigger.InField(err, fmt.Sprintf("triggers[%d].", i))
		}
	}
	return nil
}

// checkAutomationName finds another automation of the factory with the same name.
// The factory is locked, so nobody else takes it meanwhile.
func checkAutomationName(ctx context.Context, tx *store.Tx, a lineshaft.Automation) error {
	others, err := tx.ListAutomations(ctx, a.FactoryUID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(others, func(o lineshaft.Automation) bool { return sameFile(o.Name, a.Name) && o.UID != a.UID }) {
		taken := lineshaft.Conflict("the factory has another automation named %q, in this or another case; choose another name, or change that one", a.Name)
		taken.Field = "name"
		return taken
	}
	return nil
}

// sameFile says whether the definition of one would be taken for that of the other: many
// systems ignore case in file names.
func sameFile(a, b string) bool { return lineshaft.SameFolded(a, b) }

func checkAgent(ctx context.Context, tx *store.Tx, a lineshaft.Automation) error {
	if a.Agent == "" {
		return nil
	}
	agents, err := tx.ListAgents(ctx, a.FactoryUID)
	if err != nil {
		return err
	}
	var names []string
	for _, agent := range agents {
		if agent.Name == a.Agent {
			return nil
		}
		names = append(names, agent.Name)
	}
	return lineshaft.Invalid("agent", "the factory has no agent of this name; it has: %s", strings.Join(names, ", "))
}

// checkWebhooks requires every webhook that a trigger names to be a live one of the
// factory. One of another factory gets the same answer as none at all.
func checkWebhooks(ctx context.Context, tx *store.Tx, a lineshaft.Automation) error {
	webhooks, err := tx.ListWebhooks(ctx, a.FactoryUID)
	if err != nil {
		return err
	}
	uids, names := map[string]lineshaft.Webhook{}, map[string]lineshaft.Webhook{}
	for _, w := range webhooks {
		uids[w.UID], names[w.Name] = w.Webhook, w.Webhook
	}
	for i, t := range a.Triggers {
		for _, list := range []struct {
			field string
			refs  []string
			known map[string]lineshaft.Webhook
		}{{"webhook_ids", t.Filter.WebhookIDs, uids}, {"webhooks", t.Filter.Webhooks, names}} {
			for j, ref := range list.refs {
				field := fmt.Sprintf("triggers[%d].filter.%s[%d]", i, list.field, j)
				w, there := list.known[ref]
				if !there {
					return lineshaft.Invalid(field, "%s is not a webhook of this factory; it may be deleted or belong to another factory", strconv.Quote(lineshaft.Clip(ref, 100)))
				}
				if t.Sent() && trigger.SenderOf(w) != t.Provider {
					return lineshaft.Invalid(field, "webhook %q does not check signatures of %s, so it never gets such an event; name one with signature_scheme %s", w.Name, t.Provider, t.Provider)
				}
			}
		}
	}
	return nil
}

// GetAutomation reads an automation of a factory.
func (s *Factories) GetAutomation(ctx context.Context, c lineshaft.Caller, factoryUID, uid string) (*lineshaft.Automation, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	f, err := s.VisibleFactory(ctx, c, factoryUID)
	if err != nil {
		return nil, err
	}
	found, err := s.Store.GetAutomation(ctx, factoryUID, uid)
	if err != nil {
		return nil, err
	}
	found.Notices, err = noticesOf(ctx, s.Store, *found, f.Alias)
	return found, err
}

// noticesOf says what of an automation has no effect on this server, as plans do; alias is
// what its factory is mentioned by.
func noticesOf(ctx context.Context, r partReader, a lineshaft.Automation, alias string) ([]string, error) {
	hooks, err := r.ListWebhooks(ctx, a.FactoryUID)
	if err != nil {
		return nil, err
	}
	var schemes []string
	for _, hook := range hooks {
		schemes = append(schemes, hook.SignatureScheme)
	}
	notices := catalog.NoteTriggers(a.Triggers, alias)
	for i, t := range a.Triggers {
		if why := catalog.Unheard(t, schemes); why != "" {
			notices = append(notices, fmt.Sprintf("triggers[%d]: %s", i, why))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Config.MCPServers)) {
		if a.Config.MCPServers[name].WarpID != "" {
			const why = "has no effect on this server: it manages no tool servers; give command or url"
			notices = append(notices, fmt.Sprintf("config.mcp_servers.%s.warp_id: %s", name, why))
		}
	}
	return notices, nil
}

// ListAutomations reads a page of a factory's automations by name.
func (s *Factories) ListAutomations(ctx context.Context, c lineshaft.Caller, factoryUID string, limit int, cursor string) (AutomationPage, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return AutomationPage{}, err
	}
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return AutomationPage{}, err
	}
	return s.pageAutomations(ctx, []string{factoryUID}, "automations\x00"+factoryUID, limit, cursor)
}

// AllAutomations reads a page of the automations of every factory that the caller's key
// reaches, by factory and name.
func (s *Factories) AllAutomations(ctx context.Context, c lineshaft.Caller, limit int, cursor string) (AutomationPage, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return AutomationPage{}, err
	}
	return s.pageAutomations(ctx, c.FactoryUIDs, "all automations", limit, cursor)
}

func (s *Factories) pageAutomations(ctx context.Context, factoryUIDs []string, list string, limit int, cursor string) (AutomationPage, error) {
	return base.ReadPage(list, cursor, func(a *lineshaft.Automation) store.PartKey { return store.PartKey{Factory: a.FactoryUID, Name: a.Name} },
		func(after store.PartKey) ([]lineshaft.Automation, bool, error) {
			return s.Store.PageAutomations(ctx, factoryUIDs, after, limit)
		})
}

// AutomationRuns selects the runs that an automation has started.
func AutomationRuns(uid string) lineshaft.RunFilter {
	return lineshaft.RunFilter{Creator: trigger.AutomationPrincipal(uid, "").UID}
}

// MaxLastRuns is how many runs of an automation LastRuns reads.
const MaxLastRuns = 10

// LastRun is what lists show of a run that an automation started.
type LastRun = store.RunBrief

// LastRuns reads the newest runs of each automation, by automation, the newest first; those
// without one are left out, and those that the caller's key does not reach.
func (s *Factories) LastRuns(ctx context.Context, c lineshaft.Caller, automations []lineshaft.Automation) (map[string][]LastRun, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	var creators []string
	for _, a := range automations {
		if c.MaySeeFactory(a.FactoryUID) {
			creators = append(creators, AutomationRuns(a.UID).Creator)
		}
	}
	newest, err := s.Store.NewestOf(ctx, creators, MaxLastRuns)
	last := map[string][]LastRun{}
	for creator, runs := range newest {
		last[strings.TrimPrefix(creator, base.AutomationPrincipalPrefix)] = runs
	}
	return last, err
}

// UpdateAutomation changes an automation. Only what is given is held against the
// factory: one that names a deleted webhook can still be renamed or disabled.
func (s *Factories) UpdateAutomation(ctx context.Context, c lineshaft.Caller, factoryUID, uid string, change AutomationChange) (*lineshaft.Automation, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	var changed *lineshaft.Automation
	err := s.changeFactory(ctx, c, factoryUID, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		a, err := tx.GetAutomation(ctx, factoryUID, uid)
		if err != nil {
			return err
		}
		before, name := a.Config, a.Name
		fields := change.Apply(a)
		if a.Notices, err = noticesOf(ctx, tx, *a, f.Alias); err != nil {
			return err
		}
		if changed = a; len(fields) == 0 {
			return errUnchanged
		}
		a.UpdatedAt = s.Store.Now()
		if err := errors.Join(checkAutomation(*a), secrets.MayName(c, before.NamedSecrets(), a.Config.NamedSecrets())); err != nil {
			return err
		}
		for _, check := range []struct {
			given bool
			run   func(context.Context, *store.Tx, lineshaft.Automation) error
		}{{change.Name != nil, checkAutomationName}, {change.Agent != nil, checkAgent}, {change.Triggers != nil, checkWebhooks}, {change.Triggers != nil, trigger.Watchable(c)}, {true, trigger.CheckKey}, {change.Triggers != nil, trigger.CheckChains}, {change.Config != nil, s.secrets.CheckAutomationSecrets}, {change.Config != nil, controlruns.EnvironmentOf(c, before.EnvironmentID)}} {
			if !check.given {
				continue
			}
			if err := check.run(ctx, tx, *a); err != nil {
				return err
			}
		}
		if err := tx.RenamePrincipal(ctx, trigger.AutomationPrincipal(uid, a.Name)); err != nil {
			return err
		}
		if err := trigger.RenameInChains(ctx, tx, a, name); err != nil {
			return err
		}
		if err := tx.PutAutomation(ctx, *a); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "automation.update", "automation", uid, map[string]string{
			"name": a.Name, "factory": a.FactoryUID, "enabled": strconv.FormatBool(a.Enabled), "changed": strings.Join(fields, ", "),
		})
	})
	return changed, err
}

// DeleteAutomation removes an automation; its runs stay.
func (s *Factories) DeleteAutomation(ctx context.Context, c lineshaft.Caller, factoryUID, uid string) error {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return err
	}
	return s.changeFactory(ctx, c, factoryUID, func(ctx context.Context, tx *store.Tx, _ *lineshaft.Factory) error {
		a, err := tx.GetAutomation(ctx, factoryUID, uid)
		if err != nil {
			return err
		}
		if err := tx.DeleteAutomation(ctx, factoryUID, uid); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "automation.delete", "automation", uid, map[string]string{"name": a.Name, "factory": factoryUID})
	})
}
