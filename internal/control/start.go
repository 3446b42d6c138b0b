package control

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// starter starts the runs of one transaction. Whatever starts a run comes through start:
// requests, deliveries, ends of other runs, timers; one run or a hundred. What is refused
// is an error that refusal reports, and everyone answers it in their own way.
type starter struct {
	s  *Service
	tx *store.Tx
	// The runs that flush writes next, in few statements; owners are the runs of the files.
	runs   []*store.NewRun
	files  []lineshaft.Attachment
	owners []string
	audit  []lineshaft.AuditEntry
	// budgets are the answers of factories that were asked before.
	budgets map[string]error
	// spans are those of the runs, to be ended when all is committed.
	spans startSpans
}

// runStart is a run that is to be started, if its factory, its automation and its
// concurrency rule let it.
type runStart struct {
	caller lineshaft.Caller
	// paused is for what starts by itself; people start runs of paused factories, too.
	paused bool
	// broken is why an automation cannot start runs.
	broken     string
	factoryUID string
	budget     lineshaft.Budget
	// brake bounds the runs of an automation; nil when it has none.
	brake *store.Rate
	// draft makes the run, with its files, once nothing above stands against it.
	draft func() (*store.NewRun, []lineshaft.Attachment)
	// traced says that the run's span is made by who asked for it.
	traced bool
	// detail is for the audit log, beside the run's source.
	detail map[string]string
}

// start adds one run to those that flush writes, or does what its concurrency rule says
// instead. A run that is skipped is written all the same, and says why.
func (b *starter) start(ctx context.Context, start runStart) (Started, error) {
	if err := b.pass(ctx, start); err != nil {
		return Started{}, err
	}
	n, files := start.draft()
	if err := b.s.settleSkills(ctx, b.tx, n); err != nil {
		return Started{}, err
	}
	if len(keyOf(n)) > 0 {
		if err := b.flush(ctx); err != nil { // the run that has the key may be among them
			return Started{}, err
		}
		if live, err := b.s.enterConcurrency(ctx, b.tx, start.caller, n, files); err != nil {
			return Started{}, err
		} else if live != nil {
			live.FollowedUp = true
			return *live, nil
		}
	}
	if err := b.s.growTree(ctx, b.tx, n); err != nil {
		return Started{}, err
	}
	return Started{RunID: n.Head.ID, State: n.Head.State}, b.add(ctx, start, n, files)
}

// pass asks what could keep a run from starting, the cheapest first.
func (b *starter) pass(ctx context.Context, start runStart) error {
	if start.paused {
		return errPaused
	}
	if start.broken != "" {
		return lineshaft.Conflict("%s", start.broken)
	}
	if err := b.checkBudget(ctx, start.factoryUID, start.budget); err != nil {
		return err
	}
	if start.brake == nil {
		return nil
	}
	wait, err := b.tx.HitRates(ctx, *start.brake)
	if err != nil || wait <= 0 {
		return err
	}
	return lineshaft.RateLimited(wait, "the automation starts at most %d runs an hour; there is room again in %s",
		start.brake.Limit, wait.Round(time.Second))
}

// errPaused refuses what starts by itself in a paused factory.
var errPaused = lineshaft.Conflict("the factory is paused; resume it, and the next time starts a run")

// add puts a run among those that are written next.
func (b *starter) add(ctx context.Context, start runStart, n *store.NewRun, files []lineshaft.Attachment) error {
	if !start.traced {
		b.s.traceStart(ctx, n, &b.spans)
	}
	n.Events, n.Body.Files = firstEvents(n), len(files)
	b.runs = append(b.runs, n)
	for _, file := range files {
		b.files, b.owners = append(b.files, file), append(b.owners, n.Head.ID)
	}
	if start.caller.Role == lineshaft.RoleRun {
		if err := b.tx.PutPrincipal(ctx, start.caller.Principal, n.CreatedAt); err != nil {
			return err
		}
	}
	detail := map[string]string{"source": string(n.Source)}
	maps.Copy(detail, start.detail)
	b.audit = append(b.audit, auditEntry(start.caller, "run.create", "run", n.Head.ID, detail))
	b.tx.Wake(stream.QueueTopic(n.Head.WorkerHost))
	b.tx.Wake(stream.StatesTopic)
	if len(b.runs) >= maxPendingRuns {
		return b.flush(ctx)
	}
	return nil
}

// maxPendingRuns bounds the parameters of one statement.
const maxPendingRuns = 100

// flush writes the runs that were gathered.
func (b *starter) flush(ctx context.Context) error {
	if len(b.runs) == 0 {
		return nil
	}
	if err := b.tx.InsertRuns(ctx, b.runs); err != nil {
		return err
	}
	for _, n := range b.runs {
		if n.Outside {
			if err := b.tx.MarkOutside(ctx, &n.Head); err != nil {
				return err
			}
		}
	}
	if err := b.tx.AttachFiles(ctx, b.owners, b.files); err != nil {
		return err
	}
	if err := b.tx.Audit(ctx, b.audit...); err != nil {
		return err
	}
	b.runs, b.files, b.owners, b.audit = nil, nil, nil, nil
	return nil
}

// checkBudget asks each factory once for all runs of a transaction.
func (b *starter) checkBudget(ctx context.Context, factoryUID string, budget lineshaft.Budget) error {
	if err, known := b.budgets[factoryUID]; known {
		return err
	}
	err := b.s.checkBudget(ctx, b.tx, &lineshaft.Factory{UID: factoryUID, DailyBudget: budget})
	if err != nil && lineshaft.CodeOf(err) != lineshaft.CodeBudgetExceeded {
		return err
	}
	if b.budgets == nil {
		b.budgets = map[string]error{}
	}
	b.budgets[factoryUID] = err
	return err
}

// startNeeds is what the runs of a transaction take one after the other.
type startNeeds struct {
	keys   []store.KeyUse
	brakes []string
}

// add adds what a run takes that uses some concurrency keys and has a brake, or none.
func (n *startNeeds) add(keys []store.KeyUse, brake *store.Rate) {
	n.keys = append(n.keys, keys...)
	if brake != nil {
		n.brakes = append(n.brakes, brake.Name)
	}
}

func (n *startNeeds) lock(ctx context.Context, tx *store.Tx) error {
	return tx.LockAhead(ctx, n.keys, n.brakes, nil)
}

// useKey is how a run under a concurrency rule uses its key.
func useKey(rule *lineshaft.Concurrency, slot string) store.KeyUse {
	return store.KeyUse{Key: slot, EndsWaiting: rule.Policy == lineshaft.PolicyCancelPrevious}
}

// refusal says that an error is about the run that was to be started, not about the server.
func refusal(err error) bool {
	public, ok := errors.AsType[*lineshaft.Error](err)
	return ok && public.Code != lineshaft.CodeInternal && (public.Code != lineshaft.CodeUnavailable || public.Limited)
}
