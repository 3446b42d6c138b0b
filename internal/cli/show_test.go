package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// TestEveryCommandNeedsAKey: none of them sends anything without one.
func TestEveryCommandNeedsAKey(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"run x", "runs list", "runs get r", "runs logs r", "runs logs -f r", "runs followup r m", "runs cancel r", "runs interrupt r",
		"runs rerun r", "runs delete r", "runs open r", "apikey create n", "apikey list", "apikey revoke k", "secret update N --access runs", "secret list", "secret delete N",
		"secret create N", "secret update N", "secret list", "secret delete N",
	} {
		s := keyStage(t, t.TempDir())
		if r := s.run(t.Context(), strings.Fields(line)...); r.code != exitDenied || len(s.requests()) != 0 || r.out != "" {
			t.Errorf("%s: %+v after %d requests", line, r, len(s.requests()))
		}
	}
}

// TestEveryCommandTellsTheServersError: none of them hides one.
func TestEveryCommandTellsTheServersError(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"run x", "run x --wait", "run x --follow", "runs list", "runs list --all", "runs get r", "runs logs r", "runs logs -f r",
		"runs followup r m", "runs followup r m --follow", "runs cancel r", "runs cancel r s", "runs interrupt r", "runs rerun r",
		"runs delete r", "runs open r", "apikey create n", "apikey list", "apikey revoke k", "secret update N --access runs", "secret list", "secret delete N",
	} {
		for _, format := range []string{"table", "json", "ndjson", "yaml"} {
			s := newStage(t)
			s.mux.HandleFunc("/api/v1/", problem(403, "not_authorized", "that needs another role"))
			r := s.run(t.Context(), append(strings.Fields(line), "-o", format)...)
			if r.code != exitDenied || !strings.Contains(r.err, "Error: ") || !strings.Contains(r.err, ": that needs another role\n") {
				t.Errorf("%s -o %s: %+v", line, format, r)
			}
		}
	}
}

func TestShowRunWithLittle(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sh := newShell(Deps{Stdout: &out, Stderr: &out, Environ: []string{}})
	sh.showRun(&client.Run{
		RunID: "r", State: "LATER", Creator: &client.Principal{UID: "u-1"}, RequestUsage: &client.Usage{},
		StatusMessage: &client.StatusMessage{Message: "no", ErrorCode: "run_timeout"}, AgentConfig: &client.AgentConfig{Skills: []string{"a", "b"}},
	})
	if want := "Run      r\nState    LATER\nMessage  no (run_timeout)\nCreator  u-1\nSkills   a, b\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	sh.showRun(&client.Run{RunID: "r"})
	if out.String() != "Run  r\n" {
		t.Errorf("got %q", out.String())
	}
}

func TestDocumentForms(t *testing.T) {
	t.Parallel()
	value := map[string]any{"a": "<b> & more", "big": json.Number("12345678901234567890"), "list": []int{1}}
	for format, want := range map[string]string{
		formatJSON:   "{\n  \"a\": \"<b> & more\",\n  \"big\": 12345678901234567890,\n  \"list\": [\n    1\n  ]\n}\n",
		formatNDJSON: "{\"a\":\"<b> & more\",\"big\":12345678901234567890,\"list\":[1]}\n",
		formatYAML:   "a: <b> & more\nbig: 12345678901234567890\nlist:\n- 1\n",
	} {
		var out bytes.Buffer
		sh := newShell(Deps{Stdout: &out, Environ: []string{}})
		sh.format = format
		if err := sh.document(value); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", format, out.String(), err, want)
		}
		if err := sh.document(func() {}); err == nil {
			t.Error("a function was printed")
		}
	}
}

func TestTableFitsItsTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sh := newShell(Deps{Stdout: &out, Environ: []string{"NO_COLOR=1"}})
	rows := [][]cell{{plain("größe"), plain(strings.Repeat("x", 100))}, {plain("b"), plain("")}}
	for _, tc := range []struct{ width, want int }{{0, 107}, {40, 40}, {5, 17}} {
		out.Reset()
		sh.outWidth = tc.width
		sh.table([]string{"A", "B"}, rows)
		lines := strings.Split(out.String(), "\n")
		if got := len([]rune(lines[1])); got != tc.want || lines[0] != "A      B" || lines[2] != "b" {
			t.Errorf("width %d: %d columns, %q", tc.width, got, lines)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 4, 0, 0, 5, time.UTC)
	for _, tc := range []struct {
		text  string
		ahead bool
		want  string
	}{
		{"1h", false, "2026-01-02T03:00:00.000000005Z"},
		{"1h", true, "2026-01-02T05:00:00Z"},
		{"2d", true, "2026-01-04T04:00:00Z"},
		{"2026-03-01", true, "2026-03-01T00:00:00Z"},
		{"2026-03-01T10:00:00+02:00", false, "2026-03-01T10:00:00+02:00"},
	} {
		at, err := parseTime("x", tc.text, now, tc.ahead)
		if err != nil || at.Format(time.RFC3339Nano) != tc.want {
			t.Errorf("%s: %s, %v; want %s", tc.text, at.Format(time.RFC3339Nano), err, tc.want)
		}
	}
	for _, text := range []string{"", "soon", "-1h", "2026-13-01"} {
		if _, err := parseTime("x", text, now, false); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 runs, 0 deliveries", 1: "1 run, 1 delivery", 2: "2 runs, 2 deliveries"} {
		if got := count(n, "run") + ", " + count(n, "delivery"); got != want {
			t.Error(got)
		}
	}
}
