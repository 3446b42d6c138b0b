package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func output(text string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventOutput, time.UnixMicro(1_700_000_000_000_007), lineshaft.OutputData{Stream: "stdout", Text: text})
}

// Many writers on one run leave a log without holes.
func TestR9WritersLeaveNoHoles(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		const writers, rounds = 12, 8
		must(t, inParallel(writers, func(i int) error {
			for round := range rounds {
				err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					h, err := tx.LockRun(ctx, run)
					if err != nil {
						return err
					}
					if err := tx.SaveRun(ctx, h, output(fmt.Sprint(i, round)), output("more")); err != nil {
						return err
					}
					if round%4 == 3 { // its numbers must be used again
						return errUndo
					}
					return nil
				})
				if err != nil && round%4 != 3 {
					return err
				}
			}
			return nil
		}))
		wantSequence(t, s, run, 1+writers*rounds*2*3/4)
	})
}

func TestR9EventsInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		const many = 450 // more than one statement's worth
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			h, err := tx.LockRun(ctx, run)
			if err != nil {
				return err
			}
			h.ExecutionID = "e1"
			var drafts []lineshaft.Draft
			for i := range many {
				drafts = append(drafts, output(fmt.Sprintf("line %d \u0000 ✓", i)))
			}
			return tx.SaveRun(ctx, h, drafts...)
		})
		wantSequence(t, s, run, many+1)
		var after int64
		for after < many+1 {
			events, _, err := s.ListEvents(t.Context(), run, after, 100, 1<<20)
			must(t, err)
			if len(events) == 0 || len(events) > 100 || events[0].Sequence != after+1 {
				t.Fatalf("%d events after %d", len(events), after)
			}
			after = events[len(events)-1].Sequence
		}
		events, _, err := s.ListEvents(t.Context(), run, many, 10, 1<<20)
		must(t, err)
		e := events[0]
		draft := output(fmt.Sprintf("line %d \u0000 ✓", many-1))
		if e.RunID != run || e.ExecutionID != "e1" || e.Type != draft.Type || !e.Time.Equal(draft.Time) || string(e.Data) != string(draft.Data) || e.ID == "" {
			t.Errorf("event %+v, data %s", e, e.Data)
		}
	})
}

// Writers change states at once while a reader follows: it sees each change once,
// and each run's in order.
func TestR9StatesWhileWritersGoOn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const writers, rounds = 8, 6
		runs := make([]string, writers)
		for i := range runs {
			runs[i] = insertRun(t, s, nil)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- inParallel(writers, func(i int) error {
				for round := range rounds {
					to := []lineshaft.RunState{lineshaft.Cancelled, lineshaft.Queued}[round%2]
					err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return move(ctx, tx, runs[i], to) })
					if err != nil {
						return err
					}
				}
				return nil
			})
		}()
		var at store.StatePosition
		last := map[string]int64{}
		seen := 0
		eventually(t, "seeing all changes", func() bool {
			changes, err := s.ListStateChanges(t.Context(), at, 5)
			must(t, err)
			for _, change := range changes {
				if change.Event.Sequence != last[change.Event.RunID]+1 {
					t.Fatalf("event %d of run %s came after %d", change.Event.Sequence, change.Event.RunID, last[change.Event.RunID])
				}
				last[change.Event.RunID] = change.Event.Sequence
				at = change.Position
				seen++
			}
			return seen == writers*(rounds+1)
		})
		must(t, <-ended)
		if end, err := s.StateEnd(t.Context()); err != nil || end != at {
			t.Errorf("the end is %v, %v; want %v", end, err, at)
		}
	})
}

// A transaction that commits late is not passed over: nothing that began after it
// is given out before it.
func TestR9LateCommitIsNotSkipped(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{Database: storetest.Postgres(t)})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	late, soon := insertRun(t, s, nil), insertRun(t, s, nil)
	var start store.StatePosition
	eventually(t, "settling", func() bool {
		start, err = s.StateEnd(t.Context())
		must(t, err)
		return start.RunID == soon
	})
	wrote, commit, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if err := move(ctx, tx, late, lineshaft.Cancelled); err != nil {
				return err
			}
			close(wrote)
			<-commit
			return nil
		})
	}()
	<-wrote
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return move(ctx, tx, soon, lineshaft.Cancelled) })
	wantSequence(t, s, soon, 2)
	changes, err := s.ListStateChanges(t.Context(), start, 10)
	must(t, err)
	if end, err := s.StateEnd(t.Context()); len(changes) != 0 || err != nil || end != start {
		t.Errorf("given out before the earlier transaction ended: %v, end %v, %v", changes, end, err)
	}
	close(commit)
	must(t, <-done)
	var seen []string
	eventually(t, "seeing both", func() bool {
		changes, err := s.ListStateChanges(t.Context(), start, 1)
		must(t, err)
		for _, change := range changes {
			seen, start = append(seen, change.Event.RunID), change.Position
		}
		return len(seen) >= 2 && len(changes) == 0
	})
	if !slices.Equal(seen, []string{late, soon}) {
		t.Errorf("saw %v, want %v", seen, []string{late, soon})
	}
}

// SQLite's transaction numbers continue after a restart, whatever the clock says.
func TestR9NumbersGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	database := t.TempDir() + "/test.db"
	var at store.StatePosition
	for i, now := range []time.Time{time.Unix(2_000_000_000, 0), time.Unix(1_000_000_000, 0), time.Unix(1_500_000_000, 0)} {
		s, err := store.Open(t.Context(), store.Options{Database: database, Now: func() time.Time { return now }})
		must(t, err)
		run := insertRun(t, s, nil)
		changes, err := s.ListStateChanges(t.Context(), at, 10)
		must(t, err)
		if len(changes) != 1 || changes[0].Event.RunID != run {
			t.Fatalf("start %d: %v", i, changes)
		}
		at = changes[0].Position
		must(t, s.Close())
	}
}

// The last messages are found behind much else, and neither the length of the log nor
// that of a message makes the look a long one.
func TestI4LastMessagesAreBounded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run, other := insertRun(t, s, nil), insertRun(t, s, nil)
		say := func(runID string, drafts ...lineshaft.Draft) {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				h, err := tx.LockRun(ctx, runID)
				if err != nil {
					return err
				}
				return tx.SaveRun(ctx, h, drafts...)
			})
		}
		said := func(size int) lineshaft.Draft {
			return lineshaft.NewDraft(lineshaft.EventMessage, time.UnixMicro(1), lineshaft.MessageData{Role: "assistant", Text: strings.Repeat("x", size)})
		}
		say(run, said(10), output("2"), said(5000), output("4"), said(5000), said(10)) // 2, 4, 6 and 7
		say(run, slices.Repeat([]lineshaft.Draft{output("much else")}, 30)...)         // up to 37
		say(other, said(10))
		for _, tc := range []struct {
			window      int64
			limit, size int
			want        []int64
		}{
			{100, 10, 1 << 20, []int64{7, 6, 4, 2}},
			{100, 2, 1 << 20, []int64{7, 6}},
			{33, 10, 1 << 20, []int64{7, 6}}, // up to the fifth
			{30, 10, 1 << 20, nil},
			{100, 10, 6000, []int64{7, 6, 4}},
			{100, 10, 1, []int64{7}}, // the newest always
		} {
			found, err := s.ListMessages(t.Context(), run, tc.window, tc.limit, tc.size)
			must(t, err)
			var got []int64
			for _, e := range found {
				got = append(got, e.Sequence)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%+v: %v", tc, got)
			}
		}
		_, err := s.ListMessages(t.Context(), "none", 10, 10, 10)
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}

// The state changes of a run after a place are found by its log or by what came since the
// place, whichever is shorter.
func TestR12StateChangesOfARunByTheShorterWay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run, other := insertRun(t, s, nil), insertRun(t, s, nil)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return move(ctx, tx, run, lineshaft.Cancelled) })
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return move(ctx, tx, other, lineshaft.Cancelled) })
		all, err := s.ListUnsettled(t.Context(), store.StatePosition{})
		must(t, err)
		slices.SortFunc(all, store.StatePosition.Compare)
		reads := s.Record()
		for last, key := range map[int64]string{2: "(run_id=?)", 1 << 40: "(txid,run_id,sequence)>"} {
			for i, after := range append([]store.StatePosition{{}}, all...) {
				changes, err := s.ListRunStateChanges(t.Context(), after, run, last)
				must(t, err)
				var got, want []store.StatePosition
				for _, change := range changes {
					got = append(got, change.Position)
				}
				for _, p := range all[i:] {
					if p.RunID == run {
						want = append(want, p)
					}
				}
				sent := reads.Take()
				if !slices.Equal(got, want) {
					t.Errorf("after %v of a log up to %d: %v, want %v", after, last, got, want)
				}
				if i > 0 || s.Engine() != "sqlite" {
					continue // what PostgreSQL reads is counted elsewhere
				}
				if plan := fmt.Sprint(explainSQLite(t, s.DB(), sent[len(sent)-1])); !strings.Contains(plan, key) {
					t.Errorf("of a log up to %d: %s", last, plan)
				}
			}
		}
	})
}

// A stretch of a log ends at its rows or at its bytes, whichever comes first, from either
// end and without a gap; one event is read however long it is (H-14).
func TestH14StretchEndsAtBytes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			h, err := tx.LockRun(ctx, run)
			if err != nil {
				return err
			}
			var drafts []lineshaft.Draft
			for _, kilobytes := range []int{1, 1, 1, 50, 1, 1, 1, 1} {
				drafts = append(drafts, output(strings.Repeat("é", kilobytes<<9)))
			}
			return tx.SaveRun(ctx, h, drafts...)
		})
		const last = 9 // the first event says that the run is queued
		for _, tc := range []struct {
			limit  int
			size   int64
			events []int // of each stretch
		}{
			{5, 1 << 20, []int{5, 4}},
			{100, 1 << 20, []int{9}},
			{100, 4 << 10, []int{3, 1, 1, 3, 1}},
			{2, 4 << 10, []int{2, 2, 1, 2, 2}},
			{100, 1, []int{1, 1, 1, 1, 1, 1, 1, 1, 1}},
		} {
			var after int64
			for i, want := range tc.events {
				events, more, err := s.ListEvents(t.Context(), run, after, tc.limit, tc.size)
				must(t, err)
				if len(events) != want || events[0].Sequence != after+1 || more != (i < len(tc.events)-1) {
					t.Fatalf("limit %d, size %d: %d events after %d, more %v; want %v", tc.limit, tc.size, len(events), after, more, tc.events)
				}
				after = events[len(events)-1].Sequence
			}
			for before := int64(last + 1); before > 1; {
				events, err := s.ListEventsBefore(t.Context(), run, before, tc.limit, tc.size)
				must(t, err)
				if n := len(events); n == 0 || n > tc.limit || events[n-1].Sequence != before-1 || n > 1 && bytesOf(events) > tc.size {
					t.Fatalf("limit %d, size %d: %d events before %d", tc.limit, tc.size, n, before)
				}
				before = events[0].Sequence
			}
		}
		if events, more, err := s.ListEvents(t.Context(), run, last, 10, 1<<20); len(events) > 0 || more || err != nil {
			t.Errorf("after the end: %d events, more %v, %v", len(events), more, err)
		}
		if events, err := s.ListEventsBefore(t.Context(), run, 1, 10, 1<<20); len(events) > 0 || err != nil {
			t.Errorf("before the beginning: %d events, %v", len(events), err)
		}
	})
}

func bytesOf(events []lineshaft.Event) (sum int64) {
	for i := range events {
		sum += int64(len(events[i].Data)) + store.EventOverhead
	}
	return sum
}
