package runs

import (
	"cmp"
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// EndTurn records how a turn ended and returns the next one, if a follow-up waits.
// Without one the execution is over: the run takes the result's state, or goes
// back into the queue. A run that ends while an unread follow-up exists is
// re-queued in the same transaction.
//
// With State Blocked the turn continues, and what is returned is the answer to the
// question that the result names; see answer.
//
// An execution that lost its run gets a Conflict; it must end its processes and then
// call EndTurn with State Cancelled, which says that nothing of it is left.
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
	if plainEnd(result) {
		w := &said{end: &turnEnd{ref: ref, result: result}}
		if err := s.says.Do(ctx, w, s.take); err != nil {
			return nil, err
		}
		if w.end.done || w.err != nil {
			return nil, w.err
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
			if trees, err = tx.SpendTrees(ctx, b.consumed()); err != nil {
				return err
			}
			return tx.AddSpending(ctx, b.spent(), s.Store.Now())
		}
		next, err = s.lifeOf(tx, h).endTurn(ctx, e, result)
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
	if h == nil {
		return endOrphan(ctx, tx, e, s.Store.Now())
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
	run := s.lifeOf(tx, h)
	if err := run.endExecution(ctx, e); err != nil {
		return err
	}
	return run.save(ctx)
}

// endTurn ends the turn of an execution that holds the run.
func (l *life) endTurn(ctx context.Context, e *store.Execution, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	if result.State == lineshaft.Blocked {
		return l.answer(ctx, e, result)
	}
	if again, err := l.sentAgain(ctx, result); err != nil || again != nil {
		return again, err
	}
	if err := l.tx.ReturnAnswer(ctx, l.RunHead, result.Ask); err != nil {
		return nil, err
	}
	if result.State == lineshaft.Queued {
		return nil, l.lose(ctx, e, result.Message)
	}
	if result.State == lineshaft.Cancelled {
		// A worker whose lease ran out also says so, although nobody has cancelled the run.
		lost, err := l.tx.StillExpired(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		if lost {
			return nil, l.lose(ctx, e, "worker "+e.WorkerID+" lost its lease")
		}
	}
	if !result.State.Terminal() {
		return nil, lineshaft.Invalid("state", "a turn cannot end as %s", result.State)
	}
	l.PromptDone = true
	if err := l.tx.FinishFollowups(ctx, l.RunHead); err != nil {
		return nil, err
	}
	if !result.Dead {
		next, err := l.room.takeTurn(ctx, l.tx, l.RunHead)
		if err != nil {
			return nil, err
		}
		if next != nil {
			return next, l.continueWith(ctx, e, result)
		}
	}
	return nil, l.finish(ctx, e, result)
}

// sentAgain finds out that a result was accepted before and its answer lost: then the
// execution is at a later turn already, and gets that turn again.
func (l *life) sentAgain(ctx context.Context, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	if result.Turn == "" || !l.Taken {
		return nil, nil
	}
	at, err := l.tx.TakenFollowup(ctx, l.ID)
	if err != nil || at == nil || at.ID == result.Turn {
		return nil, err
	}
	return l.room.turnOf(ctx, l.tx, at)
}

// continueWith continues with the next turn in the same session, without an interrupt that
// was meant for the turn that is over.
func (l *life) continueWith(ctx context.Context, e *store.Execution, result lineshaft.TurnResult) error {
	if result.State != lineshaft.Succeeded {
		l.warn("the turn ended as " + string(result.State) + ": " + result.Message)
	}
	if l.State == lineshaft.Blocked {
		if _, err := l.Move(lineshaft.InProgress, lineshaft.StatusMessage{Message: lineshaft.AgentWorking}, "", l.now); err != nil {
			return err
		}
		l.events = append(l.events, lineshaft.StateEvent(l.now, lineshaft.Blocked, lineshaft.InProgress, lineshaft.StatusMessage{}, ""))
	}
	if l.Interrupted {
		l.Say(lineshaft.AgentWorking, l.now)
	}
	if err := l.save(ctx); err != nil || !e.Interrupted {
		return err
	}
	_, err := l.tx.TakeInterrupt(ctx, e.ID, true)
	return err
}

func (l *life) finish(ctx context.Context, e *store.Execution, result lineshaft.TurnResult) error {
	if err := l.moveToEnd(e, result); err != nil {
		return err
	}
	if err := l.endExecution(ctx, e); err != nil {
		return err
	}
	return l.conclude(ctx)
}

// moveToEnd takes a run to the state that its last turn ended in.
func (l *life) moveToEnd(e *store.Execution, result lineshaft.TurnResult) error {
	if l.State == lineshaft.Claimed && result.State == lineshaft.Succeeded {
		if err := l.move(lineshaft.InProgress, lineshaft.StatusMessage{}, e.WorkerID); err != nil {
			return err
		}
	}
	status := lineshaft.StatusMessage{Message: result.Message, ErrorCode: result.Code}
	if result.State == lineshaft.Errored || result.State == lineshaft.Failed {
		retryable := result.State == lineshaft.Errored
		status.Retryable = &retryable
	}
	status.Message = cmp.Or(status.Message, "the agent has finished")
	return l.move(result.State, status, e.WorkerID)
}
