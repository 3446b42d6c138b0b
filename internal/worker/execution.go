package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/mask"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/pause"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// defaultLease is for a job that does not say how long its lease is.
const defaultLease = 30 * time.Second

// closeTime is how long a session gets to end on its own.
const closeTime = 5 * time.Second

// stopTime is what the answer to the end of a turn gets when a stop was faster.
const stopTime = 2 * time.Second

// execution is one claimed job from its claim to its end. The methods that do the
// work are called by its own goroutine only.
type execution struct {
	worker *Worker
	job    lineshaft.Job
	slot   int
	began  time.Time

	// life ends when the control plane takes the execution away; calls to it are
	// made under life. work, below it, ends when the agent must end but the
	// execution is still to be concluded; each turn's context is below work.
	life, work       context.Context
	endLife, endWork context.CancelCauseFunc

	lease     *lease
	watch     *watch
	outbox    *outbox
	mask      func() *mask.Masker  // made when first asked for: it costs more than a small run
	workspace *workspace.Workspace // nil without one
	preparing bool                 // the workspace is not ready yet: nothing of it is kept
	snapshot  string               // what the last stored snapshot was of
	stored    bool                 // it has all that the last turn left
	said      said
	followup  signal      // a follow-up waits at the control plane
	once      sync.Once   // for started
	isBlocked atomic.Bool // as the harness said last
	asking    asking
	tools     []harness.ToolServer // by name, with their secrets
	ending    sync.WaitGroup       // for the ends of processes
	closed    bool                 // for close
	keeping   <-chan struct{}      // is closed when the environment is kept, or is not
	gate      gate                 // to models and tool servers
	models    *model.Set           // of a run with a key of its own

	mu      sync.Mutex
	endTurn context.CancelCauseFunc // of the present turn; nil between turns
	early   bool                    // an interrupt came before the first turn
	turns   int                     // that have begun

	span tracing.Span
	// turnTrace is the traceparent of the present turn, for what the agent asks of
	// models; guarded by mu.
	turnTrace string

	// for the log
	harnessName string
	outcome     lineshaft.TurnResult
	// noRoom says that it could not begin because the disk is full. What it made so far is in the way.
	noRoom bool
}

func newExecution(w *Worker, job lineshaft.Job, slot int) *execution {
	if job.Lease <= 0 {
		job.Lease = defaultLease
	}
	e := &execution{
		worker: w, job: job, slot: slot, began: time.Now(),
		outbox:   newOutbox(job.ExecutionRef, job.LastEvent, w.reports.poke),
		followup: newSignal(),
		asking:   asking{one: make(chan struct{}, 1)},
	}
	e.mask = sync.OnceValue(func() *mask.Masker { return mask.New(SecretsToMask(e.job)) })
	e.life, e.endLife = context.WithCancelCause(e.trace(w.life))
	e.work, e.endWork = context.WithCancelCause(e.life)
	e.lease = newLease(job, e.endLife)
	e.watch = newWatch(job.Config, e.endWork)
	return e
}

// run executes the job and returns when nothing of it is left here.
func (e *execution) run() {
	outcome, concluded := e.execute()
	if e.outcome = outcome; !concluded {
		e.lastWord()
	}
	e.endLife(errOver)
	e.lease.end()
	e.watch.end()
	e.release()
	e.endSpan()
	e.log()
	e.worker.config.Ended(e.outcome.State)
}

// execute does the turns. It returns the last result and whether the control
// plane knows it.
func (e *execution) execute() (result lineshaft.TurnResult, concluded bool) {
	session, err := e.open()
	defer e.close(session)
	if err != nil {
		result = e.judge(e.work, lineshaft.TurnResult{}, err)
		if e.noRoom = e.work.Err() == nil && diskFull(err); e.noRoom && e.job.Number < roomTries {
			result = lineshaft.TurnResult{State: lineshaft.Queued, Message: e.fullDisk() + "; the run waits for room or another worker"}
		}
		result.Turn, result.Dead = e.job.Turn.Name(), true
		_, err = e.conclude(session, result)
		return result, err == nil
	}
	for turn := &e.job.Turn; ; {
		result = e.turn(session, *turn)
		result.Turn, result.Ask = turn.Name(), e.asking.end()
		next, err := e.conclude(session, result)
		if err != nil || next == nil {
			return result, err == nil
		}
		turn = next
	}
}

// open prepares the workspace and opens the session; it returns a session or an
// error.
func (e *execution) open() (harness.Session, error) {
	if e.job.Fault != "" {
		return nil, &lineshaft.Error{Code: cmp.Or(e.job.FaultCode, lineshaft.CodeEnvironmentSetupFailed), Message: e.job.Fault}
	}
	if err := e.fits(); err != nil {
		return nil, err
	}
	h, err := e.worker.config.Harnesses.Select(e.job.Config)
	if err != nil {
		return nil, err
	}
	e.harnessName = h.Name()
	if err := e.takeKey(); err != nil {
		return nil, err
	}
	if err := e.fillTools(); err != nil {
		return nil, err
	}
	e.noticeUnused()
	if _, without := h.(harness.WithoutWorkspace); !without {
		if err := e.makeReady(); err != nil {
			return nil, err
		}
	}
	return h.Open(e.work, e.environment())
}

// makeReady gives the execution its workspace with everything in it, before the
// harness opens: a harness that starts its agent then finds everything.
func (e *execution) makeReady() (err error) {
	ctx, span := e.worker.config.Tracer.Start(e.work, spanPrepare, tracing.Options{})
	defer func() { span.End(err) }()
	if err := e.openWorkspace(ctx); err != nil {
		return err
	}
	span.Bool("lineshaft.workspace.kept", e.workspace.Kept())
	if err := e.setUp(ctx); err != nil {
		return err
	}
	e.placeSkills()
	return e.prepare(ctx, e.job.Turn)
}

// turn does one turn and says how it ended.
func (e *execution) turn(session harness.Session, turn lineshaft.Turn) lineshaft.TurnResult {
	traced, span := e.traceTurn(turn)
	ctx, cancel := context.WithCancelCause(traced)
	defer cancel(errOver)
	e.beginTurn(cancel)
	e.asking.begin(turn.Name())
	var (
		result lineshaft.TurnResult
		err    error
	)
	if e.turns > 1 { // open has prepared the first one
		err = e.prepare(ctx, turn)
	}
	if err == nil {
		e.watch.turn(true)
		result, err = session.Turn(ctx, turn, e.emit)
		e.watch.turn(false)
	}
	e.beginTurn(nil)
	e.blocked(false)
	for _, url := range e.said.endTurn() {
		e.outbox.put(e.life, e.pullRequest(url))
	}
	result = e.judge(ctx, result, err)
	if ctx.Err() != nil && e.work.Err() == nil {
		result = e.awaitFollowup()
	}
	endTurnSpan(span, result)
	return result
}

// roomTries is how many executions a run may have before it no longer waits for room: one that
// needs more than there is would otherwise be claimed first, again and again.
const roomTries = 10

func (e *execution) fullDisk() string {
	return "the disk of worker " + e.worker.config.WorkerID + " is full"
}

// diskFull says that a file could not be written because the disk is full. That is not the run's fault.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// judge makes the outcome of a turn from the way it ended. The context rules: a
// turn that was ended from outside has no result of its own.
func (e *execution) judge(ctx context.Context, result lineshaft.TurnResult, err error) lineshaft.TurnResult {
	if cause := context.Cause(ctx); cause != nil {
		return e.judgeCause(cause)
	}
	if errors.Is(err, harness.ErrStarved) {
		e.endLife(errLeaseLost)
		return e.judgeCause(errLeaseLost)
	}
	if public, ok := errors.AsType[*lineshaft.Error](err); ok && !diskFull(err) {
		return lineshaft.TurnResult{State: lineshaft.Failed, Code: public.Code, Message: e.mask().String(public.Message)}
	}
	if err != nil {
		e.worker.logger.ErrorContext(ctx, "agent could not be run", "run_id", e.job.RunID, "execution_id", e.job.ExecutionID, "err", e.mask().String(err.Error()))
		message := "the agent could not be run; the log of worker " + e.worker.config.WorkerID + " says why"
		if diskFull(err) {
			message = e.fullDisk() + "; make room and start the run again"
		}
		return lineshaft.TurnResult{State: lineshaft.Errored, Code: lineshaft.CodeInternal, Dead: true, Message: message}
	}
	if result.Message != "" {
		result.Message = e.mask().String(result.Message)
	}
	return result
}

func (e *execution) judgeCause(cause error) lineshaft.TurnResult {
	result := lineshaft.TurnResult{State: lineshaft.Cancelled, Message: cause.Error(), Dead: true}
	limit, isLimit := errors.AsType[*limitError](cause)
	budget, isBudget := errors.AsType[*budgetError](cause)
	switch {
	case isBudget:
		result.State, result.Code, result.Message = lineshaft.Failed, lineshaft.CodeBudgetExceeded, budget.message
	case isLimit:
		result.State, result.Code, result.Message = lineshaft.Failed, lineshaft.CodeRunTimeout, e.mask().String(limit.message)
	case errors.Is(cause, errDraining):
		result.State = lineshaft.Queued
	case errors.Is(cause, errRefused):
		result.State, result.Code = lineshaft.Errored, lineshaft.CodeInternal
	case errors.Is(cause, errInterrupted):
		result.Dead = false
	}
	return result
}

// awaitFollowup waits, after an interrupt, for what the agent is to do instead.
func (e *execution) awaitFollowup() lineshaft.TurnResult {
	idle := e.idleTime()
	result := e.judgeCause(errInterrupted)
	if idle > 0 {
		e.notice("info", "The turn was interrupted. A follow-up within "+inMinutes(idle)+" continues the run.")
	}
	select {
	case <-e.followup: // may be about one that was given since: ask
	default:
	}
	e.worker.asks.poke()
	timer := time.NewTimer(idle)
	defer timer.Stop()
	select {
	case <-e.followup:
	case <-timer.C:
		result.Message = "interrupted and not continued within " + inMinutes(idle)
	case <-e.work.Done():
		return e.judgeCause(context.Cause(e.work))
	}
	return result
}

func (e *execution) idleTime() time.Duration {
	return minutes(e.job.Config.IdleTimeoutMinutes, lineshaft.DefaultIdleMinutes)
}

// conclude reports to the control plane how a turn ended, after everything that
// belongs to the turn is stored, and gets the next.
func (e *execution) conclude(session harness.Session, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	if result.Dead {
		e.close(session)
	} else {
		e.gate.pause() // what was consumed belongs to this turn
	}
	if result.State == lineshaft.Succeeded {
		e.started() // a harness that starts nothing may have left it out
	}
	e.storeFiles()
	e.awaitKept()
	if !e.outbox.drained(e.life) {
		return nil, context.Cause(e.life)
	}
	var next *lineshaft.Turn
	err := persist(e.life, func(ctx context.Context) (err error) {
		ctx, cancel := outlastStop(ctx)
		defer cancel()
		next, err = e.worker.control.EndTurn(ctx, e.job.ExecutionRef, result)
		return err
	})
	switch {
	case err == nil:
		if next != nil {
			e.gate.resume()
		}
		return next, nil
	case gone(err):
		e.endLife(errLost)
	case refused(err):
		e.warn(e.life, "end turn", err)
		e.endLife(errRefused)
	}
	return nil, err // else life has ended
}

// outlastStop makes a context that lasts a while longer when the control plane stops
// the execution: a heartbeat that crosses the end of a turn names an execution that
// is over there, and the answer that says so is on its way.
func outlastStop(ctx context.Context) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errStopped) {
			pause.For(lasting, stopTime)
		}
		cancel()
	})
	return lasting, func() {
		stop()
		cancel()
	}
}

// close ends the session and everything that is left of the agent. Only the first
// call does something.
func (e *execution) close(session harness.Session) {
	if e.closed {
		return
	}
	e.closed = true
	if session != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.life), closeTime)
		defer cancel()
		if err := session.Close(ctx); err != nil {
			e.warn(ctx, "close session", err)
		}
	}
	for _, p := range e.lease.left() {
		p.Kill(0)
	}
	e.ending.Wait()
	e.gate.close()
}

// lastWord reports to the control plane, once, that nothing is left of an execution it
// took away: the run's sandbox then counts as gone. A lease that ran out here is not
// reported: the control plane decides about such a run when the lease runs out
// there.
func (e *execution) lastWord() {
	cause := context.Cause(e.life)
	if errors.Is(cause, errLeaseLost) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.life), handBackTime)
	defer cancel()
	result := e.judgeCause(cause)
	result.Used = e.outbox.unreported()
	_, err := e.worker.control.EndTurn(ctx, e.job.ExecutionRef, result)
	if err != nil && !gone(err) {
		e.warn(ctx, "last word", err)
	}
}

// interrupt ends the present turn, or the first as soon as it begins. Between two
// turns it applies to the turn that has ended.
func (e *execution) interrupt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.endTurn != nil:
		e.endTurn(errInterrupted)
	case e.turns == 0:
		e.early = true
	}
}

// beginTurn notes how the present turn is ended; nil when it has.
func (e *execution) beginTurn(end context.CancelCauseFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.endTurn = end; end == nil {
		return
	}
	e.turns++
	if e.early {
		e.early = false
		end(errInterrupted)
	}
}

// log writes the one line about an execution.
func (e *execution) log() {
	events, bytes := e.said.count()
	e.worker.logger.LogAttrs(e.life, slog.LevelInfo, "execution ended",
		slog.String("run_id", e.job.RunID), slog.String("execution_id", e.job.ExecutionID),
		slog.Int("number", e.job.Number), slog.String("harness", e.harnessName), slog.Int("slot", e.slot),
		slog.Int("turns", e.turns), slog.Int("events", events), slog.Int64("bytes", bytes),
		slog.Duration("duration", time.Since(e.began)), slog.String("outcome", string(e.outcome.State)),
		slog.String("code", string(e.outcome.Code)), slog.String("message", e.outcome.Message),
		slog.String("trace_id", tracing.TraceID(e.life)))
}

// The causes with which the contexts of an execution end. They show how the execution
// ended.
var (
	errStopped     = errors.New("stopped by the control plane")
	errLost        = errors.New("the execution is not this worker's any more")
	errLeaseLost   = errors.New("the lease could not be renewed in time")
	errRefused     = errors.New("the control plane refused a report")
	errDraining    = errors.New("the worker is stopping")
	errInterrupted = errors.New("the turn was interrupted")
	errOver        = errors.New("the execution is over")
)

// inMinutes says a time the way a person set it.
func inMinutes(d time.Duration) string {
	if n := int(d.Minutes()); n != 1 {
		return fmt.Sprintf("%d minutes", n)
	}
	return "1 minute"
}

// limitError is the cause when a run has used up its time.
type limitError struct{ message string }

func (e *limitError) Error() string { return e.message }

// budgetError is the cause when a run has used up its budget.
type budgetError struct{ message string }

func (e *budgetError) Error() string { return e.message }

// gone says that the execution is no longer ours.
func gone(err error) bool {
	code := lineshaft.CodeOf(err)
	return code == lineshaft.CodeConflict || code == lineshaft.CodeNotFound
}

// refused says that the same call would fail again.
func refused(err error) bool {
	code := lineshaft.CodeOf(err)
	return code == lineshaft.CodeInvalidRequest || code == lineshaft.CodePayloadTooLarge || code == lineshaft.CodeNotSupported || gone(err)
}

// persist makes a call until it succeeds, cannot succeed, or ctx ends.
func persist(ctx context.Context, call func(context.Context) error) error {
	var again pause.Backoff
	for {
		err := call(ctx)
		if err == nil || refused(err) {
			return err
		}
		if !again.Wait(ctx, 0) {
			return fmt.Errorf("%w (last answer: %w)", context.Cause(ctx), err)
		}
	}
}
