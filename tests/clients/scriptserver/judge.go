package scriptserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Outcome is what came of a call, as its driver tells it.
type Outcome struct {
	ID string `json:"id"`
	// Value is what the call returned, in the names of the wire; after an error what had
	// come before it, of a stream or a list.
	Value any `json:"value,omitempty"`
	// Error is set when the call failed.
	Error *ToldError `json:"error,omitempty"`
}

// ToldError is an error of a client in words that all languages share.
type ToldError struct {
	Kind         string   `json:"kind"`
	Status       int      `json:"status,omitempty"`
	Code         string   `json:"code,omitempty"`
	Detail       string   `json:"detail,omitempty"`
	RequestID    string   `json:"request_id,omitempty"`
	TraceID      string   `json:"trace_id,omitempty"`
	RetryAfterMS *float64 `json:"retry_after_ms,omitempty"`
	// Message is all that the error shows as text.
	Message string `json:"message"`
}

// judgeRequest holds a request against what the script expects.
func (s *session) judgeRequest(n int, req *request, want *Expect) {
	wrong := func(format string, args ...any) {
		s.problemf("request %d: "+format, append([]any{n + 1}, args...)...)
	}
	if want.Method != "" && req.method != want.Method {
		wrong("method %s, want %s", req.method, want.Method)
	}
	if want.Path != "" && req.path != want.Path {
		wrong("path %s, want %s", req.path, want.Path)
	}
	s.judgeKey(req, want, wrong)
	for name, value := range want.Query {
		if got := strings.Join(req.query[name], ","); got != value && (value != "-" || req.query[name] != nil) {
			wrong("query %s is %q, want %q", name, got, value)
		}
	}
	for name, value := range want.Headers {
		s.judgeHeader(req, name, value, wrong)
	}
	if want.JSON != nil && !sameJSON(req.body, s.fill(want.JSON)) {
		wrong("body %.200q, want %s", req.body, want.JSON)
	}
	if want.ResumeAfter != nil {
		if got := req.resumed(); got != *want.ResumeAfter {
			wrong("resumes after %d, want %d (Last-Event-ID, or the parameter after)", got, *want.ResumeAfter)
		}
	}
	if before, ok := s.past(n); ok && want.NotBeforeMS > 0 {
		<-before.done
		if waited := req.came.Sub(before.answered); waited < time.Duration(want.NotBeforeMS)*time.Millisecond {
			wrong("came %s after the answer before, want %d ms at least", waited, want.NotBeforeMS)
		}
	}
}

// judgeKey sees to it that the key goes to this server, and nowhere else.
func (s *session) judgeKey(req *request, want *Expect, wrong func(string, ...any)) {
	expected := "main"
	if want.Origin != "" {
		expected = want.Origin
	}
	if req.origin != expected {
		wrong("came to the %s address, want the %s one", req.origin, expected)
	}
	auth := req.header.Get("Authorization")
	if req.origin == "other" {
		for name, values := range req.header {
			if strings.Contains(strings.Join(values, " "), s.key) {
				wrong("the header %s shows the key to another host", name)
			}
		}
	} else if auth != "Bearer "+s.key {
		wrong("the header Authorization is not \"Bearer KEY\"")
	}
	for name := range req.query {
		if strings.Contains(strings.Join(req.query[name], " "), s.key) {
			wrong("the key is in the query")
		}
	}
}

func (s *session) judgeHeader(req *request, name, value string, wrong func(string, ...any)) {
	got := req.header.Values(name)
	rule, number, _ := strings.Cut(value, ":")
	n, _ := strconv.Atoi(number)
	earlier, ok := s.past(n)
	switch {
	case value == "*":
		if len(got) == 0 || got[0] == "" {
			wrong("the header %s is missing", name)
		}
	case value == "-":
		if len(got) > 0 {
			wrong("the header %s is %q, want none", name, got)
		}
	case rule == "same" && ok:
		if !slices.Equal(got, earlier.header.Values(name)) {
			wrong("the header %s is %q, want it as in request %d: %q", name, got, n, earlier.header.Values(name))
		}
	case rule == "new" && ok:
		if len(got) == 0 || slices.Equal(got, earlier.header.Values(name)) {
			wrong("the header %s is %q, want another than in request %d", name, got, n)
		}
	default:
		if joined := strings.Join(got, ", "); joined != string(s.fill([]byte(value))) {
			wrong("the header %s is %q, want %q", name, joined, value)
		}
	}
}

func (r *request) resumed() int64 {
	for _, text := range []string{r.header.Get("Last-Event-ID"), first(r.query["after"]), first(r.query["cursor"])} {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	return 0
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// judgeOutcome holds what the call returned against the script.
func (s *session) judgeOutcome(got Outcome) {
	s.judgeError(got.Error)
	for path, want := range s.scenario.Result {
		value, ok := lookup(got.Value, path)
		if !ok && want != nil || !reflect.DeepEqual(value, want) {
			s.problemf("the result has %s = %s, want %s", path, short(value), short(want))
		}
	}
}

func (s *session) judgeError(got *ToldError) {
	want := s.scenario.Error
	if got != nil && strings.Contains(got.Message+got.Detail, s.key) {
		s.problemf("the error shows the key: %s", strings.ReplaceAll(got.Message+" "+got.Detail, s.key, "KEY"))
	}
	switch {
	case want == nil && got == nil:
		return
	case want == nil:
		s.problemf("the call failed: %s: %s", got.Kind, got.Message)
		return
	case got == nil:
		s.problemf("the call did not fail, want %s", strings.Join(want.Kind, " or "))
		return
	}
	if !slices.Contains(want.Kind, got.Kind) {
		s.problemf("the error is of kind %q, want %s: %s", got.Kind, strings.Join(want.Kind, " or "), got.Message)
	}
	if want.Status != 0 && got.Status != want.Status {
		s.problemf("the error has the status %d, want %d", got.Status, want.Status)
	}
	for _, field := range []struct{ name, got, want string }{
		{"code", got.Code, want.Code},
		{"detail", got.Detail, want.Detail},
		{"request_id", got.RequestID, want.RequestID},
		{"trace_id", got.TraceID, want.TraceID},
	} {
		if field.want != "" && field.got != field.want {
			s.problemf("the error has %s = %q, want %q", field.name, field.got, field.want)
		}
	}
	if want.RetryAfterMS != nil && (got.RetryAfterMS == nil || *got.RetryAfterMS != float64(*want.RetryAfterMS)) {
		s.problemf("the error has retry_after_ms = %v, want %d", short(got.RetryAfterMS), *want.RetryAfterMS)
	}
	for _, part := range want.Contains {
		if !strings.Contains(got.Message, part) {
			s.problemf("the error says %q, want it to name %q", got.Message, part)
		}
	}
}

// lookup finds a value by a path such as "runs.0.run_id"; "#" is the length of a
// list or a text.
func lookup(value any, path string) (any, bool) {
	if path == "" || path == "." {
		return value, true
	}
	name, rest, _ := strings.Cut(path, ".")
	switch v := value.(type) {
	case []any:
		if name == "#" {
			return float64(len(v)), true
		}
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return lookup(v[i], rest)
		}
	case string:
		if name == "#" {
			return float64(len([]rune(v))), true
		}
	case map[string]any:
		if inner, ok := v[name]; ok {
			return lookup(inner, rest)
		}
		for key, inner := range v { // headers come in any case
			if http.CanonicalHeaderKey(key) == http.CanonicalHeaderKey(name) && strings.Contains(name, "-") {
				return lookup(inner, rest)
			}
		}
	}
	return nil, false
}

func short(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > 300 {
		return string(text[:300]) + "…"
	}
	return string(text)
}
