package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
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
		if r := s.run(t.Context(), args...); r.code != exitOK || !strings.Contains(r.out, "SUCCEEDED") || !strings.Contains(r.err, "-- to start a run again:\n"+tc.line+"\n") {
			t.Errorf("%s: %+v", name, r)
		}
		// Without the secret nothing is sent; what can be done is told.
		r := s.run(t.Context(), "init", "--yes", "--factory", "first", "--webhook", name)
		if r.code != exitOK || !strings.Contains(r.err, "with --secret-file one is sent") || !strings.Contains(r.err, "-- to start a run:\n") || !strings.Contains(r.err, "webhook rotate "+name) {
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
	s.must(t, "automation", "create", "failed-build", "--webhook", "ci", "--filter", `{"status": ["failed"]}`, "--prompt", firstPrompt)
	r := s.run(t.Context(), "init", "--yes", "--webhook", "ci", "--secret-file", secret, "--prompt", "Another")
	if r.code != exitOK || !strings.Contains(r.out, "SUCCEEDED") {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{
		"-- automation failed-build: listens to webhook ci already; it stays as it is, without --prompt", "no other automation is made", "automation update failed-build", `--data '{"status":"failed"}'`,
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("%q is missing in\n%s", want, r.err)
		}
	}
	if n := strings.Count(s.must(t, "automation", "list", "-o", "ndjson"), `"name"`); n != 1 {
		t.Errorf("%d automations", n)
	}
}

func TestI1InitHears(t *testing.T) {
	t.Parallel()
	hook := &client.Webhook{Name: "ci", UID: "u", SignatureScheme: "github"}
	for i, tc := range []struct {
		trigger client.Trigger
		want    bool
	}{
		{client.Trigger{Provider: "webhook", Filter: client.TriggerFilter{Webhooks: []string{"ci"}}}, true},
		{client.Trigger{Provider: "webhook", Filter: client.TriggerFilter{WebhookIDs: []string{"u"}}}, true},
		{client.Trigger{Provider: "webhook", Filter: client.TriggerFilter{Webhooks: []string{"other"}}}, false},
		{client.Trigger{Provider: "github"}, true},
		{client.Trigger{Provider: "github", Filter: client.TriggerFilter{Webhooks: []string{"other"}}}, false},
		{client.Trigger{Provider: "schedule"}, false},
	} {
		if got := hears(tc.trigger, hook); got != tc.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// TestI1InitFindsADelivery for a filter, or none rather than one that does not pass.
func TestI1InitFindsADelivery(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ kind, filter, want string }{
		{"token", `{"status": ["failed", "error"]}`, `{"status":"failed"}`},
		{"github", `{"action": {"in": ["opened"]}, "issue": {"user": {"login": ["ann"]}}}`, `{"action":"opened","issue":{"user":{"login":"ann"}}}`},
		{"token", `{"a": {"exists": true}, "n": [3]}`, `{"a":"test","n":3}`},
		{"token", `{"a": {"exists": false}}`, `{}`},
		{"token", `{"a": "no filter"}`, ""},
		{"token", `[1]`, ""},
		{"linear", `{"action": ["create"]}`, ""}, // it has its time in the body
	} {
		f := &firstRun{kind: tc.kind}
		if got := f.passes([]byte(tc.filter)); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.kind, tc.filter, got, tc.want)
		}
	}
	if !slices.Contains(schemeNames(), "linear") {
		t.Error("there is no scheme linear")
	}
}
