package runs

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// Starter starts the runs of one transaction. Every run starts through Start: for
// requests, deliveries, ends of other runs, timers; one run or a hundred. A refusal is an
// error that Refusal reports, and each caller answers it in its own way.
type Starter struct {
	room *Runs
	Tx   *store.Tx
	// The runs that Flush writes next, in few statements; owners are the runs of the files.
	runs   []*store.NewRun
	files  []lineshaft.Attachment
	owners []string
	audit  []lineshaft.AuditEntry
	// budgets are the answers of factories that were asked before.
	budgets map[string]error
	// Spans are those of the runs, to be ended when all is committed.
	Spans base.StartSpans
}

// NewStarter returns what starts the runs of a transaction.
func (s *Runs) NewStarter(tx *store.Tx) *Starter { return &Starter{room: s, Tx: tx} }

// RunStart is a run to start, if its factory, its automation and its concurrency rule
// let it.
type RunStart struct {
	Caller lineshaft.Caller
	// Paused is for what starts without a person; people can also start runs of paused factories.
	Paused bool
	// Broken is why an automation cannot start runs.
	Broken     string
	FactoryUID string
	Budget     lineshaft.Budget
	// Brake bounds the runs of an automation; nil when it has none.
	Brake *store.Rate
	// Draft makes the run, with its files, once nothing above refuses it.
	Draft func() (*store.NewRun, []lineshaft.Attachment)
	// traced says that the caller makes the run's span.
	traced bool
	// Detail is for the audit log, beside the run's source.
	Detail map[string]string
	// Logged says that the outcome of a delivery records the start: the audit log need not.
	Logged bool
}

// Start adds one run to those that Flush writes, or does what its concurrency rule says
// instead. A run that is skipped is written all the same, and says why.
func (b *Starter) Start(ctx context.Context, start RunStart) (Started, error) {
	if err := b.pass(ctx, start); err != nil {
		return Started{}, err
	}
	n, files := start.Draft()
	if err := b.room.skills.SettleSkills(ctx, b.Tx, n); err != nil {
		return Started{}, err
	}
	if len(KeyOf(n)) > 0 {
		if err := b.Flush(ctx); err != nil { // the run that has the key may be among them
			return Started{}, err
		}
		if live, err := b.room.enterConcurrency(ctx, b.Tx, start.Caller, n, files); err != nil {
			return Started{}, err
		} else if live != nil {
			live.FollowedUp = true
			return *live, nil
		}
	}
	if err := b.room.growTree(ctx, b.Tx, n); err != nil {
		return Started{}, err
	}
	return Started{RunID: n.Head.ID, State: n.Head.State}, b.Add(ctx, start, n, files)
}

// pass asks what could keep a run from starting, the cheapest first.
func (b *Starter) pass(ctx context.Context, start RunStart) error {
	if start.Paused {
		return ErrPaused
	}
	if start.Broken != "" {
		return lineshaft.Conflict("%s", start.Broken)
	}
	if err := b.checkBudget(ctx, start.FactoryUID, start.Budget); err != nil {
		return err
	}
	if start.Brake == nil {
		return nil
	}
	wait, err := b.Tx.HitRates(ctx, *start.Brake)
	if err != nil || wait <= 0 {
		return err
	}
	return lineshaft.RateLimited(wait, "the automation starts at most %d runs per hour; the next can start in %s",
		start.Brake.Limit, wait.Round(time.Second))
}

// ErrPaused refuses what starts without a person in a paused factory.
var ErrPaused = lineshaft.Conflict("the factory is paused; after you resume it, the next scheduled time starts a run")

// Add puts a run among those that are written next.
func (b *Starter) Add(ctx context.Context, start RunStart, n *store.NewRun, files []lineshaft.Attachment) error {
	if !start.traced {
		b.room.TraceStart(ctx, n, &b.Spans)
	}
	n.Events, n.Body.Files = FirstEvents(n), len(files)
	b.runs = append(b.runs, n)
	for _, file := range files {
		b.files, b.owners = append(b.files, file), append(b.owners, n.Head.ID)
	}
	if start.Caller.Role == lineshaft.RoleRun {
		if err := b.Tx.PutPrincipal(ctx, start.Caller.Principal, n.CreatedAt); err != nil {
			return err
		}
	}
	if !start.Logged {
		detail := map[string]string{"source": string(n.Source)}
		maps.Copy(detail, start.Detail)
		b.audit = append(b.audit, base.AuditEntry(start.Caller, "run.create", "run", n.Head.ID, detail))
	}
	b.Tx.Wake(stream.QueueTopic(n.Head.WorkerHost))
	b.Tx.Wake(stream.StatesTopic)
	if len(b.runs) >= maxPendingRuns {
		return b.Flush(ctx)
	}
	return nil
}

// maxPendingRuns bounds the parameters of one statement.
const maxPendingRuns = 100

// Flush writes the runs that were gathered.
func (b *Starter) Flush(ctx context.Context) error {
	if len(b.runs) == 0 {
		return nil
	}
	if err := b.Tx.InsertRuns(ctx, b.runs); err != nil {
		return err
	}
	for _, n := range b.runs {
		if n.Outside {
			if err := b.Tx.MarkOutside(ctx, &n.Head); err != nil {
				return err
			}
		}
	}
	if err := b.Tx.AttachFiles(ctx, b.owners, b.files); err != nil {
		return err
	}
	if err := b.Tx.Audit(ctx, b.audit...); err != nil {
		return err
	}
	b.runs, b.files, b.owners, b.audit = nil, nil, nil, nil
	return nil
}

// checkBudget asks each factory once for all runs of a transaction.
func (b *Starter) checkBudget(ctx context.Context, factoryUID string, budget lineshaft.Budget) error {
	if err, known := b.budgets[factoryUID]; known {
		return err
	}
	err := b.room.checkBudget(ctx, b.Tx, &lineshaft.Factory{UID: factoryUID, DailyBudget: budget})
	if err != nil && lineshaft.CodeOf(err) != lineshaft.CodeBudgetExceeded {
		return err
	}
	if b.budgets == nil {
		b.budgets = map[string]error{}
	}
	b.budgets[factoryUID] = err
	return err
}

// StartNeeds is what the runs of a transaction take one after the other.
type StartNeeds struct {
	keys   []store.KeyUse
	brakes []string
}

// Add adds what a run takes that uses some concurrency keys and has a brake, or none.
func (n *StartNeeds) Add(keys []store.KeyUse, brake *store.Rate) {
	n.keys = append(n.keys, keys...)
	if brake != nil {
		n.brakes = append(n.brakes, brake.Name)
	}
}

// Lock takes all of it, in one order everywhere.
func (n *StartNeeds) Lock(ctx context.Context, tx *store.Tx) error {
	return tx.LockAhead(ctx, n.keys, n.brakes, nil)
}

// UseKey is how a run under a concurrency rule uses its key.
func UseKey(rule *lineshaft.Concurrency, slot string) store.KeyUse {
	return store.KeyUse{Key: slot, EndsWaiting: rule.Policy == lineshaft.PolicyCancelPrevious}
}

// Refusal says that an error is about the run that was to be started, not about the server.
func Refusal(err error) bool {
	public, ok := errors.AsType[*lineshaft.Error](err)
	return ok && public.Code != lineshaft.CodeInternal && (public.Code != lineshaft.CodeUnavailable || public.Limited)
}
