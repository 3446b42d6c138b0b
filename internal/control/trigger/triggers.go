// Package trigger starts runs without being asked by a person: for webhook deliveries,
// ends of other runs, and times. It keeps the copy of factories that deliveries are
// matched against.
package trigger

import (
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/skills"
)

// Triggers has the use cases of deliveries, chains and schedules.
type Triggers struct {
	*base.Base
	secrets *secrets.Secrets
	skills  *skills.Skills
	runs    *runs.Runs
	hooks   hooks
	accepts base.Gathering[*acceptance]
	blocked blocklist
	chains  base.Bookmark
	// noWebhookRuns, when set, is why deliveries start no runs.
	noWebhookRuns string
}

// New returns the room of triggers.
func New(b *base.Base, s *secrets.Secrets, k *skills.Skills, r *runs.Runs) *Triggers {
	t := &Triggers{
		Base: b, secrets: s, skills: k, runs: r, hooks: hooks{revisions: map[string]int64{}, parts: map[string]*factoryCopy{}},
		accepts: base.Gathering[*acceptance]{Most: maxAcceptBatch, AtOnce: base.BatchesAtOnce(b.Store.Engine()), Weigh: (*acceptance).weight},
	}
	t.chains.Setting = ChainSetting
	return t
}

// RefuseWebhookRuns makes deliveries start nothing, for the given reason: agents are
// not isolated although strangers reach the server. Call it before serving.
func (s *Triggers) RefuseWebhookRuns(reason string) { s.noWebhookRuns = reason }
