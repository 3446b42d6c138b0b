package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

var errStreamIdle = errors.New("the stream was silent for too long")

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
