package worker

import (
	"context"
	"sync"

	"github.com/lineshaft/lineshaft"
)

// The bounds of one execution's unacknowledged events, beyond which its agent
// has to wait, and of one report.
const (
	outboxEvents = 4096
	outboxBytes  = 4 << 20
	reportEvents = 500
	reportBytes  = 1 << 20
)

// mark is something a report tells besides events.
type mark int

const (
	noMark mark = iota
	markStarted
	markBlocked
	markUnblocked
)

// entry is an event or a mark.
type entry struct {
	draft lineshaft.Draft
	mark  mark
}

// outbox holds an execution's events until they are acknowledged. Numbers are
// given here, so that an event keeps its number however often it is sent.
type outbox struct {
	ref lineshaft.ExecutionRef
	// wake tells the reporter that there is something.
	wake func()

	mu      sync.Mutex
	entries []entry
	events  int   // events among the entries
	bytes   int   // of these
	first   int64 // number of the first of these
	taken   int   // entries in the report that is out
	changed chan struct{}
}

func newOutbox(ref lineshaft.ExecutionRef, wake func()) *outbox {
	return &outbox{ref: ref, wake: wake, first: 1, changed: make(chan struct{})}
}

// put adds an event. It waits while there is no room; it drops the event when ctx
// ends first.
func (o *outbox) put(ctx context.Context, draft lineshaft.Draft) {
	room := func() bool { return o.events < outboxEvents && o.bytes < outboxBytes }
	if !o.await(ctx, room) {
		return
	}
	o.entries = append(o.entries, entry{draft: draft})
	o.events++
	o.bytes += len(draft.Data)
	o.mu.Unlock()
	o.wake()
}

// tell adds a mark; there is always room for these.
func (o *outbox) tell(m mark) {
	o.mu.Lock()
	o.entries = append(o.entries, entry{mark: m})
	o.mu.Unlock()
	o.wake()
}

// drained waits until everything is acknowledged and says whether it was.
func (o *outbox) drained(ctx context.Context) bool {
	if !o.await(ctx, func() bool { return len(o.entries) == 0 }) {
		return false
	}
	o.mu.Unlock()
	return true
}

// await returns true, with the lock held, when the condition is met.
func (o *outbox) await(ctx context.Context, met func() bool) bool {
	for {
		o.mu.Lock()
		if ctx.Err() != nil {
			o.mu.Unlock()
			return false
		}
		if met() {
			return true
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// take makes the next report of what is there. A report begins with at most one
// mark, so that marks and events keep their order.
func (o *outbox) take() (lineshaft.Report, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	report := lineshaft.Report{ExecutionRef: o.ref, First: o.first}
	bytes := 0
	for i, e := range o.entries {
		if e.mark != noMark {
			if i > 0 {
				break
			}
			report.Started = e.mark == markStarted
			report.Blocked = e.mark == markBlocked
			report.Unblocked = e.mark == markUnblocked
			o.taken = 1
			continue
		}
		if n := len(report.Events); n > 0 && (n >= reportEvents || bytes+len(e.draft.Data) > reportBytes) {
			break
		}
		bytes += len(e.draft.Data)
		report.Events = append(report.Events, e.draft)
		o.taken = i + 1
	}
	return report, o.taken > 0
}

// acknowledge forgets what the last take gave.
func (o *outbox) acknowledge() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.entries[:o.taken] {
		if e.mark == noMark {
			o.first++
			o.events--
			o.bytes -= len(e.draft.Data)
		}
	}
	o.entries = append(o.entries[:0:0], o.entries[o.taken:]...)
	o.taken = 0
	close(o.changed)
	o.changed = make(chan struct{})
}

// keep leaves what the last take gave for another try.
func (o *outbox) keep() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = 0
}

func (o *outbox) pending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.entries) > 0
}
