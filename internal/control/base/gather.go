package base

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// gatherTime bounds the work on a batch; its callers may be gone by then.
const gatherTime = 30 * time.Second

// Gathering lets callers that come at the same time share one transaction, without
// a goroutine of its own: they work for each other. A caller that finds nobody about
// to begin leads: it asks for a transaction, and when that begins, all who wait by
// then are in it. While it is written, the next leader asks already.
type Gathering[T any] struct {
	// Most bounds the weight of a batch, AtOnce how many of them are under way.
	Most, AtOnce int
	// Weigh is what an item weighs; nil is 1.
	Weigh func(T) int

	mu      sync.Mutex
	waiting []*gathered[T]
	// asked says that a leader's transaction has not begun yet.
	asked bool
	begun int
}

// OneIsToBlame says that a batch failed although the database answers: one of its items
// is the cause, itself or by a lock that it needs. Each is then tried alone, so that it holds
// up nobody else.
func OneIsToBlame(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && (lineshaft.CodeOf(err) != lineshaft.CodeUnavailable || store.LockedOut(err))
}

// gathered is one caller's item.
type gathered[T any] struct {
	item T
	done chan struct{}
	// lead is signalled when it is this caller's turn to lead.
	lead chan struct{}
	// err is set before it is done, if the work on it panicked.
	err error
}

// Do has an item worked on, by this caller or another, and waits for the end. work must
// call take once its transaction has begun, and work on what it returns. The error is
// the context's, if the item was withdrawn before anyone worked on it, or that of work that
// panicked: others wait for it too.
func (g *Gathering[T]) Do(ctx context.Context, item T, work func(ctx context.Context, take func() []T)) error {
	m := &gathered[T]{item: item, done: make(chan struct{}), lead: make(chan struct{}, 1)}
	leads := g.enter(m)
	for {
		if !leads {
			var err error
			if leads, err = g.await(ctx, m); !leads {
				return err
			}
		}
		g.unit(ctx, work)
		select {
		case <-m.done:
			return m.err
		default: // more than one batch was before it
			leads = false
		}
	}
}

// enter queues an item; it says whether its caller leads.
func (g *Gathering[T]) enter(m *gathered[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, m)
	if g.asked || g.begun >= g.AtOnce {
		return false
	}
	g.asked = true
	return true
}

// await waits until an item is done or its caller must lead. Both may be true when it
// wakes: then it must lead, or nobody would.
func (g *Gathering[T]) await(ctx context.Context, m *gathered[T]) (leads bool, err error) {
	select {
	case <-m.lead:
		return true, nil
	case <-m.done:
	case <-ctx.Done():
		if g.withdraw(m) {
			return false, ctx.Err()
		}
		select {
		case <-m.lead:
			return true, nil
		case <-m.done: // it was taken already: soon it is known how that went
		}
	}
	select {
	case <-m.lead:
		return true, nil
	default:
		return false, m.err
	}
}

// withdraw takes back an item that nobody works on yet; false when someone does, or
// when its caller was just asked to lead.
func (g *Gathering[T]) withdraw(m *gathered[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.waiting, m)
	if at < 0 || len(m.lead) > 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, at, at+1)
	return true
}

// unit does one batch.
func (g *Gathering[T]) unit(ctx context.Context, work func(ctx context.Context, take func() []T)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gatherTime) // others' items are in the batch
	defer cancel()
	var batch []*gathered[T]
	var items []T
	begun := false
	take := func() []T {
		if !begun {
			begun = true
			batch = g.take()
			for _, m := range batch {
				items = append(items, m.item)
			}
		}
		return items
	}
	err := whole(func() { work(ctx, take) })
	take() // if the work never came to it
	for _, m := range batch {
		m.err = err
		close(m.done)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun--
	g.handOver()
}

// whole turns a panic into an error.
func whole(work func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("work panicked: %v\n%s", p, debug.Stack())
		}
	}()
	work()
	return nil
}

// take begins a batch with those who wait.
func (g *Gathering[T]) take() []*gathered[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.fit()
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.asked = false
	g.begun++
	g.handOver()
	return batch
}

// fit is how many of those who wait make up a batch: one at least.
func (g *Gathering[T]) fit() int {
	if g.Weigh == nil {
		return min(len(g.waiting), g.Most)
	}
	weight := 0
	for i, m := range g.waiting {
		if weight += g.Weigh(m.item); weight > g.Most && i > 0 {
			return i
		}
	}
	return len(g.waiting)
}

// handOver makes the first who waits the next leader, if a leader is needed.
func (g *Gathering[T]) handOver() {
	if g.asked || g.begun >= g.AtOnce || len(g.waiting) == 0 {
		return
	}
	g.asked = true
	g.waiting[0].lead <- struct{}{}
}

// BatchesAtOnce is how many gathered transactions run at the same time. SQLite has one
// writer: while one batch is written, the next is asked for and fills. On PostgreSQL
// most of the time goes to round trips.
func BatchesAtOnce(engine string) int {
	if engine == "postgres" {
		return 4
	}
	return 2
}
