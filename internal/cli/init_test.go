package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// TestI1InitUnderAPipe: from an empty server to a run that a webhook started; the second
// time finds everything.
func TestI1InitUnderAPipe(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	var log strings.Builder
	for _, line := range []string{"init --yes", "init --yes", "init --yes --webhook hook --kind stripe"} {
		r := s.run(t.Context(), strings.Fields(line)...)
		fmt.Fprintf(&log, "$ lineshaft %s\n[exit %d]\n[stdout]\n%s[stderr]\n%s\n", line, r.code, r.out, r.err)
	}
	// How a run is shown is the matter of other tests.
	text := steady(log.String())
	for _, shown := range []string{`(started by it\n)(?s:.*?)(-- copy)`, `(\[stdout\]\n)(?s:[^\[]*?)(SUCCEEDED)`} {
		text = regexp.MustCompile(shown).ReplaceAllString(text, "${1}<the run>\n${2}")
	}
	golden(t, "init", text)
}

// TestI1InitOfEveryKind sends a signed delivery for each scheme that needs no provider.
func TestI1InitOfEveryKind(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	secret := file(t, "secret", "a-secret-that-the-sender-and-we-have-chosen")
	for _, kind := range []string{"token", "github", "gitlab", "standard_webhooks", "hmac"} {
		args := []string{"init", "--yes", "--webhook", kind, "--kind", kind, "-o", "json"}
		if kind == "hmac" || kind == "gitlab" {
			args = append(args, "--secret-file", secret)
		}
		r := s.run(t.Context(), args...)
		var told struct {
			RunID   string         `json:"run_id"`
			Run     client.Run     `json:"run"`
			Webhook client.Webhook `json:"webhook"`
		}
		if err := json.Unmarshal([]byte(r.out), &told); r.code != shell.ExitOK || err != nil || told.Run.State != client.StateSucceeded || told.Run.RunID != told.RunID {
			t.Errorf("%s: %v, %+v", kind, err, r)
		}
	}
}

// TestI1InitAgain with the secret of the existing webhook sends another delivery.
func TestI1InitAgain(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	first := s.run(t.Context(), "init", "--yes", "-o", "json")
	var told struct {
		Webhook client.Webhook `json:"webhook"`
	}
	if err := json.Unmarshal([]byte(first.out), &told); err != nil || told.Webhook.Secret == "" {
		t.Fatalf("%v, %+v", err, first)
	}
	r := s.run(t.Context(), "init", "--yes", "--secret-file", file(t, "secret", told.Webhook.Secret))
	if r.code != shell.ExitOK || strings.Count(r.err, "already exists") != 3 || !strings.Contains(r.out, "SUCCEEDED") {
		t.Errorf("%+v", r)
	}
	if n := strings.Count(s.must(t, "runs", "list", "-o", "ndjson"), `"run_id"`); n != 2 {
		t.Errorf("%d runs", n)
	}
	r = s.run(t.Context(), "init", "--yes", "--secret-file", file(t, "secret", "another-one"))
	if r.code != shell.ExitDenied || !strings.Contains(r.err, "does not accept this secret") {
		t.Errorf("%+v", r)
	}
}

// TestI1InitFails: every failure says what was made, what to do, and keeps the secret.
func TestI1InitFails(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.must(t, "factory", "create", "shop")
	secret := file(t, "secret", "a-secret-that-the-sender-and-we-have-chosen")
	s.must(t, "webhook", "create", "other")
	s.must(t, "automation", "create", "elsewhere", "--webhook", "other", "--prompt", "x")
	viewer := s.as(s.must(t, "apikey", "create", "v", "--role", "viewer"))
	for _, tc := range []struct {
		name string
		s    *realServer
		args string
		code int
		want []string
	}{
		{"no server", s.as(serverKey).with("LINESHAFT_URL=http://" + freeAddress(t)), "", shell.ExitFailed, []string{"nothing answers", "lineshaft serve"}},
		{"wrong key", s.as("ls_wrong"), "", shell.ExitDenied, []string{"does not accept this API key", "LINESHAFT_API_KEY"}},
		{"may not", viewer, "", shell.ExitDenied, []string{"does not include", "--role ROLE"}},
		{"unknown kind", s, "--kind githab", shell.ExitUsage, []string{"githab", "Did you mean github?"}},
		{"filter is not JSON", s, "--filter {status:failed}", shell.ExitUsage, []string{"--filter is not JSON", "@FILE"}},
		{"filter has a mistake", s, `--webhook two --filter {"status":{"$near":1}}`, shell.ExitUsage, []string{"$near", "docs/factories.md"}},
		{"filter does not match", s, `--webhook three --filter {"status":["failed"]} --data {"status":"ok"}`, shell.ExitUsage, []string{"does not let the test delivery through", "test-filter"}},
		{"no delivery is known", s, `--webhook three --filter {"status":{"not_in":["ok"],"exists":true},"test":{"not_in":["x"]}} --kind linear --secret-file ` + secret, shell.ExitUsage, []string{"no test delivery that passes it", "--data JSON"}},
		{"automation listens elsewhere", s, "--webhook elsewhere", shell.ExitFailed, []string{
			`automation "elsewhere" started no run`, "--explain", "Created so far: webhook elsewhere. Fix it and continue", "copy the secret now",
			"lineshaft init --yes --factory shop --webhook elsewhere --secret-file FILE",
		}},
		{"the run fails", s, "--webhook four --prompt ```sh\nexit\t3\n```", shell.ExitFailed, []string{"to start a run again", "copy the secret now"}},
		{"no such secret file", s, "--secret-file /none", shell.ExitUsage, []string{"cannot read the secret", "--secret-file"}},
	} {
		r := tc.s.run(t.Context(), append([]string{"init", "--yes"}, strings.FieldsFunc(tc.args, func(c rune) bool { return c == ' ' })...)...)
		if r.code != tc.code {
			t.Errorf("%s: %+v", tc.name, r)
		}
		for _, want := range tc.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("%s: %q is missing in\n%s", tc.name, want, r.err)
			}
		}
		if strings.Contains(r.err, "copy the secret now") != strings.Contains(r.out, "Secret  ") {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}
