package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

// TestI1Golden runs commands against the scripted server, in a pipe and on a
// terminal, and compares everything they print.
func TestI1Golden(t *testing.T) {
	t.Parallel()
	playGolden(t, []goldenCase{
		{"list", []string{"runs", "list"}},
		{"list-json", []string{"runs", "list", "-o", "json"}},
		{"list-ndjson", []string{"runs", "list", "-o", "ndjson"}},
		{"get", []string{"runs", "get", "run-1"}},
		{"get-json", []string{"runs", "get", "run-1", "--output", "json"}},
		{"get-yaml", []string{"runs", "get", "run-1", "-oyaml"}},
		{"logs", []string{"runs", "logs", "run-1"}},
		{"logs-after", []string{"runs", "logs", "run-1", "--after", "11"}},
		{"logs-follow", []string{"runs", "logs", "-f", "run-1"}},
		{"logs-json", []string{"runs", "logs", "run-1", "--after", "12", "-o", "json"}},
		{"logs-ndjson", []string{"runs", "logs", "run-1", "--after", "12", "-o", "ndjson"}},
		{"logs-follow-json", []string{"runs", "logs", "run-1", "-f", "--after", "12", "-o", "json"}},
		{"logs-follow-yaml", []string{"runs", "logs", "run-1", "-f", "--after", "12", "-o", "yaml"}},
		{"run", []string{"run", "Fix it"}},
		{"run-json", []string{"run", "Fix it", "-o", "json"}},
		{"run-wait", []string{"run", "Fix it", "--wait"}},
		{"run-wait-ndjson", []string{"run", "Fix it", "--wait", "-o", "ndjson"}},
		{"run-follow", []string{"run", "Fix it", "--follow"}},
		{"cancel", []string{"runs", "cancel", "run-1", "run-2"}},
		{"cancel-json", []string{"runs", "cancel", "run-1", "-o", "json"}},
		{"interrupt", []string{"runs", "interrupt", "run-1"}},
		{"delete", []string{"runs", "delete", "run-1"}},
		{"rerun", []string{"runs", "rerun", "run-2"}},
		{"followup", []string{"runs", "followup", "run-1", "more"}},
		{"followup-json", []string{"runs", "followup", "run-1", "more", "-o", "json"}},
		{"open", []string{"runs", "open", "run-1"}},
		{"open-json", []string{"runs", "open", "run-1", "-o", "json"}},
		{"apikey-create", []string{"apikey", "create", "ci", "--role", "member"}},
		{"apikey-create-json", []string{"apikey", "create", "ci", "-o", "json"}},
		{"apikey-list", []string{"apikey", "list"}},
		{"apikey-list-ndjson", []string{"apikey", "list", "-o", "ndjson"}},
		{"apikey-revoke", []string{"apikey", "revoke", "k-1", "k-2"}},
		{"skill-list", []string{"skill", "list", "--all"}},
		{"skill-list-json", []string{"skill", "list", "-o", "json"}},
		{"run-skill", []string{"run", "--skill", "acme/tools:triage", "issue 7"}},
		{"factory-list", []string{"factory", "list"}},
		{"factory-list-json", []string{"factory", "list", "-o", "json"}},
		{"factory-list-ndjson", []string{"factory", "list", "-o", "ndjson"}},
		{"factory-get", []string{"factory", "get", "SHOP"}},
		{"factory-get-yaml", []string{"factory", "get", "Web shop", "-o", "yaml"}},
		{"factory-create", []string{"factory", "create", "Web shop", "--alias", "shop"}},
		{"factory-create-json", []string{"factory", "create", "Web shop", "-o", "json"}},
		{"factory-update", []string{"factory", "update", "shop", "--pause"}},
		{"factory-delete", []string{"factory", "delete", "shop", factoryTwo}},
		{"automation-list", []string{"automation", "list", "--factory", "shop"}},
		{"automation-list-json", []string{"automation", "list", "--factory", "shop", "-o", "json"}},
		{"automation-get", []string{"automation", "get", "triage", "--factory", "shop"}},
		{"automation-get-json", []string{"automation", "get", automationOne, "--factory", factoryOne, "-o", "json"}},
		{"automation-create", []string{"automation", "create", "--factory", "shop", "triage", "--prompt", "Label it", "--webhook", "issues"}},
		{"automation-update", []string{"automation", "update", "triage", "--factory", "shop", "--name", "label"}},
		{"automation-disable", []string{"automation", "disable", "triage", "deploy", "--factory", "shop"}},
		{"automation-delete-json", []string{"automation", "delete", "triage", "--factory", "shop", "-o", "json"}},
	})
}

// TestI1GoldenAgents does the same for agents and what they need.
func TestI1GoldenAgents(t *testing.T) {
	t.Parallel()
	playGolden(t, []goldenCase{
		{"factory-run", []string{"factory", "run", "shop", "Fix it"}},
		{"factory-run-json", []string{"factory", "run", "shop", "Fix it", "-o", "json"}},
		{"factory-run-wait", []string{"factory", "run", factoryOne, "Fix it", "--wait"}},
		{"agent-list", []string{"agent", "list"}},
		{"agent-list-ndjson", []string{"agent", "list", "--factory", "shop", "-o", "ndjson"}},
		{"agent-get", []string{"agent", "get", "reviewer", "--factory", "shop"}},
		{"agent-get-yaml", []string{"agent", "get", agentOne, "-o", "yaml"}},
		{"agent-create", []string{"agent", "create", "reviewer", "--factory", "shop"}},
		{"agent-create-json", []string{"agent", "create", "reviewer", "-o", "json"}},
		{"agent-update", []string{"agent", "update", "boss", "--model", "m"}},
		{"agent-delete", []string{"agent", "delete", "reviewer", agentTwo, "nobody", "--factory", "shop"}},
		{"environment-list", []string{"environment", "list"}},
		{"environment-list-ndjson", []string{"environment", "list", "--sort", "name", "-o", "ndjson"}},
		{"environment-get", []string{"environment", "get", "shop"}},
		{"environment-get-yaml", []string{"environment", "get", environmentOne, "-o", "yaml"}},
		{"environment-create", []string{"environment", "create", "shop", "--repo", "acme/shop"}},
		{"environment-update", []string{"environment", "update", "shop", "--image", "node:24"}},
		{"environment-delete", []string{"environment", "delete", "shop", environmentTwo}},
	})
}

type goldenCase struct {
	name string
	args []string
}

func playGolden(t *testing.T, cases []goldenCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, width := range []int{0, 80} {
				s := newStage(t).library()
				s.terminal(width)
				r := s.run(t.Context(), tc.args...)
				if strings.Contains(r.out, "\x1b[J") { // it lives: what counts is what a person sees
					r.out = seen(t, width, 200, r.out)
				}
				fmt.Fprintf(&text, "$ lineshaft %s   (%s)\n[exit %d]\n[stdout]\n%s[stderr]\n%s\n", strings.Join(tc.args, " "), kindOf(width), r.code, r.out, r.err)
			}
			golden(t, tc.name, strings.ReplaceAll(text.String(), "\x1b", "<ESC>"))
		})
	}
}

// seen is what a person sees in the end of what was written to a terminal.
func seen(t *testing.T, columns, rows int, written string) string {
	t.Helper()
	screen := terminaltest.New(columns, rows).ShowStyles()
	_, _ = screen.Write([]byte(written))
	if len(screen.Mistakes()) > 0 {
		t.Errorf("written to the terminal: %q", screen.Mistakes())
	}
	return screen.Text()
}

func kindOf(width int) string {
	if width == 0 {
		return "pipe"
	}
	return "terminal"
}

// TestI1NoColour: colour only on a terminal, and never with NO_COLOR or a dumb one.
func TestI1NoColour(t *testing.T) {
	t.Parallel()
	colour := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for _, tc := range []struct {
		width int
		env   string
		want  bool
	}{{80, "X=1", true}, {80, "NO_COLOR=1", false}, {80, "TERM=dumb", false}, {0, "X=1", false}, {80, "NO_COLOR=", true}} {
		for _, args := range [][]string{{"runs", "list"}, {"runs", "get", "run-1"}, {"apikey", "list"}, {"run", "x", "--wait"}, {"runs", "nonsense"}} {
			s := newStage(t).library()
			s.terminal(tc.width)
			s.setenv(tc.env)
			r := s.run(t.Context(), args...)
			if got := colour.MatchString(r.out + r.err); got != tc.want {
				t.Errorf("%v with width %d and %s: colour is %v", args, tc.width, tc.env, got)
			}
		}
	}
}

// TestI1Header: every request says that it comes from the command line.
func TestI1Header(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	for _, args := range [][]string{{"runs", "list"}, {"run", "x", "--follow"}, {"apikey", "create", "ci"}} {
		if r := s.run(t.Context(), args...); r.code != 0 {
			t.Fatalf("%v: %+v", args, r)
		}
	}
	if len(s.requests()) != 6 {
		t.Errorf("%d requests", len(s.requests()))
	}
	for _, r := range s.requests() {
		if r.header.Get("X-Lineshaft-Client") != "cli" || r.header.Get("Authorization") != "Bearer ls_test" || !strings.HasPrefix(r.header.Get("User-Agent"), "lineshaft-cli/") {
			t.Errorf("%s %s has headers %v", r.method, r.path, r.header)
		}
	}
}
