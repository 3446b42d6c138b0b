package problem_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
)

func write(t *testing.T, err error) (*httptest.ResponseRecorder, problem.Document, string) {
	t.Helper()
	var log bytes.Buffer
	p := &problem.Writer{Base: "https://ls.test", Logger: slog.New(slog.NewTextHandler(&log, nil))}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(problem.WithTrace(t.Context(), "trace-1"), http.MethodPost, "/api/v1/agent/runs?secret=1", http.NoBody)
	p.Write(w, r, err)
	var doc problem.Document
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	return w, doc, log.String()
}

func TestH5CodesStatusesAndRetryHeaders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		err        error
		status     int
		code       lineshaft.Code
		retryable  bool
		noRetry    bool // x-should-retry: false
		retryAfter string
	}{
		{"invalid", lineshaft.Invalid("config.name", "too long"), 400, "invalid_request", false, false, ""},
		{"denied", lineshaft.Denied("no"), 403, "not_authorized", false, false, ""},
		{"feature", &lineshaft.Error{Code: lineshaft.CodeFeatureNotAvailable}, 403, "feature_not_available", false, false, ""},
		{"budget", &lineshaft.Error{Code: lineshaft.CodeBudgetExceeded}, 403, "budget_exceeded", false, false, ""},
		{"not found", lineshaft.NotFound("run", "x"), 404, "resource_not_found", false, false, ""},
		{"method", &lineshaft.Error{Code: lineshaft.CodeMethodNotAllowed}, 405, "method_not_allowed", false, false, ""},
		{"conflict that stays", lineshaft.Conflict("taken"), 409, "conflict", false, true, ""},
		{"conflict that passes", &lineshaft.Error{Code: lineshaft.CodeConflict, Retryable: true}, 409, "conflict", true, false, ""},
		{"too large", &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge}, 413, "payload_too_large", false, false, ""},
		{"not supported", lineshaft.NotSupported("mode", "no"), 422, "operation_not_supported", false, false, ""},
		{"mismatch", &lineshaft.Error{Code: lineshaft.CodeIdempotencyMismatch}, 422, "idempotency_mismatch", false, false, ""},
		{"down", lineshaft.Unavailable(errors.New("x"), "later"), 503, "resource_unavailable", true, false, "1"},
		{"limited", lineshaft.RateLimited(1500*time.Millisecond, "slow"), 429, "resource_unavailable", true, false, "2"},
		{"limited for exactly 2 s", lineshaft.RateLimited(2*time.Second, "slow"), 429, "resource_unavailable", true, false, "2"},
		{"limited for a moment", lineshaft.RateLimited(time.Nanosecond, "slow"), 429, "resource_unavailable", true, false, "1"},
		{"internal", &lineshaft.Error{Code: lineshaft.CodeInternal, Message: "db password is x"}, 500, "internal_error", true, false, ""},
		{"unknown", errors.New("boom"), 500, "internal_error", true, false, ""},
		{"unknown code", &lineshaft.Error{Code: "made_up", Message: "m"}, 500, "internal_error", true, false, ""},
		{"set-up", &lineshaft.Error{Code: lineshaft.CodeEnvironmentSetupFailed, Message: "m"}, 500, "environment_setup_failed", false, true, ""},
		{"run only", &lineshaft.Error{Code: lineshaft.CodeRunTimeout, Message: "m"}, 500, "run_timeout", false, true, ""},
		{"wrapped", fmt.Errorf("start run: %w", lineshaft.Invalid("prompt", "empty")), 400, "invalid_request", false, false, ""},
		{"too slow", fmt.Errorf("query: %w", context.DeadlineExceeded), 503, "resource_unavailable", true, false, "1"},
	} {
		w, doc, _ := write(t, tc.err)
		if w.Code != tc.status || doc.Status != tc.status || doc.Code != tc.code || doc.Retryable != tc.retryable {
			t.Errorf("%s: answered %d %+v", tc.name, w.Code, doc)
		}
		if got := w.Header().Get("X-Should-Retry"); (got == "false") != tc.noRetry {
			t.Errorf("%s: x-should-retry %q", tc.name, got)
		}
		if got := w.Header().Get("Retry-After"); got != tc.retryAfter {
			t.Errorf("%s: Retry-After %q, want %q", tc.name, got, tc.retryAfter)
		}
		if problem.StatusOf(tc.err) != tc.status {
			t.Errorf("%s: StatusOf says %d", tc.name, problem.StatusOf(tc.err))
		}
	}
}

func TestH4Form(t *testing.T) {
	t.Parallel()
	w, _, log := write(t, lineshaft.Invalid("config.name", "longer than 200 characters"))
	want := `{"type":"https://ls.test/docs/errors/invalid_request","title":"Invalid request","status":400,` +
		`"detail":"config.name: longer than 200 characters","instance":"/api/v1/agent/runs",` +
		`"error":"Invalid request (config.name: longer than 200 characters)","retryable":false,"trace_id":"trace-1","code":"invalid_request"}`
	if got := w.Body.String(); got != want {
		t.Errorf("body\n%s\nwant\n%s", got, want)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("Content-Type %q", ct)
	}
	if log != "" {
		t.Errorf("a caller's mistake was logged: %s", log)
	}
	_, doc, _ := write(t, &lineshaft.Error{Code: lineshaft.CodeConflict})
	if doc.Error != doc.Title {
		t.Errorf("without a detail, error is %q", doc.Error)
	}
}

func TestH5InternalCausesAreLoggedNotShown(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"plain error":       errors.New("dial 10.0.0.5: hunter2"),
		"internal code":     &lineshaft.Error{Code: lineshaft.CodeInternal, Field: "hunter2", Message: "hunter2", Cause: errors.New("hunter2")},
		"unavailable cause": lineshaft.Unavailable(errors.New("dial hunter2"), "the database does not answer"),
	} {
		w, doc, log := write(t, err)
		if strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("%s: shown to the caller: %s", name, w.Body)
		}
		if !strings.Contains(log, "hunter2") || !strings.Contains(log, "trace_id=trace-1") || doc.TraceID != "trace-1" {
			t.Errorf("%s: log %q, trace %q", name, log, doc.TraceID)
		}
	}
	if _, doc, _ := write(t, errors.New("x")); doc.Detail != "internal error" {
		t.Errorf("detail %q", doc.Detail)
	}
}

func TestH5ACallerWhoLeftIsNotAnError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := &problem.Writer{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Describe(ctx, "/", fmt.Errorf("list runs: %w", context.Canceled))
	if log.Len() != 0 {
		t.Errorf("logged above debug: %s", &log)
	}
}

func TestH2UnauthenticatedBodiesAreByteEqual(t *testing.T) {
	t.Parallel()
	first, doc, _ := write(t, &lineshaft.Error{Code: lineshaft.CodeAuthenticationRequired, Message: "expired"})
	if doc.Instance != "" || doc.TraceID != "" || doc.Retryable {
		t.Errorf("the body tells too much: %+v", doc)
	}
	p := &problem.Writer{Base: "https://ls.test"}
	w := httptest.NewRecorder()
	err := &lineshaft.Error{Code: lineshaft.CodeAuthenticationRequired, Field: "key", Message: "revoked", Retryable: true, Cause: errors.New("x")}
	p.Write(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/other", http.NoBody), err)
	if !bytes.Equal(first.Body.Bytes(), w.Body.Bytes()) {
		t.Errorf("bodies differ:\n%s\n%s", first.Body, w.Body)
	}
	if w.Header().Get("WWW-Authenticate") == "" {
		t.Error("no WWW-Authenticate header")
	}
}

func TestH4InstanceIsBounded(t *testing.T) {
	t.Parallel()
	p := &problem.Writer{}
	doc, _ := p.Describe(t.Context(), "/"+strings.Repeat("é", 5000), lineshaft.NotFound("path", "x"))
	if len(doc.Instance) > 2048 || !strings.HasPrefix(doc.Instance, "/éé") || strings.ContainsRune(doc.Instance, '\uFFFD') {
		t.Errorf("instance of %d bytes", len(doc.Instance))
	}
}

func TestWriteLeavesTheErrorAlone(t *testing.T) {
	t.Parallel()
	err := &lineshaft.Error{Code: lineshaft.CodeInternal, Message: "m", Field: "f"}
	write(t, err)
	if err.Message != "m" || err.Field != "f" {
		t.Errorf("changed to %+v", err)
	}
}

// The mistakes of a definition are in the document, for programs to show.
func TestF3ProblemsAreInTheDocument(t *testing.T) {
	t.Parallel()
	err := lineshaft.Invalid("", "2 mistakes")
	err.Problems = []lineshaft.FileProblem{{File: "a.yaml", Line: 2, Column: 3, Message: "bad", Hint: "fix it"}, {File: "b", Message: "gone"}}
	w, doc, _ := write(t, fmt.Errorf("apply: %w", err))
	if len(doc.Problems) != 2 || doc.Problems[0] != err.Problems[0] || !strings.Contains(w.Body.String(), `"problems":[{"file":"a.yaml","line":2,"column":3,"message":"bad","hint":"fix it"}`) {
		t.Errorf("%s", w.Body)
	}
	if w, _, _ := write(t, &lineshaft.Error{Code: lineshaft.CodeInternal, Problems: err.Problems}); strings.Contains(w.Body.String(), "problems") {
		t.Errorf("an internal error tells: %s", w.Body)
	}
}
