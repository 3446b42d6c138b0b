package base

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
)

// Health knows the health of the parts of the server.
type Health struct {
	store *store.Store
	log   *slog.Logger
	loops loops

	mu    sync.Mutex
	parts map[string]func() string // background parts
	minor map[string]func() string // those that the server serves without
}

// NewHealth watches a store; parts are added.
func NewHealth(s *store.Store, log *slog.Logger) *Health {
	return &Health{store: s, log: log, parts: map[string]func() string{}, minor: map[string]func() string{}}
}

// AddPart names a background part that Ready asks: health returns "" or a short
// public word on what is wrong.
func (h *Health) AddPart(name string, health func() string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts[name] = health
}

// AddMinorPart names a part whose problems Ready shows, but that the server can serve
// without: taking it out of service would not help.
func (h *Health) AddMinorPart(name string, health func() string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.minor[name] = health
}

// Ready says how each part of the server is doing.
func (h *Health) Ready(ctx context.Context) []Part {
	parts := []Part{{Name: "store"}, {Name: "schema"}}
	if err := h.store.Ping(ctx); err != nil {
		parts[0].Problem = "not reachable"
	}
	if err := h.store.CheckSchema(ctx); err != nil {
		parts[1].Problem = "not current"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, health := range h.parts {
		parts = append(parts, Part{Name: name, Problem: health()})
	}
	for name, health := range h.minor {
		parts = append(parts, Part{Name: name, Problem: health(), Serves: true})
	}
	return append(parts, h.loops.parts()...)
}

// Part is a named piece of the server in the answer of Ready.
type Part struct {
	Name string
	// Problem is empty when the part is well; otherwise a short public word.
	Problem string
	// Serves says that the server can do its work in spite of the problem.
	Serves bool
}

// loopFailures is how often in a row a background loop must fail before Ready says so:
// one failure is often the database restarting.
const loopFailures = 3

// loops counts how often in a row the rounds of background loops have failed.
type loops struct {
	mu       sync.Mutex
	failures map[string]int
}

// EndRound notes how a round of a background loop ended, and logs what went wrong. A
// round that was cut off because the server stops is not logged.
func (h *Health) EndRound(ctx context.Context, loop string, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.log.WarnContext(ctx, "background work failed; it will be tried again", "loop", loop, "err", err)
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

// Loop runs rounds of background work until ctx ends: at once while a round asks for no pause,
// otherwise after its pause, or when one of two channels wakes it; either may be nil.
func (h *Health) Loop(ctx context.Context, loop string, one, other <-chan struct{}, round func(context.Context) (time.Duration, error)) {
	for ctx.Err() == nil {
		pause, err := round(ctx)
		h.EndRound(ctx, loop, err)
		if pause <= 0 && err == nil {
			continue
		}
		if pause <= 0 {
			pause = ChangePoll
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-one:
		case <-other:
		case <-timer.C:
		}
		timer.Stop()
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
