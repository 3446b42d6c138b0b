package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Stream follows a run's log: first what there is after the given sequence (0 for
// everything), then events as they happen. It ends when the run has ended and its
// log was read to the end, when the loop is left, when ctx ends or at an error that
// connecting again cannot mend; the error then comes with a zero Event.
//
// Connections that break are replaced; each event is delivered once and in order.
func (s *RunsService) Stream(ctx context.Context, runID string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		path, err := runPath(runID, "/events")
		if err != nil {
			yield(Event{}, err)
			return
		}
		f := &follower{runs: s, runID: runID, path: path, last: after, yield: yield}
		if err := f.follow(ctx); err != nil && !errors.Is(err, errLoopLeft) {
			yield(Event{}, err)
		}
	}
}

// errLoopLeft says that the caller wants no more; yield must not be called again.
var errLoopLeft = errors.New("the loop was left")

// follower is one Stream over its connections.
type follower struct {
	runs  *RunsService
	runID string
	path  string
	yield func(Event, error) bool

	// last is the sequence of the last delivered event.
	last int64
	// ended says that the run was in a terminal state when we last heard of it.
	ended bool
	// failures counts connections in a row that brought nothing.
	failures int
	// pause is what the stream itself asked for with a retry field.
	pause time.Duration
}

// follow returns nil at the end of the log.
func (f *follower) follow(ctx context.Context) error {
	c := f.runs.c
	for {
		alive, err := f.connection(ctx)
		if errors.Is(err, errLoopLeft) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("follow run %s: %w", f.runID, ctx.Err())
		}
		if alive {
			f.failures = 0
		}
		if errors.Is(err, errStreamEnd) {
			// A clean end means "no more" only if the run has ended; a proxy or a server
			// that stops ends connections cleanly, too.
			if f.ended {
				return nil
			}
			if err = f.look(ctx); err == nil && f.ended {
				continue // one more connection brings what came in between
			}
		}
		if err != nil && !errors.Is(err, errStreamEnd) && !retryable(err, true) {
			return err
		}
		if f.failures >= c.streamRetries {
			return fmt.Errorf("follow run %s: gave up after %d connections in a row that brought nothing: %w", f.runID, f.failures+1, orEnded(err))
		}
		if stopped := c.sleep(ctx, f.wait(err)); stopped != nil {
			return fmt.Errorf("follow run %s: %w", f.runID, stopped)
		}
		f.failures++
	}
}

func orEnded(err error) error {
	if err == nil || errors.Is(err, errStreamEnd) {
		return errors.New("the server ended each of them at once")
	}
	return err
}

// wait returns the pause before the next connection.
func (f *follower) wait(err error) time.Duration {
	if apiErr, ok := asError(err); ok && apiErr.hasRetryAfter {
		return min(apiErr.RetryAfter, longestRetryAfter)
	}
	return max(f.pause, f.runs.c.backoff.pause(f.failures))
}

// look asks for the run's state.
func (f *follower) look(ctx context.Context) error {
	run, err := f.runs.Get(ctx, f.runID)
	if err != nil {
		return err
	}
	f.ended = run.State.Terminal()
	return nil
}
