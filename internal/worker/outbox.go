package worker

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/lineshaft/lineshaft"
)

// The bounds of one execution's unacknowledged events, beyond which its agent
// must wait, and of one report.
const (
	outboxEvents = 4096
	outboxBytes  = 4 << 20
	reportEvents = 500
	reportBytes  = 1 << 20
)

// mark is something that a report says besides events.
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

// outbox holds an execution's events until they are acknowledged. It assigns the
// numbers, so that an event keeps its number however often it is sent.
type outbox struct {
	ref lineshaft.ExecutionRef
	// wake notifies the reporter that there is something.
	wake func()

	mu      sync.Mutex
	entries []entry
	events  int   // events among the entries
	bytes   int   // of these
	first   int64 // number of the first of these
	taken   int   // entries in the report that is out
	most    int   // events in a report; less than usual while reports are too large
	changed chan struct{}
	tooLate []lineshaft.LateUsage // that could not be reported
}

func newOutbox(ref lineshaft.ExecutionRef, last int64, wake func()) *outbox {
	return &outbox{ref: ref, wake: wake, first: last + 1, most: reportEvents, changed: make(chan struct{})}
}

// put adds an event. It waits while there is no room; it drops the event when ctx
// ends first.
func (o *outbox) put(ctx context.Context, draft lineshaft.Draft) {
	o.add(ctx, draft)
}

// add adds an event and gives its number; zero when ctx ended first.
func (o *outbox) add(ctx context.Context, draft lineshaft.Draft) int64 {
	room := func() bool { return o.events < outboxEvents && o.bytes < outboxBytes }
	if !o.await(ctx, room) {
		return 0
	}
	o.entries = append(o.entries, entry{draft: draft})
	o.events++
	o.bytes += len(draft.Data)
	number := o.first + int64(o.events) - 1
	o.mu.Unlock()
	o.wake()
	return number
}

// delivered adds an event and says whether it was acknowledged before ctx ended.
func (o *outbox) delivered(ctx context.Context, draft lineshaft.Draft) bool {
	number := o.add(ctx, draft)
	if number == 0 || !o.await(ctx, func() bool { return o.first > number }) {
		return false
	}
	o.mu.Unlock()
	return true
}

// late keeps what a model request has used that ended after the execution.
func (o *outbox) late(data lineshaft.UsageData) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tooLate = append(o.tooLate, lineshaft.LateUsage{UsageData: data})
}

// unreported is what models have used, as far as nobody has acknowledged it.
func (o *outbox) unreported() []lineshaft.LateUsage {
	o.mu.Lock()
	defer o.mu.Unlock()
	used := slices.Clone(o.tooLate)
	number := o.first - 1
	for _, e := range o.entries {
		if e.mark != noMark {
			continue
		}
		number++
		var data lineshaft.UsageData
		if e.draft.Type == lineshaft.EventUsage && json.Unmarshal(e.draft.Data, &data) == nil {
			used = append(used, lineshaft.LateUsage{UsageData: data, Number: number})
		}
	}
	return used
}

// tell adds a mark; there is always room for marks.
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

// take makes the next report from what has gathered. A report begins with at most one
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
		if n := len(report.Events); n > 0 && (n >= o.most || bytes+len(e.draft.Data) > reportBytes) {
			break
		}
		bytes += len(e.draft.Data)
		report.Events = append(report.Events, e.draft)
		o.taken = i + 1
	}
	return report, o.taken > 0
}

// acknowledge forgets what the last take returned.
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
	o.most = min(2*o.most, reportEvents)
	close(o.changed)
	o.changed = make(chan struct{})
}

// keep leaves what the last take returned for another try.
func (o *outbox) keep() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = 0
}

// shrink makes the next report smaller than the last one from take, which was too
// large: fewer events, or, for a single event, another in its place, which keeps
// its number. False says that it cannot be smaller.
func (o *outbox) shrink(leftOut func(kind lineshaft.EventType, size int) lineshaft.Draft) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	events, last := 0, 0
	for i, e := range o.entries[:o.taken] {
		if e.mark == noMark {
			events, last = events+1, i
		}
	}
	if events > 1 {
		o.taken, o.most = 0, events/2
		return true
	}
	old := &o.entries[last].draft
	if events == 0 || len(old.Data) <= smallEvent {
		return false
	}
	size := len(old.Data)
	*old = leftOut(old.Type, size)
	o.bytes += len(old.Data) - size
	o.taken = 0
	return true
}

// smallEvent is a size that no control plane calls too large.
const smallEvent = 1 << 10

func (o *outbox) pending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.entries) > 0
}
