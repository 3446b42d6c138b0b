package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/pause"
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
