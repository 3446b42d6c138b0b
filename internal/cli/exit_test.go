package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func TestI1ExitCodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status     int
		code, hint string
		want       int
	}{
		{400, "invalid_request", "", shell.ExitFailed},
		{401, "authentication_required", "lineshaft apikey create", shell.ExitDenied},
		{403, "not_authorized", "", shell.ExitDenied},
		{404, "resource_not_found", "lineshaft runs list", shell.ExitNotFound},
		{409, "conflict", "", shell.ExitFailed},
		{413, "payload_too_large", "", shell.ExitFailed},
		{422, "operation_not_supported", "", shell.ExitFailed},
		{429, "resource_unavailable", "try again in 1s", shell.ExitFailed},
		{500, "internal_error", "under request req-1", shell.ExitFailed},
		{503, "resource_unavailable", "lineshaft doctor", shell.ExitFailed},
	} {
		t.Run(fmt.Sprint(tc.status), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.mux.HandleFunc("GET /api/v1/agent/runs/run-9", problem(tc.status, tc.code, "the reason is this"))
			r := s.run(t.Context(), "runs", "get", "run-9")
			if r.code != tc.want || r.out != "" || !strings.Contains(r.err, tc.hint) {
				t.Errorf("%+v, want exit %d and the hint %q", r, tc.want, tc.hint)
			}
			if tc.status != 401 && !strings.Contains(r.err, "Error: the reason is this") {
				t.Errorf("the server's words are missing: %q", r.err)
			}
		})
	}
}

// TestI1HintsFitTheRefusal: the way out is about the thing that the server names.
func TestI1HintsFitTheRefusal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status     int
		text, hint string
		not        string
	}{
		{403, `the role "viewer" of this key does not include runs.start`, "--role ROLE", ""},
		{403, "secret X is granted by definitions only; name it in the automation", "granted by definitions", "role"},
		{404, `no secret "NOPE" here; check the id`, "lineshaft secret list", "runs list"},
		{404, `no delivery "nope" here; check the id`, "lineshaft webhook deliveries WEBHOOK", "runs list"},
		{404, `no webhook "w" here; check the id`, "lineshaft webhook list", "runs list"},
		{404, `no run "r" here; check the id`, "lineshaft runs list", "factory list"},
	} {
		s := newStage(t)
		code := map[int]string{403: "not_authorized", 404: "resource_not_found"}[tc.status]
		s.mux.HandleFunc("GET /api/v1/agent/runs/run-9", problem(tc.status, code, tc.text))
		r := s.run(t.Context(), "runs", "get", "run-9")
		if !strings.Contains(r.err, tc.hint) || tc.not != "" && strings.Contains(r.err, tc.not) {
			t.Errorf("%s: %s", tc.text, r.err)
		}
	}
	s := newStage(t)
	if r := s.run(t.Context(), "secret", "delete", "NOPE"); r.code != shell.ExitNotFound || !strings.Contains(r.err, "lineshaft secret list") {
		t.Errorf("%+v", r)
	}
}

func TestI1ExitCodesAreInTheHelp(t *testing.T) {
	t.Parallel()
	r := newStage(t).run(t.Context(), "--help")
	for code, word := range map[int]string{shell.ExitOK: "it worked", shell.ExitFailed: "it failed", shell.ExitUsage: "the command line is wrong", shell.ExitNotFound: "not found", shell.ExitDenied: "not allowed"} {
		if !strings.Contains(r.out, fmt.Sprintf("%d %s", code, word)) {
			t.Errorf("%d is missing: %s", code, r.out)
		}
	}
}

func TestI1ExitCodesOfKeys(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if r := s.run(t.Context(), "apikey", "revoke", "k-9"); r.code != shell.ExitNotFound || !strings.Contains(r.err, "lineshaft apikey list") {
		t.Errorf("%+v", r)
	}
}

// TestI1SeveralIDs: all are tried, what failed decides.
func TestI1SeveralIDs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("POST /api/v1/agent/runs/good/cancel", 200, `"good"`)
	s.answer("POST /api/v1/agent/runs/fine/cancel", 200, `"fine"`)
	r := s.run(t.Context(), "runs", "cancel", "good", "gone", "fine")
	if r.code != shell.ExitNotFound || r.out != "cancelled good\ncancelled fine\n" || r.err != "gone: no such thing here\nError: 1 of 3 was not cancelled\n  `lineshaft runs list` shows the runs that your key may see.\n" {
		t.Errorf("%+v", r)
	}
	r = s.run(t.Context(), "runs", "cancel", "gone", "lost") // neither error nor hint is shown twice
	if r.code != shell.ExitNotFound || r.err != "gone: no such thing here\nlost: no such thing here\nError: 2 of 2 were not cancelled\n  `lineshaft runs list` shows the runs that your key may see.\n" {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "runs", "cancel", "gone"); r.err != "Error: no such thing here\n  `lineshaft runs list` shows the runs that your key may see.\n" {
		t.Errorf("%+v", r)
	}
	r = s.run(t.Context(), "runs", "cancel", "good", "gone", "-o", "ndjson")
	if r.code != shell.ExitNotFound || r.out != `{"id":"good","result":"cancelled"}`+"\n" {
		t.Errorf("%+v", r)
	}
}

func TestI1NothingAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	s.deps.Environ = []string{"LINESHAFT_API_KEY=ls_test"}
	r := s.run(t.Context(), "runs", "list", "--url", address)
	if r.code != shell.ExitFailed || r.err != "Error: nothing answers at "+address+"\n  Start a server with `lineshaft serve`, or set LINESHAFT_URL to its address.\n" {
		t.Errorf("%+v", r)
	}
}

func TestI1SomethingElseAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mux.HandleFunc("GET /api/v1/agent/runs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<html>nginx</html>")
	})
	if r := s.run(t.Context(), "runs", "list"); r.code != shell.ExitFailed || !strings.Contains(r.err, "what answers at http://server is not a Lineshaft server: 404 Not Found") {
		t.Errorf("%+v", r)
	}
}

func TestI1NetworkHints(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error { return fmt.Errorf("GET /x: %w", err) }
	for _, tc := range []struct {
		name          string
		err           error
		message, hint string
	}{
		{"name", wrap(&net.DNSError{Name: "nohost"}), "there is no host named nohost", "LINESHAFT_URL"},
		{"refused", wrap(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), "nothing answers", "lineshaft serve"},
		{"certificate", wrap(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}), "is not trusted", "SSL_CERT_FILE"},
		{"plain HTTP", wrap(http.ErrSchemeMismatch), "does not speak HTTPS", "http://"},
		{"timeout", wrap(context.DeadlineExceeded), "did not answer in time", "/readyz"},
		{"net timeout", wrap(&net.DNSError{IsTimeout: true, Name: "x"}), "no host named x", ""},
		{"interrupt", wrap(context.Canceled), "interrupted", ""},
		{"other", errors.New("some reason"), "some reason", ""},
		{"rate", &client.Error{Status: 429, Code: "resource_unavailable", RetryAfter: 90 * time.Second, Title: "busy"}, "busy", "try again in 1m30s"},
	} {
		var errs bytes.Buffer
		sh := newProgram(shell.Surroundings{Stderr: &errs, Environ: []string{}})
		if code := sh.Complain(tc.err); code != shell.ExitFailed || !strings.Contains(errs.String(), tc.message) || !strings.Contains(errs.String(), tc.hint) {
			t.Errorf("%s: exit %d, %q", tc.name, code, errs.String())
		}
	}
}

// TestI1ErrorsAreCleaned: a server's words cannot play with the terminal.
func TestI1ErrorsAreCleaned(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mux.HandleFunc("GET /api/v1/agent/runs/x", problem(400, "invalid_request", "bad\x1b[2J\nsecond line"))
	if r := s.run(t.Context(), "runs", "get", "x"); !strings.HasPrefix(r.err, "Error: bad\n  second line\n  See ") || strings.Contains(r.err, "\x1b") {
		t.Errorf("%q", r.err)
	}
}
