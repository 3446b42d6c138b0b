package runs

import (
	"context"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// maxSaidBatch bounds the reports and the ends of turns in one transaction.
const maxSaidBatch = 64

// lockWait is how long executions that speak together wait for the run of one of them, which a
// forgotten session of the database may hold. Each then waits a tenth of that alone.
const lockWait = time.Second

// said is what executions said, on its way into the store: the reports of one call, or the
// end of a turn.
type said struct {
	reports []lineshaft.Report
	refused []error // one for each report
	end     *turnEnd
	alone   bool // it was in a batch that failed
	// trees are those that are over their budgets. The caller, one that has spent, ends them
	// after the transaction: the others need not wait for that.
	trees []store.Tree
	err   error
}

// weight is its part of a batch, by number and by bytes: nobody should wait long for it.
func (w *said) weight() int {
	bytes := 0
	for _, r := range w.reports {
		for _, draft := range r.Events {
			bytes += 2<<10 + len(draft.Data)
		}
	}
	return max(len(w.reports), 1) + bytes>>16
}

// spends says that it may use up a budget.
func (w *said) spends() bool {
	return slices.ContainsFunc(w.reports, func(r lineshaft.Report) bool {
		return slices.ContainsFunc(r.Events, func(d lineshaft.Draft) bool { return d.Type == lineshaft.EventUsage })
	})
}

func (w *said) refs() (refs []lineshaft.ExecutionRef) {
	if w.end != nil {
		return append(refs, w.end.ref)
	}
	for _, r := range w.reports {
		refs = append(refs, r.ExecutionRef)
	}
	return refs
}

// turnEnd is the end of a turn.
type turnEnd struct {
	ref    lineshaft.ExecutionRef
	result lineshaft.TurnResult
	// done says that the run ended with it. If neither it nor an error is set, the end is
	// not plain: it needs a transaction of its own.
	done bool
}

// plainEnd says whether a result may end a run without a look at anything but the
// run: most do.
func plainEnd(result lineshaft.TurnResult) bool {
	return result.State == lineshaft.Succeeded || result.State == lineshaft.Failed
}

// take writes what executions said at the same time in one transaction, in a few statements
// for all of them: their starts, their events and plain ends of turns.
func (s *Runs) take(ctx context.Context, take func() []*said) {
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return s.takeAll(ctx, tx, take()) })
	words := take()
	blame := len(words) > 1 && base.OneIsToBlame(ctx, err)
	for _, w := range words {
		switch {
		case err != nil && w.end != nil:
			w.end.done = false
			if !base.OneIsToBlame(ctx, err) {
				w.err = err
			} // else it is tried alone
		case blame:
			w.alone = true
			s.take(ctx, func() []*said { return []*said{w} })
		default:
			w.err = err
		}
	}
}

func (s *Runs) takeAll(ctx context.Context, tx *store.Tx, words []*said) error {
	var refs []lineshaft.ExecutionRef
	for _, w := range words {
		refs = append(refs, w.refs()...)
	}
	if len(refs) == 0 {
		return nil
	}
	wait := lockWait
	if words[0].alone {
		wait /= 10
	}
	if err := tx.WaitAtMost(ctx, wait); err != nil {
		return err
	}
	b, err := s.lockExecutions(ctx, tx, refs)
	if err != nil {
		return err
	}
	for _, w := range words {
		if w.end != nil {
			w.end.done = false
			err = s.endPlain(tx, b, w.end)
		} else {
			err = s.takeReports(ctx, tx, b, w)
		}
		if err != nil {
			return err
		}
	}
	if err := b.save(ctx, tx); err != nil {
		return err
	}
	trees, err := tx.SpendTrees(ctx, b.consumed())
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(words, (*said).spends); i >= 0 {
		words[i].trees = trees
	}
	return tx.AddSpending(ctx, b.spent(), s.Store.Now())
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
	tx.Wake(stream.StatesTopic) // its worker, which says so, need not look
	b.events[h.ID], b.changed[e.ID] = append(b.events[h.ID], run.events...), true
	t.done = true
	return nil
}
