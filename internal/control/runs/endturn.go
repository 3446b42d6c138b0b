package runs

import (
	"context"
	"errors"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// EndTurn records how a turn ended and returns the next one, if a follow-up waits.
// Without one the execution is over: the run takes the result's state, or goes
// back into the queue. A run that ends while an unread follow-up exists is
// re-queued in the same transaction.
//
// With State Blocked the turn goes on, and what is returned is the answer to the
// question that the result names; see answer.
//
// An execution that lost its run gets a Conflict; it must end its processes and
// then call EndTurn with State Cancelled, which tells that nothing of it is left.
//
// Turns that end at the same time share a transaction if they are plain.
func (s *Runs) EndTurn(ctx context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (next *lineshaft.Turn, err error) {
	if result.State != lineshaft.Blocked { // which ends nothing, and is asked often
		var span tracing.Span
		ctx, span = s.Cfg.Tracer.Start(ctx, base.SpanEndTurn, tracing.Options{})
		span.String("lineshaft.execution.id", ref.ExecutionID)
		span.String("lineshaft.turn.state", string(result.State))
		defer func() { span.End(err) }()
	}
	t := &turnEnd{ref: ref, result: result}
	if plainEnd(result) {
		if err := s.ends.Do(ctx, t, s.endTurns); err != nil {
			return nil, err
		}
		if t.done || t.err != nil {
			return nil, t.err
		}
	}
	return s.endTurnAlone(ctx, ref, result)
}

func (s *Runs) endTurnAlone(ctx context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	var next *lineshaft.Turn
	var refused error
	var trees []store.Tree
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		next, refused, trees = nil, nil, nil
		if err := tx.LockKeyOf(ctx, ref.ExecutionID); err != nil { // the run may end
			return err
		}
		b, err := s.lockExecutions(ctx, tx, []lineshaft.ExecutionRef{ref})
		if err != nil {
			return err
		}
		e, h, err := b.current(ref)
		if err != nil {
			refused = err
			if err := s.endStray(ctx, tx, e, h, result, &refused); err != nil {
				return err
			}
			if trees, err = b.spendTrees(ctx, tx); err != nil {
				return err
			}
			return tx.AddSpending(ctx, b.spent(), s.Store.Now())
		}
		next, err = s.endTurn(ctx, tx, e, h, result)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.endSpentTrees(ctx, trees)
	return next, refused
}

// maxLateUsage bounds what an execution may say about model requests after its end.
const maxLateUsage = 1000

// endStray notes that an execution which lost its run has nothing running any more.
func (s *Runs) endStray(ctx context.Context, tx *store.Tx, e *store.Execution, h *store.RunHead, result lineshaft.TurnResult, refused *error) error {
	if e == nil || result.State != lineshaft.Cancelled {
		return nil
	}
	*refused = nil
	now := s.Store.Now()
	if h == nil {
		return s.endExecution(ctx, tx, e, nil, now)
	}
	var used usages // cancelling a run does not give its tokens back
	if e.EndedAt.IsZero() {
		for _, late := range result.Used[:min(len(result.Used), maxLateUsage)] {
			if late.Number == 0 || late.Number > e.LastNumber { // else a report has counted it
				used.add(late.UsageData)
			}
		}
	}
	if err := used.save(ctx, tx, h); err != nil {
		return err
	}
	return errors.Join(s.endExecution(ctx, tx, e, h, now), tx.SaveRun(ctx, h), s.settle(ctx, tx, h, now))
}

// endExecution marks an execution as over. When it is the run's newest, the run
// has no live process any more and may be claimed again.
func (s *Runs) endExecution(ctx context.Context, tx *store.Tx, e *store.Execution, h *store.RunHead, now time.Time) error {
	markEnded(tx, e, h, now)
	return tx.SaveExecutions(ctx, []*store.Execution{e})
}

func markEnded(tx *store.Tx, e *store.Execution, h *store.RunHead, now time.Time) {
	e.EndedAt = now
	if h != nil && h.ExecutionID == e.ID {
		h.SandboxRunning, h.Hold = false, h.Hold&^store.HoldExecution
		if !e.StartedAt.IsZero() {
			h.RunTime += now.Sub(e.StartedAt)
		}
		if h.State == lineshaft.Queued {
			tx.Wake(stream.QueueTopic(h.WorkerHost))
		}
	}
}

func (s *Runs) endTurn(ctx context.Context, tx *store.Tx, e *store.Execution, h *store.RunHead, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	if result.State == lineshaft.Blocked {
		return s.answer(ctx, tx, e, h, result)
	}
	now := s.Store.Now()
	if again, err := s.sentAgain(ctx, tx, h, result); err != nil || again != nil {
		return again, err
	}
	if err := tx.ReturnAnswer(ctx, h, result.Ask); err != nil {
		return nil, err
	}
	if result.State == lineshaft.Queued {
		return nil, s.lose(ctx, tx, e, h, result.Message, now)
	}
	if result.State == lineshaft.Cancelled {
		// A worker whose lease ran out says so too, and nobody has cancelled the run.
		lost, err := tx.StillExpired(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		if lost {
			return nil, s.lose(ctx, tx, e, h, "worker "+e.WorkerID+" lost its lease", now)
		}
	}
	if !result.State.Terminal() {
		return nil, lineshaft.Invalid("state", "a turn cannot end as %s", result.State)
	}
	h.PromptDone = true
	if err := tx.FinishFollowups(ctx, h); err != nil {
		return nil, err
	}
	if !result.Dead {
		next, err := s.takeTurn(ctx, tx, h)
		if err != nil {
			return nil, err
		}
		if next != nil {
			return next, errors.Join(s.continueRun(ctx, tx, h, result, now), s.forgetInterrupt(ctx, tx, e))
		}
	}
	return nil, s.finish(ctx, tx, e, h, result, now)
}

// sentAgain finds out that a result was taken before and its answer lost: then the
// execution is at a later turn already, which it gets once more.
func (s *Runs) sentAgain(ctx context.Context, tx *store.Tx, h *store.RunHead, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	if result.Turn == "" || !h.Taken {
		return nil, nil
	}
	at, err := tx.TakenFollowup(ctx, h.ID)
	if err != nil || at == nil || at.ID == result.Turn {
		return nil, err
	}
	return s.turnOf(ctx, tx, at)
}

// forgetInterrupt drops an interrupt that was meant for the turn that is over.
func (s *Runs) forgetInterrupt(ctx context.Context, tx *store.Tx, e *store.Execution) error {
	if !e.Interrupted {
		return nil
	}
	_, err := tx.TakeInterrupt(ctx, e.ID, true)
	return err
}

// continueRun goes on with the next turn in the same session.
func (s *Runs) continueRun(ctx context.Context, tx *store.Tx, h *store.RunHead, result lineshaft.TurnResult, now time.Time) error {
	var drafts []lineshaft.Draft
	if result.State != lineshaft.Succeeded {
		drafts = append(drafts, lineshaft.NewDraft(lineshaft.EventNotice, now, lineshaft.NoticeData{Level: "warning", Text: "the turn ended as " + string(result.State) + ": " + result.Message}))
	}
	if h.State == lineshaft.Blocked {
		if err := h.Move(lineshaft.InProgress, lineshaft.StatusMessage{Message: "the agent is working"}, now); err != nil {
			return err
		}
		drafts = append(drafts, stateDraft(now, lineshaft.Blocked, lineshaft.InProgress, lineshaft.StatusMessage{}, ""))
	}
	if h.Status.Message == StatusInterrupted {
		h.Status.Message = "the agent is working"
		h.Touch(now)
	}
	tx.Wake(stream.RunTopic(h.ID))
	return tx.SaveRun(ctx, h, drafts...)
}

// finish ends the execution and moves the run to where the result says.
func (s *Runs) finish(ctx context.Context, tx *store.Tx, e *store.Execution, h *store.RunHead, result lineshaft.TurnResult, now time.Time) error {
	drafts, err := finalMoves(e, h, result, now)
	if err != nil {
		return err
	}
	if err := s.endExecution(ctx, tx, e, h, now); err != nil {
		return err
	}
	return s.conclude(ctx, tx, h, drafts, now)
}

// finalMoves takes a run to the state that its last turn ended in.
func finalMoves(e *store.Execution, h *store.RunHead, result lineshaft.TurnResult, now time.Time) ([]lineshaft.Draft, error) {
	var drafts []lineshaft.Draft
	move := func(to lineshaft.RunState, status lineshaft.StatusMessage) error {
		from := h.State
		err := h.Move(to, status, now)
		drafts = append(drafts, stateDraft(now, from, to, status, e.WorkerID))
		return err
	}
	if h.State == lineshaft.Claimed && result.State == lineshaft.Succeeded {
		if err := move(lineshaft.InProgress, lineshaft.StatusMessage{}); err != nil {
			return nil, err
		}
	}
	status := lineshaft.StatusMessage{Message: result.Message, ErrorCode: result.Code}
	if result.State == lineshaft.Errored || result.State == lineshaft.Failed {
		retryable := result.State == lineshaft.Errored
		status.Retryable = &retryable
	}
	if status.Message == "" {
		status.Message = "the agent has finished"
	}
	return drafts, move(result.State, status)
}
