// Package controltest opens a control plane for tests: store, wake-ups and service, put
// together as the server does it.
package controltest

import (
	"cmp"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// Options say what is special about a control plane.
type Options struct {
	// Config has its settings; one minute is the lease unless it says another.
	Config base.Config
	// Encode is how streams write events; nil writes nothing.
	Encode func(lineshaft.Event) []byte
	// Now is the clock of the store; nil is the machine's.
	Now func() time.Time
	// AdminKey is the key of the first admin; "" generates one. NoAdmin makes none.
	AdminKey string
	NoAdmin  bool
}

// Plane is an open control plane. It ends with its test.
type Plane struct {
	Service *control.Service
	Store   *store.Store
	Hub     *stream.Hub
	// Admin may do everything, with AdminKey.
	Admin    lineshaft.Caller
	AdminKey string
}

// Open opens a control plane on a database.
func Open(t *testing.T, database string, o Options) *Plane {
	t.Helper()
	if o.Encode == nil {
		o.Encode = func(lineshaft.Event) []byte { return nil }
	}
	o.Config.Lease = cmp.Or(o.Config.Lease, time.Minute)
	hub := stream.NewHub()
	nodes := stream.NewNodes(nil, hub, cmp.Or(o.Config.Logger, slog.New(slog.DiscardHandler)))
	st, err := store.Open(t.Context(), store.Options{Database: database, Wake: nodes.Publish, Now: o.Now})
	if err != nil {
		t.Fatal(err)
	}
	nodes.Attach(st)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); nodes.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = st.Close() })
	p := &Plane{Store: st, Hub: hub}
	if p.Service, err = control.New(t.Context(), st, hub, stream.New(st, hub, o.Encode), o.Config); err != nil {
		t.Fatal(err)
	}
	if o.NoAdmin {
		return p
	}
	if p.AdminKey, err = p.Service.EnsureAdmin(t.Context(), o.AdminKey); err != nil {
		t.Fatal(err)
	}
	p.AdminKey = cmp.Or(o.AdminKey, p.AdminKey)
	if p.Admin, err = p.Service.Authenticate(t.Context(), p.AdminKey); err != nil {
		t.Fatal(err)
	}
	return p
}
