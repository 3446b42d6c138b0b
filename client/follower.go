package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"
)

// errLoopLeft says that the caller wants no more; yield must not be called again.
var errLoopLeft = errors.New("the loop was left")

// follower reads one stream over as many connections as it takes.
type follower struct {
	c *Client
	// what names it in errors, such as "follow run r1".
	what string
	place
	query url.Values
	// take passes on a frame and says whether that delivered an event; the id is the one
	// to resume after.
	take func(id string, data frame) (delivered bool, err error)
	// look asks whether the stream has an end by now; nil for one that has none.
	look func(context.Context) (ended bool, err error)

	// last is sent as Last-Event-ID; empty at the beginning.
	last string
	// ended says that the last state delivered is an end: then nothing that matters comes
	// after an orderly end of the connection.
	ended bool
	// looked says that the thing had come to its end when we last asked. Its log may
	// continue for many connections still.
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
			// that stops also ends connections cleanly, and in the middle of an old log.
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

var errStreamIdle = errors.New("the stream was silent for too long")

// brought is what came over a connection, whole: half a frame is not a sign of life, for
// it would come again and again where something cuts it each time.
type brought struct {
	// event says that an event was delivered, comment that the server's heartbeat came.
	event, comment bool
	// lasted says that the stream began as the server begins it, with the pause that it
	// asks for, and was cut only after longer than that again. A quiet run behind a proxy
	// that ends silent connections looks like this. One that is silent to us does not count,
	// nor one that ends within a frame, which is not silent. How long the beginning took
	// does not count either: a server that answers late may still end all that it begins.
	lasted bool
}

func (b brought) life() bool { return b.event || b.comment || b.lasted }

// connection reads one connection to its end. The error is errStreamEnd when the
// server ended it in good order.
func (f *follower) connection(ctx context.Context) (got brought, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := watchdog{time.AfterFunc(f.c.streamIdle, func() { cancel(errStreamIdle) }), f.c.streamIdle}
	defer watch.timer.Stop()

	resp, err := f.open(ctx)
	if err != nil {
		return got, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		f.ended = true
		return got, errStreamEnd
	}
	frames := newFrameReader(&watchedReader{r: resp.Body, watch: watch})
	got.event, err = f.read(frames)
	got.comment = frames.comment
	idle := errors.Is(context.Cause(ctx), errStreamIdle)
	got.lasted = !idle && !frames.within && frames.opened > 0 && time.Since(frames.openedAt) > frames.opened
	return got, idleInstead(ctx, err)
}

// idleInstead names silence as the reason where the watchdog ended the connection.
func idleInstead(ctx context.Context, err error) error {
	transport, ok := errors.AsType[*transportError](err)
	if ok && errors.Is(context.Cause(ctx), errStreamIdle) {
		transport.err = errStreamIdle
	}
	return err
}

func (f *follower) open(ctx context.Context) (*http.Response, error) {
	c := f.c
	target, err := c.endpoint(f.place, f.query)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	if f.last != "" {
		header.Set("Last-Event-ID", f.last)
	}
	resp, err := c.send(ctx, http.MethodGet, target, nil, header)
	if err != nil {
		return nil, idleInstead(ctx, &transportError{op: "GET " + f.path, err: err})
	}
	if resp.StatusCode == http.StatusNoContent {
		return resp, nil
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, c.readError(http.MethodGet, f.path, resp)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		resp.Body.Close()
		return nil, &answerError{fmt.Errorf("GET %s: the server answered %q instead of a stream of events: check the server address", f.path, kind)}
	}
	return resp, nil
}

func (f *follower) read(frames *frameReader) (delivered bool, err error) {
	for {
		next, err := frames.next()
		f.pause = frames.retry
		if err != nil {
			return delivered, err
		}
		fresh, err := f.take(frames.id, next)
		delivered = delivered || fresh
		if err != nil {
			return delivered, err
		}
	}
}

// brokenFrameError is final: the same frame would come again.
type brokenFrameError struct {
	after string
	err   error
}

func (e *brokenFrameError) Error() string {
	after := e.after
	after = cmp.Or(after, "0")
	return fmt.Sprintf("the event after %s is not readable: %v", clip(after, 100), e.err)
}

func (e *brokenFrameError) Unwrap() error { return e.err }

// watchdog ends a connection that is silent while a caller reads from it. It rests
// while the caller works on an event.
type watchdog struct {
	timer *time.Timer
	idle  time.Duration
}

type watchedReader struct {
	r     io.Reader
	watch watchdog
}

func (w *watchedReader) Read(p []byte) (int, error) {
	w.watch.timer.Reset(w.watch.idle)
	n, err := w.r.Read(p)
	w.watch.timer.Stop()
	return n, err
}
