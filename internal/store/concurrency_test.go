package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// enter queues a run behind a concurrency key, as the control plane does: the
// holder's row is locked before the slot.
func enter(ctx context.Context, s *store.Store, key string) error {
	n := newRun(s)
	return s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		n := *n
		n.Head.ConcurrencyKey = key
		holder, err := tx.SlotHolder(ctx, key)
		if err != nil {
			return err
		}
		if holder != "" {
			if _, err := tx.LockRun(ctx, holder); err != nil {
				return err
			}
		}
		if holder, err = tx.TakeSlot(ctx, key, n.Head.ID); err != nil {
			return err
		}
		if holder != n.Head.ID {
			n.Head.Hold = lineshaft.HoldConcurrency
		}
		if err := tx.InsertRun(ctx, &n, nil); err != nil {
			return err
		}
		return wantOneHolder(ctx, tx, key)
	})
}

// leave ends a run and passes its key on. It returns whether the run was live.
func leave(ctx context.Context, s *store.Store, key, runID string) (bool, error) {
	live := false
	err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		live = false
		h, err := tx.LockRun(ctx, runID)
		if err != nil || h.State.Terminal() {
			return err
		}
		live = true
		if _, err := h.Move(lineshaft.Cancelled, lineshaft.StatusMessage{}, "", s.Now()); err != nil {
			return err
		}
		if err := tx.SaveRun(ctx, h); err != nil {
			return err
		}
		if err := passOn(ctx, tx, key, runID); err != nil {
			return err
		}
		return wantOneHolder(ctx, tx, key)
	})
	return live, err
}

func passOn(ctx context.Context, tx *store.Tx, key, runID string) error {
	for {
		next, err := tx.FreeSlot(ctx, key, runID)
		if err != nil || next == "" {
			return err
		}
		waiting, err := tx.LockRun(ctx, next)
		if err != nil {
			return err
		}
		if waiting.State == lineshaft.Queued {
			waiting.Hold = 0
			return tx.SaveRun(ctx, waiting)
		}
		runID = next
	}
}

// wantOneHolder checks that no two queued runs of a key may be claimed.
func wantOneHolder(ctx context.Context, tx *store.Tx, key string) error {
	rows, err := tx.Query(ctx, "SELECT id FROM runs WHERE concurrency_key = $1 AND state = 'QUEUED' AND hold = 0", key)
	if err != nil {
		return err
	}
	defer rows.Close()
	count := 0
	for rows.Next() {
		count++
	}
	if count > 1 {
		return fmt.Errorf("%d runs have the key %s", count, key)
	}
	return rows.Err()
}

// Runs come and go at once, the waiting ones too: never do two have the key, and
// anyone who waits gets it when those before have gone.
func TestX10OneHolderNobodyStuck(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const key, enterers, each = "deploy", 4, 8
		var ended atomic.Int64
		must(t, inParallel(enterers+3, func(i int) error {
			for range each {
				if i >= enterers {
					break
				}
				if err := enter(t.Context(), s, key); err != nil {
					return err
				}
			}
			for round := 0; i >= enterers && ended.Load() < enterers*each*2/3; round++ {
				if err := leaveAny(t.Context(), s, key, i == enterers || round%3 == 0, &ended); err != nil {
					return err
				}
			}
			return nil
		}))
		for { // only who has the key can go now
			before := ended.Load()
			must(t, leaveAny(t.Context(), s, key, true, &ended))
			if ended.Load() == before {
				break
			}
		}
		if waiting := texts(t, s.DB(), "SELECT id FROM runs WHERE state = 'QUEUED'"); len(waiting) != 0 || ended.Load() != enterers*each {
			t.Errorf("%d ended, still waiting: %v", ended.Load(), waiting)
		}
		if left := texts(t, s.DB(), "SELECT key, run_id FROM concurrency_slots"); len(left) != 0 {
			t.Errorf("slots left: %v", left)
		}
	})
}

// leaveAny ends a run if there is one to end.
func leaveAny(ctx context.Context, s *store.Store, key string, holder bool, ended *atomic.Int64) error {
	runID, err := candidate(ctx, s, key, holder)
	if err != nil || runID == "" {
		return err
	}
	live, err := leave(ctx, s, key, runID)
	if live {
		ended.Add(1)
	}
	return err
}

// candidate picks a run to end: the one that may be claimed now, or any that waits.
// Between two runs there may be none.
func candidate(ctx context.Context, s *store.Store, key string, holder bool) (string, error) {
	var runID string
	err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if runID, err = tx.SlotHolder(ctx, key); err != nil || holder {
			return err
		}
		waiting, err := tx.ListWaiting(ctx, key)
		if err == nil && len(waiting) > 0 {
			runID = waiting[len(waiting)-1]
		}
		return err
	})
	return runID, err
}

func TestX10KeysPassInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var ids []string
		for range 3 {
			ids = append(ids, insertRun(t, s, func(n *store.NewRun) { n.Head.ConcurrencyKey = "k" }))
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for i, want := range []string{ids[0], ids[0], ids[0]} {
				if holder, err := tx.TakeSlot(ctx, "k", ids[i]); err != nil || holder != want {
					return errors.Join(fmt.Errorf("%d: holder %s", i, holder), err)
				}
			}
			if next, err := tx.FreeSlot(ctx, "k", ids[2]); err != nil || next != "" {
				return errors.Join(fmt.Errorf("a run without the key passed it to %s", next), err)
			}
			return move(ctx, tx, ids[0], lineshaft.Cancelled)
		})
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			next, err := tx.FreeSlot(ctx, "k", ids[0])
			if err != nil || next != ids[1] {
				return errors.Join(fmt.Errorf("next is %s", next), err)
			}
			if holder, err := tx.SlotHolder(ctx, "k"); err != nil || holder != ids[1] {
				return errors.Join(fmt.Errorf("holder is %s", holder), err)
			}
			for i, want := range []bool{false, true, false} {
				if taken, err := tx.TrySlot(ctx, []string{"k", "free", "free"}[i], ids[2]); err != nil || taken != want {
					return errors.Join(fmt.Errorf("try %d: %v", i, taken), err)
				}
			}
			if holder, err := tx.TakeSlot(ctx, "other", ids[2]); err != nil || holder != ids[2] {
				return errors.Join(fmt.Errorf("holder of another key is %s", holder), err)
			}
			return nil
		})
	})
}
