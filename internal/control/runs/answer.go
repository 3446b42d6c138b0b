package runs

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// answer gives an agent that asks something the follow-up that answers it; nil while
// there is none. The run is BLOCKED from the first call about a question until then.
// Only what was said after the question can answer it: older follow-ups stay turns of
// their own, and so does an answer that a lost execution had taken, because the next
// one may ask something else.
func (l *life) answer(ctx context.Context, e *store.Execution, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	if result.Ask == "" {
		return nil, lineshaft.Invalid("state", "a turn cannot end as %s; to ask something, name the question in ask", result.State)
	}
	if err := presentTurn(ctx, l.tx, l.RunHead, result.Turn); err != nil {
		return nil, err
	}
	if e.Ask != result.Ask {
		return nil, l.beginAsk(ctx, e, result.Ask)
	}
	if e.Interrupted {
		return nil, nil // the turn is about to end: what was said is for afterwards
	}
	f, err := l.tx.TakeAnswer(ctx, l.RunHead, e)
	if err != nil || f == nil {
		return nil, err
	}
	turn, err := l.room.turnOf(ctx, l.tx, f)
	if err != nil {
		return nil, err
	}
	return turn, l.moveBlocked(ctx, lineshaft.InProgress, lineshaft.AgentWorking)
}

// beginAsk is the first word about a question.
func (l *life) beginAsk(ctx context.Context, e *store.Execution, ask string) error {
	if err := l.tx.BeginAsk(ctx, e, ask); err != nil {
		return err
	}
	return l.moveBlocked(ctx, lineshaft.Blocked, "the agent waits for an answer; send it as a follow-up")
}

// moveBlocked takes a run into BLOCKED or out of it, if it is not there already.
func (l *life) moveBlocked(ctx context.Context, to lineshaft.RunState, why string) error {
	if l.State == to || l.State != lineshaft.InProgress && l.State != lineshaft.Blocked {
		return l.tx.SaveRun(ctx, l.RunHead)
	}
	if err := l.move(to, lineshaft.StatusMessage{Message: why}, ""); err != nil {
		return err
	}
	return l.save(ctx)
}

// presentTurn refuses a question of a turn that is over.
func presentTurn(ctx context.Context, tx *store.Tx, h *store.RunHead, name string) error {
	present := lineshaft.PromptTurn
	if h.Taken {
		at, err := tx.TakenFollowup(ctx, h.ID)
		if err != nil {
			return err
		}
		if at != nil {
			present = at.ID
		}
	}
	if present != name {
		return lineshaft.Invalid("turn", "the question is from turn %q, but the execution is at %q", lineshaft.Clip(name, 100), present)
	}
	return nil
}
