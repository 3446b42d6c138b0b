package base

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft"
)

// The bounds of answers that take much memory or processor time to make (H-14). Each has a
// weight, in units of about 8 MiB. The total weight at one time is bounded for every key
// and for the server, so that one reader cannot take the server from the others.
const (
	turnsPerKey  = 4
	turnsWeight  = 16
	turnsWaiting = 64
	turnWait     = 10 * time.Second
	// mostRest bounds how long readers wait after one that was long at work, which may
	// have waited for the database.
	mostRest = 250 * time.Millisecond
)

// Turns hands out turns. Those who wait are served in order, except that a key which has all
// it may have does not hold up those behind it.
type Turns struct {
	perKey, weight, waiting int
	wait                    time.Duration

	// working has room for those that are being made right now. One processor is left to
	// everything else: deliveries must not wait behind readers.
	working chan struct{}
	// deliveries counts those that came, to see whether any did meanwhile.
	deliveries atomic.Int64

	mu    sync.Mutex
	taken int
	keys  map[string]int
	queue []*turn
}

type turn struct {
	key    string
	weight int
	given  chan struct{}
}

// NewTurns bounds what one server answers.
func NewTurns() *Turns {
	return &Turns{
		perKey: turnsPerKey, weight: turnsWeight, waiting: turnsWaiting, wait: turnWait, keys: map[string]int{},
		working: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
	}
}

// Work takes the processor for a long answer; rest gives it back, and must be called before
// anything waits for the reader. While deliveries come in, the processor then stays free for
// them as long as it was taken. It is a courtesy: when the database keeps the others waiting,
// or the reader has left, an answer continues without it.
func (t *Turns) Work(ctx context.Context) (rest func()) {
	limit := time.NewTimer(t.wait)
	defer limit.Stop()
	select {
	case t.working <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	case <-limit.C:
		return func() {}
	}
	began, before := time.Now(), t.deliveries.Load()
	return func() {
		if t.deliveries.Load() == before {
			<-t.working
			return
		}
		time.AfterFunc(min(time.Since(began), mostRest), func() { <-t.working })
	}
}

// NoteDelivery notes that a delivery came in: long answers make room for it.
func (t *Turns) NoteDelivery() { t.deliveries.Add(1) }

// Turn waits briefly until a weighty answer may be made for a caller; release ends it and
// may be called twice. The error is that of a limit: it says when to come back.
func (t *Turns) Turn(ctx context.Context, c lineshaft.Caller, weight int) (release func(), err error) {
	key := cmp.Or(c.KeyID, c.Principal.UID+" "+c.SessionID)
	return t.take(ctx, key, weight)
}

func (t *Turns) take(ctx context.Context, key string, weight int) (release func(), err error) {
	mine := &turn{key: key, weight: min(weight, t.weight), given: make(chan struct{})}
	t.mu.Lock()
	if len(t.queue) >= t.waiting {
		t.mu.Unlock()
		return nil, tooMuchAtOnce()
	}
	t.queue = append(t.queue, mine)
	t.hand()
	t.mu.Unlock()
	limit := time.NewTimer(t.wait)
	defer limit.Stop()
	select {
	case <-mine.given:
		return sync.OnceFunc(func() { t.release(mine) }), nil
	default:
	}
	select {
	case <-mine.given:
		return sync.OnceFunc(func() { t.release(mine) }), nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
		err = tooMuchAtOnce()
	}
	t.leave(mine)
	return nil, err
}

func tooMuchAtOnce() error {
	return lineshaft.RateLimited(time.Second, "too many long answers at once; this key may have %d", turnsPerKey)
}

// hand gives turns to those who wait and may have one. The lock is held.
func (t *Turns) hand() {
	t.queue = slices.DeleteFunc(t.queue, func(next *turn) bool {
		if t.keys[next.key] >= t.perKey || t.taken+next.weight > t.weight {
			return false
		}
		t.keys[next.key]++
		t.taken += next.weight
		close(next.given)
		return true
	})
}

func (t *Turns) release(done *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken -= done.weight
	if t.keys[done.key]--; t.keys[done.key] == 0 {
		delete(t.keys, done.key)
	}
	t.hand()
}

// leave gives up waiting, or the turn that came at the same time.
func (t *Turns) leave(mine *turn) {
	t.mu.Lock()
	at := slices.Index(t.queue, mine)
	if at >= 0 {
		t.queue = slices.Delete(t.queue, at, at+1)
		t.hand() // a lighter one may have waited behind
	}
	t.mu.Unlock()
	if at < 0 {
		t.release(mine)
	}
}
