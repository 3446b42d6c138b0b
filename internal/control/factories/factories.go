// Package factories changes what factories are made of: agents, automations, webhooks and
// definition folders, by hand or from a repository. Every edit is a revision of a folder.
package factories

import (
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// Factories has the use cases of factories and of what is in them.
type Factories struct {
	*base.Base
	secrets *secrets.Secrets
	skills  *skills.Skills
	runs    *runs.Runs
	trigger *trigger.Triggers
}

// New returns the room of factories.
func New(b *base.Base, s *secrets.Secrets, k *skills.Skills, r *runs.Runs, t *trigger.Triggers) *Factories {
	return &Factories{Base: b, secrets: s, skills: k, runs: r, trigger: t}
}
