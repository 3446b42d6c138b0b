package prepared

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// of many who want the same layer one prepares it, and the others get it.
func TestX14OneOfManyPrepares(t *testing.T) {
	t.Parallel()
	s, source := open(t, folderFor(t)), fill(t, t.TempDir())
	k := key(t, s, recipe("1"))
	var (
		group         sync.WaitGroup
		made, waiting atomic.Int32
	)
	for range 50 {
		group.Go(func() {
			turn, err := s.Await(t.Context(), k, func() { waiting.Add(1) })
			if err != nil {
				t.Error(err)
			}
			kept := ""
			defer func() { turn.End(kept, false) }()
			l := s.Take(k)
			if (turn == nil) != (l != nil) {
				t.Errorf("turn %v, layer %v", turn, l)
			}
			if l != nil {
				l.Release()
				return
			}
			made.Add(1)
			if err := s.Keep(t.Context(), k, source, Facts{Made: time.Now()}, nil); err != nil {
				t.Error(err)
			}
			kept = k.ID
		})
	}
	group.Wait()
	if made.Load() != 1 {
		t.Errorf("%d prepared it, %d waited", made.Load(), waiting.Load())
	}
}

// when the one who prepares is ended, the next does; when nothing can be kept, all do.
func TestX14TurnIsPassedOn(t *testing.T) {
	t.Parallel()
	s := open(t, folderFor(t))
	k := key(t, s, recipe("1"))
	first, err := s.Await(t.Context(), k, nil)
	if first == nil || err != nil {
		t.Fatalf("%v, %v", first, err)
	}
	type got struct {
		turn *Turn
		err  error
	}
	waiting, answers := make(chan bool, 2), make(chan got, 2)
	for range 2 {
		go func() {
			turn, err := s.Await(t.Context(), k, func() { waiting <- true })
			answers <- got{turn, err}
		}()
	}
	<-waiting
	<-waiting
	first.End("", true)
	second := <-answers
	if second.turn == nil || second.err != nil {
		t.Fatalf("nobody goes on: %+v", second)
	}
	<-waiting // the other one again
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Await(ended, k, func() {}); err == nil {
		t.Error("it waits although it was ended")
	}
	second.turn.End("", false)
	if third := <-answers; third.turn != nil || third.err != nil {
		t.Errorf("it has the turn: %+v", third)
	}
	(*Turn)(nil).End("", false)
}
