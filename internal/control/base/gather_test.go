package base

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// floor is a gathering whose work a test holds up and lets go.
type floor struct {
	*testing.T
	Gathering[int]

	begun   chan []int // every batch, when its work begins
	proceed chan struct{}
}

func newFloor(t *testing.T, atOnce, most int) *floor {
	t.Helper()
	return &floor{T: t, Gathering: Gathering[int]{AtOnce: atOnce, Most: most}, begun: make(chan []int, 100), proceed: make(chan struct{})}
}

func (f *floor) work(_ context.Context, take func() []int) {
	f.begun <- take()
	<-f.proceed
}

// send sends an item in; the channel has the error when it is over.
func (f *floor) send(ctx context.Context, item int) <-chan error {
	over := make(chan error, 1)
	go func() { over <- f.Do(ctx, item, f.work) }()
	return over
}

// waits returns when that many items wait.
func (f *floor) waits(n int) {
	for {
		f.mu.Lock()
		waiting := len(f.waiting)
		f.mu.Unlock()
		if waiting == n {
			return
		}
		runtime.Gosched()
	}
}

// idle checks that nothing is left: neither an item nor a leader.
func (f *floor) idle() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) != 0 || f.asked || f.Gathering.begun != 0 {
		f.Errorf("%d wait, asked %v, %d begun", len(f.waiting), f.asked, f.Gathering.begun)
	}
}

func TestW7ThoseWhoWaitShareABatch(t *testing.T) {
	t.Parallel()
	const most = 5
	f := newFloor(t, 1, most)
	overs := []<-chan error{f.send(t.Context(), 0)}
	if batch := <-f.begun; !slices.Equal(batch, []int{0}) {
		t.Fatalf("%v", batch)
	}
	for i := range most + 2 {
		overs = append(overs, f.send(t.Context(), i+1))
		f.waits(i + 1)
	}
	f.proceed <- struct{}{}
	if batch := <-f.begun; !slices.Equal(batch, []int{1, 2, 3, 4, 5}) {
		t.Errorf("the second batch is %v", batch)
	}
	f.proceed <- struct{}{}
	if batch := <-f.begun; !slices.Equal(batch, []int{6, 7}) {
		t.Errorf("the third batch is %v", batch)
	}
	f.proceed <- struct{}{}
	for _, over := range overs {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
	f.idle()
}

// A batch is made up when its transaction begins, not when it was asked for.
func TestW7TheBatchFillsUntilItBegins(t *testing.T) {
	t.Parallel()
	g := Gathering[int]{AtOnce: 2, Most: 10}
	begin, got := make(chan struct{}), make(chan []int, 1)
	var senders sync.WaitGroup
	senders.Go(func() {
		_ = g.Do(t.Context(), 1, func(_ context.Context, take func() []int) {
			<-begin
			got <- take()
		})
	})
	for n := 1; n <= 4; n++ {
		if n > 1 {
			senders.Go(func() {
				_ = g.Do(t.Context(), n, func(context.Context, func() []int) { t.Error("another began") })
			})
		}
		for waiting := 0; waiting != n; runtime.Gosched() {
			g.mu.Lock()
			waiting = len(g.waiting)
			g.mu.Unlock()
		}
	}
	close(begin)
	if batch := <-got; len(batch) != 4 {
		t.Errorf("the batch is %v", batch)
	}
	senders.Wait()
}

// A caller that gives up while nobody works on its item takes it back: it is not done.
func TestW7WhoGivesUpIsWithdrawn(t *testing.T) {
	t.Parallel()
	f := newFloor(t, 1, 10)
	first := f.send(t.Context(), 1)
	<-f.begun
	ctx, cancel := context.WithCancel(t.Context())
	gone := f.send(ctx, 2)
	f.waits(1)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	stays := f.send(t.Context(), 3)
	f.waits(1)
	f.proceed <- struct{}{}
	if batch := <-f.begun; !slices.Equal(batch, []int{3}) {
		t.Errorf("%v", batch)
	}
	f.proceed <- struct{}{}
	if err := errors.Join(<-first, <-stays); err != nil {
		t.Error(err)
	}
	f.idle()
}

// A caller that gives up while its item is worked on learns how that went.
func TestW7WhoGivesUpTooLateLearnsTheOutcome(t *testing.T) {
	t.Parallel()
	f := newFloor(t, 1, 10)
	first := f.send(t.Context(), 1)
	<-f.begun
	leader := f.send(t.Context(), 2)
	f.waits(1)
	ctx, cancel := context.WithCancel(t.Context())
	late := f.send(ctx, 3)
	f.waits(2)
	f.proceed <- struct{}{}
	if batch := <-f.begun; !slices.Equal(batch, []int{2, 3}) {
		t.Fatalf("%v", batch)
	}
	cancel()
	select {
	case err := <-late:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	f.proceed <- struct{}{}
	if err := errors.Join(<-first, <-late, <-leader); err != nil {
		t.Errorf("%v", err)
	}
	f.idle()
}

// Work that never begins, because the database is unreachable, still ends for everyone.
func TestW7WorkThatNeverBegins(t *testing.T) {
	t.Parallel()
	g := Gathering[int]{AtOnce: 1, Most: 10}
	if err := g.Do(t.Context(), 1, func(context.Context, func() []int) {}); err != nil || g.asked || g.begun != 0 || len(g.waiting) != 0 {
		t.Errorf("%v, %+v", err, g.waiting)
	}
}

// Work that panics is an error for all whose items were in it, and nobody waits for ever.
func TestW7WorkThatPanics(t *testing.T) {
	t.Parallel()
	f := newFloor(t, 1, 10)
	first := f.send(t.Context(), 0)
	<-f.begun
	overs := make(chan error, 2)
	for i := range 2 {
		go func() {
			overs <- f.Do(t.Context(), i+1, func(_ context.Context, take func() []int) {
				take()
				panic("boom")
			})
		}()
		f.waits(i + 1)
	}
	f.proceed <- struct{}{}
	if err := <-first; err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-overs; err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%v", err)
		}
	}
	f.idle()
}

// Whatever the order, everyone is served and nothing is left in the end.
func TestW7GatheringUnderPressure(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []int{1, 2, 4} {
		g := &Gathering[int]{AtOnce: atOnce, Most: 7}
		var done, withdrawn, worked atomic.Int64
		var senders sync.WaitGroup
		for i := range 64 {
			senders.Go(func() {
				for j := range 200 {
					ctx, cancel := context.WithCancel(t.Context())
					if (i+j)%3 == 0 {
						cancel()
					}
					err := g.Do(ctx, j, func(_ context.Context, take func() []int) {
						if j%2 == 0 {
							runtime.Gosched()
						}
						worked.Add(int64(len(take())))
					})
					cancel()
					if err == nil {
						done.Add(1)
					} else {
						withdrawn.Add(1)
					}
				}
			})
		}
		senders.Wait()
		if done.Load() != worked.Load() || done.Load()+withdrawn.Load() != 64*200 || g.asked || g.begun != 0 || len(g.waiting) != 0 {
			t.Errorf("%d at once: %d done, %d withdrawn, %d worked on, %d wait", atOnce, done.Load(), withdrawn.Load(), worked.Load(), len(g.waiting))
		}
	}
}
