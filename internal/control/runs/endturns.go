package runs

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// maxEndBatch bounds the turns that end in one transaction.
const maxEndBatch = 64

// turnEnd is the end of a turn on its way into the store.
type turnEnd struct {
	ref    lineshaft.ExecutionRef
	result lineshaft.TurnResult
	// done says that the run ended with it. If neither it nor err is set, the end is
	// not plain: it needs a transaction of its own.
	done bool
	err  error
}

// plainEnd says whether a result may end a run without a look at anything but the
// run: most do.
func plainEnd(result lineshaft.TurnResult) bool {
	return result.State == lineshaft.Succeeded || result.State == lineshaft.Failed
}

// endTurns ends plain turns together, in a few statements for all of them.
func (s *Runs) endTurns(ctx context.Context, take func() []*turnEnd) {
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		ends := take()
		if len(ends) == 0 {
			return nil
		}
		refs := make([]lineshaft.ExecutionRef, len(ends))
		for i, t := range ends {
			refs[i], t.done = t.ref, false
		}
		b, err := s.lockExecutions(ctx, tx, refs)
		if err != nil {
			return err
		}
		for _, t := range ends {
			if err := s.endPlain(tx, b, t); err != nil {
				return err
			}
		}
		return b.save(ctx, tx)
	})
	for _, t := range take() {
		if err != nil {
			t.done = false
			if !base.OneIsToBlame(ctx, err) {
				t.err = err
			} // else each is tried alone
		}
	}
}

// endPlain ends one turn in the batch, unless someone waits for its run or it is not
// its execution's any more.
func (s *Runs) endPlain(tx *store.Tx, b *batch, t *turnEnd) error {
	e, h, err := b.current(t.ref)
	if err != nil || h.Unread > 0 || h.Taken || h.ConcurrencyKey != "" || b.changed[e.ID] {
		return nil //nolint:nilerr // ending it alone finds the error again
	}
	run := s.lifeOf(tx, h)
	if err := run.moveToEnd(e, t.result); err != nil {
		return err
	}
	run.PromptDone = true
	run.markEnded(e)
	run.wake()
	b.events[h.ID], b.changed[e.ID] = append(b.events[h.ID], run.events...), true
	t.done = true
	return nil
}
