package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// programBefore is the last program with the schema before this one.
func programBefore(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("LINESHAFT_BIN_BEFORE")
	if bin == "" {
		t.Skip("make neighbours builds the version before and runs it")
	}
	return bin
}

// team is clients that work with nodes and workers until they are stopped, with what they learned.
type team struct {
	ledger
	fence string
	wg    sync.WaitGroup
	ctx   context.Context
	stop  context.CancelFunc
}

func newTeam(t *testing.T) *team {
	t.Helper()
	m := &team{fence: t.TempDir()}
	if err := os.Chmod(m.fence, 0o777); err != nil {
		t.Fatal(err)
	}
	m.ctx, m.stop = context.WithCancel(t.Context())
	t.Cleanup(func() {
		m.stop()
		m.wg.Wait()
	})
	return m
}

// join lets four more clients work, with runs for a worker, or for the server's own if it has no name.
func (m *team) join(n *node, seed uint64, worker string) {
	for i := range 4 {
		c := n.client()
		m.wg.Go(func() { m.play(m.ctx, c, m.fence, worker, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
}

// passes waits until so many more runs were acknowledged.
func (m *team) passes(t *testing.T, many int) {
	t.Helper()
	known := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.entries)
	}
	before := known()
	eventually(t, "runs go on", func() bool { return known() >= before+many })
}

// done ends the clients and holds a node to what all of them learned.
func (m *team) done(t *testing.T, n *node) {
	t.Helper()
	m.stop()
	m.wg.Wait()
	m.check(t, n.client())
	checkFence(t, m.fence)
}

// TestD3VersionsSideBySide starts this program beside the one before it, which works on: the schema is changed
// under it, both take deliveries and calls, both execute runs, and this one is killed now and then.
func TestD3VersionsSideBySide(t *testing.T) {
	t.Parallel()
	before, database := programBefore(t), storetest.EmptyPostgres(t)
	flags := []string{"--isolation", "none", "--lease", "5s", "--max-concurrent-runs", "4", "--log-level", "warn"}
	older, newer := newNode(t, database, flags...), newNode(t, database, flags...)
	older.bin = before
	older.start(t.Context())
	f, m := startFlow(t, older), newTeam(t)
	m.join(older, 1, "")
	f.passes(t, 300)
	newer.start(t.Context()) // which migrates
	f.join(newer)
	m.join(newer, 2, "")
	const kills = 5
	for range kills {
		f.passes(t, 300)
		m.passes(t, 20)
		newer.kill()
		f.passes(t, 50) // the other one is enough
		newer.start(t.Context())
	}
	f.passes(t, 300)
	f.stop()
	m.done(t, older) // which reads what the newer one wrote
	older.stop()
	t.Logf("%d deliveries and %d runs were acknowledged beside %d kills", len(f.known), len(m.entries), kills)
	older.launch()
	select {
	case <-older.exited:
	case <-time.After(patience):
		t.Fatal("the version before starts again")
	}
	if log := older.log.tail(4000); !strings.Contains(log, "newer lineshaft") {
		t.Errorf("the version before does not say why it does not start again:\n%s", log)
	}
	newer.stop()
	f.check(t, database, f.acknowledged())
}

// TestD3WorkersOfTheOtherVersion lets a worker of each version work for a server of the other.
func TestD3WorkersOfTheOtherVersion(t *testing.T) {
	t.Parallel()
	before := programBefore(t)
	for name, bins := range map[string]struct{ server, worker string }{
		"worker before": {"", before},
		"server before": {before, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker", "--lease", "5s", "--log-level", "warn")
			n.bin = bins.server
			n.start(t.Context())
			w := prepareWorker(t, n, "other", "--isolation", "none", "--max-concurrent-runs", "4", "--log-level", "warn")
			w.bin = bins.worker
			w.start()
			m := newTeam(t)
			m.join(n, 3, "other")
			const kills = 3
			for range kills {
				m.passes(t, 40)
				w.kill()
				w.start()
			}
			m.passes(t, 40)
			m.done(t, n)
			t.Logf("%d runs were acknowledged beside %d kills", len(m.entries), kills)
			keepsFiles(t, n.client())
		})
	}
}

// keepsFiles continues a run whose workspace and artifact are stored meanwhile.
func keepsFiles(t *testing.T, c *client.Client) {
	t.Helper()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{
		Prompt: "```sh\necho kept > kept.txt; echo made > $LINESHAFT_ARTIFACTS/made.txt\n```", Config: &client.AgentConfig{WorkerHost: "other"},
	})
	if err != nil {
		t.Fatal(err)
	}
	waitEnd(t.Context(), t, c, started.RunID)
	if _, err := c.Runs.Followup(t.Context(), started.RunID, client.FollowupRequest{Message: "```sh\ncat kept.txt | tr a-z A-Z\n```"}); err != nil {
		t.Fatal(err)
	}
	run := waitEnd(t.Context(), t, c, started.RunID)
	if text := printed(t, c, started.RunID); run.State != client.StateSucceeded || len(run.Artifacts) != 1 || !strings.Contains(text, "KEPT") {
		t.Errorf("%s with %d artifacts: %s", run.State, len(run.Artifacts), text)
	}
}
