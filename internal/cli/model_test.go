package cli

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// a harness is ready when the server says so, whatever it notes about it.
func TestX6ModelListAgreesWithTheServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("GET /api/v1/agent/models", 200, `{"default_model_id":"","models":[],"harnesses":[`+
		`{"type":"shell","available":true},{"type":"acp","available":true,"problem":"each run names its program"},{"type":"codex","available":false,"problem":"not installed"}]}`)
	r := s.run(t.Context(), "model", "list", "-o", "table")
	var lines []string
	for line := range strings.Lines(r.out) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	got := strings.Join(lines, "\n")
	if want := "HARNESS STATE ABOUT\nshell ready\nacp ready each run names its program\ncodex unavailable not installed"; r.code != shell.ExitOK || got != want {
		t.Errorf("%+v", r)
	}
}
