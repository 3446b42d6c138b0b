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
func (s *Runs) answer(ctx context.Context, tx *store.Tx, e *store.Execution, h *store.RunHead, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	if result.Ask == "" {
		return nil, lineshaft.Invalid("state", "a turn cannot end as %s; to ask something, name the question in ask", result.State)
	}
	if err := presentTurn(ctx, tx, h, result.Turn); err != nil {
		return nil, err
	}
	if e.Ask != result.Ask {
		return nil, s.beginAsk(ctx, tx, e, h, result.Ask)
	}
	if e.Interrupted {
		return nil, nil //nolint:nilnil // the turn is about to end: what was said is for afterwards
	}
	f, err := tx.TakeAnswer(ctx, h, e)
	if err != nil || f == nil {
		return nil, err
	}
	turn, err := s.turnOf(ctx, tx, f)
	if err != nil {
		return nil, err
	}
	return turn, s.moveBlocked(ctx, tx, h, lineshaft.InProgress, "the agent is working")
}

// beginAsk is the first word about a question.
func (s *Runs) beginAsk(ctx context.Context, tx *store.Tx, e *store.Execution, h *store.RunHead, ask string) error {
	if err := tx.BeginAsk(ctx, e, ask); err != nil {
		return err
	}
	return s.moveBlocked(ctx, tx, h, lineshaft.Blocked, "the agent waits for an answer; send it as a follow-up")
}

// moveBlocked takes a run into BLOCKED or out of it, if it is not there already.
func (s *Runs) moveBlocked(ctx context.Context, tx *store.Tx, h *store.RunHead, to lineshaft.RunState, why string) error {
	from, now := h.State, s.Store.Now()
	if from == to || from != lineshaft.InProgress && from != lineshaft.Blocked {
		return tx.SaveRun(ctx, h)
	}
	status := lineshaft.StatusMessage{Message: why}
	if err := h.Move(to, status, now); err != nil {
		return err
	}
	s.wakeRun(ctx, tx, h)
	return tx.SaveRun(ctx, h, stateDraft(now, from, to, status, ""))
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
		return lineshaft.Invalid("turn", "the question is of turn %q, but the execution is at %q", lineshaft.Clip(name, 100), present)
	}
	return nil
}
