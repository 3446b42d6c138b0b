package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"time"
)

var errStreamIdle = errors.New("the stream was silent for too long")

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

// connection reads one connection to its end. The error is errStreamEnd when the
// server ended it in good order; alive says that anything at all came over it.
func (f *follower) connection(ctx context.Context) (alive bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := watchdog{time.AfterFunc(f.runs.c.streamIdle, func() { cancel(errStreamIdle) }), f.runs.c.streamIdle}
	defer watch.timer.Stop()

	resp, err := f.open(ctx)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		f.ended = true
		return true, errStreamEnd
	}
	body := &watchedReader{r: resp.Body, watch: watch}
	err = f.read(newFrameReader(body))
	return body.got, idleInstead(ctx, err)
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
	c := f.runs.c
	target, err := c.endpoint(f.path, nil)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	if f.last > 0 {
		header.Set("Last-Event-ID", strconv.FormatInt(f.last, 10))
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
		return nil, readError(http.MethodGet, f.path, resp)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		resp.Body.Close()
		return nil, fmt.Errorf("GET %s: the server answered %q instead of a stream of events: check the server address", f.path, kind)
	}
	return resp, nil
}

// read delivers events until the connection ends.
func (f *follower) read(frames *frameReader) error {
	for {
		next, err := frames.next()
		if err != nil {
			return err
		}
		f.pause = frames.retry
		if err := f.deliver(next); err != nil {
			return err
		}
	}
}

// deliver hands on an event that is new. Frames without a sequence are not events
// of the log.
func (f *follower) deliver(next frame) error {
	var event Event
	if err := json.Unmarshal(next, &event); err != nil {
		return &brokenFrameError{after: f.last, err: err}
	}
	if event.Sequence <= f.last {
		return nil
	}
	if event.Type == EventState {
		var state StateData
		if err := event.Decode(&state); err != nil {
			return &brokenFrameError{after: f.last, err: err}
		}
		f.ended = state.To.Terminal()
	}
	f.last = event.Sequence
	if !f.yield(event, nil) {
		return errLoopLeft
	}
	return nil
}

// brokenFrameError is final: the same frame would come again.
type brokenFrameError struct {
	after int64
	err   error
}

func (e *brokenFrameError) Error() string {
	return fmt.Sprintf("the event after %d is not readable: %v", e.after, e.err)
}

func (e *brokenFrameError) Unwrap() error { return e.err }

// watchdog ends a connection that is silent while somebody reads from it. It rests
// while the caller works on an event.
type watchdog struct {
	timer *time.Timer
	idle  time.Duration
}

type watchedReader struct {
	r     io.Reader
	watch watchdog
	got   bool
}

func (w *watchedReader) Read(p []byte) (int, error) {
	w.watch.timer.Reset(w.watch.idle)
	n, err := w.r.Read(p)
	w.watch.timer.Stop()
	w.got = w.got || n > 0
	return n, err
}
