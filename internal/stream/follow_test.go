package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// A reader that is cut off at any event and comes back sees each event once.
func TestR9ResumeAtEveryBoundary(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		for i := range 10 {
			b.must(b.append(run, output(fmt.Sprint(i)), output("more")))
		}
		b.must(b.move(run, lineshaft.Succeeded))
		const last = 22
		for after := int64(0); after <= last+1; after++ {
			f := b.follow(run, after)
			end, err := b.read(f, after, -1)
			if want := max(after, last); err != nil || end != want {
				b.Fatalf("after %d: ended at %d, %v", after, end, err)
			}
			if _, err := f.Next(b.Context()); !errors.Is(err, io.EOF) {
				b.Fatalf("after the end: %v", err)
			}
			f.Close()
		}
	})
}

// The same while the log grows: cut off after each read, in replay or live.
func TestR9ResumeWhileTheLogGrows(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		const rounds = 60
		ended := make(chan error, 1)
		go func() {
			var err error
			for i := range rounds {
				err = errors.Join(err, b.append(run, output(fmt.Sprint(i)), output("more")))
			}
			ended <- errors.Join(err, b.move(run, lineshaft.Failed))
		}()
		after := int64(0)
		for reads := 1; ; reads++ {
			f := b.follow(run, after)
			next, err := b.read(f, after, reads%5)
			f.Close()
			if errors.Is(err, io.EOF) {
				after = next
				break
			}
			b.must(err)
			// A client may have got only a part of what was sent.
			after = max(after, next-int64(reads%3))
		}
		b.must(<-ended)
		if want := int64(1 + 2*rounds + 1); after != want {
			b.Errorf("ended at %d, want %d", after, want)
		}
	})
}

// Many followers of one run get all its events while it writes, and cost the store
// no more than one: each event is read and encoded once.
func TestR9ThousandFollowers(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		followers, rounds := 1000, 20
		results := make(chan error, followers)
		for range followers {
			f := b.follow(run, 1)
			go func() {
				end, err := b.read(f, 1, -1)
				if err == nil && end != int64(2+2*rounds) {
					err = fmt.Errorf("ended at %d", end)
				}
				f.Close()
				results <- err
			}()
		}
		b.encoded.Store(0)
		for i := range rounds {
			b.must(b.append(run, output(fmt.Sprint(i)), output("more")))
		}
		b.must(b.move(run, lineshaft.Succeeded))
		var err error
		for range followers {
			err = errors.Join(err, <-results)
		}
		b.must(err)
		if n := b.encoded.Load(); n != int64(2*rounds+1) {
			b.Errorf("%d events were encoded %d times", 2*rounds+1, n)
		}
		b.wantNoTails()
	})
}

func (b *bench) wantNoTails() {
	b.Helper()
	b.streams.mu.Lock()
	defer b.streams.mu.Unlock()
	if len(b.streams.tails) != 0 {
		b.Errorf("tails left: %v", b.streams.tails)
	}
}

// A follower that starts behind replays in parts and then continues live.
func TestR9LongReplay(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		const long = 2*readBatch + 10
		for range long / 100 {
			drafts := make([]lineshaft.Draft, 100)
			for i := range drafts {
				drafts[i] = output("x")
			}
			b.must(b.append(run, drafts...))
		}
		live := b.follow(run, 1+long/100*100) // keeps the tail at the end
		f := b.follow(run, 0)
		items, err := f.Next(b.Context())
		b.must(err)
		if len(items) != readBatch {
			b.Errorf("the first read gave %d events", len(items))
		}
		b.must(b.append(run, output("live")))
		b.must(b.move(run, lineshaft.Cancelled))
		const last = 1 + long/100*100 + 2
		if end, err := b.read(f, readBatch, -1); err != nil || end != last {
			b.Errorf("ended at %d, %v, want %d", end, err, last)
		}
		if end, err := b.read(live, last-2, -1); err != nil || end != last {
			b.Errorf("the live one ended at %d, %v", end, err)
		}
	})
}

// Followers come and go without taking the others' events with them.
func TestFollowersComeAndGo(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		first, second := b.follow(run, 0), b.follow(run, 0)
		_, err := b.read(first, 0, 1)
		b.must(err)
		first.Close()
		first.Close()
		b.must(b.append(run, output("x")))
		_, err = b.read(second, 0, 2)
		b.must(err)
		third := b.follow(run, 1)
		_, err = b.read(third, 1, 1)
		b.must(err)
		second.Close()
		third.Close()
		b.wantNoTails()
		fourth := b.follow(run, 2)
		b.must(b.append(run, output("y")))
		_, err = b.read(fourth, 2, 1)
		b.must(err)
		fourth.Close()
		if _, err := fourth.Next(b.Context()); err == nil {
			b.Error("a closed follower gave something")
		}
	})
}

// A follower whose context ended may be asked again.
func TestNextAfterItsContextEnded(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		f := b.follow(run, 1)
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		if _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
			b.Errorf("error %v", err)
		}
		b.must(b.append(run, output("x")))
		_, err := b.read(f, 1, 1)
		b.must(err)
	})
}

// Close ends a Next that waits.
func TestCloseWhileNextWaits(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.follow(b.run(), 1)
		waited := make(chan error, 1)
		go func() {
			_, err := f.Next(b.Context())
			waited <- err
		}()
		f.Close()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			b.Errorf("error %v", err)
		}
	})
}

func TestFollowDeletedRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		missing, _ := b.store.NewID()
		if _, err := b.streams.Follow(b.Context(), missing, 0); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			b.Errorf("a missing run gave %v", err)
		}
		run := b.run()
		live, behind := b.follow(run, 1), b.follow(run, 0)
		b.must(b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
			tx.Wake(RunTopic(run))
			return tx.DeleteRun(ctx, run)
		}))
		if _, err := live.Next(b.Context()); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			b.Errorf("a live follower got %v", err)
		}
		b.must(b.store.DeleteRunRows(b.Context(), run))
		if _, err := behind.Next(b.Context()); !errors.Is(err, io.EOF) {
			b.Errorf("a follower in replay got %v", err)
		}
	})
}

// A run that ended and continues is followed further, even by one who came when the
// tail had seen the end already.
func TestR6FollowAcrossAReopening(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		b.must(b.move(run, lineshaft.Succeeded))
		old := &tail{cancel: func() {}, head: &node{ready: make(chan struct{})}, after: 2} // it has seen the end
		b.streams.tails[run] = old
		b.must(b.move(run, lineshaft.Queued))
		f := b.follow(run, 2)
		early := b.follow(run, 0)
		b.streams.finish(run, old, nil)
		b.must(b.append(run, output("x")))
		for after, f := range map[int64]*Follower{0: early, 2: f} {
			if end, err := b.read(f, after, 4-int(after)); err != nil || end != 4 {
				b.Errorf("read to %d, %v", end, err)
			}
		}
	})
}

// A lost wake-up is made good by looking.
func TestLostWakeUps(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database, NewHub(), nil)
		run := b.run()
		f := b.follow(run, 1)
		states, err := b.streams.FollowStates(t.Context(), "", everything)
		b.must(err)
		defer states.Close()
		b.must(b.move(run, lineshaft.Cancelled))
		_, err = b.read(f, 1, 1)
		b.must(err)
		for {
			changes, err := states.Next(t.Context())
			b.must(err)
			if changes[len(changes)-1].Event.Sequence == 2 {
				return
			}
		}
	})
}

func TestStoreFailureEndsFollowers(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		f := b.follow(run, 1)
		b.must(b.store.Close())
		b.hub.WakeAll()
		if _, err := f.Next(b.Context()); lineshaft.CodeOf(err) != lineshaft.CodeUnavailable {
			b.Errorf("error %v", err)
		}
	})
}

// A follower says whether reading on would wait, so that several events go out together.
func TestR9ReadyWithoutWaiting(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		run := b.run()
		f := b.follow(run, 0)
		defer f.Close()
		if !f.Ready() {
			b.Fatal("what is stored is not ready")
		}
		items, err := f.Next(b.Context())
		b.must(err)
		if len(items) != 1 || f.Ready() {
			b.Fatalf("%d events, and at the end of the log more are ready: %t", len(items), f.Ready())
		}
		for i := range 3 {
			b.must(b.append(run, output(fmt.Sprint(i))))
		}
		for got := 0; got < 3; {
			items, err = f.Next(b.Context())
			b.must(err)
			got += len(items)
		}
		if f.Ready() {
			b.Error("at the end again, and more is ready")
		}
	})
}
