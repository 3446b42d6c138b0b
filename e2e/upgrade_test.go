package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// TestD3ServersOfEveryVersion starts this program on what every earlier one has left, and uses it: old
// keys open, old runs are listed, read and continued, old webhooks accept what their senders sign,
// old secrets reach runs.
func TestD3ServersOfEveryVersion(t *testing.T) {
	t.Parallel()
	storetest.EachOld(t, func(t *testing.T, old storetest.Old) {
		// One version of each generation is enough while somebody waits.
		if !slices.Contains([]int{1, 4, 15}, old.Version) && os.Getenv("LINESHAFT_TEST_ALL") == "" {
			t.Skip("make test-all has the versions between")
		}
		n := newNode(t, old.Database, "--isolation", "none", "--default-harness", "shell")
		n.start(t.Context())
		oldRuns(t, n, old.Made)
		if old.Version > 1 {
			oldFactory(t, n, old.Made)
		}
		if old.Version > 2 {
			oldTeam(t, n)
		}
		n.stop()
		n.start(t.Context()) // what was upgraded is a database like any other
	})
}

// oldRuns reads the runs with a key of then, and continues one.
func oldRuns(t *testing.T, n *node, made map[string]string) {
	t.Helper()
	reader, err := client.New(n.url, made["viewer"])
	if err != nil {
		t.Fatal(err)
	}
	page, err := reader.Runs.List(t.Context(), client.RunQuery{})
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]client.RunState{}
	for _, run := range page.Runs {
		states[run.RunID] = run.State
	}
	for name, want := range map[string]client.RunState{"done": "SUCCEEDED", "failed": "FAILED", "cancelled": "CANCELLED"} {
		if got := states[made[name]]; got != want {
			t.Errorf("run %q is %q in the list, want %s: %v", name, got, want, states)
		}
	}
	// How long it may wait for a worker is over some day.
	if state := states[made["waiting"]]; state != "QUEUED" && state != "ERROR" {
		t.Errorf("the run that waited is %q", state)
	}
	c := n.client()
	if text := printed(t, c, made["done"]); !strings.Contains(text, "20") || !strings.Contains(text, "followed") {
		t.Errorf("the log of before:\n%s", text)
	}
	more := client.FollowupRequest{Message: "```sh\ntest -s kept.txt && echo =$((300+4))=\n```"}
	if _, err := c.Runs.Followup(t.Context(), made["done"], more); err != nil {
		t.Fatal(err)
	}
	if run := waitEnd(t.Context(), t, c, made["done"]); run.State != client.StateSucceeded {
		t.Fatalf("the continued run ended %s: %+v", run.State, run.StatusMessage)
	}
	if text := printed(t, c, made["done"]); !strings.Contains(text, "=304=") {
		t.Errorf("the workspace of before is not there:\n%s", text)
	}
}

// oldFactory reads the log of a webhook, sends it a delivery with the secret of then, and uses an old secret.
func oldFactory(t *testing.T, n *node, made map[string]string) {
	t.Helper()
	c := n.client()
	stored, err := c.Webhooks.GetDelivery(t.Context(), made["factory"], made["webhook"], made["delivery"])
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Outcomes) != 1 || stored.Outcomes[0].RunID != made["delivered"] {
		t.Errorf("the delivery of before: %+v", stored.Outcomes)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url+made["path"], bytes.NewReader([]byte(`{"number": 2}`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+made["secret"])
	res, err := browser().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		DeliveryID string `json:"delivery_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusAccepted {
		t.Fatalf("a delivery to the old webhook: %d, %v", res.StatusCode, err)
	}
	accepted, err := c.Webhooks.GetDelivery(t.Context(), made["factory"], made["webhook"], answer.DeliveryID)
	if err != nil {
		t.Fatal(err)
	}
	if len(accepted.Outcomes) != 1 || accepted.Outcomes[0].RunID == "" {
		t.Fatalf("the old automation did not start a run: %+v", accepted.Outcomes)
	}
	if run := waitEnd(t.Context(), t, c, accepted.Outcomes[0].RunID); run.State != client.StateSucceeded {
		t.Errorf("its run ended %s: %+v", run.State, run.StatusMessage)
	}
	opened, err := c.Runs.Create(t.Context(), client.RunRequest{
		Prompt: "```sh\nprintf %s \"$TOKEN\" | wc -c\n```", Config: &client.AgentConfig{Secrets: []client.SecretRef{{Name: "TOKEN"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if run := waitEnd(t.Context(), t, c, opened.RunID); run.State != client.StateSucceeded {
		t.Errorf("the run with the old secret ended %s: %+v", run.State, run.StatusMessage)
	}
	if text := printed(t, c, opened.RunID); !strings.Contains(text, "28") {
		t.Errorf("the old secret has another length:\n%s", text)
	}
}

// oldTeam reads what factories share.
func oldTeam(t *testing.T, n *node) {
	t.Helper()
	var kept struct {
		Environments []struct{ Config struct{ Name string } }
		Schedules    []struct{ Name string }
	}
	n.answerOf("GET", "/agent/environments", "", &kept)
	n.answerOf("GET", "/agent/schedules", "", &kept)
	if len(kept.Environments) != 1 || kept.Environments[0].Config.Name != "old" ||
		len(kept.Schedules) != 1 || kept.Schedules[0].Name != "yearly" {
		t.Errorf("environments and schedules of before: %+v", kept)
	}
}
