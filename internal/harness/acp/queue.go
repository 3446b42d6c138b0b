package acp

import (
	"encoding/json"
	"sync"

	"github.com/lineshaft/lineshaft"
)

// What may wait before the agent is held up.
const (
	maxQueued      = 4096
	maxQueuedBytes = 32 << 20
)

// item is the next thing that happened. Exactly one field is set.
type item struct {
	update   json.RawMessage  // the params of a session/update
	draft    *lineshaft.Draft // an event that is ready: output of the process, a notice
	question *question        // the agent asks for permission
	answer   *answer          // people have answered
	end      *end             // the turn has ended
}

func (i item) size() int {
	switch {
	case i.draft != nil:
		return len(i.draft.Data)
	case i.question != nil:
		return i.question.size
	}
	return len(i.update)
}

// queue keeps items in the order in which they came. It has many producers and
// one consumer, who is absent between turns.
type queue struct {
	more chan struct{} // holds a token when there may be items

	mu     sync.Mutex
	room   sync.Cond
	items  []item
	bytes  int
	closed bool
}

func newQueue() *queue {
	q := &queue{more: make(chan struct{}, 1)}
	q.room.L = &q.mu
	return q
}

// push adds an item, and blocks while too many wait; this slows down the
// agent. After close it drops the item.
func (q *queue) push(i item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && (len(q.items) >= maxQueued || q.bytes >= maxQueuedBytes) {
		q.room.Wait()
	}
	q.add(i)
}

// put adds an item without waiting, for those that there are few of.
func (q *queue) put(i item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(i)
}

func (q *queue) add(i item) {
	if q.closed {
		return
	}
	q.items = append(q.items, i)
	q.bytes += i.size()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// pop takes the first item.
func (q *queue) pop() (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return item{}, false
	}
	i := q.items[0]
	q.items[0] = item{}
	if q.items = q.items[1:]; len(q.items) == 0 {
		q.items = nil
	}
	q.bytes -= i.size()
	q.room.Broadcast()
	return i, true
}

// close drops what is queued and what is still to come.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.items, q.bytes = true, nil, 0
	q.room.Broadcast()
}
