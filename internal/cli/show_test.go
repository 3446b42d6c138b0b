package cli

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
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
		if r := s.run(t.Context(), strings.Fields(line)...); r.code != shell.ExitDenied || len(s.requests()) != 0 || r.out != "" {
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
			if r.code != shell.ExitDenied || !strings.Contains(r.err, "Error: ") || !strings.Contains(r.err, ": that needs another role\n") {
				t.Errorf("%s -o %s: %+v", line, format, r)
			}
		}
	}
}
