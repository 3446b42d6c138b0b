package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft/internal/sse"
)

// source is where a stream comes from.
type source struct {
	next  func(context.Context) ([]byte, error)
	close func()
}

// send answers with a stream of what a source gives, until that is io.EOF, the reader
// leaves or the server stops.
func (s *server) send(ctx context.Context, rec *recorder, r *http.Request, from *source) {
	defer from.close()
	ctx, cancel := s.untilStopping(ctx)
	defer cancel()
	if err := pump(ctx, rec, s.heartbeat, from.next); err != nil && !errors.Is(err, context.Canceled) {
		s.Logger.InfoContext(ctx, "stream broken off", "route", routeOf(r), "err", err, "trace_id", infoFrom(ctx).traceID)
	}
}

// stream sends what a handler has left to be sent. Most streams are silent most of the time,
// and there may be thousands: where the connection can be taken over, one goes on without
// the stack of the handlers and the buffers of net/http. It says whether that is so; the
// request is then not over when ServeHTTP returns.
func (s *server) stream(rec *recorder, r *http.Request, info *request) (goesOn bool) {
	from := rec.source
	conn, err := takeOver(rec, r)
	if err != nil {
		rec.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(rec.ResponseWriter).SetReadDeadline(time.Time{}) // nothing more will be read
		s.send(r.Context(), rec, r, from)
		return false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	rest := (&http.Request{Method: r.Method, Pattern: r.Pattern}).WithContext(ctx)
	rec.source, rec.ResponseWriter = nil, conn
	go conn.watch(cancel)
	s.Streams.Go(func() {
		defer func() {
			s.conclude(rec, rest, info, recover())
			conn.end(rec.aborted)
		}()
		s.send(ctx, rec, rest, from)
	})
	return true
}

// errKept says that a connection stays with net/http.
var errKept = errors.New("this connection cannot be taken over")

// ownConn is a connection that was taken over, as the answer's writer. Each piece is a chunk
// of HTTP/1.1, and the connection ends with the answer.
type ownConn struct {
	net.Conn

	size  [20]byte
	parts [3][]byte
	// broken says that a piece could not be sent.
	broken bool
}

// takeOver begins the answer on a connection of its own. With TLS, with HTTP/2 and in tests
// without a connection that is impossible or not worth it.
func takeOver(rec *recorder, r *http.Request) (*ownConn, error) {
	if r.TLS != nil || r.ProtoMajor != 1 || r.ProtoMinor < 1 {
		return nil, errKept
	}
	conn, _, err := rec.control().Hijack()
	if err != nil {
		return nil, fmt.Errorf("take the connection over: %w", err)
	}
	rec.status = http.StatusOK
	header := rec.Header()
	header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	header.Set("Connection", "close")
	header.Set("Transfer-Encoding", "chunked")
	_ = conn.SetWriteDeadline(rec.deadline())
	w := &ownConn{Conn: conn}
	_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
	if err == nil {
		err = header.Write(conn)
	}
	if err == nil {
		_, err = io.WriteString(conn, "\r\n")
	}
	_ = err // the first event finds it again
	return w, nil
}

// Header implements http.ResponseWriter; it is too late for headers.
func (c *ownConn) Header() http.Header { return http.Header{} }

// WriteHeader implements http.ResponseWriter.
func (c *ownConn) WriteHeader(int) {}

// FlushError is for http.ResponseController: nothing is kept back.
func (c *ownConn) FlushError() error { return nil }

// Write sends a chunk.
func (c *ownConn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // it would be the last
	}
	size := append(strconv.AppendInt(c.size[:0], int64(len(p)), 16), "\r\n"...)
	c.parts = [...][]byte{size, p, []byte("\r\n")}
	pieces := net.Buffers(c.parts[:])
	n, err := pieces.WriteTo(c.Conn)
	c.parts, c.broken = [3][]byte{}, err != nil
	return max(0, min(int(n)-len(size), len(p))), err
}

// watch waits until the reader leaves. One that sends something although nothing is expected is
// not read any further: whether it is still there shows when it gets something.
func (c *ownConn) watch(left func()) {
	if n, _ := c.Read(make([]byte, 1)); n == 0 {
		left()
	}
}

// end closes the connection. A reader of half an answer must not see its last chunk, and one
// that took too long is not waited for again.
func (c *ownConn) end(aborted bool) {
	if !aborted && !c.broken {
		_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
		_, _ = io.WriteString(c.Conn, "0\r\n\r\n")
	}
	_ = c.Close()
}

// flusher is where a stream goes: the recorder, which bounds how long a write may
// take, or a buffer in tests.
type flusher interface {
	io.Writer
	flush() error
}

// pump sends what next gives until it gives io.EOF. When next has nothing for a
// while, a comment keeps proxies and readers from giving up.
func pump(ctx context.Context, out flusher, pause time.Duration, next func(context.Context) ([]byte, error)) error {
	send := func(data []byte) error {
		if _, err := out.Write(data); err != nil {
			return fmt.Errorf("write stream: %w", err)
		}
		return out.flush()
	}
	if err := send([]byte(sse.Retry)); err != nil {
		return err
	}
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, pause)
		batch, err := next(wait)
		cancel()
		if len(batch) > 0 {
			if err := send(batch); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			if err := send([]byte(sse.Beat)); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return ctx.Err()
}
