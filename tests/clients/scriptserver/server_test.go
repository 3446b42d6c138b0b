package scriptserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// told is a driver without a client: each test sends what it likes.
type told struct {
	t       *testing.T
	server  *Server
	started Started
}

func begin(t *testing.T, text string) *told {
	t.Helper()
	var scenario Scenario
	if err := json.Unmarshal([]byte(text), &scenario); err != nil {
		t.Fatal(err)
	}
	if scenario.Name == "" {
		scenario.Name = "test"
	}
	d := &told{t: t, server: New([]Scenario{scenario})}
	t.Cleanup(d.server.Close)
	d.post("/_/start", map[string]string{"scenario": scenario.Name}, &d.started)
	return d
}

func (d *told) post(path string, body, out any) {
	d.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	resp, err := http.Post(d.server.URL()+path, "application/json", bytes.NewReader(text))
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		d.t.Fatal(err)
	}
}

// send sends one request with the key and further headers, and returns the answer.
func (d *told) send(method, path, body string, headers ...string) (status int, text string, err error) {
	d.t.Helper()
	base := d.started.BaseURL + "/api/v1"
	if strings.HasPrefix(path, "http") {
		base = ""
	}
	req, err := http.NewRequestWithContext(d.t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.started.APIKey)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

func (d *told) finish(value any, failed *ToldError) Verdict {
	d.t.Helper()
	var verdict Verdict
	d.post("/_/finish", Outcome{ID: d.started.ID, Value: value, Error: failed}, &verdict)
	return verdict
}

// want fails unless the verdict has exactly these problems, each by a part of it.
func (d *told) want(verdict Verdict, parts ...string) {
	d.t.Helper()
	if len(verdict.Problems) != len(parts) || verdict.OK != (len(parts) == 0) {
		d.t.Fatalf("problems %q, want %q", verdict.Problems, parts)
	}
	for i, part := range parts {
		if !strings.Contains(verdict.Problems[i], part) {
			d.t.Errorf("problem %q, want %q", verdict.Problems[i], part)
		}
	}
}

const simple = `{"call":{"op":"x"},"answers":[{"expect":{"method":"GET","path":"/a"},"json":{"n":1}}],"result":{"n":1}}`

func TestI3ARightCallHasNoProblems(t *testing.T) {
	t.Parallel()
	d := begin(t, simple)
	status, text, err := d.send(http.MethodGet, "/a", "")
	if status != 200 || text != `{"n":1}` || err != nil {
		t.Errorf("answer %d %q, %v", status, text, err)
	}
	d.want(d.finish(map[string]any{"n": 1}, nil))
}

func TestI3WrongRequestsAreProblems(t *testing.T) {
	t.Parallel()
	two := `{"call":{"op":"x"},"answers":[{"status":503},{"expect":%s}],"error":{"kind":"server"}}`
	failed := &ToldError{Kind: "server", Message: "no"}
	for name, c := range map[string]struct {
		expect, method, path, body string
		headers                    []string
		want                       string
	}{
		"method":  {`{"method":"POST"}`, "GET", "/a", "", nil, "method GET, want POST"},
		"path":    {`{"path":"/b"}`, "GET", "/a", "", nil, "path /a, want /b"},
		"query":   {`{"query":{"q":"1"}}`, "GET", "/a?q=2", "", nil, `query q is "2", want "1"`},
		"no more": {`{"query":{"q":"-"}}`, "GET", "/a?q=2", "", nil, `query q is "2"`},
		"missing": {`{"headers":{"x-a":"*"}}`, "GET", "/a", "", nil, "the header x-a is missing"},
		"surplus": {`{"headers":{"x-a":"-"}}`, "GET", "/a", "", []string{"X-A", "1"}, "want none"},
		"value":   {`{"headers":{"x-a":"2"}}`, "GET", "/a", "", []string{"X-A", "1"}, `want "2"`},
		"same":    {`{"headers":{"x-a":"same:1"}}`, "GET", "/a", "", []string{"X-A", "1"}, "as in request 1"},
		"new":     {`{"headers":{"x-b":"new:1"}}`, "GET", "/a", "", []string{"X-B", "first"}, "want another"},
		"body":    {`{"json":{"a":1}}`, "POST", "/a", `{"a":2}`, nil, "body"},
		"resume":  {`{"resume_after":3}`, "GET", "/a", "", []string{"Last-Event-ID", "2"}, "resumes after 2, want 3"},
		"early":   {`{"not_before_ms":100000}`, "GET", "/a", "", nil, "at least"},
		"key":     {`{}`, "GET", "/a", "", []string{"Authorization", "Bearer other"}, "not \"Bearer KEY\""},
		"origin":  {`{"origin":"other"}`, "GET", "/a", "", nil, "came to the main address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := begin(t, strings.Replace(two, "%s", c.expect, 1))
			_, _, _ = d.send(http.MethodGet, "/a", "", "X-B", "first")
			_, _, _ = d.send(c.method, c.path, c.body, c.headers...)
			d.want(d.finish(nil, failed), c.want)
		})
	}
}

func TestI3TheKeyMustNotLeak(t *testing.T) {
	t.Parallel()
	d := begin(t, `{"call":{"op":"x"},"answers":[{"status":302,"headers":{"location":"$OTHER/a"}},{"expect":{"origin":"other"}}],"error":{"kind":"status"}}`)
	// net/http keeps the header: another port is the same host to it.
	_, _, _ = d.send(http.MethodGet, "/a?key="+d.started.APIKey, "", "X-Copy", d.started.APIKey)
	verdict := d.finish(nil, &ToldError{Kind: "status", Message: "bad key " + d.started.APIKey})
	text := strings.Join(verdict.Problems, "\n")
	for _, part := range []string{"the key is in the query", "Authorization shows the key to another host", "X-Copy shows the key", "the error shows the key: bad key KEY"} {
		if !strings.Contains(text, part) {
			t.Errorf("problems %s, want %q", text, part)
		}
	}
	if strings.Contains(text, d.started.APIKey) {
		t.Error("the verdict shows the key")
	}
}

func TestI3TooManyAndTooFewRequests(t *testing.T) {
	t.Parallel()
	d := begin(t, simple)
	d.want(d.finish(map[string]any{"n": 1}, nil), "0 requests came, want 1")
	d = begin(t, simple)
	_, _, _ = d.send(http.MethodGet, "/a", "")
	_, _, _ = d.send(http.MethodGet, "/a", "")
	d.want(d.finish(map[string]any{"n": 1}, nil), "request 2 should not have been sent")
}

func TestI3WrongOutcomesAreProblems(t *testing.T) {
	t.Parallel()
	asks := `{"call":{"op":"x"},"answers":[{"status":429,"optional":true}],` +
		`"error":{"kind":["rate_limit","status"],"status":429,"code":"c","retry_after_ms":1000,"message_contains":["wait"]}}`
	right := ToldError{Kind: "rate_limit", Status: 429, Code: "c", RetryAfterMS: new(1000.0), Message: "please wait"}
	for _, c := range map[string]struct {
		change func(*ToldError)
		want   string
	}{
		"kind":    {func(e *ToldError) { e.Kind = "server" }, "of kind \"server\", want rate_limit or status"},
		"status":  {func(e *ToldError) { e.Status = 400 }, "status 400, want 429"},
		"code":    {func(e *ToldError) { e.Code = "d" }, "code = \"d\""},
		"pause":   {func(e *ToldError) { e.RetryAfterMS = nil }, "retry_after_ms"},
		"message": {func(e *ToldError) { e.Message = "no" }, "want it to name \"wait\""},
	} {
		wrong := right
		c.change(&wrong)
		d := begin(t, asks)
		d.want(d.finish(nil, &wrong), c.want)
	}
	d := begin(t, asks)
	d.want(d.finish(nil, &right))
	d = begin(t, asks)
	d.want(d.finish(nil, nil), "did not fail, want rate_limit or status")
	d = begin(t, simple)
	_, _, _ = d.send(http.MethodGet, "/a", "")
	d.want(d.finish(map[string]any{"n": 1}, &right), "the call failed: rate_limit")
	d = begin(t, simple)
	_, _, _ = d.send(http.MethodGet, "/a", "")
	d.want(d.finish(map[string]any{"n": 2}, nil), "n = 2, want 1")
}

func TestI3Lookup(t *testing.T) {
	t.Parallel()
	var value any
	if err := json.Unmarshal([]byte(`{"a":[{"b":"日本"}],"h":{"X-Id":"1"},"n":null}`), &value); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{"a.0.b": "日本", "a.#": 1.0, "a.0.b.#": 2.0, "h.x-id": "1", "n": nil} {
		if got, ok := lookup(value, path); !ok || got != want {
			t.Errorf("%s = %v, %v; want %v", path, got, ok, want)
		}
	}
	for _, path := range []string{"b", "a.1", "a.x", "a.0.b.c"} {
		if got, ok := lookup(value, path); ok {
			t.Errorf("%s = %v, want nothing", path, got)
		}
	}
}

func TestI3DamagedAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"before_headers": `{"cut":"before_headers"}`,
		"reset":          `{"cut":"reset"}`,
		"mid_body":       `{"json":{"a":"bcdefgh"},"cut":"mid_body","cut_after_bytes":3}`,
		"last byte":      `{"json":{"a":"bcdefgh"},"cut":"mid_body"}`,
		"stream":         `{"events":[{"sequence":1,"type":"x"}],"cut":"mid_body"}`,
	} {
		d := begin(t, `{"call":{"op":"x"},"answers":[`+answer+`],"error":{"kind":"connection"}}`)
		if _, _, err := d.send(http.MethodGet, "/a", ""); err == nil {
			t.Errorf("%s: the answer came whole", name)
		}
		d.want(d.finish(nil, &ToldError{Kind: "connection"}))
	}
}

func TestI3LogIsCutOneByteLaterEachTime(t *testing.T) {
	t.Parallel()
	d := begin(t, `{"call":{"op":"x"},"answers":[{"log":{"events":[{"sequence":1,"type":"a"},{"sequence":2,"type":"b"}],"cuts":3}}],"result":{".":null}}`)
	for cut := range 3 {
		if _, text, err := d.send(http.MethodGet, "/a", ""); err == nil || len(text) != cut {
			t.Errorf("connection %d brought %q, %v", cut+1, text, err)
		}
	}
	_, text, err := d.send(http.MethodGet, "/a", "", "Last-Event-ID", "1")
	if err != nil || strings.Contains(text, "evt_1") || !strings.HasPrefix(text, "id: 2\nevent: b\ndata: {\"id\":\"evt_2\"") {
		t.Errorf("the last connection brought %q, %v", text, err)
	}
	d.want(d.finish(nil, nil))
}

func TestI3ScenariosAreReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"name":"a","call":{"op":"x"},"answers":[{"stat":1}],"result":{"a":1}}]`:            "unknown field",
		`[{"name":"a","call":{"op":"x"},"answers":[{}]}]`:                                     "needs a result or an error",
		`[{"name":"a","call":{"op":"x"},"result":{"a":1}}]`:                                   "needs answers",
		`[{"call":{"op":"x"},"answers":[{}],"result":{"a":1}}]`:                               "needs a name",
		`[{"name":"a","call":{"op":"x"},"answers":[{"json":1,"body":"x"}],"result":{"a":1}}]`: "2 bodies",
		`[{"name":"a","call":{"op":"x"},"answers":[{"log":{}},{}],"result":{"a":1}}]`:         "nothing can follow a log",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("an empty folder is fine")
	}
}
