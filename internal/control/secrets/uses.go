package secrets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// usePlaces is where definitions are that may name a secret or an environment: the
// store, or a transaction that is about to delete one.
type usePlaces interface {
	WebhooksWithSecret(ctx context.Context, name string) ([]store.Webhook, error)
	ListEnvironments(ctx context.Context) ([]lineshaft.Environment, error)
	ListAgents(ctx context.Context, factoryUID string) ([]lineshaft.Agent, error)
	ListFactories(ctx context.Context, after string, limit int) ([]lineshaft.Factory, error)
	ListAutomations(ctx context.Context, factoryUID string) ([]lineshaft.Automation, error)
	PageSchedules(ctx context.Context, factoryUIDs []string, after store.ScheduleKey, limit int) ([]lineshaft.Schedule, bool, error)
}

// Use is a definition that names a thing.
type Use struct {
	// Kind is its noun, and FactoryUID the factory that it belongs to, if it belongs to one.
	Kind, UID, FactoryUID string
	// Text names it in a sentence, such as "webhook issues".
	Text string
}

// Uses is what names a thing, and so keeps it from being deleted.
type Uses struct {
	// RunID is a run in an environment that has not ended.
	RunID string
	Named []Use
	// More says that there are others.
	More bool
}

// Any says that there is a use.
func (u Uses) Any() bool { return u.RunID != "" || len(u.Named) > 0 }

func newUses(named []Use) Uses {
	if len(named) > maxUses {
		return Uses{Named: named[:maxUses], More: true}
	}
	return Uses{Named: named}
}

// SecretUses says what names a secret.
func (s *Secrets) SecretUses(ctx context.Context, c lineshaft.Caller, name string) (Uses, error) {
	if err := c.Need(lineshaft.PermissionSecrets); err != nil {
		return Uses{}, err
	}
	if err := mayTouch(c, name); err != nil {
		return Uses{}, err
	}
	named, err := secretUses(ctx, s.Store, name)
	return newUses(named), err
}

// EnvironmentUses says what uses an environment.
func (s *Secrets) EnvironmentUses(ctx context.Context, c lineshaft.Caller, uid string) (Uses, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return Uses{}, err
	}
	if err := base.TeamEnvironments(c); err != nil {
		return Uses{}, err
	}
	if !validEnvironmentID(uid) {
		return Uses{}, lineshaft.NotFound("environment", uid)
	}
	runID, err := s.Store.LiveRun(ctx, uid)
	if err != nil {
		return Uses{}, err
	}
	named, err := environmentUses(ctx, s.Store, uid)
	uses := newUses(named)
	uses.RunID = runID
	return uses, err
}

// texts names definitions, for a message.
func texts(uses []Use) []string {
	var names []string
	for _, use := range uses {
		names = append(names, use.Text)
	}
	return names
}

// NameUses names the first few users of a thing, for a message.
func NameUses(uses []string) string {
	if len(uses) > maxUses {
		return strings.Join(uses[:maxUses], ", ") + " and more"
	}
	return strings.Join(uses, ", ")
}

// secretUses says which definitions name a secret; it stops after a few.
func secretUses(ctx context.Context, r usePlaces, name string) ([]Use, error) {
	hooks, err := r.WebhooksWithSecret(ctx, name)
	if err != nil {
		return nil, err
	}
	var uses []Use
	for _, hook := range hooks {
		uses = append(uses, Use{"webhook", hook.UID, hook.FactoryUID, "webhook " + hook.Name})
	}
	environments, err := environmentsWithSecret(ctx, r, name)
	if uses = append(uses, environments...); err != nil || len(uses) > maxUses {
		return uses, err
	}
	found, err := configUses(ctx, r, func(config lineshaft.AgentConfig) bool { return slices.Contains(config.NamedSecrets(), name) })
	return append(uses, found...), err
}

// definitionUses says which factories, agents and automations have a configuration
// that is asked for; it stops after a few.
func definitionUses(ctx context.Context, r usePlaces, match func(lineshaft.AgentConfig) bool) ([]Use, error) {
	var uses []Use
	agents, err := r.ListAgents(ctx, "") // those of no factory
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if match(a.Config) {
			uses = append(uses, Use{"agent", a.UID, "", "agent " + a.Name})
		}
	}
	for after := ""; len(uses) <= maxUses; {
		factories, err := r.ListFactories(ctx, after, base.FactoryBatch)
		if err != nil || len(factories) == 0 {
			return uses, err
		}
		for _, f := range factories {
			found, err := factoryUses(ctx, r, f, match)
			if err != nil {
				return nil, err
			}
			if uses = append(uses, found...); len(uses) > maxUses {
				break
			}
		}
		after = factories[len(factories)-1].UID
	}
	return uses, nil
}

func factoryUses(ctx context.Context, r usePlaces, f lineshaft.Factory, match func(lineshaft.AgentConfig) bool) ([]Use, error) {
	var uses []Use
	note := func(config lineshaft.AgentConfig, kind, uid, name string) {
		if match(config) {
			uses = append(uses, Use{kind, uid, f.UID, fmt.Sprintf("%s %s of factory %s", kind, name, f.Name)})
		}
	}
	if match(f.Defaults) || match(f.Shared()) {
		uses = append(uses, Use{"factory", f.UID, f.UID, "factory " + f.Name})
	}
	agents, err := r.ListAgents(ctx, f.UID)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		note(a.Config, "agent", a.UID, a.Name)
	}
	automations, err := r.ListAutomations(ctx, f.UID)
	if err != nil {
		return nil, err
	}
	for _, a := range automations {
		note(a.Config, "automation", a.UID, a.Name)
	}
	return uses, nil
}

func environmentUses(ctx context.Context, r usePlaces, uid string) ([]Use, error) {
	return configUses(ctx, r, func(config lineshaft.AgentConfig) bool { return config.EnvironmentID == uid })
}

// configUses adds the schedules to definitionUses.
func configUses(ctx context.Context, r usePlaces, match func(lineshaft.AgentConfig) bool) ([]Use, error) {
	uses, err := definitionUses(ctx, r, match)
	var last store.ScheduleKey
	for more := true; more && err == nil && len(uses) <= maxUses; {
		var schedules []lineshaft.Schedule
		schedules, more, err = r.PageSchedules(ctx, nil, last, base.MaxPage)
		for _, schedule := range schedules {
			if last = (store.ScheduleKey{Name: schedule.Name, ID: schedule.ID}); match(schedule.Config) {
				uses = append(uses, Use{"schedule", schedule.ID, schedule.FactoryUID, "schedule " + schedule.Name})
			}
		}
	}
	return uses, err
}

func environmentsWithSecret(ctx context.Context, r usePlaces, name string) ([]Use, error) {
	list, err := r.ListEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	var uses []Use
	for _, e := range list {
		if e.Config.GitCredentials == name || slices.Contains(e.Config.Secrets, name) {
			uses = append(uses, Use{"environment", e.UID, "", "environment " + e.Config.Name})
		}
	}
	return uses, nil
}
