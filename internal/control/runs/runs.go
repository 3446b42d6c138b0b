// Package runs has the life of a run: start, claim, report, follow-ups, cancel, end, and
// everything that reads it. There is one way to start a run (start.go) and one to end its
// turn (endturn.go), for every caller.
package runs

import (
	"context"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// Runs has the use cases of runs and of the workers that execute them.
type Runs struct {
	*base.Base
	secrets *secrets.Secrets
	notify  *notify.Notifier
	skills  *skills.Skills
	streams *stream.Streams
	signKey []byte
	says    base.Gathering[*said]
	lines   claimLines

	mu    sync.Mutex
	inbox inboxes              // directives, by worker process
	seen  map[string]time.Time // when a worker was last recorded
}

// New returns the room of runs. streams must read the same store.
func New(ctx context.Context, b *base.Base, streams *stream.Streams, s *secrets.Secrets, n *notify.Notifier, k *skills.Skills) (*Runs, error) {
	r := &Runs{
		Base: b, secrets: s, notify: n, skills: k, streams: streams,
		inbox: inboxes{boxes: map[string]*inbox{}}, seen: map[string]time.Time{},
		says: base.Gathering[*said]{Most: maxSaidBatch, Weigh: (*said).weight, AtOnce: base.BatchesAtOnce(b.Store.Engine())},
	}
	return r, r.loadSignKey(ctx)
}
