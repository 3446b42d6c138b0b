package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// lineshaftCommand runs the program as an operator does and returns what it printed.
func lineshaftCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// logOf is a run's whole log.
func logOf(t *testing.T, c *client.Client, runID string) (lines []string) {
	t.Helper()
	for event, err := range c.Runs.AllEvents(t.Context(), runID, client.EventQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, event.ID+" "+string(event.Type)+" "+string(event.Data))
	}
	return lines
}

// TestD4BackupOfALiveServer backs a working server up, restores on both engines, and
// continues there: with the old key, the old logs, a secret that opens and a run that is
// continued.
func TestD4BackupOfALiveServer(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, database string) {
		n := newNode(t, database)
		n.start(t.Context())
		c := n.client()
		if _, err := c.Secrets.Create(t.Context(), client.SecretRequest{Name: "TOKEN", Value: hidden, Access: "runs"}); err != nil {
			t.Fatal(err)
		}
		started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho kept > kept.txt; seq 300\n```"})
		if err != nil {
			t.Fatal(err)
		}
		waitEnd(t.Context(), t, c, started.RunID)
		want := logOf(t, c, started.RunID)
		file := filepath.Join(t.TempDir(), "one.backup")
		if out, err := lineshaftCommand(t, "backup", "--database", database, file); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("mode %v, %v: others may read it", info.Mode(), err)
		}
		if out, err := lineshaftCommand(t, "backup", "--database", database, file); err == nil || !strings.Contains(out, "--force") {
			t.Fatalf("a second backup went over the first: %v\n%s", err, out)
		}
		n.stop()
		storetest.EachEmpty(t, func(t *testing.T, other string) {
			out, err := lineshaftCommand(t, "restore", "--database", other, file)
			if err != nil || !strings.Contains(out, "rows of") {
				t.Fatalf("%v\n%s", err, out)
			}
			goesOn(t, other, started.RunID, want)
		})
	})
}

// goesOn starts a server on a restored database and uses what was there.
func goesOn(t *testing.T, database, runID string, want []string) {
	t.Helper()
	n := newNode(t, database)
	n.start(t.Context())
	c := n.client()
	if got := logOf(t, c, runID); !slices.Equal(got, want) {
		t.Fatalf("the log has %d entries, want %d", len(got), len(want))
	}
	if _, err := c.Runs.Followup(t.Context(), runID, client.FollowupRequest{Message: "```sh\ncat kept.txt\n```"}); err != nil {
		t.Fatal(err)
	}
	if run := waitEnd(t.Context(), t, c, runID); run.State != client.StateSucceeded {
		t.Fatalf("continued run ended %s: %s", run.State, run.StatusMessage.Message)
	}
	if text := printed(t, c, runID); strings.Count(text, "kept") < 2 {
		t.Error("the workspace of before is not there")
	}
	opened, err := c.Runs.Create(t.Context(), client.RunRequest{
		Prompt: "```sh\nprintf %s \"$TOKEN\" | wc -c\n```", Config: &client.AgentConfig{Secrets: []client.SecretRef{{Name: "TOKEN"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if run := waitEnd(t.Context(), t, c, opened.RunID); run.State != client.StateSucceeded {
		t.Fatalf("run with the secret ended %s", run.State)
	}
	if text := printed(t, c, opened.RunID); !strings.Contains(text, "28") {
		t.Errorf("the secret has another length:\n%s", text)
	}
}

// TestD4MigrateDatabase moves a server from SQLite to PostgreSQL.
func TestD4MigrateDatabase(t *testing.T) {
	t.Parallel()
	from := filepath.Join(t.TempDir(), "old.db")
	n := newNode(t, from)
	n.start(t.Context())
	c := n.client()
	if _, err := c.Secrets.Create(t.Context(), client.SecretRequest{Name: "TOKEN", Value: hidden, Access: "runs"}); err != nil {
		t.Fatal(err)
	}
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho kept > kept.txt\n```"})
	if err != nil {
		t.Fatal(err)
	}
	waitEnd(t.Context(), t, c, started.RunID)
	want := logOf(t, c, started.RunID)
	n.stop()
	to := storetest.EmptyPostgres(t)
	out, err := lineshaftCommand(t, "migrate-database", "--from", from, "--to", to)
	if err != nil || !strings.Contains(out, "rows of") {
		t.Fatalf("%v\n%s", err, out)
	}
	goesOn(t, to, started.RunID, want)
	if out, err := lineshaftCommand(t, "migrate-database", "--from", from, "--to", to); err == nil || !strings.Contains(out, "in use already") {
		t.Fatalf("moved twice: %v\n%s", err, out)
	}
	if out, err := lineshaftCommand(t, "migrate-database", "--from", from+"x", "--to", to); err == nil || !strings.Contains(out, "there is no database") {
		t.Fatalf("moved from nothing: %v\n%s", err, out)
	}
}
