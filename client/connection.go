package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

var errStreamIdle = errors.New("the stream was silent for too long")

// brought is what came over a connection, whole: half a frame is no sign of life, for
// it would come again and again where something cuts it each time.
type brought struct {
	// event says that an event was delivered, comment that the server's heartbeat came.
	event, comment bool
	// lasted says that the stream began as the server begins it, with the pause that it
	// asks for, and was cut only after longer than that again. A quiet run behind a proxy
	// that ends what is silent looks like this. One that is silent to us does not count,
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
	target, err := c.endpoint(f.path, f.query)
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

// read delivers events until the connection ends.
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
	if after == "" {
		after = "0"
	}
	return fmt.Sprintf("the event after %s is not readable: %v", clip(after, 100), e.err)
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
}

func (w *watchedReader) Read(p []byte) (int, error) {
	w.watch.timer.Reset(w.watch.idle)
	n, err := w.r.Read(p)
	w.watch.timer.Stop()
	return n, err
}
