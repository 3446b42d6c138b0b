package worker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/pause"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// lease is an execution's claim on its run, as far as this worker can know.
//
// The control plane lets it run out a full length after the last heartbeat it
// answered. Two thirds after that heartbeat was sent, the worker considers it
// lost, and the agents' supervisors, which are fed with each answer, end them by
// their own clocks. An answer may take a third at most, so an agent never lives
// past its lease.
type lease struct {
	length time.Duration
	lose   func(error)

	mu sync.Mutex
	// renewed is when the last answered heartbeat was sent.
	renewed time.Time
	// fresh is closed and made again with each renewal.
	fresh     chan struct{}
	timer     *time.Timer
	processes map[*sandbox.Process]struct{}
	over      bool
}

func newLease(job lineshaft.Job, lose func(error)) *lease {
	l := &lease{length: job.Lease, lose: lose, fresh: make(chan struct{}), processes: map[*sandbox.Process]struct{}{}}
	l.renewed = job.Granted
	if l.renewed.IsZero() {
		l.renewed = time.Now()
	}
	l.timer = time.AfterFunc(l.holds()-time.Since(l.renewed), l.runOut)
	return l
}

// runOut is called by the timer. What is lost is not found again.
func (l *lease) runOut() {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return
	}
	l.over = true
	l.mu.Unlock()
	l.lose(errLeaseLost)
}

// holds is how long the worker relies on a renewal.
func (l *lease) holds() time.Duration { return l.length * 2 / 3 }

// beat is the time between heartbeats, and the longest one may take.
func (l *lease) beat() time.Duration { return l.length / 3 }

func (l *lease) due() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.renewed.Add(l.beat())
}

// renew takes the answer to a heartbeat that was sent at the given time, and
// feeds the supervisors.
func (l *lease) renew(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || time.Since(sent) > l.beat() || sent.Before(l.renewed) {
		return
	}
	l.timer.Reset(l.holds() - time.Since(sent))
	l.renewed = sent
	close(l.fresh)
	l.fresh = make(chan struct{})
	for p := range l.processes {
		p.Feed()
	}
}

// wait returns when the lease is fresh enough to start a process under it.
func (l *lease) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		ok, fresh := !l.over && time.Since(l.renewed) <= l.beat(), l.fresh
		l.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-fresh:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// add makes a process one that is fed, until it has ended.
func (l *lease) add(p *sandbox.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.processes[p] = struct{}{}
}

func (l *lease) remove(p *sandbox.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.processes, p)
}

func (l *lease) left() []*sandbox.Process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.processes))
}

func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.timer.Stop()
}

// heartbeatLoop renews the leases.
func (w *Worker) heartbeatLoop() {
	var failed time.Time
	for {
		due, length := w.nextBeat()
		if !failed.IsZero() {
			// The control plane is unreachable: try often, for there is not much time.
			due = failed.Add(length / 30)
		}
		timer := time.NewTimer(time.Until(due))
		select {
		case <-w.life.Done():
			timer.Stop()
			return
		case <-w.beats:
			timer.Stop()
			continue // another lease may be due earlier
		case <-w.asks:
			timer.Stop()
		case <-timer.C:
		}
		failed = time.Time{}
		if !w.beat(length / 3) {
			failed = time.Now()
		}
	}
}

// nextBeat is when the next lease is due, and the length of the shortest.
func (w *Worker) nextBeat() (due time.Time, length time.Duration) {
	due, length = time.Now().Add(time.Hour), time.Hour
	for _, e := range w.held() {
		if e.life.Err() != nil {
			continue
		}
		if at := e.lease.due(); at.Before(due) {
			due = at
		}
		length = min(length, e.lease.length)
	}
	return due, length
}

// beat sends a heartbeat for everything that is held, and says whether it was
// answered in time. On a network that was cut for a moment, the answer to the first heartbeat
// may take until there is no time left, while the answer to another one comes at once: so, until
// an answer comes, another one is sent every quarter of the time.
func (w *Worker) beat(within time.Duration) bool {
	ctx, cancel := context.WithTimeout(w.life, within)
	defer cancel()
	again := time.NewTicker(within / 4)
	defer again.Stop()
	answers := make(chan error, 5)
	send := func() { w.loops.Go(func() { answers <- w.beatOnce(ctx) }) }
	send()
	for out := 1; ; {
		select {
		case err := <-answers:
			if err == nil {
				return true
			}
			if out--; out > 0 {
				continue
			}
			if w.life.Err() == nil {
				w.logger.WarnContext(w.life, "cannot send a heartbeat", "err", err)
			}
			return false
		case <-again.C:
			if out < cap(answers) {
				out++
				send()
			}
		}
	}
}

// beatOnce sends one heartbeat.
func (w *Worker) beatOnce(ctx context.Context) error {
	var (
		held []*execution
		refs []lineshaft.ExecutionRef
	)
	for _, e := range w.held() {
		if e.life.Err() == nil {
			held, refs = append(held, e), append(refs, e.job.ExecutionRef)
		}
	}
	if len(held) == 0 {
		return nil
	}
	sent := time.Now()
	directives, err := w.control.Heartbeat(ctx, w.config.WorkerID, refs)
	if err != nil {
		return err
	}
	w.obey(directives)
	for _, e := range held {
		if e.life.Err() == nil {
			e.lease.renew(sent)
		}
	}
	return nil
}

// directiveLoop waits for directives of the control plane.
func (w *Worker) directiveLoop() {
	var again pause.Backoff
	for {
		directives, err := w.control.Directives(w.life, w.config.WorkerID)
		w.obey(directives)
		switch {
		case w.life.Err() != nil:
			return
		case err == nil:
			again.Reset()
		default:
			w.logger.WarnContext(w.life, "cannot wait for directives", "err", err)
			if !again.Wait(w.life, 0) {
				return
			}
		}
	}
}

// maxEarly bounds the directives kept for executions that are not here.
const maxEarly = 64

// obey carries out directives. One may be faster than the answer to the claim of
// its execution, so those for unknown ones are kept for a while.
func (w *Worker) obey(directives []lineshaft.Directive) {
	for _, d := range directives {
		w.mu.Lock()
		e := w.executions[d.ExecutionID]
		if e == nil {
			w.early = append(w.early[max(0, len(w.early)-maxEarly+1):], d)
		}
		w.mu.Unlock()
		if e != nil {
			e.obey(d)
		}
	}
}

// takeEarly gives the directives that came before their execution. The lock is held.
func (w *Worker) takeEarly(id string) []lineshaft.Directive {
	var mine []lineshaft.Directive
	w.early = slices.DeleteFunc(w.early, func(d lineshaft.Directive) bool {
		if d.ExecutionID == id {
			mine = append(mine, d)
		}
		return d.ExecutionID == id
	})
	return mine
}

func (e *execution) obey(d lineshaft.Directive) {
	switch d.Kind {
	case lineshaft.DirectiveStop:
		e.endLife(errStopped)
	case lineshaft.DirectiveInterrupt:
		e.interrupt()
	case lineshaft.DirectiveFollowup:
		e.followup.poke()
	}
}
