package runs

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/terminal"
	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

// TestI1FollowTellsThatTheWorkerIsAway, and how to start it; how to leave stays.
func TestI1FollowTellsThatTheWorkerIsAway(t *testing.T) {
	t.Parallel()
	s := newSession("r-1", 80, false)
	s.state.To, s.host, s.ahead, s.hint = client.StateQueued, "no such", 1, "Ctrl-C leaves; the run continues"
	shown := func() string {
		var text []string
		for _, line := range s.live(time.Time{}, 24) {
			text = append(text, strings.TrimSpace(line.String(false)))
			if line.Width() > 80 {
				t.Errorf("%d columns: %s", line.Width(), line.String(false))
			}
		}
		return strings.Join(text, " ")
	}
	if got := shown(); strings.Contains(got, "not connected") || !strings.Contains(got, "waits for worker no such, 1 run before it · Ctrl-C leaves") {
		t.Error(got)
	}
	s.absent = true
	if got := shown(); !strings.Contains(got, "which is not connected (`lineshaft worker list` shows those that are); start it with an API key that has the role worker: lineshaft worker --id 'no such'") || !strings.Contains(got, "Ctrl-C leaves") {
		t.Error(got)
	}
	s.state.To = client.StateInProgress
	if got := shown(); strings.Contains(got, "not connected") {
		t.Error(got)
	}
}

// TestI1NoTerminalOfOurs: without typing, a run is shown all the same.
func TestI1NoTerminalOfOurs(t *testing.T) {
	t.Parallel()
	_, slave := terminaltest.PTY(t)
	sh := commandsIn(shell.Surroundings{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: []string{}})
	if sh.typing() != nil {
		t.Error("a text is typed on")
	}
	sh.In = slave
	input := sh.typing()
	if input == nil {
		t.Fatal("a terminal cannot be typed on")
	}
	input.Restore()
	if sh.rows() != 24 {
		t.Error(sh.rows())
	}
	broken := &liveView{sh: sh, session: newSession("r", 80, false), region: terminal.NewRegion(brokenWriter{}, false)}
	if err := broken.draw(); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
