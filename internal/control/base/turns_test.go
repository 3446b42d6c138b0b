package base

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
)

func fewTurns() *Turns {
	return &Turns{perKey: 2, weight: 6, waiting: 3, wait: 0, keys: map[string]int{}}
}

// A key has a few long answers at once, the server as much as its memory allows; a caller
// that comes too often learns when to come back (H-14).
func TestH14LongAnswersTakeTurns(t *testing.T) {
	t.Parallel()
	ts := fewTurns()
	take := func(key string, weight int) func() {
		t.Helper()
		release, err := ts.take(t.Context(), key, weight)
		if err != nil {
			t.Fatal(key, err)
		}
		return release
	}
	refused := func(key string, weight int) {
		t.Helper()
		_, err := ts.take(t.Context(), key, weight)
		if pub, ok := errors.AsType[*lineshaft.Error](err); !ok || pub.Code != lineshaft.CodeUnavailable || !pub.Limited || pub.RetryAfter == 0 {
			t.Fatalf("%s: %v", key, err)
		}
	}
	first, second := take("a", 2), take("a", 2)
	refused("a", 1) // its own bound
	third := take("b", 2)
	refused("c", 1) // the server's
	second()
	second() // a second time does nothing
	fourth := take("c", 1)
	refused("c", 2)
	for _, release := range []func(){first, third, fourth} {
		release()
	}
	take("d", 100)() // more than all there is waits for all, and gets it
	if ts.taken != 0 || len(ts.keys) != 0 || len(ts.queue) != 0 {
		t.Errorf("left: %d taken, %v, %d wait", ts.taken, ts.keys, len(ts.queue))
	}
}

// Turns are given in order, and a key that has its share holds up nobody.
func TestH14TurnsAreFair(t *testing.T) {
	t.Parallel()
	ts := fewTurns()
	ts.wait = time.Hour
	held := []func(){}
	for range 2 {
		release, err := ts.take(t.Context(), "greedy", 1)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, release)
	}
	got := make(chan string, 1)
	waiting := func(ctx context.Context, key string) {
		release, err := ts.take(ctx, key, 1)
		if err == nil {
			defer release()
			got <- key
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); waiting(ctx, "greedy") }()
	go waiting(t.Context(), "other")
	if key := <-got; key != "other" {
		t.Fatalf("%s came first", key)
	}
	cancel()
	<-over
	for _, release := range held {
		release()
	}
	if release, err := ts.take(t.Context(), "greedy", 6); err != nil {
		t.Fatal(err)
	} else {
		release()
	}
}

// TestH14LongAnswersLeaveRoomForDeliveries keeps the processor free after a stretch of work as
// long as that took, but only if deliveries came meanwhile.
func TestH14LongAnswersLeaveRoomForDeliveries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewTurns()
		s.working = make(chan struct{}, 1) // whatever the machine has
		work := func(delivery bool) (held int) {
			rest := s.Work(t.Context())
			<-time.After(50 * time.Millisecond)
			if delivery {
				s.deliveries.Add(1)
			}
			rest()
			return len(s.working)
		}
		if held := work(false); held != 0 {
			t.Errorf("%d are held though nothing came", held)
		}
		if held := work(true); held != 1 {
			t.Errorf("%d are held after a delivery", held)
		}
		<-time.After(49 * time.Millisecond)
		synctest.Wait()
		if held := len(s.working); held != 1 {
			t.Errorf("%d are held before the time is over", held)
		}
		<-time.After(2 * time.Millisecond)
		synctest.Wait()
		if held := len(s.working); held != 0 {
			t.Errorf("%d are held after the time is over", held)
		}
		// Someone who stays at work holds up nobody for good, and frees no more than is taken.
		rest := s.Work(t.Context())
		gone, leave := context.WithCancel(t.Context())
		leave()
		s.Work(gone)()
		began := time.Now()
		s.Work(t.Context())()
		if waited := time.Since(began); waited != turnWait {
			t.Errorf("waited %s", waited)
		}
		s.deliveries.Add(1)
		rest()
		<-time.After(mostRest - time.Millisecond)
		synctest.Wait()
		if held := len(s.working); held != 1 {
			t.Errorf("%d are held after a long time at work", held)
		}
		<-time.After(2 * time.Millisecond)
		synctest.Wait()
		if held := len(s.working); held != 0 {
			t.Errorf("%d are held after the longest rest", held)
		}
	})
}
