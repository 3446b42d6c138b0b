package runs

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// life is a run whose row a transaction holds. What happens to it is gathered until save
// writes it, wakes those who wait for it and, when the run is over, passes its concurrency
// key on. The rules are those of lineshaft.RunLife.
type life struct {
	*store.RunHead
	room   *Runs
	tx     *store.Tx
	now    time.Time
	events []lineshaft.Draft
}

// lifeOf is for a run whose row is locked already.
func (s *Runs) lifeOf(tx *store.Tx, h *store.RunHead) *life {
	return &life{RunHead: h, room: s, tx: tx, now: s.Store.Now()}
}

// lockLife locks a run that may end, with its concurrency key and other names.
func (s *Runs) lockLife(ctx context.Context, tx *store.Tx, runID string, names ...string) (*life, error) {
	h, err := tx.LockRunAndKey(ctx, runID, names...)
	if err != nil {
		return nil, err
	}
	return s.lifeOf(tx, h), nil
}

// move changes the state; worker is the process that it is about, if there is one.
func (l *life) move(to lineshaft.RunState, status lineshaft.StatusMessage, worker string) error {
	return l.note(l.Move(to, status, worker, l.now))
}

// note keeps the event of a rule that was applied.
func (l *life) note(happened lineshaft.Draft, err error) error {
	if err == nil {
		l.events = append(l.events, happened)
	}
	return err
}

func (l *life) warn(text string) {
	l.events = append(l.events, lineshaft.NewDraft(lineshaft.EventNotice, l.now, lineshaft.NoticeData{Level: "warning", Text: text}))
}

// save writes the run with what happened to it. Its concurrency key is passed on after
// that: a run whose end is not written could be taken for one that waits.
func (l *life) save(ctx context.Context) error {
	l.wake()
	if err := l.tx.SaveRun(ctx, l.RunHead, l.events...); err != nil {
		return err
	}
	l.events = nil
	if l.ConcurrencyKey == "" || !l.Over() {
		return nil
	}
	return l.passKey(ctx)
}

// passKey gives the concurrency key to the run that waits longest for it.
func (l *life) passKey(ctx context.Context) error {
	runID := l.ID
	for {
		next, err := l.tx.FreeSlot(ctx, l.ConcurrencyKey, runID)
		if err != nil || next == "" {
			return err
		}
		h, err := l.tx.LockRun(ctx, next)
		if base.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil && h.State == lineshaft.Queued {
			waiting := l.room.lifeOf(l.tx, h)
			waiting.release(lineshaft.HoldConcurrency)
			return waiting.save(ctx)
		}
		runID = next // it was cancelled, or even deleted, just now: pass the key on
	}
}

func (l *life) release(reason lineshaft.Hold) {
	l.Hold &^= reason
	if !l.Hold.Has(lineshaft.HoldConcurrency) { // else its status names the run that has the key
		l.Status = queuedStatus(l.Hold)
	}
	l.Touch(l.now)
}

// wake wakes everyone who may be waiting for this run.
func (l *life) wake() {
	l.tx.Wake(stream.RunTopic(l.ID))
	l.tx.Wake(stream.StatesTopic)
	if l.State == lineshaft.Queued {
		l.tx.Wake(stream.QueueTopic(l.WorkerHost))
	}
	if l.State == lineshaft.Queued && l.Hold.Has(lineshaft.HoldSkill) {
		l.tx.Wake(stream.SkillsTopic)
	}
	if l.WorkerID != "" {
		l.tx.Wake(stream.WorkerTopic(l.WorkerID))
	}
}

// endExecution marks an execution as over. When it is the run's newest, the run has no live
// process any more.
func (l *life) endExecution(ctx context.Context, e *store.Execution) error {
	l.markEnded(e)
	return l.tx.SaveExecutions(ctx, []*store.Execution{e})
}

func (l *life) markEnded(e *store.Execution) {
	e.EndedAt = l.now
	if l.ExecutionID != e.ID {
		return
	}
	l.EndExecution(e.StartedAt, l.now)
	if l.State == lineshaft.Queued {
		l.tx.Wake(stream.QueueTopic(l.WorkerHost))
	}
}

// lose ends an execution whose worker is gone or gave the run back. The run is queued again
// if another attempt is allowed, else it ends as an error of the platform.
func (l *life) lose(ctx context.Context, e *store.Execution, why string) error {
	current := l.ExecutionID == e.ID
	if err := l.endExecution(ctx, e); err != nil {
		return err
	}
	if !current || !l.State.Held() {
		return l.save(ctx)
	}
	if l.MayTryAgain() {
		return l.tryAgain(ctx, e, why)
	}
	retryable := true
	status := lineshaft.StatusMessage{Message: why, ErrorCode: lineshaft.CodeInfrastructureTimeout, Retryable: &retryable}
	if err := l.move(lineshaft.Errored, status, e.WorkerID); err != nil {
		return err
	}
	l.PromptDone = true // the lost turn is not repeated; what was said after it is still done
	// Nobody knows whether the last answer arrived: it is said again, as a turn.
	if err := l.tx.ReturnAnswer(ctx, l.RunHead, e.Ask); err != nil {
		return err
	}
	if err := l.tx.FinishFollowups(ctx, l.RunHead); err != nil {
		return err
	}
	return l.conclude(ctx)
}

// tryAgain puts a run whose execution was lost back to its old place in the queue, with the
// turn that was lost.
func (l *life) tryAgain(ctx context.Context, e *store.Execution, why string) error {
	if err := l.move(lineshaft.Queued, lineshaft.StatusMessage{Message: why + "; queued again"}, e.WorkerID); err != nil {
		return err
	}
	if err := l.tx.ReturnFollowups(ctx, l.RunHead); err != nil {
		return err
	}
	return l.save(ctx)
}

// conclude saves a run that has just ended. An unread follow-up takes it back into the queue
// in the same transaction.
func (l *life) conclude(ctx context.Context) error {
	if l.Unread > 0 {
		if err := l.requeue(ctx, "continued by a follow-up"); err != nil {
			return err
		}
	}
	return l.save(ctx)
}

// requeue brings an ended run back into the queue for a new execution. A taken concurrency
// key holds it there.
func (l *life) requeue(ctx context.Context, why string) error {
	if err := l.note(l.Requeue(why, l.now)); err != nil || l.ConcurrencyKey == "" {
		return err
	}
	holder, err := l.tx.TakeSlot(ctx, l.ConcurrencyKey, l.ID)
	if err == nil && holder != l.ID {
		l.Hold |= lineshaft.HoldConcurrency
	}
	return err
}

// stop ends a run that has not ended, whatever it does; its worker is notified. Its messages
// end with it. Those that no agent got are reported: their writers would wait for ever.
func (l *life) stop(ctx context.Context, to lineshaft.RunState, status lineshaft.StatusMessage) error {
	moved, err := l.Stop(to, status, l.now)
	if err != nil {
		return err
	}
	switch {
	case l.Unread == 1:
		l.warn("1 follow-up was not delivered. Send it again to continue the run.")
	case l.Unread > 1:
		l.warn(fmt.Sprintf("%d follow-ups were not delivered. Send them again to continue the run.", l.Unread))
	}
	l.events = append(l.events, moved)
	if err := l.tx.DropFollowups(ctx, l.RunHead); err != nil {
		return err
	}
	return l.save(ctx)
}

// queuedStatus is what a run waits for whose turn it would be.
func queuedStatus(hold lineshaft.Hold) lineshaft.StatusMessage {
	if hold.Has(lineshaft.HoldSkill) {
		return lineshaft.StatusMessage{Message: "waiting for its skills"}
	}
	return lineshaft.StatusMessage{Message: "waiting for a worker"}
}
