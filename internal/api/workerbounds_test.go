package api

import (
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/rate"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// executor calls the worker routes with a run token.
type executor struct {
	*bench
	job      lineshaft.Job
	pod, ref string
}

func newExecutor(t *testing.T) *executor {
	t.Helper()
	b := newServer(t)
	b.start(lineshaft.NewRun{Prompt: "p"})
	job := b.claim()
	return &executor{
		b, job, `"worker_host":"` + lineshaft.HostedWorker + `","worker_id":"` + lineshaft.HostedWorker + `/` + job.ExecutionID + `.p1"`,
		`"execution_id":"` + job.ExecutionID + `","token":"` + job.Token + `"`,
	}
}

func (e *executor) send(path, key string, body io.Reader) *httptest.ResponseRecorder {
	e.Helper()
	r := httptest.NewRequestWithContext(e.Context(), post, workerPath(path), body)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	e.srv.ServeHTTP(w, r)
	return w
}

func (e *executor) want(name, path, key, body string, status int) {
	e.Helper()
	if w := e.send(path, key, strings.NewReader(body)); w.Code != status {
		e.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, status)
	}
}

// an agent cannot make the server take much memory with its run token.
func TestX7RunTokenBringsLittleToTheWorkerRoutes(t *testing.T) {
	t.Parallel()
	e := newExecutor(t)
	token := e.job.RunToken
	event := `{"type":"notice","time":"2026-01-02T03:04:05Z","data":{"text":"` + strings.Repeat("x", strangeBody) + `"}}`
	report := `{` + e.pod + `,"reports":[{` + e.ref + `,"first":1,"started":true,"events":[` + event + `]}]}`
	e.want("large, before it is placed", workerwire.PathReport, token, report, 409)
	e.want("large and no JSON", workerwire.PathReport, token, strings.Repeat("{", strangeBody+1), 409)
	e.want("directives, before it is placed", workerwire.PathDirectives, token, `{`+e.pod+`}`, 409)
	e.want("a long host", workerwire.PathDirectives, token, strings.ReplaceAll(`{`+e.pod+`}`, lineshaft.HostedWorker, strings.Repeat("h", 10_000)), 403)
	e.want("take over", workerwire.PathTakeOver, token, `{`+e.pod+`,`+e.ref+`}`, 200)
	e.want("large, by its process", workerwire.PathReport, token, report, 200)
	e.want("two reports", workerwire.PathReport, token, `{`+e.pod+`,"reports":[{`+e.ref+`,"first":2},{}]}`, 400)
	e.want("no report", workerwire.PathReport, token, `{`+e.pod+`}`, 409)
	e.want("two held", workerwire.PathHeartbeat, token, `{`+e.pod+`,"held":[{`+e.ref+`},{}]}`, 400)
	e.want("too many events", workerwire.PathReport, token, `{`+e.pod+`,"reports":[{`+e.ref+`,"first":2,"events":[`+strings.Repeat(`{},`, 10_000)+`{}]}]}`, 400)
	e.want("too large", workerwire.PathReport, token, strings.Repeat(" ", largeBody+1), 413)

	worker := e.key(lineshaft.RoleWorker)
	e.want("many slots", workerwire.PathHeartbeat, worker, `{`+farm+`,"held":[`+strings.Repeat(`{"execution_id":"x","token":"y"},`, 9_999)+`{}]}`, 200)
	e.want("more than any worker has", workerwire.PathHeartbeat, worker, `{`+farm+`,"held":[`+strings.Repeat(`{},`, 10_000)+`{}]}`, 400)
	e.want("more than any worker knows", workerwire.PathClaim, worker, `{`+farm+`,"limit":1,"capacity":1,"known":[`+strings.Repeat(`"",`, 10_000)+`""]}`, 400)
}

// calls with a run token are counted, each kind separately.
func TestX7RunTokenCallsAreCounted(t *testing.T) {
	t.Parallel()
	e := newExecutor(t)
	e.srv.executors = rate.New(2)
	token := e.job.RunToken
	e.want("take over", workerwire.PathTakeOver, token, `{`+e.pod+`,`+e.ref+`}`, 200)
	report := `{` + e.pod + `,"reports":[{` + e.ref + `,"first":1}]}`
	e.want("first", workerwire.PathReport, token, report, 200)
	e.want("second", workerwire.PathReport, token, report, 200)
	e.want("third", workerwire.PathReport, token, report, 429)
	e.want("heartbeat", workerwire.PathHeartbeat, token, `{`+e.pod+`,"held":[{`+e.ref+`}]}`, 200)
	worker := e.key(lineshaft.RoleWorker)
	for range 3 {
		e.want("a worker", workerwire.PathHeartbeat, worker, `{`+farm+`}`, 200)
	}
}

// slowReader says that it is read, and continues when it may.
type slowReader struct {
	begun *sync.WaitGroup
	free  <-chan struct{}
	once  sync.Once
}

func (r *slowReader) Read([]byte) (int, error) {
	r.once.Do(r.begun.Done)
	<-r.free
	return 0, io.EOF
}

// bodies that do not come to an end do not pile up.
func TestX7RunTokenCallsAtOnce(t *testing.T) {
	t.Parallel()
	e := newExecutor(t)
	token := e.job.RunToken
	free := make(chan struct{})
	var begun, ended sync.WaitGroup
	begun.Add(executorCalls)
	for range executorCalls {
		ended.Go(func() { e.send(workerwire.PathHeartbeat, token, &slowReader{begun: &begun, free: free}) })
	}
	begun.Wait()
	e.want("one too many", workerwire.PathHeartbeat, token, `{`+e.pod+`}`, 429)
	e.want("of another kind", workerwire.PathTakeOver, token, `{`+e.pod+`,`+e.ref+`}`, 200)
	close(free)
	ended.Wait()
	e.want("afterwards", workerwire.PathHeartbeat, token, `{`+e.pod+`,"held":[{`+e.ref+`}]}`, 200)
	if n := len(e.srv.atOnce.calls); n != 0 {
		t.Errorf("%d calls are still counted", n)
	}
}
