package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// flow is deliveries that keep coming, and what was acknowledged of them.
type flow struct {
	hook   hook
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	known  map[int]*parcel // by number; acknowledged, and not changed any more
	urls   []string        // of the nodes that take deliveries
}

// startFlow sends deliveries to a node, and to those that join, about a hundred a second, until stop.
func startFlow(t *testing.T, n *node) *flow {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &flow{hook: newHook(n), cancel: cancel, known: map[int]*parcel{}, urls: []string{n.url}}
	t.Cleanup(f.stop)
	const senders = 4
	for first := range senders {
		f.wg.Go(func() {
			random := rand.New(rand.NewPCG(20261118, uint64(first)))
			c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: patience}
			defer c.CloseIdleConnections()
			tick := time.NewTicker(senders * 10 * time.Millisecond)
			defer tick.Stop()
			turn := first
			for number := first; ; number += senders {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				p := newParcel(number, random)
				// What was begun is sent until it is acknowledged, so that each delivery in a copy is known.
				for done := false; !done; turn++ {
					var err error
					if done, err = f.hook.post(t.Context(), c, f.url(turn), p); err != nil || t.Context().Err() != nil {
						t.Errorf("parcel %d: %v", number, err)
						return
					}
				}
				f.mu.Lock()
				f.known[number] = p
				f.mu.Unlock()
			}
		})
	}
	return f
}

// join sends deliveries also to another node.
func (f *flow) join(n *node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.urls = append(f.urls, n.url)
}

func (f *flow) url(turn int) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.urls[turn%len(f.urls)]
}

// acknowledged is what senders have got a 202 for by now.
func (f *flow) acknowledged() map[int]*parcel {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.known)
}

// passes waits until so many more were acknowledged.
func (f *flow) passes(t *testing.T, many int) {
	t.Helper()
	before := len(f.acknowledged())
	eventually(t, "deliveries go on", func() bool { return len(f.acknowledged()) >= before+many })
}

func (f *flow) stop() {
	f.cancel()
	f.wg.Wait()
}

// check holds a copy to what was acknowledged before it was begun: all of that is there, and what came
// later is there as a whole or not at all. A sender that repeats a delivery gets the answer of a duplicate.
func (f *flow) check(t *testing.T, database string, before map[int]*parcel) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	there, _ := f.hook.logged(t, s)
	r, later := &round{hook: f.hook}, 0
	for number, p := range f.known {
		d, found := there[fmt.Sprint("parcel-", number)]
		if found || before[number] != nil {
			r.checkParcel(t, s, p, d)
		}
		if found && before[number] == nil {
			later++
		}
		delete(there, d.Identity)
	}
	if len(there) > 0 {
		t.Errorf("deliveries that nobody sent: %v", there)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d deliveries were acknowledged before the copy, %d in all; the copy has %d more than before", len(before), len(f.known), later)
	n := newNode(t, database, "--no-worker", "--log-level", "warn")
	n.start(t.Context())
	for _, p := range before {
		again := *p
		if done, err := f.hook.post(t.Context(), browser(), n.url, &again); err != nil || !done || again.deliveryID != p.deliveryID {
			t.Errorf("repeated delivery %d: %s, was %s: %v", p.number, again.deliveryID, p.deliveryID, err)
		}
		break // any of them
	}
}

// TestD4CopiesUnderLoad backs up and moves the database of a server that takes deliveries all the time: nobody is
// refused, and each copy has everything that was acknowledged before.
func TestD4CopiesUnderLoad(t *testing.T) {
	t.Parallel()
	if os.Getenv("LINESHAFT_TEST_ALL") == "" && !soak() {
		t.Skip("make test-all has it; TestD4BackupOfALiveServer is the short form")
	}
	storetest.EachEmpty(t, func(t *testing.T, database string) {
		n := newNode(t, database, "--no-worker", "--log-level", "warn")
		n.start(t.Context())
		f := startFlow(t, n)
		f.passes(t, 100)
		beforeBackup, file := f.acknowledged(), filepath.Join(t.TempDir(), "one.backup")
		if out, err := lineshaftCommand(t, "backup", "--database", database, file); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		f.passes(t, 20)
		moved, beforeMove := storetest.EmptyPostgres(t), f.acknowledged()
		if store.IsPostgres(database) {
			moved = filepath.Join(t.TempDir(), "moved.db")
		}
		if out, err := lineshaftCommand(t, "migrate-database", "--from", database, "--to", moved); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		f.passes(t, 20) // what came after the copy was begun is not in it, and the server works on
		f.stop()
		n.stop()
		f.check(t, moved, beforeMove)
		storetest.EachEmpty(t, func(t *testing.T, other string) {
			if out, err := lineshaftCommand(t, "restore", "--database", other, file); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			f.check(t, other, beforeBackup)
		})
	})
}
