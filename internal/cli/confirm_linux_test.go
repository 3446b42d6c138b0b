package cli

import (
	"io"
	"strings"
	"testing"
)

const removingPlan = `{"revision":4,"changes":[{"action":"remove","kind":"webhook","name":"issues\u001b[2J"},{"action":"add","kind":"agent","name":"reviewer"}],"backtests":[],"unused":[]}`

// typing is a stage in front of whose terminal a person has typed.
func (s *stage) typing(t *testing.T, text string) {
	t.Helper()
	person, terminal := pty(t)
	s.deps.Stdin = terminal
	s.terminal(80)
	if _, err := io.WriteString(person, text); err != nil { // it waits in the terminal
		t.Fatal(err)
	}
}

// sent counts the requests of a method to paths with that end.
func (s *stage) sent(method, end string) (n int, body string) {
	for _, r := range s.requests() {
		if r.method == method && strings.HasSuffix(r.path, end) {
			n, body = n+1, r.body
		}
	}
	return n, body
}

// TestI1ApplyAsksBeforeItDeletes on a terminal; what was shown is what is done.
func TestI1ApplyAsksBeforeItDeletes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, typed, plan string
		flags             []string
		asked, applied    bool
	}{
		{"yes", "y\n", removingPlan, nil, true, true},
		{"the whole word", "YES\n", removingPlan, nil, true, true},
		{"no", "n\n", removingPlan, nil, true, false},
		{"Enter", "\n", removingPlan, nil, true, false},
		{"Ctrl-D", "\x04", removingPlan, nil, true, false},
		{"--yes", "", removingPlan, []string{"--yes"}, false, true},
		{"nothing goes", "", `{"revision":4,"changes":[{"action":"add","kind":"agent","name":"reviewer"}]}`, nil, false, true},
	} {
		dir, s := exampleFolder(t, "shop"), newStage(t)
		s.answer("POST /api/v1/factory/"+factoryOne+"/definition/plan", 200, tc.plan)
		s.answer("POST /api/v1/factory/"+factoryOne+"/definition/apply", 200, `{"revision":5,"changed":true,"changes":[],"unused":[]}`)
		s.typing(t, tc.typed)
		r := s.run(t.Context(), append([]string{"factory", "apply", dir, "--factory", factoryOne}, tc.flags...)...)
		n, body := s.sent("POST", "/apply")
		if (n == 1) != tc.applied || (r.code == exitOK) != tc.applied || strings.Contains(r.err, "[y/N]") != tc.asked {
			t.Errorf("%s: %d applied, %+v", tc.name, n, r)
		}
		if tc.asked && (!strings.Contains(r.err, "- webhook issues") || strings.Contains(r.err, "\x1b[2J") || strings.Contains(r.err, "reviewer")) {
			t.Errorf("%s: %q", tc.name, r.err)
		}
		if tc.asked && tc.applied && !strings.Contains(body, `"if_revision":4`) {
			t.Errorf("%s: %s", tc.name, body)
		}
		if tc.asked && !tc.applied && !strings.Contains(r.err, "nothing was changed") {
			t.Errorf("%s: %q", tc.name, r.err)
		}
	}
}

// TestI1FactoryDeleteAsks on a terminal only.
func TestI1FactoryDeleteAsks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, typed    string
		flags          []string
		terminal       bool
		asked, deleted bool
	}{
		{"yes", "y\n", nil, true, true, true},
		{"no", "no\n", nil, true, true, false},
		{"--yes", "", []string{"--yes"}, true, false, true},
		{"pipe", "", nil, false, false, true},
	} {
		s := newStage(t)
		s.answer("DELETE /api/v1/factory/"+factoryOne, 204, ``)
		if tc.terminal {
			s.typing(t, tc.typed)
		}
		r := s.run(t.Context(), append([]string{"factory", "delete", factoryOne}, tc.flags...)...)
		n, _ := s.sent("DELETE", "/"+factoryOne)
		if (n == 1) != tc.deleted || (r.code == exitOK) != tc.deleted || strings.Contains(r.err, "[y/N]") != tc.asked {
			t.Errorf("%s: %d deleted, %+v", tc.name, n, r)
		}
	}
}
