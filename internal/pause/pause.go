// Package pause waits: for a while, or longer each time, and never longer than a context.
package pause

import (
	"context"
	"math/rand/v2"
	"time"
)

// For waits and says whether ctx still goes on.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// The pauses between calls to a server that does not answer.
const (
	first = 100 * time.Millisecond
	long  = 5 * time.Second
)

// Backoff makes pauses longer. The zero value is ready.
type Backoff struct{ pause time.Duration }

// Wait pauses, longer every time or as long as was asked for, and says whether ctx still
// goes on. A part of each pause is random, so that many do not come back at once.
func (b *Backoff) Wait(ctx context.Context, asked time.Duration) bool {
	b.pause = min(max(2*b.pause, first), long)
	if asked > 0 {
		return For(ctx, asked)
	}
	return For(ctx, b.pause/2+rand.N(b.pause/2))
}

// Reset begins with short pauses again.
func (b *Backoff) Reset() { b.pause = 0 }
