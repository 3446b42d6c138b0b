package stream

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func everything(context.Context, lineshaft.Event) (bool, error) { return true, nil }

// states reads count changes after a cursor and returns the last cursor with each
// change as "run/sequence".
func (b *bench) states(cursor string, count int, match func(context.Context, lineshaft.Event) (bool, error)) (string, []string) {
	b.Helper()
	f, err := b.streams.FollowStates(b.Context(), cursor, match)
	b.must(err)
	defer f.Close()
	var seen []string
	for len(seen) < count {
		changes, err := f.Next(b.Context())
		b.must(err)
		for _, change := range changes {
			if len(seen) < count { // a client that is cut off here
				seen, cursor = append(seen, fmt.Sprintf("%s/%d", change.Event.RunID, change.Event.Sequence)), change.Cursor
			}
		}
	}
	return cursor, seen
}

// start is the cursor before everything.
func start() string { return formatPosition(store.StatePosition{}) }

// A reader that is cut off anywhere and comes back with its cursor sees each
// change once, in the same order.
func TestR9StatesResumeAtEveryChange(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var runs []string
		for range 3 {
			runs = append(runs, b.run())
		}
		for _, run := range runs {
			b.must(b.move(run, lineshaft.Cancelled))
			b.must(b.append(run, output("no state")))
			b.must(b.move(run, lineshaft.Queued))
		}
		const count = 9
		_, all := b.states(start(), count, everything)
		var want []string
		for _, run := range runs {
			want = append(want, run+"/1")
		}
		for _, run := range runs {
			want = append(want, run+"/2", run+"/4")
		}
		if !slices.Equal(all, want) {
			b.Fatalf("saw %v, want %v", all, want)
		}
		for cut := 1; cut < count; cut++ {
			cursor, first := b.states(start(), cut, everything)
			_, rest := b.states(cursor, count-cut, everything)
			if got := append(first, rest...); !slices.Equal(got, want) {
				b.Errorf("cut at %d: %v, want %v", cut, got, want)
			}
		}
	})
}

// Without a cursor the stream begins with what comes; match picks.
func TestR9StatesFromNow(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		old, run, other := b.run(), b.run(), b.run()
		b.states(start(), 3, everything) // until all of that is settled
		f, err := b.streams.FollowStates(b.Context(), "", func(_ context.Context, e lineshaft.Event) (bool, error) { return e.RunID == run, nil })
		b.must(err)
		defer f.Close()
		for _, id := range []string{old, other, run} {
			b.must(b.move(id, lineshaft.Cancelled))
		}
		changes, err := f.Next(b.Context())
		b.must(err)
		if len(changes) != 1 || changes[0].Event.RunID != run || changes[0].Event.Sequence != 2 {
			b.Errorf("changes %v", changes)
		}
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		if _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
			b.Errorf("error %v", err)
		}
		b.must(b.move(run, lineshaft.Queued))
		if changes, err = f.Next(b.Context()); err != nil || len(changes) != 1 || changes[0].Event.Sequence != 3 {
			b.Errorf("changes %v, %v", changes, err)
		}
	})
}

// A place that is taken before anyone follows misses nothing that comes after it.
func TestR9StatesFromAPlaceTakenBefore(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		b.states(start(), 1, everything)
		f, err := b.streams.FollowStates(b.Context(), "", everything)
		b.must(err)
		place := f.Cursor()
		f.Close()
		b.must(b.move(run, lineshaft.Cancelled))
		if _, seen := b.states(place, 1, func(_ context.Context, e lineshaft.Event) (bool, error) { return e.Sequence > 1, nil }); !slices.Equal(seen, []string{run + "/2"}) {
			b.Errorf("saw %v", seen)
		}
	})
}

// More changes than one read fetches, of which few match.
func TestR9StatesAcrossReads(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		for range (readBatch + 100) / 100 {
			b.must(b.append(run, slices.Repeat([]lineshaft.Draft{state(lineshaft.InProgress)}, 100)...))
		}
		last := b.run()
		_, seen := b.states(start(), 1, func(_ context.Context, e lineshaft.Event) (bool, error) { return e.RunID == last, nil })
		if !slices.Equal(seen, []string{last + "/1"}) {
			b.Errorf("saw %v", seen)
		}
	})
}

// An error of match stops the stream where it is; the next call tries again.
func TestR9MatchFails(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		failure := errors.New("no database")
		fail := true
		f, err := b.streams.FollowStates(b.Context(), start(), func(context.Context, lineshaft.Event) (bool, error) {
			if fail {
				return false, failure
			}
			return true, nil
		})
		b.must(err)
		defer f.Close()
		for range 2 {
			if _, err := f.Next(b.Context()); !errors.Is(err, failure) {
				b.Fatalf("error %v", err)
			}
		}
		fail = false
		changes, err := f.Next(b.Context())
		if err != nil || len(changes) != 1 || changes[0].Event.RunID != run {
			b.Errorf("changes %v, %v", changes, err)
		}
	})
}

func TestR9BadCursors(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	b := open(t, t.TempDir()+"/test.db", hub, hub.Wake)
	encode := base64.RawURLEncoding.EncodeToString
	for _, cursor := range []string{
		"x", "!", encode([]byte("1:2:3")), encode([]byte("2:1:r:1")), encode([]byte("1:x:r:1")), encode([]byte("1:1:r:x")), encode([]byte("1:1:r:1:1")),
	} {
		_, err := b.streams.FollowStates(t.Context(), cursor, everything)
		if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
			t.Errorf("cursor %q gave %v", cursor, err)
		}
	}
	if len(hub.topics) != 0 {
		t.Errorf("subscriptions left: %v", hub.topics)
	}
	want := store.StatePosition{Txid: 7, RunID: "r-1", Sequence: 9}
	if got, err := parsePosition(formatPosition(want)); err != nil || got != want {
		t.Errorf("position %v, %v", got, err)
	}
}

// begin writes a state event of a run in a transaction that ends when the returned
// function is called.
func (b *bench) begin(runID string) (commit func()) {
	b.Helper()
	wrote, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
			h, err := tx.LockRun(ctx, runID)
			if err != nil {
				return err
			}
			if err := tx.SaveRun(ctx, h, state(lineshaft.InProgress)); err != nil {
				return err
			}
			close(wrote)
			<-end
			return nil
		})
	}()
	<-wrote
	return func() {
		close(end)
		b.must(<-done)
	}
}

// A change whose transaction ends late comes before those that began after it, to
// followers too.
func TestR9StatesWaitForALateCommit(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	b := open(t, storetest.Postgres(t), hub, hub.Wake)
	late, soon := b.run(), b.run()
	cursor, _ := b.states(start(), 2, everything)
	commit := b.begin(late)
	b.must(b.move(soon, lineshaft.Cancelled))
	got := make(chan []string, 1)
	go func() {
		_, seen := b.states(cursor, 2, everything)
		got <- seen
	}()
	commit()
	if seen := <-got; !slices.Equal(seen, []string{late + "/2", soon + "/2"}) {
		t.Errorf("saw %v", seen)
	}
}

// What had happened when a follower came is not reported as new, although a transaction
// from before was still running; what that one did is. Nor when a match fails.
func TestR9FromNowLeavesOutWhatHappened(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	b := open(t, storetest.Postgres(t), hub, hub.Wake)
	late, soon := b.run(), b.run()
	b.states(start(), 2, everything)
	commit := b.begin(late)
	b.must(b.move(soon, lineshaft.Cancelled)) // happened, but is not settled
	failure := errors.New("no database")
	fails := 1
	f, err := b.streams.FollowStates(t.Context(), "", func(_ context.Context, e lineshaft.Event) (bool, error) {
		if e.RunID == soon && fails > 0 {
			fails--
			return false, failure
		}
		return true, nil
	})
	b.must(err)
	defer f.Close()
	b.must(b.move(soon, lineshaft.Queued))
	commit()
	var seen []string
	for len(seen) < 2 {
		changes, err := f.Next(t.Context())
		if !errors.Is(err, failure) {
			b.must(err)
		}
		for _, change := range changes {
			seen = append(seen, fmt.Sprintf("%s/%d", change.Event.RunID, change.Event.Sequence))
		}
	}
	if want := []string{late + "/2", soon + "/3"}; !slices.Equal(seen, want) || fails != 0 {
		t.Errorf("saw %v, want %v", seen, want)
	}
}
