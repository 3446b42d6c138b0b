package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func timerAt(owner string, next time.Time) store.Timer {
	return store.Timer{
		Owner: owner, FactoryUID: "f1", Timing: lineshaft.Timing{Cron: "@every 1h", Timezone: "UTC"}, Anchor: time.UnixMicro(7).UTC(), NextAt: next, Slot: "slot of " + owner,
	}
}

func putTimers(t *testing.T, s *store.Store, timers ...store.Timer) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, timer := range timers {
			if err := tx.PutTimer(ctx, timer); err != nil {
				return err
			}
		}
		return nil
	})
}

func owners(timers []store.Timer) string {
	text := ""
	for _, timer := range timers {
		text += timer.Owner
	}
	return text
}

func TestF6TimersAreDueInTheirOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		now := time.UnixMicro(1_700_000_000_000_000).UTC()
		putTimers(t, s, timerAt("c", now), timerAt("b", now.Add(-time.Hour)), timerAt("a", now), timerAt("d", now.Add(1*time.Microsecond)), timerAt("e", time.Time{}))
		due, err := s.DueTimers(t.Context(), now, 10)
		must(t, err)
		if owners(due) != "bac" || !reflect.DeepEqual(due[1], timerAt("a", now)) {
			t.Fatalf("due are %+v", due)
		}
		if due, err = s.DueTimers(t.Context(), now, 2); err != nil || owners(due) != "ba" {
			t.Fatalf("the first two are %s, %v", owners(due), err)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.MoveTimer(ctx, "b", now.Add(time.Hour), "next")
		})
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			taken, err := tx.TakeTimers(ctx, []string{"a", "b", "d", "e", "x"}, now)
			if owners(taken) != "a" {
				t.Errorf("took %+v", taken)
			}
			none, noneErr := tx.TakeTimers(ctx, nil, now)
			if len(none) > 0 {
				t.Errorf("took %+v", none)
			}
			moved, movedErr := tx.LockTimer(ctx, "b")
			if moved != nil && (moved.Slot != "next" || !moved.NextAt.Equal(now.Add(time.Hour))) {
				t.Errorf("moved to %+v", moved)
			}
			return errors.Join(err, noneErr, movedErr)
		})
		all, err := s.ListTimers(t.Context(), "f1")
		must(t, err)
		if len(all) != 5 {
			t.Errorf("the factory has %s", owners(all))
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.DeleteTimers(ctx, nil), tx.DeleteTimers(ctx, []string{"a", "b", "c", "d", "x"}))
		})
		if all, err = s.ListTimers(t.Context(), "f1"); err != nil || owners(all) != "e" || !all[0].NextAt.IsZero() {
			t.Errorf("left are %+v, %v", all, err)
		}
	})
}

// Many nodes take timers at once: each is moved on by exactly one of them.
func TestF6TimersAreTakenOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		now := time.UnixMicro(1_700_000_000_000_000).UTC()
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprintf("t%02d", i))
			putTimers(t, s, timerAt(names[i], now))
		}
		counts := make([]int, 6)
		must(t, inParallel(6, func(who int) error {
			for range 20 {
				n := 0
				err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					taken, err := tx.TakeTimers(ctx, names, now)
					n = len(taken)
					for _, timer := range taken[:min(3, n)] {
						err = errors.Join(err, tx.MoveTimer(ctx, timer.Owner, now.Add(time.Hour), "later"))
					}
					return err
				})
				if err != nil {
					return err
				}
				counts[who] += min(3, n)
			}
			return nil
		}))
		sum := 0
		for _, n := range counts {
			sum += n
		}
		if sum != len(names) {
			t.Errorf("%d timers were moved %d times: %v", len(names), sum, counts)
		}
	})
}

func TestF6ASlotIsClaimedOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		at := time.UnixMicro(1_700_000_000_000_000).UTC()
		firsts := make([]int, 8)
		must(t, inParallel(8, func(who int) error {
			for slot := range 10 {
				var first bool
				err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
					first, err = tx.ClaimFire(ctx, "o", fmt.Sprint(slot), at)
					return err
				})
				if err != nil {
					return err
				}
				if first {
					firsts[who]++
				}
			}
			return nil
		}))
		sum := 0
		for _, n := range firsts {
			sum += n
		}
		if sum != 10 {
			t.Errorf("ten slots were claimed %d times", sum)
		}
	})
}

// A slot that a timer could still reach is never forgotten.
func TestF6OldFiresAreForgotten(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		day := 24 * time.Hour
		now := time.UnixMicro(1_700_000_000_000_000).UTC()
		putTimers(t, s, timerAt("behind", now.Add(-9*day)), timerAt("ahead", now.Add(day)), timerAt("paused", time.Time{}))
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, owner := range []string{"behind", "ahead", "paused", "gone"} {
				for _, age := range []time.Duration{10 * day, 9 * day, 8 * day, day} {
					if _, err := tx.ClaimFire(ctx, owner, age.String(), now.Add(-age)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		var total int64
		for n := int64(-1); n != 0; total += n {
			write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
				n, err = tx.DeleteFires(ctx, now.Add(-3*day), 4)
				return err
			})
		}
		if total != 10 { // three of three owners, and the one of behind before its timer
			t.Errorf("%d were forgotten", total)
		}
		for owner, kept := range map[string][]bool{"behind": {false, true, true, true}, "ahead": {false, false, false, true}, "gone": {false, false, false, true}} {
			for i, age := range []time.Duration{10 * day, 9 * day, 8 * day, day} {
				write(t, s, func(ctx context.Context, tx *store.Tx) error {
					forgotten, err := tx.ClaimFire(ctx, owner, age.String(), now)
					if forgotten == kept[i] {
						t.Errorf("the slot of %s from %s ago: forgotten: %t", owner, age, forgotten)
					}
					return err
				})
			}
		}
	})
}

func TestF6ClockIsTheDatabases(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		before := time.Now().Add(-time.Minute)
		now, err := s.Clock(t.Context())
		if err != nil || now.Before(before) || now.After(before.Add(2*time.Minute)) {
			t.Errorf("the clock says %s, %v", now, err)
		}
	})
}

// bulkTimers makes a schedule with its timer, a timer of an automation and two fires
// for each number.
func bulkTimers() []string {
	return []string{
		"INSERT INTO principals (uid, type, display_name, email, created_at) SELECT 'p' || i, 'user', '', '', 1 FROM numbers",
		`INSERT INTO schedules (id, name, timing, enabled, prompt, agent_uid, factory_uid, config, metadata, last_error, last_run, creator_uid, editor_uid, created_at, updated_at)
			SELECT 's' || i, 'n' || n, '{}', 1, '', 'g' || (i / 3), '', '{}', '{}', '', 0, 'p' || (i / 10), 'p' || (i / 10), 1, 1 FROM numbers`,
		"INSERT INTO timers (owner, factory_uid, timing, anchor, next_at, slot) SELECT 'schedule/s' || i, '', '{}', 1, 1000 + i, '' FROM numbers",
		"INSERT INTO timers (owner, factory_uid, timing, anchor, next_at, slot) SELECT 'automation/u' || i, 'f' || (i / 5), '{}', 1, 1000 + i, '' FROM numbers",
		"INSERT INTO fires (owner, slot, at, run_id) SELECT 'schedule/s' || i, n, i, '' FROM numbers",
		"INSERT INTO fires (owner, slot, at, run_id) SELECT 'gone/s' || i, n, i, '' FROM numbers",
	}
}

func TestF6StatementsFollowAnIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, query := range bulkTimers() {
				if _, err := tx.Exec(ctx, hookNumbers+query, planSize(s)); err != nil {
					return err
				}
			}
			return nil
		})
		analyze(t, s)
		late := time.UnixMicro(1_800_000_000_000_000)
		reads := s.Record()
		for name, look := range map[string]lookup{
			"schedule": {1, func(ctx context.Context) error { return second(s.GetSchedule(ctx, "s7")) }, nil},
			"due":      {10, func(ctx context.Context) error { return second(s.DueTimers(ctx, late, 10)) }, nil},
			"factory":  {5, func(ctx context.Context) error { return second(s.ListTimers(ctx, "f7")) }, nil},
		} {
			t.Log(name)
			must(t, look.read(t.Context()))
			checkHooks(t, s, reads.Take(), look.most)
		}
		for name, look := range map[string]lookup{
			"lock": {1, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.LockTimer(ctx, "schedule/s7")) }},
			"move": {1, nil, func(ctx context.Context, tx *store.Tx) error { return tx.MoveTimer(ctx, "schedule/s7", late, "") }},
			"delete": {2, nil, func(ctx context.Context, tx *store.Tx) error {
				return tx.DeleteTimers(ctx, []string{"schedule/s7", "schedule/s8"})
			}},
			"take": {3, nil, func(ctx context.Context, tx *store.Tx) error {
				return second(tx.TakeTimers(ctx, []string{"schedule/s7", "schedule/s8", "automation/u9"}, late))
			}},
			"note":     {1, nil, func(ctx context.Context, tx *store.Tx) error { return tx.NoteSpawn(ctx, "s7", late, "") }},
			"schedule": {1, nil, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSchedule(ctx, "s7") }},
			"fires":    {30, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.DeleteFires(ctx, late, 10)) }},
		} {
			t.Log(name)
			var sent []store.Statement
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				recorder := tx.Record()
				err := look.work(ctx, tx)
				sent = recorder.Take()
				return errors.Join(err, errUndo)
			})
			if !errors.Is(err, errUndo) {
				must(t, err)
			}
			checkHooks(t, s, sent, look.most)
		}
	})
}
