package store_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// A worker's connection time is that of its first appearance, unless it was disconnected.
func TestX2Workers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		start := time.Unix(1_700_000_000, 0).UTC()
		at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
		seen := func(seconds, running int) {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				w := store.Worker{ID: "w1", WorkerHost: "mac", Version: "v1", Capacity: 4, Running: running, Labels: []string{"os=linux", "gpu="}, LastSeenAt: at(seconds)}
				return tx.PutWorker(ctx, w, at(seconds-30))
			})
		}
		want := func(connected, last, running int) {
			t.Helper()
			workers, err := s.ListWorkers(t.Context(), at(last))
			must(t, err)
			w := store.Worker{ID: "w1", WorkerHost: "mac", Version: "v1", Capacity: 4, Running: running, Labels: []string{"os=linux", "gpu="}, ConnectedAt: at(connected), LastSeenAt: at(last)}
			if !reflect.DeepEqual(workers, []store.Worker{w}) {
				t.Errorf("workers %+v, want %+v", workers, w)
			}
		}
		seen(0, 0)
		want(0, 0, 0)
		seen(20, 1)
		want(0, 20, 1)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.TouchWorker(ctx, "w1", 2, at(40)) })
		want(0, 40, 2)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.TouchWorker(ctx, "w1", 3, at(35)) })
		want(0, 40, 2)
		seen(100, 0) // it was disconnected
		want(100, 100, 0)
		if workers, err := s.ListWorkers(t.Context(), at(101)); err != nil || len(workers) != 0 {
			t.Errorf("workers %v, %v", workers, err)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteOldWorkers(ctx, at(100)) })
		want(100, 100, 0)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteWorker(ctx, "w1") })
		if workers, err := s.ListWorkers(t.Context(), at(0)); err != nil || len(workers) != 0 {
			t.Errorf("workers %v, %v", workers, err)
		}
	})
}
