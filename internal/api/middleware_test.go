package api

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
)

func TestH4UnknownPathsAndMethodsAreProblems(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for _, tc := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{get, "/api", 404, ""},
		{get, "/api/", 404, ""},
		{get, "/api/v1", 404, ""},
		{get, "/api/v2/agent/runs", 404, ""},
		{get, "/api/v1/agent/run/", 404, ""},
		{get, "/api/v1/agent/runs/", 404, ""},
		{post, "/api/v1/nope", 404, ""},
		{get, "/elsewhere", 404, ""},
		{get, "/api/v1/agent/run", 405, "POST"},
		{http.MethodPut, "/api/v1/agent/runs", 405, "GET, HEAD, POST"},
		{http.MethodPatch, "/api/v1/agent/runs/x", 405, "GET, HEAD, DELETE"},
		{del, "/api/v1/agent/runs/x/cancel", 405, "POST"},
		{put, "/api/v1/agent/runs/cancel", 405, "POST"},
		{get, "/api/v1/agent/runs/cancel", 405, "POST"},
		{http.MethodHead, "/api/v1/agent/runs/cancel", 405, "POST"},
		{del, "/api/v1/agent/runs/cancel", 405, "POST"},
		{http.MethodOptions, "/api/v1/whoami", 405, "GET, HEAD"},
		{post, "/healthz", 405, "GET, HEAD"},
		{"BREW", "/api/v1/whoami", 405, "GET, HEAD"},
		{post, "/api/v1/openapi.json", 405, "GET, HEAD"},
		{get, "/api/v1//agent/runs", 400, ""},
		{get, "/api/v1/agent/../whoami", 400, ""},
		{get, "/api/v1/./whoami", 400, ""},
		{post, "/api/v1/agent/runs//cancel", 400, ""},
		{get, "//", 400, ""},
		{put, "/api/v1/factory", 405, "GET, HEAD, POST"},
		{put, "/api/v1/factory/f", 405, "GET, HEAD, PATCH, DELETE"},
		{get, "/api/v1/factory/f/runs", 405, "POST"},
		{del, "/api/v1/factory/f/definition", 405, "GET, HEAD"},
		{del, "/api/v1/factory/f/tasks", 405, "GET, HEAD, POST"},
		{get, "/api/v1/factory/f/nope", 404, ""},
		{get, "/api/v1/factory/", 404, ""},
		{get, "/api/v1/agent/messages/a/b/c", 404, ""},
	} {
		w := b.do(t, scenario{method: tc.method, path: tc.path})
		if w.Code != tc.status || w.Header().Get("Allow") != tc.allow {
			t.Errorf("%s %s: %d, Allow %q: %s", tc.method, tc.path, w.Code, w.Header().Get("Allow"), w.Body)
		}
		if !strings.Contains(w.Body.String(), `"type":"`+testBase+`/docs/errors/`) {
			t.Errorf("%s %s: %s", tc.method, tc.path, w.Body)
		}
	}
}

// Operations of the published API that this server does not offer are named one by one.
func TestH4PublishedOperationsThatAreNotOffered(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	rows := (&server{}).published()
	if len(rows) == 0 {
		t.Fatal("none")
	}
	for _, row := range rows {
		w := b.do(t, scenario{method: row.Method, path: concrete(row.Path), as: lineshaft.RoleMember})
		if w.Code != 422 || !strings.Contains(w.Body.String(), "operation_not_supported") || strings.ContainsAny(decode[problem.Document](t, w).Detail, "{}") {
			t.Errorf("%s %s: %d %s", row.Method, row.Path, w.Code, w.Body)
		}
	}
}

func TestH4EveryProblemTypeHasAPage(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for _, code := range lineshaft.Codes() {
		b.check(t, scenario{method: get, path: "/docs/errors/" + string(code), status: 200, has: []string{string(code), "What to do"}})
	}
	b.check(t, scenario{method: get, path: "/docs/errors", status: 200, has: []string{"conflict"}})
	b.check(t, scenario{method: get, path: "/docs/errors/nope", status: 404})
}

func TestServesNamesOurPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/api": true, "/api/v1/agent/runs": true, "/api//x": true, "/healthz": true, "/readyz": true, "/metrics": true, "/docs/errors": true, "/docs/errors/x": true,
		"/": false, "/apis": false, "/docs": false, "/docs/errorsx": false, "/runs/1": false, "/webhooks/w/x": false, "": false,
	} {
		if Serves(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}

func TestPanicsBecomeProblems(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.srv.mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("hunter2") })
	w := b.check(t, scenario{method: get, path: "/panic", status: 500, code: "internal_error", not: []string{"hunter2"}, has: []string{"internal error"}})
	var logged []string
	for line := range strings.Lines(b.log.String()) {
		if strings.Contains(line, "hunter2") {
			logged = append(logged, line)
		}
	}
	trace := decode[struct {
		TraceID string `json:"trace_id"`
	}](t, w).TraceID
	if len(logged) == 0 || trace == "" || !strings.Contains(logged[0], trace) || !strings.Contains(logged[0], "middleware_test.go") {
		t.Errorf("trace %q is not in the log with its stack: %v", trace, logged)
	}
}

func TestPanicAfterHalfAnAnswerBreaksTheConnection(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.srv.mux.HandleFunc("GET /half", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		_ = recorderOf(w).flush()
		panic("late")
	})
	response, err := b.listen().Client().Get(b.listen().URL + "/half")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("half an answer looked like a whole one")
	}
}

func TestI5OneWideLogLinePerRequest(t *testing.T) {
	t.Parallel()
	var seen []Observation
	b := newServer(t, func(d *Deps) { d.Observe = func(o Observation) { seen = append(seen, o) } })
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	b.do(t, scenario{method: get, path: "/agent/runs/" + id + "?q=secret-query", as: lineshaft.RoleViewer, header: map[string]string{"X-Request-Id": "req-5"}})
	b.do(t, scenario{method: get, path: "/secret-path"})
	b.do(t, scenario{method: "BREW", path: "/agent/runs"})
	b.do(t, scenario{method: get, path: "/agent/downloads/secret-token"})
	var lines []map[string]any
	for text := range strings.Lines(b.log.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 4 || len(seen) != 4 {
		t.Fatalf("%d lines, %d observations:\n%s", len(lines), len(seen), b.log)
	}
	first := lines[0]
	for name, want := range map[string]any{
		"msg": "request", "method": "GET", "route": "/api/v1/agent/runs/{runId}", "status": 200.0, "request_id": "req-5", "remote_addr": "192.0.2.1",
	} {
		if first[name] != want {
			t.Errorf("%s is %v, want %v", name, first[name], want)
		}
	}
	if first["caller"] == "" || first["trace_id"] == "" || first["bytes"] == 0.0 || first["duration"] == nil {
		t.Errorf("%v", first)
	}
	if strings.Contains(b.log.String(), "secret") || strings.Contains(b.log.String(), id) || strings.Contains(b.log.String(), "ls_") {
		t.Errorf("S-2: paths, queries or keys are in the log:\n%s", b.log)
	}
	want := []Observation{
		{Route: "/api/v1/agent/runs/{runId}", Method: "GET", Status: 200},
		{Route: "unmatched", Method: "GET", Status: 404},
		{Route: "unmatched", Method: "OTHER", Status: 405},
		{Route: "/api/v1/agent/downloads/{token}", Method: "GET", Status: 404},
	}
	for i := range seen {
		seen[i].Took = 0
		if seen[i] != want[i] {
			t.Errorf("observed %+v, want %+v", seen[i], want[i])
		}
	}
}

func TestH3ABodyThatNeverEndsIsCutOff(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.srv.bodyTimeout = 50 * time.Millisecond
	srv := b.listen()
	for name, head := range map[string]string{
		"announced": "Content-Length: 100\r\n\r\n{\"prompt\":",
		"chunked":   "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"pro\r\n",
	} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /api/v1/agent/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s", b.key(lineshaft.RoleMember), head)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "in time") || !response.Close {
			t.Errorf("%s: %d %s", name, response.StatusCode, text)
		}
	}
}

func TestH3TheConnectionIsFineAfterABody(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.srv.bodyTimeout = 300 * time.Millisecond
	srv := b.listen()
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), post, srv.URL+Prefix+"/agent/runs", strings.NewReader(`{"prompt":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+b.key(lineshaft.RoleMember))
		response, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%d", response.StatusCode)
		}
		timer := time.NewTimer(350 * time.Millisecond)
		<-timer.C // a deadline left on the connection would strike now
	}
}

func TestRecorderCutsLongAnswersIntoPieces(t *testing.T) {
	t.Parallel()
	inner := &pieceWriter{ResponseRecorder: httptest.NewRecorder()}
	rec := &recorder{ResponseWriter: inner}
	body := make([]byte, 2*pieceBytes+1)
	if n, err := rec.Write(body); n != len(body) || err != nil || rec.bytes != int64(len(body)) || rec.status != http.StatusOK {
		t.Errorf("%d, %v, %+v", n, err, rec)
	}
	if fmt.Sprint(inner.pieces) != fmt.Sprint([]int{pieceBytes, pieceBytes, 1}) {
		t.Errorf("%v", inner.pieces)
	}
	inner.fail = true
	if n, err := rec.Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
	if recorderOf(rec) != rec || recorderOf(inner) == nil {
		t.Error("recorderOf does not find it")
	}
	rec.WriteHeader(http.StatusTeapot)
	if rec.status != http.StatusOK {
		t.Error("the first status counts")
	}
}

// pieceWriter notes the sizes of writes.
type pieceWriter struct {
	*httptest.ResponseRecorder
	pieces []int
	fail   bool
}

// Write implements http.ResponseWriter.
func (p *pieceWriter) Write(b []byte) (int, error) {
	if p.fail {
		return 0, errors.New("gone")
	}
	p.pieces = append(p.pieces, len(b))
	return len(b), nil
}

func TestH4ErrorsOfTheFrameworkAreTranslated(t *testing.T) {
	t.Parallel()
	detail := func(location, message string) *huma.ErrorDetail {
		return &huma.ErrorDetail{Location: location, Message: message}
	}
	for _, tc := range []struct {
		name  string
		model huma.ErrorModel
		want  string
		code  lineshaft.Code
	}{
		{"query", huma.ErrorModel{Status: 422, Errors: []*huma.ErrorDetail{detail("query.limit", "expected number <= 500")}}, "limit: expected number <= 500", "invalid_request"},
		{"path", huma.ErrorModel{Status: 422, Errors: []*huma.ErrorDetail{detail("path.runId", "bad")}}, "runId: bad", "invalid_request"},
		{"body", huma.ErrorModel{Status: 422, Errors: []*huma.ErrorDetail{detail("body.config.name", "too long")}}, "config.name: too long", "invalid_request"},
		{"whole body", huma.ErrorModel{Status: 400, Errors: []*huma.ErrorDetail{detail("body", "expected object")}}, "expected object", "invalid_request"},
		{"missing", huma.ErrorModel{Status: 422, Errors: []*huma.ErrorDetail{detail("body", "expected required property name to be present")}}, "name: is required", "invalid_request"},
		{"missing below", huma.ErrorModel{Status: 422, Errors: []*huma.ErrorDetail{detail("body.a[0]", "expected required property b to be present")}}, "a[0].b: is required", "invalid_request"},
		{"several", huma.ErrorModel{Status: 422, Errors: []*huma.ErrorDetail{detail("body.a", "x"), detail("body.b", "y"), detail("body", "z")}}, "a: x; b: y; z", "invalid_request"},
		{"none", huma.ErrorModel{Status: 400, Detail: "request body is required"}, "request body is required", "invalid_request"},
		{"nil", huma.ErrorModel{Status: 400, Detail: "d", Errors: []*huma.ErrorDetail{nil}}, "d", "invalid_request"},
		{"too large", huma.ErrorModel{Status: 413, Detail: "too large"}, "too large", "payload_too_large"},
	} {
		err := fromModel(&tc.model)
		if lineshaft.CodeOf(err) != tc.code || !strings.HasSuffix(err.Error(), string(tc.code)+": "+tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if err := fromModel(&huma.ErrorModel{Status: 500, Detail: "secret"}); lineshaft.CodeOf(err) != lineshaft.CodeInternal {
		t.Errorf("%v", err)
	}
	many := huma.ErrorModel{Status: 422}
	for i := range 50 {
		many.Errors = append(many.Errors, detail(fmt.Sprint("body.f", i), "x"))
	}
	if err := fromModel(&many); strings.Count(err.Error(), ";") != 4 {
		t.Errorf("five complaints are enough: %v", err)
	}
}
