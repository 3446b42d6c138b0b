package scriptserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// letGo is how long a client may take to let go of its connections once it has
// returned, on a machine that is busy with others.
const letGo = 30 * time.Second

// session is a scenario while it is played.
type session struct {
	scenario    *Scenario
	key         string
	base, other string

	mu       sync.Mutex
	requests []*request
	problems []string
}

// request is one that came.
type request struct {
	origin, method, path string
	query                map[string][]string
	header               http.Header
	body                 []byte
	came                 time.Time
	// done is closed when the answer was given or the client went; answered, when it began, is then set.
	done     chan struct{}
	answered time.Time
}

func (s *session) serve(w http.ResponseWriter, r *http.Request, origin string) {
	came := time.Now()
	body, _ := io.ReadAll(r.Body) // what is missing fails the expectation
	_, path, _ := strings.Cut(r.URL.EscapedPath(), "/api/v1")
	if side, ok := s.scenario.Side[r.Method+" "+path]; ok && !wantsStream(r) {
		s.give(w, r, &side, 0, func() {})
		return
	}
	req := &request{
		origin: origin, method: r.Method, path: path, query: r.URL.Query(), header: r.Header.Clone(),
		body: body, came: came, done: make(chan struct{}),
	}
	n := s.note(req)
	defer close(req.done)
	answer, round, ok := s.scenario.answer(n)
	if !ok {
		s.problemf("request %d should not have been sent: %s %s", n+1, r.Method, path)
		w.Header().Set("X-Should-Retry", "false")
		http.Error(w, "the script is over", http.StatusInternalServerError)
		return
	}
	s.judgeRequest(n, req, &answer.Expect)
	s.give(w, r, answer, round, func() { req.answered = time.Now() })
}

func wantsStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

func (s *session) note(req *request) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	return len(s.requests) - 1
}

func (s *session) problemf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// past returns request n, counted from 1, and whether it came.
func (s *session) past(n int) (*request, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 1 || n > len(s.requests) {
		return nil, false
	}
	return s.requests[n-1], true
}

// verdict waits until the client has let go of every connection and judges.
func (s *session) verdict(ctx context.Context, outcome Outcome) Verdict {
	s.mu.Lock()
	requests := append([]*request(nil), s.requests...)
	s.mu.Unlock()
	out := Verdict{Problems: []string{}, Requests: []string{}}
	ctx, cancel := context.WithTimeout(ctx, letGo)
	defer cancel()
	for i, req := range requests {
		out.Requests = append(out.Requests, req.method+" "+req.path)
		select {
		case <-req.done:
		case <-ctx.Done():
			s.problemf("request %d is still open %s after the call: the connection is not freed", i+1, letGo)
		}
	}
	if want := s.scenario.requests(); len(requests) < want {
		s.problemf("%d requests came, want %d at least", len(requests), want)
	}
	s.judgeOutcome(outcome)
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Problems = append(out.Problems, s.problems...)
	out.OK = len(out.Problems) == 0
	return out
}
