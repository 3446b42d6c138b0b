package factories

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// partReader reads the parts of a factory, in a transaction or outside of one.
type partReader interface {
	ListAgents(ctx context.Context, factoryUID string) ([]lineshaft.Agent, error)
	ListAutomations(ctx context.Context, factoryUID string) ([]lineshaft.Automation, error)
	ListWebhooks(ctx context.Context, factoryUID string) ([]store.Webhook, error)
	ListRunners(ctx context.Context, factoryUID string) ([]lineshaft.Runner, error)
	ListSkills(ctx context.Context, factoryUID string) ([]lineshaft.Skill, error)
}

// factoryParts is a factory with everything that its definition is about.
type factoryParts struct {
	factory     lineshaft.Factory
	agents      []lineshaft.Agent
	automations []lineshaft.Automation
	webhooks    []store.Webhook
	runners     []lineshaft.Runner
	skills      []lineshaft.Skill
}

// readParts reads the parts of a factory. Outside of a transaction they may change
// meanwhile: see readUnchanged.
func readParts(ctx context.Context, r partReader, f *lineshaft.Factory) (*factoryParts, error) {
	p := &factoryParts{factory: *f}
	var err error
	if p.agents, err = r.ListAgents(ctx, f.UID); err != nil {
		return nil, err
	}
	if p.automations, err = r.ListAutomations(ctx, f.UID); err != nil {
		return nil, err
	}
	if p.webhooks, err = r.ListWebhooks(ctx, f.UID); err != nil {
		return nil, err
	}
	if p.runners, err = r.ListRunners(ctx, f.UID); err != nil {
		return nil, err
	}
	p.skills, err = r.ListSkills(ctx, f.UID)
	return p, err
}

// readTries bounds how often a factory is read again because it was changed meanwhile.
const readTries = 10

// currentParts reads a factory as it was at one moment.
func (s *Factories) currentParts(ctx context.Context, uid string) (p *factoryParts, err error) {
	err = s.readUnchanged(ctx, uid, func(f *lineshaft.Factory) error {
		p, err = readParts(ctx, s.Store, f)
		return err
	})
	return p, err
}

// readUnchanged reads something of a factory until the factory was the same before and
// after, without keeping others from changing it.
func (s *Factories) readUnchanged(ctx context.Context, uid string, read func(f *lineshaft.Factory) error) error {
	f, err := s.Store.GetFactory(ctx, uid)
	for range readTries {
		if err != nil {
			return err
		}
		if err := read(f); err != nil {
			return err
		}
		before := f.Revision
		if f, err = s.Store.GetFactory(ctx, uid); err == nil && f.Revision == before {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return lineshaft.Unavailable(nil, "the factory keeps changing; try again")
}

// definition is what a folder would say about the factory: no uids, no times, and
// nothing that belongs to the server alone, such as a pause or a credential.
func (p *factoryParts) definition() *definition.Definition {
	d := &definition.Definition{Factory: p.factory}
	d.Factory.UID, d.Factory.Mode, d.Factory.Paused, d.Factory.DailyBudget, d.Factory.Revision = "", "", false, lineshaft.Budget{}, 0
	d.Factory.CreatedAt, d.Factory.UpdatedAt = time.Time{}, time.Time{}
	for _, a := range p.agents {
		a.UID, a.FactoryUID, a.CreatedAt, a.UpdatedAt = "", "", time.Time{}, time.Time{}
		d.Agents = append(d.Agents, a)
	}
	for _, a := range p.automations {
		a.UID, a.FactoryUID, a.CreatedAt, a.UpdatedAt = "", "", time.Time{}, time.Time{}
		d.Automations = append(d.Automations, a)
	}
	for _, w := range p.webhooks {
		d.Webhooks = append(d.Webhooks, definedWebhook(w.Webhook))
	}
	for _, r := range p.runners {
		r.UID, r.FactoryUID, r.CreatedAt, r.UpdatedAt = "", "", time.Time{}, time.Time{}
		d.Runners = append(d.Runners, r)
	}
	d.Skills = slices.Clone(p.skills)
	// Databases order text in their own ways.
	slices.SortFunc(d.Agents, func(a, b lineshaft.Agent) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Automations, func(a, b lineshaft.Automation) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Webhooks, func(a, b lineshaft.Webhook) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Runners, func(a, b lineshaft.Runner) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Skills, func(a, b lineshaft.Skill) int {
		return cmp.Or(strings.Compare(a.Agent, b.Agent), strings.Compare(a.Name, b.Name))
	})
	return d
}

func definedWebhook(w lineshaft.Webhook) lineshaft.Webhook {
	w.UID, w.FactoryUID, w.OwnsSecret, w.NeedsSecret = "", "", false, false
	w.OldSecretUntil, w.CreatedAt, w.UpdatedAt, w.DeletedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return w
}

// folder is the factory as files: those of the last revision that still say the same
// stay byte for byte.
func (p *factoryParts) folder(last definition.Files) definition.Files {
	return definition.Render(p.definition(), last)
}
