package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// errLoopLeft says that the caller wants no more; yield must not be called again.
var errLoopLeft = errors.New("the loop was left")

// follower reads one stream over as many connections as it takes.
type follower struct {
	c *Client
	// what names it in errors, such as "follow run r1".
	what  string
	path  string
	query url.Values
	// take hands on a frame and says whether that delivered an event; the id is the one
	// to resume after.
	take func(id string, data frame) (delivered bool, err error)
	// look asks whether the stream has an end by now; nil for one that has none.
	look func(context.Context) (ended bool, err error)

	// last is sent as Last-Event-ID; empty at the beginning.
	last string
	// ended says that the last state delivered is an end: nothing that matters comes
	// after an orderly end of the connection then.
	ended bool
	// looked says that the thing had come to its end when we last asked. Its log may
	// go on for many connections still.
	looked bool
	// failures counts connections in a row that brought no sign of life.
	failures int
	// pause is what the stream itself asked for with a retry field.
	pause time.Duration
}

// follow returns nil at the end of the stream.
func (f *follower) follow(ctx context.Context) error {
	for {
		got, err := f.connection(ctx)
		if errors.Is(err, errLoopLeft) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", f.what, ctx.Err())
		}
		if got.life() {
			f.failures = 0
		}
		if errors.Is(err, errStreamEnd) && f.look != nil {
			// A clean end means "no more" only if the run has ended; a proxy or a server
			// that stops ends connections cleanly, too, and in the middle of an old log.
			if f.ended || f.looked && !got.event {
				return nil
			}
			if f.looked, err = f.look(ctx); err == nil && f.looked {
				continue // one more connection brings what came in between
			}
		}
		if err != nil && !errors.Is(err, errStreamEnd) && !retryable(err, true) {
			return err
		}
		if f.failures >= f.c.streamRetries {
			return fmt.Errorf("%s: gave up after %d connections in a row that brought nothing: %w", f.what, f.failures+1, orEnded(err))
		}
		if stopped := f.c.sleep(ctx, f.wait(err)); stopped != nil {
			return fmt.Errorf("%s: %w", f.what, stopped)
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
	return max(f.pause, f.c.backoff.pause(f.failures))
}
