package store_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// newFactory is a factory that is not stored yet.
func newFactory(s *store.Store, alias string) lineshaft.Factory {
	uid, at := s.NewID()
	return lineshaft.Factory{
		UID: uid, Name: "F " + uid, Alias: alias, Description: "d", Mode: lineshaft.ModeManaged, Foreman: lineshaft.ForemanName,
		Defaults: lineshaft.AgentConfig{ModelID: "m"}, Revision: 1, CreatedAt: at, UpdatedAt: at,
	}
}

func insertFactory(t *testing.T, s *store.Store, alias string) lineshaft.Factory {
	t.Helper()
	f := newFactory(s, alias)
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertFactory(ctx, f) })
	return f
}

func wantFactory(t *testing.T, s *store.Store, want lineshaft.Factory) {
	t.Helper()
	got, err := s.GetFactory(t.Context(), want.UID)
	must(t, err)
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("factory\n%+v, want\n%+v", *got, want)
	}
}

func TestF1FactoryRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := insertFactory(t, s, "Fab 1")
		wantFactory(t, s, f)
		at := f.UpdatedAt.Add(time.Hour)
		f.Name, f.Alias, f.Description, f.Paused, f.Foreman = "n", "other", "", true, "boss"
		f.Defaults = lineshaft.AgentConfig{Name: "x", Skills: []string{"o/r:s"}}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			locked, err := tx.LockFactory(ctx, f.UID, at)
			if err != nil {
				return err
			}
			f.Revision, f.UpdatedAt = locked.Revision, at
			return tx.UpdateFactory(ctx, f)
		})
		if f.Revision != 2 {
			t.Errorf("revision %d after the first change", f.Revision)
		}
		wantFactory(t, s, f)
		// A rolled-back change leaves the revision, so that no copy is thrown away for nothing.
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.LockFactory(ctx, f.UID, at); err != nil {
				return err
			}
			return lineshaft.Conflict("no")
		})
		wantCode(t, err, lineshaft.CodeConflict)
		wantFactory(t, s, f)
		_, err = s.GetFactory(t.Context(), "missing")
		wantCode(t, err, lineshaft.CodeNotFound)
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return second(tx.LockFactory(ctx, "missing", at)) })
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}

// An alias is unique whatever its case; any number of factories have none.
func TestF2AliasIsUniqueInAnyCase(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first, plain := insertFactory(t, s, "Fab.One"), insertFactory(t, s, "")
		insertFactory(t, s, "")
		insertFactory(t, s, "fab.two")
		for _, alias := range []string{"Fab.One", "fab.one", "FAB.ONE", "Fab.TWO"} {
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertFactory(ctx, newFactory(s, alias)) })
			wantCode(t, err, lineshaft.CodeConflict)
			change := plain
			change.Alias = alias
			err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.UpdateFactory(ctx, change) })
			wantCode(t, err, lineshaft.CodeConflict)
		}
		wantFactory(t, s, plain)
		first.Alias = "fab.ONE" // its own, in other letters
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.UpdateFactory(ctx, first) })
		wantFactory(t, s, first)
		for _, c := range []struct {
			alias, except string
			want          bool
		}{{"fAb.OnE", "", true}, {"fAb.OnE", first.UID, false}, {"fab.two", first.UID, true}, {"fab", "", false}, {"", "", false}} {
			if taken, err := s.AliasTaken(t.Context(), c.alias, c.except); err != nil || taken != c.want {
				t.Errorf("AliasTaken(%q, %q) = %v, %v", c.alias, c.except, taken, err)
			}
		}
	})
}

func TestF1FactoriesPage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var want, got []string
		revisions := map[string]int64{}
		for range 7 {
			f := insertFactory(t, s, "")
			want, revisions[f.UID] = append(want, f.UID), 1
		}
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.ListFactories(t.Context(), after, 3)
			must(t, err)
			for _, f := range page {
				got = append(got, f.UID)
			}
			if len(page) < 3 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages have %v, want %v", got, want)
		}
		if all, err := s.FactoryRevisions(t.Context()); err != nil || !reflect.DeepEqual(all, revisions) {
			t.Errorf("revisions %v, %v", all, err)
		}
	})
}

// A deleted factory leaves its webhooks' rows, without credentials, for the log.
func TestF1DeleteFactory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		gone, other := insertFactory(t, s, "gone"), insertFactory(t, s, "other")
		hooks := map[string]store.Webhook{}
		for _, f := range []lineshaft.Factory{gone, other} {
			hook := newWebhook(s, f.UID, "hook")
			hooks[f.UID] = hook
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				if err := tx.PutAgent(ctx, newAgent(s, f.UID, "a")); err != nil {
					return err
				}
				if err := tx.PutAutomation(ctx, newAutomation(s, f.UID, "a")); err != nil {
					return err
				}
				return tx.PutWebhook(ctx, hook)
			})
		}
		at := gone.CreatedAt.Add(time.Minute)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteFactory(ctx, gone.UID, at) })
		_, err := s.GetFactory(t.Context(), gone.UID)
		wantCode(t, err, lineshaft.CodeNotFound)
		wantFactory(t, s, other)
		for uid, want := range map[string]int{gone.UID: 0, other.UID: 1} {
			agents, err := s.ListAgents(t.Context(), uid)
			must(t, err)
			automations, err := s.ListAutomations(t.Context(), uid)
			must(t, err)
			live, err := s.ListWebhooks(t.Context(), uid)
			must(t, err)
			if len(agents) != want || len(automations) != want || len(live) != want {
				t.Errorf("%d agents, %d automations, %d webhooks; want %d of each", len(agents), len(automations), len(live), want)
			}
		}
		hook := hooks[gone.UID]
		hook.DeletedAt, hook.Credential, hook.OldCredential = at, "", ""
		wantWebhook(t, s, hook)
		wantWebhook(t, s, hooks[other.UID])
		insertFactory(t, s, "GONE") // the alias is free again
	})
}

// The state that a delivery is accepted by does not change until its commit, and a
// factory that is gone has no revision (W-5).
func TestW5ShareFactories(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		one, two := insertFactory(t, s, ""), insertFactory(t, s, "")
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.LockFactory(ctx, two.UID, two.UpdatedAt))
		})
		for name, c := range map[string]struct {
			uids []string
			want map[string]int64
		}{
			"none":    {nil, nil},
			"missing": {[]string{"away"}, map[string]int64{}},
			"all":     {[]string{two.UID, "away", one.UID, two.UID, "away"}, map[string]int64{one.UID: 1, two.UID: 2}},
		} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				given := slices.Clone(c.uids)
				got, err := tx.ShareFactories(ctx, c.uids)
				must(t, tx.Await(ctx))
				if err == nil && !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s: revisions %v, want %v", name, got, c.want)
				}
				if !slices.Equal(given, c.uids) {
					t.Errorf("%s: the caller's list became %v", name, c.uids)
				}
				return err
			})
		}
	})
}

// On PostgreSQL a change keeps deliveries of other nodes out until its commit, and
// they keep a change out, but not each other.
func TestW5ChangesAndDeliveriesExcludeEachOther(t *testing.T) {
	t.Parallel()
	a, b, waits := twoNodes(t)
	f, other := insertFactory(t, a, ""), insertFactory(t, a, "")
	var revision int64
	lock := func(uid string) func(ctx context.Context, tx *store.Tx) error {
		return func(ctx context.Context, tx *store.Tx) error {
			locked, err := tx.LockFactory(ctx, uid, f.UpdatedAt)
			if err == nil && uid == f.UID {
				revision = locked.Revision
			}
			return err
		}
	}
	share := func(want int64, uids ...string) func(ctx context.Context, tx *store.Tx) error {
		return func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.ShareFactories(ctx, uids)
			if err == nil {
				err = tx.Await(ctx)
			}
			if err == nil && got[f.UID] != want {
				return fmt.Errorf("revision %d, want %d", got[f.UID], want)
			}
			return err
		}
	}
	for _, step := range []struct {
		name          string
		first, second func(ctx context.Context, tx *store.Tx) error
		waits         bool
	}{
		{"shared twice", share(1, f.UID, other.UID), share(1, other.UID, f.UID), false},
		{"change waits for delivery", share(1, f.UID, other.UID), lock(f.UID), true},
		{"delivery waits for change", lock(f.UID), share(3, other.UID, f.UID), true},
		{"delivery of another factory", lock(f.UID), share(0, other.UID), false},
		{"change of another factory", lock(f.UID), lock(other.UID), false},
		{"change waits for change", lock(f.UID), lock(f.UID), true},
	} {
		t.Log(step.name)
		checkLock(t, a, waits, lockCase{step.first, in(b, step.second), step.waits})
	}
	if revision != 7 {
		t.Errorf("revision %d, want 7: 6 changes", revision)
	}
}
