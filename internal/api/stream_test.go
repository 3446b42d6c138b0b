package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// streaming is a server with a handler that leaves a stream to be sent.
type streaming struct {
	*server
	url    string
	log    *logBuffer
	closed chan struct{}
}

func newStreaming(t *testing.T, next func(context.Context) ([]byte, error), options ...func(*Deps)) *streaming {
	t.Helper()
	b := newServer(t, options...)
	s := &streaming{server: b.srv, log: b.log, closed: make(chan struct{})}
	s.mux.HandleFunc("GET /stream", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		recorderOf(w).source = &source{next: next, close: func() { close(s.closed) }}
	})
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// dial asks for the stream on a connection that the test sees the bytes of.
func (s *streaming) dial(t *testing.T, version string) (net.Conn, *http.Response) {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "GET /stream %s\r\nHost: x\r\n\r\n", version); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, resp
}

// words gives one after the other, and then io.EOF.
func words(list ...string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		if len(list) == 0 {
			return nil, io.EOF
		}
		word := list[0]
		list = list[1:]
		return []byte(word), nil
	}
}

// waiting gives nothing until its context ends.
func waiting(ctx context.Context) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestR9StreamIsWholeOnEveryProtocol(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*pieceBytes+1)
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		s := newStreaming(t, words("a", long, "b"))
		_, resp := s.dial(t, version)
		body, err := io.ReadAll(resp.Body)
		if want := "retry: 1000\n\na" + long + "b"; err != nil || string(body) != want {
			t.Errorf("%s: %d bytes %v, want %d", version, len(body), err, len(want))
		}
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Request-ID") == "" || resp.Header.Get("Date") == "" {
			t.Errorf("%s: got %d with headers %v", version, resp.StatusCode, resp.Header)
		}
		if !resp.Close {
			t.Errorf("%s: the answer does not say that the connection ends", version)
		}
		<-s.closed
		s.Streams.Wait()
		if version == "HTTP/1.1" {
			if log := s.log.String(); strings.Count(log, `"msg":"request"`) != 1 || !strings.Contains(log, fmt.Sprintf(`"bytes":%d`, len(body))) {
				t.Errorf("got the log\n%s\nwant one line with %d bytes", log, len(body))
			}
		}
	}
}

func TestR9StreamEndsWithItsReader(t *testing.T) {
	t.Parallel()
	s := newStreaming(t, waiting)
	conn, _ := s.dial(t, "HTTP/1.1")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-s.closed
}

func TestR9StreamSurvivesWhatItsReaderSends(t *testing.T) {
	t.Parallel()
	more := make(chan string)
	s := newStreaming(t, func(ctx context.Context) ([]byte, error) {
		select {
		case word := <-more:
			return []byte(word), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	conn, resp := s.dial(t, "HTTP/1.1")
	if _, err := io.WriteString(conn, strings.Repeat("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n", 100)); err != nil {
		t.Fatal(err)
	}
	more <- "still here"
	got := make([]byte, len("retry: 1000\n\nstill here"))
	if _, err := io.ReadFull(resp.Body, got); err != nil || !strings.HasSuffix(string(got), "still here") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestR9StreamEndsWholeWhenTheServerStops(t *testing.T) {
	t.Parallel()
	stopping, streams := make(chan struct{}), &sync.WaitGroup{}
	s := newStreaming(t, waiting, func(d *Deps) { d.Stopping, d.Streams = stopping, streams })
	_, resp := s.dial(t, "HTTP/1.1")
	close(stopping)
	if body, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("got %q, %v; a reader must not take this for a broken connection", body, err)
	}
	streams.Wait()
}

func TestR9StreamThatPanicsBreaksOff(t *testing.T) {
	t.Parallel()
	s := newStreaming(t, func(context.Context) ([]byte, error) { panic("boom") })
	_, resp := s.dial(t, "HTTP/1.1")
	if body, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v; half an answer looks like a whole one", body, err)
	}
	<-s.closed
	s.Streams.Wait()
	if log := s.log.String(); !strings.Contains(log, "boom") || !strings.Contains(log, `"msg":"request"`) {
		t.Errorf("got the log\n%s", log)
	}
}

func TestH14StreamDoesNotWaitTwiceForItsReader(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	conn := &ownConn{Conn: ours}
	if err := conn.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("never taken")); err == nil {
		t.Error("a reader that takes nothing took it")
	}
	go conn.end(false)
	if got, err := io.ReadAll(theirs); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v after half an answer", got, err)
	}
}

func TestR9HeadOfAStreamIsOver(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	srv := httptest.NewServer(b.srv)
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, srv.URL+Prefix+"/agent/runs/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.key(lineshaft.RoleViewer))
	req.Header.Set("Accept", "text/event-stream")
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
}
