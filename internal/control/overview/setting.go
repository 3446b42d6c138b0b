package overview

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// ServerState is what a server runs with.
type ServerState struct {
	// Engine is the kind of database, sqlite or postgres.
	Engine string
	// Schema is the version of the database's schema.
	Schema int
	// RunRetention is 0 when ended runs are kept for ever.
	RunRetention      time.Duration
	DeliveryRetention time.Duration
	DeliveryKeep      int
	OIDCSessionLife   time.Duration
	Parts             []base.Part
}

// ServerState tells an admin what this server runs with and how its parts stand.
func (s *Overviews) ServerState(ctx context.Context, c lineshaft.Caller) (ServerState, error) {
	if err := c.Need(lineshaft.PermissionKeys); err != nil {
		return ServerState{}, err
	}
	if !c.Role.May(lineshaft.PermissionKeys) {
		return ServerState{}, lineshaft.Denied("your role, %s, may not see the settings; ask an admin", c.Role)
	}
	if len(c.FactoryUIDs) > 0 {
		return ServerState{}, lineshaft.Denied("the settings are those of all factories; your key is limited to some")
	}
	schema, err := store.SchemaVersion()
	if err != nil {
		return ServerState{}, err
	}
	return ServerState{
		Engine: s.Store.Engine(), Schema: schema, RunRetention: s.Cfg.RunRetention, DeliveryRetention: s.Cfg.DeliveryRetention,
		DeliveryKeep: s.Cfg.DeliveryKeep, OIDCSessionLife: s.Cfg.OIDCSessionLife, Parts: s.Ready(ctx),
	}, nil
}
