package stream

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// readBatch and readBytes are how many events one read of the store fetches.
	readBatch = 500
	readBytes = 1 << 20
	// slowPoll is how often the store is read for a followed run without a wake-up.
	slowPoll = 2 * time.Second
)

// Streams lets any number of followers read runs' logs. For each followed run one
// goroutine reads the store and hands what it read to all followers: a thousand
// followers cost the database as much as one.
type Streams struct {
	store  *store.Store
	hub    *Hub
	encode func(lineshaft.Event) []byte

	mu    sync.Mutex
	tails map[string]*tail
}

// New returns Streams that encode each event once with encode.
func New(s *store.Store, hub *Hub, encode func(lineshaft.Event) []byte) *Streams {
	return &Streams{store: s, hub: hub, encode: encode, tails: map[string]*tail{}}
}

// node is a stretch of a run's log in a list that only grows. Followers hold a
// node and wait for ready; what nobody holds any more is collected.
type node struct {
	ready chan struct{} // closed once the rest is set: items and next, end, or err
	items []Item
	next  *node
	// end says that the run is over and this is the end of its log.
	end bool
	err error
}

// tail reads one run's log for all its followers.
type tail struct {
	followers int
	cancel    context.CancelFunc
	// head is the node that is filled next; after is the last sequence before it.
	mu    sync.Mutex
	head  *node
	after int64
}

// Follower reads one run's log: first what is stored, then what comes.
type Follower struct {
	streams *Streams
	runID   string
	tail    *tail
	at      *node
	after   int64
	// until is where the tail takes over from reading the store.
	until int64
	// known is an end that the log had when the follower joined its tail.
	known  int64
	closed bool
}

// Follow starts reading after a sequence. Close must be called.
func (s *Streams) Follow(ctx context.Context, runID string, after int64) (*Follower, error) {
	f := &Follower{streams: s, runID: runID, after: after}
	if err := f.attach(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

// attach joins the run's tail and leaves the one before.
func (f *Follower) attach(ctx context.Context) error {
	last, _, err := f.streams.store.LogEnd(ctx, f.runID)
	if err != nil {
		return err
	}
	f.streams.mu.Lock()
	defer f.streams.mu.Unlock()
	if f.closed {
		return context.Canceled
	}
	f.leave()
	f.tail, f.known = f.streams.join(context.WithoutCancel(ctx), f.runID, last), last
	f.tail.mu.Lock()
	defer f.tail.mu.Unlock()
	f.at, f.until = f.tail.head, f.tail.after
	return nil
}

// join finds the tail of a run or starts one at the given end of its log. The
// streams are locked.
func (s *Streams) join(ctx context.Context, runID string, last int64) *tail {
	t := s.tails[runID]
	if t == nil {
		ctx, cancel := context.WithCancel(ctx)
		t = &tail{cancel: cancel, head: &node{ready: make(chan struct{})}, after: last}
		s.tails[runID] = t
		go s.read(ctx, runID, t)
	}
	t.followers++
	return t
}

// leave gives the tail up; the last one to do so ends it. The streams are locked.
func (f *Follower) leave() {
	if f.tail == nil {
		return
	}
	f.tail.followers--
	if f.tail.followers == 0 {
		f.tail.cancel()
		if f.streams.tails[f.runID] == f.tail {
			delete(f.streams.tails, f.runID)
		}
	}
	f.tail = nil
}

// Close stops following; it may be called twice, and while Next waits.
func (f *Follower) Close() {
	f.streams.mu.Lock()
	defer f.streams.mu.Unlock()
	f.closed = true
	f.leave()
}

// Next returns the next events, waiting for them. It returns io.EOF when the run
// is over and its log is at its end, and ctx's error when ctx ends first; after
// that it may be called again.
func (f *Follower) Next(ctx context.Context) ([]Item, error) {
	if f.after < f.until {
		return f.replay(ctx)
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.at.ready:
		}
		n := f.at
		if n.err != nil {
			return nil, n.err
		}
		if n.end && f.after >= f.known {
			return nil, io.EOF
		}
		if n.end { // the run continued after the tail saw its end, and just before this follower came
			if err := f.attach(ctx); err != nil {
				return nil, err
			}
			return f.Next(ctx)
		}
		items := n.items
		for len(items) > 0 && items[0].Event.Sequence <= f.after {
			items = items[1:]
		}
		f.at = n.next
		if len(items) > 0 {
			f.after = items[len(items)-1].Event.Sequence
			return items, nil
		}
	}
}

// Ready says that Next has something to return, for readers that read everything
// available at once. It is for the goroutine that calls Next.
func (f *Follower) Ready() bool {
	if f.after < f.until {
		return true
	}
	select {
	case <-f.at.ready:
		return true
	default:
		return false
	}
}

// replay reads the part of the log that was stored before the tail.
func (f *Follower) replay(ctx context.Context) ([]Item, error) {
	events, _, err := f.streams.store.ListEvents(ctx, f.runID, f.after, int(min(readBatch, f.until-f.after)), readBytes)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 { // the run was deleted meanwhile
		return nil, io.EOF
	}
	f.after = events[len(events)-1].Sequence
	return f.streams.items(events), nil
}

func (s *Streams) items(events []lineshaft.Event) []Item {
	items, size := make([]Item, len(events)), 0
	for i, e := range events {
		items[i] = Item{Event: e, Frame: s.encode(e)}
		size += len(items[i].Frame)
	}
	buffer := make([]byte, 0, size)
	for i := range items {
		start := len(buffer)
		buffer = append(buffer, items[i].Frame...)
		items[i].Frame = buffer[start:]
	}
	return items
}

// read fills the tail's list until nobody follows, the run is over, or the store fails.
func (s *Streams) read(ctx context.Context, runID string, t *tail) {
	sub := s.hub.Subscribe(RunTopic(runID))
	defer sub.Close()
	poll := time.NewTicker(slowPoll)
	defer poll.Stop()
	for {
		over, err := s.advance(ctx, runID, t)
		if over || err != nil {
			s.finish(runID, t, err)
			return
		}
		select {
		case <-ctx.Done():
			s.finish(runID, t, ctx.Err())
			return
		case <-sub.C:
		case <-poll.C:
		}
	}
}

// advance hands on new entries of the log; over says that nothing more will come.
func (s *Streams) advance(ctx context.Context, runID string, t *tail) (over bool, err error) {
	for {
		last, state, err := s.store.LogEnd(ctx, runID)
		if err != nil {
			return false, err
		}
		if t.after >= last {
			return state.Terminal(), nil
		}
		events, _, err := s.store.ListEvents(ctx, runID, t.after, readBatch, readBytes)
		if err != nil {
			return false, err
		}
		if len(events) == 0 {
			return true, nil
		}
		t.publish(s.items(events), events[len(events)-1].Sequence)
	}
}

func (t *tail) publish(items []Item, after int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.head
	n.items, n.next = items, &node{ready: make(chan struct{})}
	t.head, t.after = n.next, after
	close(n.ready)
}

// finish ends the list. New followers start a new tail.
func (s *Streams) finish(runID string, t *tail, err error) {
	s.mu.Lock()
	if s.tails[runID] == t {
		delete(s.tails, runID)
	}
	s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head.end, t.head.err = err == nil, err
	close(t.head.ready)
}
