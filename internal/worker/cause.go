package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lineshaft/lineshaft"
)

// The causes with which the contexts of an execution end. The way an execution
// ends is read from them.
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

// gone says that the execution is not ours any more.
func gone(err error) bool {
	code := lineshaft.CodeOf(err)
	return code == lineshaft.CodeConflict || code == lineshaft.CodeNotFound
}

// refused says that the same call would fail again.
func refused(err error) bool {
	code := lineshaft.CodeOf(err)
	return code == lineshaft.CodeInvalidRequest || code == lineshaft.CodePayloadTooLarge || code == lineshaft.CodeNotSupported || gone(err)
}

// The pauses between calls to a control plane that does not answer.
const (
	firstPause = 100 * time.Millisecond
	longPause  = 5 * time.Second
)

// backoff makes the pauses longer. The zero value is ready.
type backoff struct{ pause time.Duration }

// wait pauses, longer every time, and says whether ctx still goes on. A part of
// each pause is random, so that many workers do not come back at once.
func (b *backoff) wait(ctx context.Context) bool {
	b.pause = min(max(2*b.pause, firstPause), longPause)
	return sleep(ctx, b.pause/2+rand.N(b.pause/2))
}

func (b *backoff) reset() { b.pause = 0 }

// sleep waits and says whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// persist makes a call until it succeeds, cannot succeed, or ctx ends.
func persist(ctx context.Context, call func(context.Context) error) error {
	var pause backoff
	for {
		err := call(ctx)
		if err == nil || refused(err) {
			return err
		}
		if !pause.wait(ctx) {
			return fmt.Errorf("%w (last answer: %w)", context.Cause(ctx), err)
		}
	}
}
