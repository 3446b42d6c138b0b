package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// entry is what a client learned about one run.
type entry struct {
	runID     string
	followups []string // texts that were acknowledged
	markers   []string // what the agent prints when it does them
	// cancels counts acknowledged cancels.
	cancels int
}

// ledger is everything that was acknowledged.
type ledger struct {
	mu      sync.Mutex
	entries []*entry
}

// TestD2NothingAcknowledgedIsLost kills the server at random moments while clients
// create, continue and cancel runs, and then checks every promise it made: R-1
// (durable), R-6 (no follow-up lost), R-7 (one terminal state), X-1 (never two
// live executions of a run, which the agents themselves prove with a file lock).
func TestD2NothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	cycles := 10
	if soak() {
		cycles = 100
	}
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		seed := uint64(20261115)
		fence := t.TempDir()
		if err := os.Chmod(fence, 0o777); err != nil {
			t.Fatal(err)
		}
		n := newNode(t, database, "--isolation", "none", "--lease", "2s", "--max-concurrent-runs", "8", "--log-level", "warn")
		n.start(t.Context())
		book := &ledger{}
		clients, done := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() { book.play(clients, n.client(), fence, "", rand.New(rand.NewPCG(seed, uint64(i)))) })
		}
		killer := rand.New(rand.NewPCG(seed, 99))
		for range cycles {
			pause(t.Context(), time.Duration(100+killer.IntN(900))*time.Millisecond)
			n.kill()
			n.start(t.Context())
		}
		done()
		wg.Wait()
		t.Logf("%d cycles, %d runs acknowledged", cycles, len(book.entries))
		book.check(t, n.client())
		checkFence(t, fence)
	})
}

// pause lets the outside processes work for a random while: the moment of the kill
// is the point, not a wait for something.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// play is one client: mostly it creates, sometimes it continues or cancels a run of its own. A worker
// executes them, or the server's own if there is no name.
func (l *ledger) play(ctx context.Context, c *client.Client, fence, worker string, r *rand.Rand) {
	var mine []*entry
	config := &client.AgentConfig{WorkerHost: worker, Retry: &client.Retry{MaxAttempts: 3}}
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		switch dice := r.IntN(10); {
		case dice < 5 || len(mine) == 0:
			started, err := c.Runs.Create(call, client.RunRequest{Prompt: script(fence, r), Config: config})
			if err == nil {
				e := &entry{runID: started.RunID}
				mine = append(mine, e)
				l.mu.Lock()
				l.entries = append(l.entries, e)
				l.mu.Unlock()
			}
		case dice < 8:
			e := mine[r.IntN(len(mine))]
			marker := fmt.Sprintf("followed-%d", r.Uint64())
			text := fmt.Sprintf("```sh\necho %s\n```\n%s", marker, script(fence, r))
			if _, err := c.Runs.Followup(call, e.runID, client.FollowupRequest{Message: text}); err == nil {
				e.followups, e.markers = append(e.followups, text), append(e.markers, marker)
			}
		default:
			e := mine[r.IntN(len(mine))]
			if err := c.Runs.Cancel(call, e.runID); err == nil {
				e.cancels++
			}
		}
		cancel()
		pause(ctx, time.Duration(r.IntN(150))*time.Millisecond)
	}
}

// script is an agent that proves to be alone: it holds a lock on its run's file
// for its whole life, and the kernel lets go of it when the process ends.
func script(fence string, r *rand.Rand) string {
	return fmt.Sprintf("```sh\nexec 9>>%[1]s/$LINESHAFT_RUN_ID\nflock -n 9 || echo $LINESHAFT_RUN_ID >> %[1]s/violations\necho alive >&9\nsleep 0.%03d\n```", fence, r.IntN(300))
}

func checkFence(t *testing.T, fence string) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(fence, "violations")); err == nil {
		t.Errorf("two executions of one run were alive at once:\n%s", text)
	}
}

// check holds the server to everything it acknowledged.
func (l *ledger) check(t *testing.T, c *client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience) // hundreds of runs may wait for a busy machine
	defer cancel()
	for _, e := range l.entries {
		run := waitEnd(ctx, t, c, e.runID)
		var events []client.Event
		for event, err := range c.Runs.AllEvents(ctx, e.runID, client.EventQuery{}) {
			if err != nil {
				t.Fatalf("events of run %s: %v", e.runID, err)
			}
			events = append(events, event)
		}
		checkLog(t, e, run, events)
	}
}

// checkLog compares one run's log with what its client learned.
func checkLog(t *testing.T, e *entry, run *client.Run, events []client.Event) {
	t.Helper()
	var states, messages []string
	var output strings.Builder
	for i, event := range events {
		if event.Sequence != int64(i+1) {
			t.Fatalf("run %s: event %d has sequence %d", e.runID, i+1, event.Sequence)
		}
		switch event.Type { //nolint:exhaustive // the others say nothing about promises
		case "state":
			var data struct{ To string }
			if err := event.Decode(&data); err != nil {
				t.Fatal(err)
			}
			states = append(states, data.To)
		case "message":
			var data struct{ Text string }
			if err := event.Decode(&data); err != nil {
				t.Fatal(err)
			}
			messages = append(messages, data.Text)
		case "output":
			var data struct{ Text string }
			if err := event.Decode(&data); err != nil {
				t.Fatal(err)
			}
			output.WriteString(data.Text)
		}
	}
	checkDone(t, e, states, messages, output.String())
	if last := states[len(states)-1]; last != string(run.State) {
		t.Errorf("run %s is %s, its log ends in %s (%v)", e.runID, run.State, last, states)
	}
	if got := count(states, "CANCELLED"); got < e.cancels {
		t.Errorf("run %s: %d cancels were acknowledged, %d are in the log", e.runID, e.cancels, got)
	}
	for i := 1; i < len(states); i++ {
		if slices.Contains([]string{"SUCCEEDED", "FAILED", "ERROR", "CANCELLED"}, states[i-1]) && states[i] != "QUEUED" {
			t.Errorf("run %s left a terminal state for %s: %s", e.runID, states[i], strings.Join(states, " "))
		}
	}
}

// checkDone checks that every acknowledged follow-up is in the log once and, unless
// the run was cancelled or its worker lost too often, that the agent did it.
func checkDone(t *testing.T, e *entry, states, messages []string, output string) {
	t.Helper()
	excused := slices.Contains(states, "CANCELLED") || slices.Contains(states, "ERROR")
	for i, text := range e.followups {
		if n := count(messages, text); n != 1 {
			t.Errorf("run %s: an acknowledged follow-up is %d times in the log", e.runID, n)
		}
		if !excused && !strings.Contains(output, e.markers[i]) {
			t.Errorf("run %s (%v): an acknowledged follow-up was never done", e.runID, states)
		}
	}
}

func count(list []string, want string) (n int) {
	for _, item := range list {
		if item == want {
			n++
		}
	}
	return n
}
