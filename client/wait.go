package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	firstPoll   = 200 * time.Millisecond
	longestPoll = 3 * time.Second
)

// WaitOptions tunes Wait; the zero value is fine.
type WaitOptions struct {
	// Interval is the time between two looks; zero begins with 0.2 s and slows down to 3 s.
	Interval time.Duration
	// OnChange, if not nil, is called with the run at first and after each change of its state.
	OnChange func(*Run)
}

// Wait returns the run when it has ended, however it ended: look at its State. A
// run that is BLOCKED waits for a follow-up, and so does Wait. An outage of the
// server is bridged; see WithStreamRetries.
func (s *RunsService) Wait(ctx context.Context, runID string, opts WaitOptions) (*Run, error) {
	var state RunState
	for looks, failures := 0, 0; ; looks++ {
		run, err := s.Get(ctx, runID)
		pause := opts.pause(looks)
		switch {
		case err == nil:
			failures = 0
			if run.State != state && opts.OnChange != nil {
				opts.OnChange(run)
			}
			if state = run.State; state.Terminal() {
				return run, nil
			}
		case ctx.Err() != nil:
			return nil, &waitError{runID: runID, last: state, err: err}
		case !retryable(err, true) || failures >= s.c.streamRetries:
			return nil, err
		default:
			pause = s.c.backoff.pause(failures)
			if apiErr, ok := asError(err); ok {
				pause = max(pause, min(apiErr.RetryAfter, longestRetryAfter))
			}
			failures++
		}
		if stopped := s.c.sleep(ctx, pause); stopped != nil {
			return nil, &waitError{runID: runID, last: state, err: stopped}
		}
	}
}

func (o WaitOptions) pause(looks int) time.Duration {
	if o.Interval > 0 {
		return o.Interval
	}
	if looks > 8 {
		return longestPoll
	}
	return min(firstPoll<<(looks/2), longestPoll)
}

// waitError is a Wait that its context ended.
type waitError struct {
	runID string
	last  RunState
	err   error
}

func (e *waitError) Error() string {
	last := "never"
	if e.last != "" {
		last = string(e.last)
	}
	return fmt.Sprintf("wait for run %s, last seen %s: %v", e.runID, last, e.err)
}

func (e *waitError) Unwrap() error { return e.err }

func (e *waitError) Is(target error) bool {
	return target == ErrTimeout && errors.Is(e.err, context.DeadlineExceeded)
}
