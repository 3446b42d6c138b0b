package base

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// loopFailures is how often in a row a background loop must fail before Ready says so:
// one failure is often the database restarting.
const loopFailures = 3

// loops counts how often in a row the rounds of background loops have failed.
type loops struct {
	mu       sync.Mutex
	failures map[string]int
}

// EndRound notes how a round of a background loop ended, and logs what went wrong. One
// that the end of the server cut off says nothing.
func (h *Health) EndRound(ctx context.Context, loop string, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.log.WarnContext(ctx, "background work failed; it is tried again", "loop", loop, "err", err)
	}
	h.loops.mu.Lock()
	defer h.loops.mu.Unlock()
	if h.loops.failures == nil {
		h.loops.failures = map[string]int{}
	}
	if h.loops.failures[loop]++; err == nil {
		h.loops.failures[loop] = 0
	}
}

// parts are the loops that have run, for Ready.
func (l *loops) parts() []Part {
	l.mu.Lock()
	defer l.mu.Unlock()
	var parts []Part
	for _, loop := range slices.Sorted(maps.Keys(l.failures)) {
		part := Part{Name: loop}
		if l.failures[loop] >= loopFailures {
			part.Problem = "keeps failing"
		}
		parts = append(parts, part)
	}
	return parts
}
