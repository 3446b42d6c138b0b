package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// ticker is a clock in a row of the database, where tests move it.
const (
	ticker     = "(SELECT CAST(value AS BIGINT) FROM settings WHERE name = 'clock')"
	startTicks = int64(1_750_000_000_000_000)
)

func setTicker(ctx context.Context, tx *store.Tx, micros int64) error {
	_, err := tx.Exec(ctx, "INSERT INTO settings (name, value) VALUES ('clock', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		strconv.FormatInt(micros, 10))
	return err
}

// hitAt hits at a time of the test's clock.
func hitAt(t *testing.T, s *store.Store, after time.Duration, rates ...store.Rate) (wait time.Duration) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		if err := setTicker(ctx, tx, startTicks+after.Microseconds()); err != nil {
			return err
		}
		wait, err = tx.HitRates(ctx, rates...)
		return err
	})
	return wait
}

// wantWait wants a hit to be refused with a wait, or let in if it is 0.
func wantWait(t *testing.T, s *store.Store, after, want time.Duration, rates ...store.Rate) {
	t.Helper()
	if wait := hitAt(t, s, after, rates...); wait != want {
		t.Errorf("after %v: wait %v, want %v", after, wait, want)
	}
}

// The window slides: at most 60 in any 60 s, exactly, and the wait is true (W-12).
func TestW12SlidingWindowIsExact(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		s.SetClock(ticker)
		rate := store.Rate{Name: "hook", Limit: 60, Window: time.Minute}
		for i := range 60 { // one in each half second
			wantWait(t, s, time.Duration(i)*500*time.Millisecond, 0, rate)
		}
		wantWait(t, s, 30*time.Second, 30*time.Second, rate)
		for name, want := range map[string]time.Duration{"hook": 30 * time.Second, "nobody": 0} { // looking does not count
			if wait, err := s.RateWait(t.Context(), store.Rate{Name: name, Limit: 60, Window: time.Minute}); err != nil || wait != want {
				t.Errorf("%s: wait %v, %v; want %v", name, wait, err, want)
			}
		}
		wantWait(t, s, time.Minute-time.Microsecond, time.Microsecond, rate)
		wantWait(t, s, time.Minute, 0, rate)                                    // the first has just left
		wantWait(t, s, time.Minute, 500*time.Millisecond, rate)                 // the second not yet
		wantWait(t, s, time.Minute+499_999*time.Microsecond, 1000, rate)        // a microsecond early
		wantWait(t, s, time.Minute+500*time.Millisecond, 0, rate)               // refused ones did not count
		wantWait(t, s, 0, time.Minute, store.Rate{"hook", 60, time.Minute})     // a clock that was set back: never longer than the window
		wantWait(t, s, 0, 0, store.Rate{Name: "other", Limit: 1, Window: 1000}) // its own window
		wantWait(t, s, time.Hour, 0, rate)
		if rows := texts(t, s.DB(), "SELECT number FROM rate_hits WHERE name = 'hook'"); len(rows) != 60 {
			t.Errorf("%d hits are kept, want the 60 newest", len(rows))
		}
	})
}

// A hit counts in all of its windows or in none.
// When the database's clock is set back, what it then calls the future counts as now:
// the wait is true, and the window opens again.
func TestW12ClockSetBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		s.SetClock(ticker)
		rate := store.Rate{Name: "hook", Limit: 2, Window: time.Minute}
		wantWait(t, s, time.Hour, 0, rate)
		wantWait(t, s, time.Hour, 0, rate)
		wantWait(t, s, 0, time.Minute, rate)
		wantWait(t, s, 59*time.Second, time.Second, rate)
		wantWait(t, s, time.Minute, 0, rate)
	})
}

func TestW12WindowsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		s.SetClock(ticker)
		narrow, wide := store.Rate{Name: "a", Limit: 1, Window: time.Second}, store.Rate{Name: "b", Limit: 3, Window: time.Minute}
		given := []store.Rate{wide, narrow}
		wantWait(t, s, 0, 0, given...)
		for range 5 { // full in one: counts in neither
			wantWait(t, s, 100*time.Millisecond, 900*time.Millisecond, given...)
		}
		wantWait(t, s, time.Second, 0, wide, narrow)
		wantWait(t, s, 2*time.Second, 0, narrow, wide)
		wantWait(t, s, 2*time.Second, 58*time.Second, narrow, wide) // the longer wait of two
		wantWait(t, s, 3*time.Second, 57*time.Second, narrow, wide)
		wantWait(t, s, 3*time.Second, 0, narrow) // which was not used up by the other's refusal
		wantWait(t, s, time.Minute, 0, narrow, wide)
		wantWait(t, s, time.Minute, 0) // no window, no wait
		if given[0] != wide {
			t.Error("the caller's list was moved")
		}
	})
}

// A limit that is changed counts what came before.
func TestW12ChangedLimit(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		s.SetClock(ticker)
		rate := func(limit int) store.Rate { return store.Rate{Name: "hook", Limit: limit, Window: time.Minute} }
		for i := range 10 {
			wantWait(t, s, time.Duration(i)*time.Second, 0, rate(10))
		}
		wantWait(t, s, 10*time.Second, 57*time.Second, rate(3)) // until number 8, at 7 s, leaves
		wantWait(t, s, 10*time.Second, 50*time.Second, rate(10))
		wantWait(t, s, 10*time.Second, 0, rate(12))
		wantWait(t, s, 11*time.Second, 0, rate(12))
		wantWait(t, s, 11*time.Second, 49*time.Second, rate(12))
		wantWait(t, s, 70*time.Second, 0, rate(3)) // those of 8 s to 10 s have left, that of 11 s has not
		wantWait(t, s, 70*time.Second, 0, rate(3))
		wantWait(t, s, 70*time.Second, time.Second, rate(3))
		for range 7 { // 3 are in the window
			wantWait(t, s, 70*time.Second, 0, rate(10))
		}
		wantWait(t, s, 70*time.Second, time.Second, rate(10))
	})
}

// By the database's own clock, a caller that waits as long as asked is let in.
func TestW12WaitIsTrue(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rate := store.Rate{Name: "hook", Limit: 3, Window: 300 * time.Millisecond}
		var wait time.Duration
		hit := func(ctx context.Context, tx *store.Tx) (err error) {
			wait, err = tx.HitRates(ctx, rate)
			return err
		}
		began := time.Now()
		for hits := 0; hits < 7; {
			write(t, s, hit)
			if wait == 0 {
				hits++
				continue
			}
			if wait > rate.Window {
				t.Fatalf("wait %v of a window of %v", wait, rate.Window)
			}
			<-time.After(wait + time.Millisecond) // the clock of SQLite has no finer steps
			if write(t, s, hit); wait != 0 {
				t.Fatalf("waited as told, then told to wait %v", wait)
			}
			hits++
		}
		if took := time.Since(began); took < 2*rate.Window-2*time.Millisecond {
			t.Errorf("7 hits of 3 in %v took only %v", rate.Window, took)
		}
	})
}

// However many come at once, on any number of nodes, the limit holds.
func TestW12LimitHoldsAcrossNodes(t *testing.T) {
	t.Parallel()
	eachNodes(t, func(t *testing.T, nodes [2]*store.Store) {
		var in, out atomic.Int64
		rates := []store.Rate{{"one", 60, time.Hour}, {"two", 1000, time.Hour}}
		must(t, inParallel(200, func(i int) error {
			var wait time.Duration
			err := nodes[i%2].Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
				wait, err = tx.HitRates(ctx, rates[i%2], rates[1-i%2]) // in either order
				return err
			})
			if wait == 0 {
				in.Add(1)
			} else if out.Add(1); wait > time.Hour || wait < 50*time.Minute {
				return fmt.Errorf("wait %v", wait)
			}
			return err
		}))
		if in.Load() != 60 || out.Load() != 140 {
			t.Errorf("%d let in, %d refused", in.Load(), out.Load())
		}
		if rows := texts(t, nodes[0].DB(), "SELECT name, count FROM rate_windows ORDER BY name"); fmt.Sprint(rows) != "[[one 60] [two 60]]" {
			t.Errorf("windows %v", rows)
		}
	})
}

// modelWindow is a naive window: it keeps all times.
type modelWindow struct{ hits []int64 }

// wait looks for the first time at which there is room, trying all there are.
func (m *modelWindow) wait(now int64, limit int, window int64) int64 {
	if m.room(now, limit, window) {
		return 0
	}
	for _, hit := range m.hits { // the oldest first; room comes only when one leaves
		if at := hit + window; at > now && m.room(at, limit, window) {
			return at - now
		}
	}
	return -1
}

func (m *modelWindow) room(at int64, limit int, window int64) bool {
	var in int
	for _, hit := range m.hits {
		if hit > at-window {
			in++
		}
	}
	return in < limit
}

// rateStep is a hit of the model test.
type rateStep struct {
	advance int64
	limits  [2]int
	which   int // the first window, the second, or both
}

// Limits, windows and times at random give what a list of all times gives.
func TestW12RateModel(t *testing.T) {
	t.Parallel()
	windows := [2]int64{1000, 5000}
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) rateStep {
		limit := rapid.IntRange(1, 6)
		return rateStep{
			advance: rapid.OneOf(rapid.Int64Range(0, 400), rapid.SampledFrom([]int64{0, 1, 999, 1000, 1001, 4999, 5000, 5001})).Draw(t, "advance"),
			limits:  [2]int{limit.Draw(t, "limit"), limit.Draw(t, "limit")},
			which:   rapid.IntRange(0, 2).Draw(t, "which"),
		}
	}), 1, 25)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		s.SetClock(ticker)
		rapid.Check(t, func(rt *rapid.T) {
			plan := steps.Draw(rt, "steps")
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return errors.Join(replayRates(ctx, tx, plan, windows), errUndo)
			})
			if text := err.Error(); text != errUndo.Error() {
				rt.Fatal(text)
			}
		})
	})
}

func replayRates(ctx context.Context, tx *store.Tx, plan []rateStep, windows [2]int64) error {
	var model [2]modelWindow
	now := startTicks
	for i, step := range plan {
		now += step.advance
		if err := setTicker(ctx, tx, now); err != nil {
			return err
		}
		var want int64
		var rates []store.Rate
		for w := range model {
			if step.which == w || step.which == 2 {
				want = max(want, model[w].wait(now, step.limits[w], windows[w]))
				rates = append(rates, store.Rate{Name: strconv.Itoa(w), Limit: step.limits[w], Window: time.Duration(windows[w]) * time.Microsecond})
			}
		}
		slices.Reverse(rates)
		wait, err := tx.HitRates(ctx, rates...)
		if err != nil {
			return err
		}
		if wait.Microseconds() != want {
			return fmt.Errorf("step %d (%+v): wait %v, want %d µs; model %v", i, step, wait, want, model)
		}
		for w := range model {
			if want == 0 && (step.which == w || step.which == 2) {
				model[w].hits = append(model[w].hits, now)
			}
		}
	}
	return nil
}

// Windows without a hit go, up to a limit at a time, and those in use stay.
func TestW12IdleWindowsGo(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		s.SetClock(ticker)
		for i := range 5 {
			for range 2 {
				wantWait(t, s, time.Duration(i)*time.Second, 0, store.Rate{Name: fmt.Sprint("w", i), Limit: 10, Window: time.Minute})
			}
		}
		clean := func(after time.Duration, limit int) (gone int) {
			write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
				gone, err = tx.DeleteRates(ctx, time.UnixMicro(startTicks+after.Microseconds()), limit)
				return err
			})
			return gone
		}
		for _, c := range []struct {
			after       time.Duration
			limit, gone int
			left        string
		}{
			{0, 10, 0, "[[w0] [w0] [w1] [w1] [w2] [w2] [w3] [w3] [w4] [w4]]"},
			{3 * time.Second, 2, 2, "[[w2] [w2] [w3] [w3] [w4] [w4]]"},
			{3 * time.Second, 2, 1, "[[w3] [w3] [w4] [w4]]"},
			{3 * time.Second, 2, 0, "[[w3] [w3] [w4] [w4]]"},
			{time.Hour, 10, 2, "[]"},
		} {
			if gone := clean(c.after, c.limit); gone != c.gone {
				t.Errorf("%d gone before %v, want %d", gone, c.after, c.gone)
			}
			if left := fmt.Sprint(texts(t, s.DB(), "SELECT name FROM rate_hits ORDER BY name, number")); left != c.left {
				t.Errorf("hits left %s, want %s", left, c.left)
			}
		}
		wantWait(t, s, time.Hour, 0, store.Rate{Name: "w0", Limit: 1, Window: time.Minute}) // begins again
	})
}

// On PostgreSQL a window that is hit while another node clears idle ones stays.
func TestW12ClearingLosesNoHit(t *testing.T) {
	t.Parallel()
	a, b, waits := twoNodes(t)
	rate := store.Rate{Name: "hook", Limit: 2, Window: time.Hour}
	hit := func(ctx context.Context, tx *store.Tx) error {
		wait, err := tx.HitRates(ctx, rate)
		if err == nil && wait != 0 {
			return fmt.Errorf("wait %v", wait)
		}
		return err
	}
	write(t, a, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO rate_windows (name, count, last_at) VALUES ('hook', 7, 1)")
		return err
	})
	clean := func(ctx context.Context, tx *store.Tx) error {
		gone, err := tx.DeleteRates(ctx, time.UnixMicro(2), 10)
		if err == nil && gone != 0 {
			return fmt.Errorf("%d windows in use gone", gone)
		}
		return err
	}
	checkLock(t, a, waits, lockCase{first: hit, second: in(b, clean)})
	if rows := fmt.Sprint(texts(t, a.DB(), "SELECT number FROM rate_hits")); rows != "[[8]]" {
		t.Errorf("hits %s", rows)
	}
	write(t, a, func(ctx context.Context, tx *store.Tx) error { // idle again
		_, err := tx.Exec(ctx, "UPDATE rate_windows SET last_at = 1")
		return err
	})
	remove := func(ctx context.Context, tx *store.Tx) error {
		return second(tx.DeleteRates(ctx, time.UnixMicro(2), 10))
	}
	checkLock(t, a, waits, lockCase{first: remove, second: in(b, hit), waits: true})
	if rows := fmt.Sprint(texts(t, a.DB(), "SELECT number FROM rate_hits")); rows != "[[1]]" {
		t.Errorf("hits %s", rows)
	}
}

// Many hits at once are let in, and made to wait, as they would be one after the other.
func TestW12ManyHitsAreLikeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		s.SetClock(ticker)
		random := rand.New(rand.NewPCG(1, 2))
		for limit := 1; limit <= 5; limit++ {
			after := time.Duration(0)
			at := func(name string) store.Rate {
				return store.Rate{Name: fmt.Sprint(name, limit), Limit: limit, Window: time.Minute}
			}
			for range 25 {
				after += time.Duration(random.IntN(60_000)) * time.Millisecond
				hits, want, wait := 1+random.IntN(7), 0, time.Duration(0)
				for range hits {
					if wait = hitAt(t, s, after, at("one by one")); wait > 0 {
						break
					}
					want++
				}
				var got int
				var left time.Duration
				write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
					must(t, setTicker(ctx, tx, startTicks+after.Microseconds()))
					got, left, err = tx.HitRate(ctx, at("at once"), hits)
					return err
				})
				if got != want || left != wait {
					t.Fatalf("limit %d, %d hits after %v: %d let in and a wait of %v, want %d and %v", limit, hits, after, got, left, want, wait)
				}
			}
		}
	})
}
