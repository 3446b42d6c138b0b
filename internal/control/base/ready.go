package base

import (
	"context"
	"log/slog"
	"sync"

	"github.com/lineshaft/lineshaft/internal/store"
)

// Health knows how the parts of the server are doing.
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

// AddMinorPart names a part whose problems Ready shows, but that the server serves
// without: taking it out of service would make nothing better.
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
