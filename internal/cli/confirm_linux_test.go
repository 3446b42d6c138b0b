package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
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
		if (n == 1) != tc.applied || (r.code == shell.ExitOK) != tc.applied || strings.Contains(r.err, "[y/N]") != tc.asked {
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
		if (n == 1) != tc.deleted || (r.code == shell.ExitOK) != tc.deleted || strings.Contains(r.err, "[y/N]") != tc.asked {
			t.Errorf("%s: %d deleted, %+v", tc.name, n, r)
		}
	}
}

// TestI1RollbackAsks on a terminal, after it has shown what changes.
func TestI1RollbackAsks(t *testing.T) {
	t.Parallel()
	const changing = `{"revision":4,"changes":[{"action":"change","kind":"agent","name":"reviewer\u001b[2J"}],"backtests":[],"unused":[]}`
	for _, tc := range []struct {
		name, typed, plan string
		flags             []string
		terminal          bool
		asked, applied    bool
	}{
		{"yes", "y\n", removingPlan, nil, true, true, true},
		{"no", "n\n", removingPlan, nil, true, true, false},
		{"Enter", "\n", changing, nil, true, true, false},
		{"Ctrl-D", "\x04", changing, nil, true, true, false},
		{"--yes", "", removingPlan, []string{"--yes"}, true, false, true},
		{"pipe", "", removingPlan, nil, false, false, true},
		{"nothing changes", "", `{"revision":4,"changes":[]}`, nil, true, false, true},
	} {
		s := newStage(t)
		base := "/api/v1/factory/" + factoryOne + "/definition"
		s.answer("GET "+base+"/revisions/3", 200, `{"number":3,"files":{"factory.yaml":"name: shop\n"}}`)
		s.answer("POST "+base+"/plan", 200, tc.plan)
		s.answer("POST "+base+"/revisions/3/rollback", 200, `{"revision":5,"changed":true,"changes":[],"unused":[]}`)
		if tc.terminal {
			s.typing(t, tc.typed)
		}
		r := s.run(t.Context(), append([]string{"factory", "rollback", factoryOne, "3"}, tc.flags...)...)
		n, _ := s.sent("POST", "/rollback")
		if (n == 1) != tc.applied || (r.code == shell.ExitOK) != tc.applied || strings.Contains(r.err, "[y/N]") != tc.asked {
			t.Errorf("%s: %d rolled back, %+v", tc.name, n, r)
		}
		if removes := tc.plan == removingPlan; tc.asked && (strings.Contains(r.err, "\x1b[2J") || !strings.Contains(r.err, "Revision 3 changes") ||
			!strings.Contains(r.err, "reviewer") || strings.Contains(r.err, "- webhook issues") != removes || strings.Contains(r.err, "cannot be recovered") != removes) {
			t.Errorf("%s: %q", tc.name, r.err)
		}
		if _, body := s.sent("POST", "/plan"); tc.asked && !strings.Contains(body, "name: shop") {
			t.Errorf("%s: planned %s", tc.name, body)
		}
	}
}
