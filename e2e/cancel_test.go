package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// TestR7CancelLeavesNothingRunning cancels an agent whose tools live in their own
// sessions and ignore SIGTERM: within ten seconds nothing of it is left.
func TestR7CancelLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"none", "bubblewrap"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--isolation", isolation)
			n.start(t.Context())
			c := n.client()
			// A number of seconds that nobody else sleeps marks the processes of this test.
			mark := fmt.Sprintf("%d.%09d", 86400, time.Now().UnixNano()%1_000_000_000)
			prompt := fmt.Sprintf("```sh\ntrap '' TERM\nfor i in 1 2 3; do setsid sh -c \"trap '' TERM HUP INT; sleep %[1]s\" & done\n(setsid sh -c \"trap '' TERM; sleep %[1]s & sleep %[1]s\" &) &\necho spawned\nsleep %[1]s\n```", mark)
			started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: prompt})
			if err != nil {
				t.Fatal(err)
			}
			waitOutput(t, c, started.RunID, "spawned")
			eventually(t, "the tools run", func() bool { return processes(t, mark) >= 5 })
			if err := c.Runs.Cancel(t.Context(), started.RunID); err != nil {
				t.Fatal(err)
			}
			run, err := c.Runs.Get(t.Context(), started.RunID)
			if err != nil || run.State != "CANCELLED" {
				t.Fatalf("after the answer the run is %v (%v)", run, err)
			}
			within(t, 10*time.Second, "all processes are gone", func() bool { return processes(t, mark) == 0 })
			within(t, 10*time.Second, "is_sandbox_running is false", func() bool {
				run, err := c.Runs.Get(t.Context(), started.RunID)
				return err == nil && !run.IsSandboxRunning
			})
		})
	}
}

// processes counts the processes of this machine that have mark as an argument.
func processes(t *testing.T, mark string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		for _, arg := range strings.Split(string(text), "\x00") {
			if arg == mark {
				n++
			}
		}
	}
	return n
}

// waitOutput follows a run until it has printed text.
func waitOutput(t *testing.T, c *client.Client, runID, text string) {
	t.Helper()
	for event, err := range c.Runs.Stream(t.Context(), runID, 0) {
		if err != nil {
			t.Fatalf("stream: %v", err)
		}
		if event.Type == "output" && strings.Contains(string(event.Data), text) {
			return
		}
	}
	t.Fatalf("run %s ended without printing %q", runID, text)
}

// patience is how long a test waits for what takes moments: a machine that is busy with
// everything else must not fail it. What is promised within a time asks with within.
const patience = time.Minute

// eventually asks until something outside this process is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

// within is eventually for what users were promised to be true by then.
func within(t *testing.T, bound time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", bound, what)
		}
		pause(t.Context(), 20*time.Millisecond)
	}
}
