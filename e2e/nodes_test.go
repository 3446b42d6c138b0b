package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// TestH9OneKeyOneRun sends 64 creates with one idempotency key at once: one run,
// and everyone gets its id. On PostgreSQL they go to two nodes in turn.
func TestH9OneKeyOneRun(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		n := newNode(t, filepath.Join(t.TempDir(), "l.db"))
		n.start(t.Context())
		oneRun(t, n)
	})
	t.Run("postgres with two nodes", func(t *testing.T) {
		t.Parallel()
		database := storetest.Postgres(t)
		a, b := newNode(t, database), newNode(t, database)
		a.start(t.Context())
		b.start(t.Context())
		oneRun(t, a, b)
	})
}

func oneRun(t *testing.T, nodes ...*node) {
	t.Helper()
	body := []byte(`{"prompt": "` + "```sh\\necho once\\n```" + `", "config": {"name": "once"}}`)
	ids := make([]string, 64)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i] = create(t, nodes[i%len(nodes)], "the-one-key", body) })
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("answers differ: %q and %q", id, ids[0])
		}
	}
	page, err := nodes[0].client().Runs.List(t.Context(), client.RunQuery{Name: "once"})
	if err != nil || len(page.Runs) != 1 {
		t.Fatalf("%d runs (%v), want 1", len(page.Runs), err)
	}
}

func create(t *testing.T, n *node, key string, body []byte) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url+"/api/v1/agent/runs", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	req.Header.Set("Idempotency-Key", key)
	res, err := browser().Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		RunID string `json:"run_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("status %d, %v", res.StatusCode, err)
	}
	return answer.RunID
}

// TestD1NodesShareRuns follows and cancels on one node what another one executes.
func TestD1NodesShareRuns(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	front, back := newNode(t, database, "--no-worker"), newNode(t, database)
	front.start(t.Context())
	back.start(t.Context())
	c := front.client()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho ready\nsleep 600\n```"})
	if err != nil {
		t.Fatal(err)
	}
	waitOutput(t, c, started.RunID, "ready") // live, from the other node's worker
	asked := time.Now()
	if err := c.Runs.Cancel(t.Context(), started.RunID); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, "the other node ended the agent", func() bool {
		run, err := c.Runs.Get(t.Context(), started.RunID)
		return err == nil && !run.IsSandboxRunning
	})
	t.Logf("cancel through another node took %s until the process was gone", time.Since(asked).Round(time.Millisecond))
}

// TestD5StopIsGraceful stops a server while a run works: it ends in time, and the
// run is not lost.
func TestD5StopIsGraceful(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		n := newNode(t, database)
		n.start(t.Context())
		c := n.client()
		short, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho working\nsleep 1\necho done\n```"})
		if err != nil {
			t.Fatal(err)
		}
		long, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho working\nsleep 600\n```"})
		if err != nil {
			t.Fatal(err)
		}
		waitOutput(t, c, short.RunID, "working")
		waitOutput(t, c, long.RunID, "working")
		asked := time.Now()
		n.stop()
		t.Logf("stopped in %s", time.Since(asked).Round(time.Millisecond))
		n.start(t.Context())
		if run := waitEnd(t.Context(), t, n.client(), short.RunID); run.State != "SUCCEEDED" {
			t.Errorf("the run that could finish is %s: %+v", run.State, run.StatusMessage)
		}
		if run := waitEnd(t.Context(), t, n.client(), long.RunID); run.State != "ERROR" || run.StatusMessage.Retryable == nil || !*run.StatusMessage.Retryable {
			t.Errorf("the run that could not finish is %s: %+v", run.State, run.StatusMessage)
		}
	})
}
