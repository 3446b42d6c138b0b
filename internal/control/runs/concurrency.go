package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// enterConcurrency takes a new run's concurrency key, or does what its policy says when
// another run has it. With a result, make no new run.
func (s *Runs) enterConcurrency(ctx context.Context, tx *store.Tx, c lineshaft.Caller, n *store.NewRun, files []lineshaft.Attachment) (*Started, error) {
	rule := n.Body.Config.Concurrency
	if rule == nil || rule.Key == "" {
		return nil, nil
	}
	n.Head.ConcurrencyKey = KeyOf(n)[0].Key
	holder, err := s.lockHolder(ctx, tx, n.Head.ConcurrencyKey, n.Head.ID)
	if err != nil || holder == nil {
		return nil, err
	}
	why := ""
	switch rule.Policy {
	case lineshaft.PolicySkip:
		n.Head.State, n.Head.FinishedAt = lineshaft.Cancelled, n.CreatedAt
		n.Head.Status = lineshaft.StatusMessage{Message: fmt.Sprintf("skipped: run %s has the concurrency key %q", holder.ID, rule.Key)}
		return nil, nil
	case lineshaft.PolicyFollowup:
		if holder.State.Terminal() {
			break // it is only waiting for its processes to go
		}
		if err := mayTakeOver(ctx, tx, c, rule, holder); err != nil {
			return nil, err
		}
		if more, err := givesMore(ctx, tx, n, holder); err != nil {
			return nil, err
		} else if more {
			why = "; outside content is not sent to it, because it has secrets that this run does not get"
			break
		}
		if startedOutside(n.Source, n.Head.CreatorUID) {
			if err := tx.MarkOutside(ctx, holder); err != nil {
				return nil, err
			}
		}
		result, err := s.lifeOf(tx, holder).followUp(ctx, c, followupText(n), files)
		if err != nil {
			return nil, err
		}
		return &Started{RunID: result.RunID, State: holder.State}, nil
	case lineshaft.PolicyCancelPrevious:
		if err := s.cancelPrevious(ctx, tx, c, rule, n.Head.ConcurrencyKey, holder); err != nil {
			return nil, err
		}
		next, err := tx.TakeSlot(ctx, n.Head.ConcurrencyKey, n.Head.ID)
		if err != nil || next == n.Head.ID {
			return nil, err
		}
	case lineshaft.PolicyQueue, "":
	}
	n.Head.Hold |= lineshaft.HoldConcurrency
	n.Head.Status.Message = fmt.Sprintf("waiting for run %s, which has the concurrency key %q%s", holder.ID, rule.Key, why)
	return nil, nil
}

// givesMore says whether a run that starts from outside would get at secrets that it
// does not have itself by following up on another.
func givesMore(ctx context.Context, tx *store.Tx, n *store.NewRun, holder *store.RunHead) (bool, error) {
	if !startedOutside(n.Source, n.Head.CreatorUID) {
		return false, nil
	}
	body, err := tx.GetRunBody(ctx, holder.ID)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(body.Config.GivenSecrets(), func(name string) bool { return !slices.Contains(n.Body.Config.GivenSecrets(), name) }), nil
}

// SlotKey is a concurrency key in the whole database: a factory has its own, so nobody
// holds up, or sees, another one's runs.
func SlotKey(factoryUID, key string) string {
	if factoryUID == "" {
		return "run/" + key
	}
	return "factory/" + factoryUID + "/" + key
}

// KeyOf is the concurrency key of a new run in the whole database; empty if it has none.
func KeyOf(n *store.NewRun) []store.KeyUse {
	rule := n.Body.Config.Concurrency
	if rule == nil || rule.Key == "" {
		return nil
	}
	return []store.KeyUse{UseKey(rule, cmp.Or(n.Head.ConcurrencyKey, SlotKey(n.Head.FactoryUID, rule.Key)))}
}

// slotTries bounds how often a key that keeps changing hands is read.
const slotTries = 50

// lockHolder takes the key for a run, or returns the run that has it with its row
// locked: it keeps the key until this transaction ends, and sees then who waits.
//
// The key's name and the row of its holder are locked already. The slot is never locked
// before a row, and is read again, for nodes of an older version: those end runs
// without the name.
func (s *Runs) lockHolder(ctx context.Context, tx *store.Tx, key, runID string) (*store.RunHead, error) {
	for range slotTries {
		holder, err := tx.SlotHolder(ctx, key)
		if err != nil {
			return nil, err
		}
		if holder == "" {
			if taken, err := tx.TrySlot(ctx, key, runID); err != nil || taken {
				return nil, err
			}
			continue
		}
		h, err := tx.LockRun(ctx, holder)
		if base.IgnoreNotFound(err) != nil {
			return nil, err
		}
		still, slotErr := tx.SlotHolder(ctx, key)
		if slotErr != nil || err == nil && still == holder {
			return h, slotErr
		}
	}
	return nil, lineshaft.Unavailable(nil, "this concurrency key is too busy; try again")
}

// cancelPrevious cancels the runs that wait for a key, then the one that has it:
// in that order the key is not handed to a run that is about to go.
func (s *Runs) cancelPrevious(ctx context.Context, tx *store.Tx, c lineshaft.Caller, rule *lineshaft.Concurrency, key string, holder *store.RunHead) error {
	waiting, err := tx.ListWaiting(ctx, key)
	if err != nil {
		return err
	}
	for _, runID := range waiting {
		if runID == holder.ID {
			continue
		}
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		if err := s.cancelFor(ctx, tx, c, rule, h); err != nil {
			return err
		}
	}
	return s.cancelFor(ctx, tx, c, rule, holder)
}

func (s *Runs) cancelFor(ctx context.Context, tx *store.Tx, c lineshaft.Caller, rule *lineshaft.Concurrency, h *store.RunHead) error {
	if h.State.Terminal() {
		return nil
	}
	if err := mayTakeOver(ctx, tx, c, rule, h); err != nil {
		return err
	}
	return s.lifeOf(tx, h).cancel(ctx, c, fmt.Sprintf("cancelled: a newer run took the concurrency key %q", rule.Key))
}

// mayTakeOver says whether a caller may continue or end the run that has its
// concurrency key: a key is not a way around the permissions on runs.
func mayTakeOver(ctx context.Context, tx *store.Tx, c lineshaft.Caller, rule *lineshaft.Concurrency, h *store.RunHead) error {
	visible, err := base.MaySee(ctx, tx, c, h.ID, h.FactoryUID)
	if err != nil {
		return err
	}
	if !visible || mayChange(c, h.ID, h.CreatorUID) != nil {
		return lineshaft.Denied("the concurrency key %q belongs to a run that is not yours; use another key, or the policy queue or skip", rule.Key)
	}
	return nil
}
