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
	// readBatch is how many events one read of the store fetches.
	readBatch = 500
	// slowPoll is how often a followed run is looked at without a wake-up.
	slowPoll = 2 * time.Second
)

// Streams lets any number of followers read runs' logs. For each followed run one
// goroutine reads the store and hands what it read to all followers, so that a
// thousand followers cost the database as much as one.
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
	ready chan struct{} // closed once items, end, err and next are set
	items []Item
	// end says that the run is over and items are the end of its log.
	end  bool
	err  error
	next *node
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
	once  sync.Once
}

// Follow starts reading after a sequence. Close must be called.
func (s *Streams) Follow(ctx context.Context, runID string, after int64) (*Follower, error) {
	last, _, err := s.store.LogEnd(ctx, runID)
	if err != nil {
		return nil, err
	}
	t := s.join(context.WithoutCancel(ctx), runID, last)
	t.mu.Lock()
	defer t.mu.Unlock()
	return &Follower{streams: s, runID: runID, tail: t, at: t.head, after: after, until: t.after}, nil
}

// join finds the tail of a run or starts one at the given end of its log.
func (s *Streams) join(ctx context.Context, runID string, last int64) *tail {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// Close stops following; it may be called twice.
func (f *Follower) Close() {
	f.once.Do(func() {
		f.streams.mu.Lock()
		defer f.streams.mu.Unlock()
		f.tail.followers--
		if f.tail.followers == 0 {
			f.tail.cancel()
			if f.streams.tails[f.runID] == f.tail {
				delete(f.streams.tails, f.runID)
			}
		}
	})
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
		items := n.items
		for len(items) > 0 && items[0].Event.Sequence <= f.after {
			items = items[1:]
		}
		if len(items) == 0 && n.end {
			return nil, io.EOF
		}
		if n.end {
			// The same node says io.EOF next time: its items are behind us then.
			f.after = items[len(items)-1].Event.Sequence
			return items, nil
		}
		f.at = n.next
		if len(items) > 0 {
			f.after = items[len(items)-1].Event.Sequence
			return items, nil
		}
	}
}

// replay reads the part of the log that was stored before the tail.
func (f *Follower) replay(ctx context.Context) ([]Item, error) {
	events, err := f.streams.store.ListEvents(ctx, f.runID, f.after, int(min(readBatch, f.until-f.after)))
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
	items := make([]Item, len(events))
	for i, e := range events {
		items[i] = Item{Event: e, Frame: s.encode(e)}
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

// advance hands on what the log has more; over says that nothing more will come.
func (s *Streams) advance(ctx context.Context, runID string, t *tail) (over bool, err error) {
	for {
		last, state, err := s.store.LogEnd(ctx, runID)
		if err != nil {
			return false, err
		}
		if t.after >= last {
			return state.Terminal(), nil
		}
		events, err := s.store.ListEvents(ctx, runID, t.after, readBatch)
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
