package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

const hidden = "correct-horse-battery-staple"

// printer is a prompt that shows its secret in every way that is masked.
const printer = "```sh\n" + `echo "plain $TOKEN"
printf %s "${TOKEN%staple}"; sleep 0.2; printf '%s\n' "${TOKEN#correct-horse-battery-}"
printf %s "$TOKEN" | base64
echo "{\"token\":\"$TOKEN\"}" >&2
echo x > "$LINESHAFT_ARTIFACTS/of-$TOKEN.txt"
` + "```"

func printed(t *testing.T, c *client.Client, runID string) string {
	t.Helper()
	var all strings.Builder
	for event, err := range c.Runs.AllEvents(t.Context(), runID, client.EventQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(event.Data)
		all.WriteByte('\n')
	}
	return all.String()
}

// TestS1SecretsOutliveKills keeps secrets through kill -9, and finds the value
// nowhere on the disk of the server but sealed, nor in its log.
func TestS1SecretsOutliveKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := filepath.Join(dir, "l.db")
	n := newNode(t, database, "--data-dir", dir, "--log-level", "debug")
	n.extraEnv = []string{"LINESHAFT_MASTER_KEY="} // from a file of its own
	n.start(t.Context())
	if _, err := n.client().Secrets.Create(t.Context(), client.SecretRequest{Name: "TOKEN", Value: hidden, Access: "runs"}); err != nil {
		t.Fatal(err)
	}
	n.kill()
	n.start(t.Context())
	c := n.client()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{
		Prompt: printer, Config: &client.AgentConfig{Secrets: []client.SecretRef{{Name: "TOKEN"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run := waitEnd(t.Context(), t, c, started.RunID)
	text := printed(t, c, started.RunID)
	if run.State != "SUCCEEDED" || !strings.Contains(text, "plain ***TOKEN***") || !strings.Contains(text, "of-***TOKEN***.txt") {
		t.Fatalf("the run is %s: %+v\n%s", run.State, run.StatusMessage, text)
	}
	n.stop()
	encoded := base64.StdEncoding.EncodeToString([]byte(hidden))[:32]
	for _, shown := range []string{hidden, encoded} {
		if strings.Contains(text, shown) || strings.Contains(n.log.tail(1<<30), shown) {
			t.Errorf("%q is in the events or the log", shown)
		}
	}
	searched := 0
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.Contains(path, string(filepath.Separator)+"worker"+string(filepath.Separator)) {
			return err // the workspace is the agent's: what it writes there is its own
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(hidden)) || bytes.Contains(data, []byte(encoded)) {
			t.Errorf("the value is in %s", path)
		}
		searched++
		return err
	}); err != nil || searched < 3 {
		t.Fatalf("%d files searched, %v", searched, err)
	}
}

// TestS1RotationOfTheMasterKey follows docs/secrets.md.
func TestS1RotationOfTheMasterKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := newNode(t, filepath.Join(dir, "l.db"), "--data-dir", dir, "--no-worker")
	n.extraEnv = []string{"LINESHAFT_MASTER_KEY="} // from a file
	n.start(t.Context())
	if _, err := n.client().Secrets.Create(t.Context(), client.SecretRequest{Name: "TOKEN", Value: hidden}); err != nil {
		t.Fatal(err)
	}
	n.stop()
	file := filepath.Join(dir, "master.key")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(masterKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.extraEnv = []string{"LINESHAFT_MASTER_KEY=", "LINESHAFT_MASTER_KEY_OLD=" + strings.TrimSpace(string(old))}
	n.start(t.Context())
	eventually(t, "the secrets are under the new key", func() bool {
		return strings.Contains(n.log.tail(1<<20), "secrets are encrypted with the new master key")
	})
	n.stop()
	n.extraEnv = []string{"LINESHAFT_MASTER_KEY="}
	n.start(t.Context()) // without the old key
	if list, err := n.client().Secrets.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if log := n.log.tail(1 << 30); strings.Contains(log, strings.TrimSpace(string(old))) || strings.Contains(log, masterKey) || strings.Contains(log, "cannot be opened") {
		t.Error("the log shows a key, or secrets that cannot be opened")
	}
}

// TestX11RunsOfAWebhookGetWhatTheirAutomationNames: a granted secret reaches them
// through the automation, others do not, and it cannot be deleted meanwhile.
func TestX11RunsOfAWebhookGetWhatTheirAutomationNames(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		n := newNode(t, database)
		n.start(t.Context())
		c := n.client()
		for _, secret := range []client.SecretRequest{{Name: "TOKEN", Value: hidden}, {Name: "OTHER", Value: hidden, Access: "runs"}} {
			if _, err := c.Secrets.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		h := newHook(n)
		automation := func(name, secret string) string {
			prompt := "```sh\necho \"has $TOKEN.\"\necho \"other ${OTHER-is not there}\"\n```"
			text, err := json.Marshal(map[string]any{
				"name": name, "prompt": prompt, "config": map[string]any{"secrets": []map[string]string{{"name": secret}}},
				"triggers": []any{map[string]any{"provider": "webhook", "event": "received", "filter": map[string]any{"webhook_ids": []string{h.uid}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		path := "/api/v1/factory/" + h.factory + "/automations"
		for _, bad := range []string{"NOT_THERE", "CI_WEBHOOK_SECRET"} {
			if status := n.call(t, http.MethodPost, path, automation("bad", bad)); status != http.StatusBadRequest {
				t.Errorf("an automation that names %s: %d", bad, status)
			}
		}
		if status := n.call(t, http.MethodPost, path, automation("named", "TOKEN")); status != http.StatusCreated {
			t.Fatalf("create automation: %d", status)
		}
		if err := c.Secrets.Delete(t.Context(), "TOKEN"); err == nil || !strings.Contains(err.Error(), "automation named") {
			t.Errorf("delete a named secret: %v", err)
		}
		if status := h.deliver(t, n.url, "one", `{"number": 1}`); status != http.StatusAccepted {
			t.Fatalf("deliver: %d", status)
		}
		page, err := c.Runs.List(t.Context(), client.RunQuery{Name: "named"})
		if err != nil || len(page.Runs) != 1 {
			t.Fatalf("%d runs, %v", len(page.Runs), err)
		}
		run := waitEnd(t.Context(), t, c, page.Runs[0].RunID)
		if text := printed(t, c, run.RunID); run.State != "SUCCEEDED" || !strings.Contains(text, "has ***TOKEN***.") || !strings.Contains(text, "other is not there") || strings.Contains(text, hidden) {
			t.Errorf("the run is %s: %s", run.State, text)
		}
	})
}
