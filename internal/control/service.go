package control

import (
	"context"

	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// Service is the control plane: all of its rooms, each of which uses only those above it here.
type Service struct {
	*base.Health
	*base.Turns
	*access.Access
	*secrets.Secrets
	*notify.Notifier
	*skills.Skills
	*runs.Runs
	*trigger.Triggers
	*factories.Factories
	*overview.Overviews

	base *base.Base
}

// New returns the service on an open store. streams must read the same store.
func New(ctx context.Context, s *store.Store, hub *stream.Hub, streams *stream.Streams, cfg base.Config) (*Service, error) {
	b := base.New(s, hub, cfg.WithDefaults())
	sealed, err := secrets.New(ctx, b)
	if err != nil {
		return nil, err
	}
	notifier, skill := notify.New(b, sealed), skills.New(b)
	run, err := runs.New(ctx, b, streams, sealed, notifier, skill)
	if err != nil {
		return nil, err
	}
	triggers := trigger.New(b, sealed, skill, run)
	factory := factories.New(b, sealed, skill, run, triggers)
	return &Service{
		Health: b.Health, Turns: b.Turns, Access: access.New(b), Secrets: sealed, Notifier: notifier, Skills: skill, Runs: run,
		Triggers: triggers, Factories: factory, Overviews: overview.New(b, notifier, run, triggers, factory), base: b,
	}, nil
}
