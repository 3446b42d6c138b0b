package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

const farm = `"worker_host":"farm","worker_id":"farm/p1"`

func workerPath(path string) string { return Prefix + path }

// A worker's mistakes are reported, and what belongs to others is not touched.
func TestX1WorkerRoutesRefuse(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.start(lineshaft.NewRun{Prompt: "p"})
	job := b.claim()
	ref := `"execution_id":"` + job.ExecutionID + `","token":"` + job.Token + `"`
	worker, admin := lineshaft.RoleWorker, lineshaft.RoleAdmin
	b.play(t, []scenario{
		{name: "no body", method: post, path: workerPath(workerwire.PathClaim), as: worker, status: 400, code: lineshaft.CodeInvalidRequest},
		{name: "no JSON", method: post, path: workerPath(workerwire.PathClaim), as: worker, body: `{"token":"hush`, status: 400, code: lineshaft.CodeInvalidRequest, not: []string{"hush"}},
		{name: "wrong type", method: post, path: workerPath(workerwire.PathClaim), as: worker, body: `{"worker_host":7}`, status: 400, code: lineshaft.CodeInvalidRequest},
		{name: "too large", method: post, path: workerPath(workerwire.PathReport), as: worker, body: `{"x":"` + strings.Repeat("x", largeBody) + `"}`, status: 413, code: lineshaft.CodePayloadTooLarge},
		{name: "another id", method: post, path: workerPath(workerwire.PathClaim), as: worker, body: `{"worker_host":"mac","worker_id":"mac/p1","limit":1,"capacity":1}`, status: 403, code: lineshaft.CodeNotAuthorized},
		{name: "hosted", method: post, path: workerPath(workerwire.PathClaim), as: admin, body: `{"worker_host":"hosted","worker_id":"hosted/p1","limit":1,"capacity":1}`, status: 400, code: lineshaft.CodeInvalidRequest},
		{name: "no slots", method: post, path: workerPath(workerwire.PathClaim), as: worker, body: `{` + farm + `}`, status: 400, code: lineshaft.CodeInvalidRequest},
		{name: "old protocol", method: post, path: workerPath(workerwire.PathConnect), as: worker, body: `{` + farm + `,"version":"dev"}`, status: 400, code: lineshaft.CodeInvalidRequest, has: []string{"upgrade the worker"}},
		{name: "connect", method: post, path: workerPath(workerwire.PathConnect), as: worker, body: `{` + farm + `,"version":"dev","protocol":1}`, status: 200, has: []string{`"ended":0`}},
		{name: "another's turn", method: post, path: workerPath(workerwire.PathEndTurn), as: worker, body: `{` + farm + `,` + ref + `,"result":{"state":"SUCCEEDED"}}`, status: 409, code: lineshaft.CodeConflict},
		{name: "another's report", method: post, path: workerPath(workerwire.PathReport), as: worker, body: `{` + farm + `,"reports":[{` + ref + `,"first":1}]}`, status: 200, has: []string{`"code":"conflict"`}},
		{name: "another's file", method: post, path: workerPath(workerwire.PathDownload), as: worker, body: `{` + farm + `,` + ref + `,"blob_id":"x"}`, status: 409, code: lineshaft.CodeConflict},
		{name: "another's file, as admin", method: post, path: workerPath(workerwire.PathDownload), as: admin, body: `{` + farm + `,` + ref + `,"blob_id":"x"}`, status: 409, code: lineshaft.CodeConflict},
		{name: "upload without its description", method: post, path: workerPath(workerwire.PathUpload), as: worker, body: `x`, status: 400, code: lineshaft.CodeInvalidRequest},
		{name: "heartbeat", method: post, path: workerPath(workerwire.PathHeartbeat), as: worker, body: `{` + farm + `,"held":[{` + ref + `}]}`, status: 200, has: []string{`"kind":"stop"`}},
		{name: "leave", method: post, path: workerPath(workerwire.PathLeave), as: worker, body: `{` + farm + `}`, status: 200},
		{name: "wrong method", method: get, path: workerPath(workerwire.PathClaim), as: worker, status: 405, code: lineshaft.CodeMethodNotAllowed},
	})
}

// A run token opens the calls about its own execution, and no others of a worker.
func TestS3RunTokenOpensItsOwnExecution(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.start(lineshaft.NewRun{Prompt: "p"})
	job := b.claim()
	pod := `"worker_host":"` + lineshaft.HostedWorker + `","worker_id":"` + lineshaft.HostedWorker + `/` + job.ExecutionID + `.p1"`
	ref := `"execution_id":"` + job.ExecutionID + `","token":"` + job.Token + `"`
	ask := func(path, body string) (int, string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), post, workerPath(path), strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+job.RunToken)
		w := httptest.NewRecorder()
		b.srv.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, step := range []struct {
		name, path, body string
		status           int
		has              string
	}{
		{"claim", workerwire.PathClaim, `{` + pod + `,"limit":1,"capacity":1}`, 403, "not_authorized"},
		{"connect", workerwire.PathConnect, `{` + pod + `,"version":"dev","protocol":1}`, 403, "not_authorized"},
		{"as another process", workerwire.PathHeartbeat, `{` + farm + `,"held":[{` + ref + `}]}`, 403, "about its own execution"},
		{"heartbeat too early", workerwire.PathHeartbeat, `{` + pod + `,"held":[{` + ref + `}]}`, 200, `"kind":"stop"`},
		{"take over without the fencing token", workerwire.PathTakeOver, `{` + pod + `,"execution_id":"` + job.ExecutionID + `","token":"x"}`, 409, "conflict"},
		{"take over", workerwire.PathTakeOver, `{` + pod + `,` + ref + `}`, 200, `"last_event":0`},
		{"heartbeat", workerwire.PathHeartbeat, `{` + pod + `,"held":[{` + ref + `}]}`, 200, `"directives":[]`},
		{"report", workerwire.PathReport, `{` + pod + `,"reports":[{` + ref + `,"first":1,"started":true}]}`, 200, `"errors":[null]`},
		{"end", workerwire.PathEndTurn, `{` + pod + `,` + ref + `,"result":{"state":"SUCCEEDED"}}`, 200, `"next":null`},
		{"heartbeat afterwards", workerwire.PathHeartbeat, `{` + pod + `,"held":[{` + ref + `}]}`, 200, `"kind":"stop"`},
		{"end again", workerwire.PathEndTurn, `{` + pod + `,` + ref + `,"result":{"state":"SUCCEEDED"}}`, 409, "conflict"},
		{"leave", workerwire.PathLeave, `{` + pod + `}`, 200, ""},
	} {
		if status, body := ask(step.path, step.body); status != step.status || !strings.Contains(body, step.has) {
			t.Errorf("%s: %d %s", step.name, status, body)
		}
	}
}

// Every answer to a worker may hold secrets: nothing on the way may keep it.
func TestS1AnswersToWorkersAreNotKept(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for _, route := range Routes() {
		if route.Permission != lineshaft.PermissionWork && route.Permission != lineshaft.PermissionWorkOwn {
			continue
		}
		r := httptest.NewRequestWithContext(t.Context(), route.Method, route.Path, strings.NewReader(`{}`))
		r.Header.Set("Authorization", "Bearer "+b.key(lineshaft.RoleWorker))
		w := httptest.NewRecorder()
		b.srv.ServeHTTP(w, r)
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get(workerwire.HeaderProtocol) != "1" || w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d, %v", route.Path, w.Code, w.Header())
		}
	}
}

// They are not part of the published API.
func TestS3WorkerRoutesAreNotPublished(t *testing.T) {
	t.Parallel()
	document, err := OpenAPI()
	if err != nil || strings.Contains(string(document), workerwire.Prefix) {
		t.Errorf("the document tells of the routes of workers (%v)", err)
	}
}
