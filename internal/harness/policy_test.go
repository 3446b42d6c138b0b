package harness_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

func TestX7Policy(t *testing.T) {
	t.Parallel()
	job := func(h *lineshaft.HarnessConfig) lineshaft.Job {
		return lineshaft.Job{Config: lineshaft.AgentConfig{Harness: h}}
	}
	tests := []struct {
		job            lineshaft.Job
		standard, want string
	}{
		{job(nil), "", "allow"},
		{job(nil), "nonsense", "allow"},
		{job(nil), "ask", "ask"},
		{job(&lineshaft.HarnessConfig{Type: "claude"}), "deny", "deny"},
		{job(&lineshaft.HarnessConfig{Permissions: "ask"}), "deny", "ask"},
		{job(&lineshaft.HarnessConfig{Permissions: "allow"}), "ask", "allow"},
	}
	for _, test := range tests {
		if got := harness.Policy(test.job, test.standard); got != test.want {
			t.Errorf("%+v with %q: %s, want %s", test.job.Config.Harness, test.standard, got, test.want)
		}
	}
}

func options() []lineshaft.PermissionOption {
	return []lineshaft.PermissionOption{
		{ID: "forever", Name: "Yes, and do not ask again", Kind: "allow_always"},
		{ID: "proceed", Name: "Yes", Kind: "allow_once"},
		{ID: "stop", Name: "No, say what to do instead", Kind: "reject_once"},
	}
}

func TestX7Decide(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"allow": "proceed", "deny": "stop", "ask": ""} {
		if got, ok := harness.Decide(policy, options()); got.ID != want || ok != (want != "") {
			t.Errorf("%s: %+v, %v", policy, got, ok)
		}
	}
	if got, ok := harness.Decide("deny", options()[:2]); ok {
		t.Errorf("nothing to refuse with, but %+v", got)
	}
}

// Only a clear word counts as an option: the rest is text for the agent.
func TestX7Choose(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"yes": "proceed", " Yes.\n": "proceed", "y": "proceed", "ok": "proceed", "PROCEED": "proceed", "2": "proceed",
		"always": "forever", "forever": "forever", "1": "forever", "allow_always": "forever",
		"no": "stop", "N": "stop", "3": "stop", "never": "stop", "no, say what to do instead": "stop",
		"": "", "0": "", "4": "", "-1": "", "yes, but only the first file": "", "not yet": "", "do not": "",
	} {
		if got, ok := harness.Choose(options(), answer); got.ID != want || ok != (want != "") {
			t.Errorf("%q: %+v, %v, want %q", answer, got, ok, want)
		}
	}
	if got, ok := harness.Choose(nil, "yes"); ok {
		t.Errorf("no options, but %+v", got)
	}
}

// A number that no answer has is neither a refusal nor a text for the agent.
func TestX7Astray(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"4": true, " 0.": true, "-1": true, "3": false, "yes": false, "no": false, "4 files": false, "": false} {
		if got := harness.Astray(options(), answer); (got != "") != want || want && !strings.Contains(got, "from 1 to 3") {
			t.Errorf("%q: %q", answer, got)
		}
	}
	if got := harness.Astray(nil, "7"); got != "" {
		t.Errorf("a question without options: %q", got)
	}
}
