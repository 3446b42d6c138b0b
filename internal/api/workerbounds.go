package api

import (
	"fmt"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/rate"
)

// What a run token may do as a worker. The process that an execution was placed in
// calls with it, and so can its agent: the bounds are far above what the first needs,
// and what is left to the second does not hurt others.
const (
	// executorRate is how many calls of one kind an execution may make in a minute.
	executorRate = 6000
	// executorCalls is how many calls of one kind may be answered at once.
	executorCalls = 4
	// strangeBody is enough to take an execution over.
	strangeBody = 64 << 10
)

// workerBounds is how much one call of a worker may bring.
type workerBounds struct {
	bytes         int64
	items, events int
	tooLarge      error
}

// boundsOf says what a caller may send. A worker key brings reports of up to as many
// executions as a worker can have slots. Whoever has the token of a run that is not
// placed in a process of its own has nothing to report.
func boundsOf(c lineshaft.Caller) workerBounds {
	tooLarge := &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", largeBody)}
	switch {
	case c.Role != lineshaft.RoleRun:
		return workerBounds{largeBody, 10_000, 200_000, tooLarge}
	case runs.Placed(c):
		return workerBounds{largeBody, 1, 10_000, tooLarge}
	default:
		return workerBounds{strangeBody, 1, 10_000, lineshaft.Conflict("no process of its own holds this execution any more; end it and send no more reports")}
	}
}

// checkExecutorRate counts each kind of call by itself: what an executor reports too
// often must not hold up its heartbeats.
func (s *server) checkExecutorRate(executionID, path string) error {
	if verdict, _ := s.executors.Take(executionID+" "+path, s.Now()); verdict.Wait > 0 {
		return lineshaft.RateLimited(verdict.Wait, "a run token may make %d calls of a kind in a minute; wait %d s", executorRate, rate.Seconds(verdict.Wait))
	}
	return nil
}

// atOnce counts the calls that are being answered.
type atOnce struct {
	mu    sync.Mutex
	calls map[string]int
}

// oneOfFew answers a call of a run token unless too many are being answered.
func (s *server) oneOfFew(c lineshaft.Caller, path string, answer func() error) error {
	if c.Role != lineshaft.RoleRun {
		return answer()
	}
	key := c.KeyID + " " + path
	if !s.atOnce.enter(key) {
		return lineshaft.RateLimited(time.Second, "a run token may make %d calls of a kind at once", executorCalls)
	}
	defer s.atOnce.leave(key)
	return answer()
}

func (a *atOnce) enter(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls[key] >= executorCalls {
		return false
	}
	a.calls[key]++
	return true
}

func (a *atOnce) leave(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls[key]--; a.calls[key] == 0 {
		delete(a.calls, key)
	}
}
