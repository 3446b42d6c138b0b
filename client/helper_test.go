package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seen is a request as the server got it.
type seen struct {
	method, path, query, body string
	header                    http.Header
}

// script is a server whose answers are given one by one; the last one repeats.
type script struct {
	mu      sync.Mutex
	answers []http.HandlerFunc
	got     []seen
	pauses  []time.Duration
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	answer := s.answers[min(len(s.got), len(s.answers)-1)]
	s.got = append(s.got, seen{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body), r.Header.Clone()})
	s.mu.Unlock()
	answer(w, r)
}

func (s *script) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.got...)
}

// scripted starts a server and a client for it that does not pause but notes how
// long it would have.
func scripted(t *testing.T, answers ...http.HandlerFunc) (*Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	return clientFor(t, s, s), s
}

func clientFor(t *testing.T, h http.Handler, s *script, opts ...Option) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := New(server.URL, "ls_test", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	c.backoff.jitter = func() float64 { return 0 }
	c.sleep = func(ctx context.Context, d time.Duration) error {
		if s != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pauses = append(s.pauses, d)
		}
		return ctx.Err()
	}
	return c
}

func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cutBody answers 200 with the beginning of a body and closes.
func cutBody(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"run_id":`)
	panic(http.ErrAbortHandler)
}

func runJSON(state string) string {
	return fmt.Sprintf(`{"run_id":"r1","task_id":"r1","title":"t","prompt":"p","state":%q,"created_at":"2026-01-02T03:04:05.000006Z",`+
		`"updated_at":"2026-01-02T03:04:05.000006Z","finished_at":null}`, state)
}

// closed waits for a channel that another goroutine closes.
func closed(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(time.Minute):
		t.Fatalf("%s did not happen", what)
	}
}
