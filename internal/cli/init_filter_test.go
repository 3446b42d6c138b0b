package cli

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// TestI1InitSendsWhatTheFilterLetsThrough, and the line that it prints starts the next run.
func TestI1InitSendsWhatTheFilterLetsThrough(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	secret := file(t, "secret", "a-secret-that-the-sender-and-we-have-chosen")
	for name, tc := range map[string]struct{ data, line string }{
		"found": {"", `lineshaft webhook send found --factory first --secret-file FILE --data '{"status":"failed"}'`},
		"given": {`{"status": "failed", "n": 1}`, `lineshaft webhook send given --factory first --secret-file FILE --data '{"status": "failed", "n": 1}'`},
	} {
		args := []string{"init", "--yes", "--factory", "first", "--webhook", name, "--filter", `{"status": ["failed"]}`, "--secret-file", secret}
		if tc.data != "" {
			args = append(args, "--data", tc.data)
		}
		if r := s.run(t.Context(), args...); r.code != shell.ExitOK || !strings.Contains(r.out, "SUCCEEDED") || !strings.Contains(r.err, "-- to start a run again:\n"+tc.line+"\n") {
			t.Errorf("%s: %+v", name, r)
		}
		// Without the secret nothing is sent; the output says what to do.
		r := s.run(t.Context(), "init", "--yes", "--factory", "first", "--webhook", name)
		if r.code != shell.ExitOK || !strings.Contains(r.err, "add --secret-file to send one") || !strings.Contains(r.err, "-- to start a run:\n") || !strings.Contains(r.err, "webhook rotate "+name) {
			t.Errorf("%s: %+v", name, r)
		}
		_, data, _ := strings.Cut(tc.line, " --data ")
		s.must(t, "webhook", "send", name, "--factory", "first", "--secret-file", secret, "--data", strings.Trim(data, "'"))
	}
	if n := strings.Count(s.must(t, "runs", "list", "-o", "ndjson"), `"run_id"`); n != 4 {
		t.Errorf("%d runs, want 4", n)
	}
}

// TestI1InitAddsNoSecondAutomation to a webhook that one listens to already.
func TestI1InitAddsNoSecondAutomation(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	secret := file(t, "secret", "a-secret-that-the-sender-and-we-have-chosen")
	s.must(t, "factory", "create", "works")
	s.must(t, "webhook", "create", "ci", "--secret-file", secret)
	s.must(t, "automation", "create", "failed-build", "--webhook", "ci", "--filter", `{"status": ["failed"]}`, "--prompt", "Say hello.\n\n```sh\necho hello\n```\n")
	r := s.run(t.Context(), "init", "--yes", "--webhook", "ci", "--secret-file", secret, "--prompt", "Another")
	if r.code != shell.ExitOK || !strings.Contains(r.out, "SUCCEEDED") {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{
		"-- automation failed-build: listens to webhook ci already and stays as it is, without --prompt", "no other automation is created", "automation update failed-build", `--data '{"status":"failed"}'`,
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("%q is missing in\n%s", want, r.err)
		}
	}
	if n := strings.Count(s.must(t, "automation", "list", "-o", "ndjson"), `"name"`); n != 1 {
		t.Errorf("%d automations", n)
	}
}
