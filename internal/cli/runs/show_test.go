package runs

import (
	"bytes"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func TestShowRunWithLittle(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sh := commandsIn(shell.Surroundings{Stdout: &out, Stderr: &out, Environ: []string{}})
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
