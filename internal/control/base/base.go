package base

import (
	"log/slog"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// Base is what every room of the control plane is built on.
type Base struct {
	*Health
	*Turns
	Cfg   Config
	Store *store.Store
	Hub   *stream.Hub
	Log   *slog.Logger
}

// New returns the base of the rooms on an open store. cfg has its defaults already.
func New(s *store.Store, hub *stream.Hub, cfg Config) *Base {
	return &Base{Health: NewHealth(s, cfg.Logger), Turns: NewTurns(), Cfg: cfg, Store: s, Hub: hub, Log: cfg.Logger}
}
