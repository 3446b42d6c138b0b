// Package overview answers what people look for first: how everything is going, what needs
// attention, where something is, and what the server runs with.
package overview

import (
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// Overviews has the use cases that look over all rooms.
type Overviews struct {
	*base.Base
	notify    *notify.Notifier
	runs      *runs.Runs
	trigger   *trigger.Triggers
	factories *factories.Factories
}

// New returns the room that looks over the others.
func New(b *base.Base, n *notify.Notifier, r *runs.Runs, t *trigger.Triggers, f *factories.Factories) *Overviews {
	return &Overviews{Base: b, notify: n, runs: r, trigger: t, factories: f}
}
