package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// TestH3BodyThatNeverComesIsAnsweredAtOnce sends headers that promise a body and
// then nothing: who may not send one is told so without delay.
func TestH3BodyThatNeverComesIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"))
	n.start(t.Context())
	for request, want := range map[string]int{
		"POST /api/v1/agent/runs":  http.StatusUnauthorized,
		"POST /api/v1/nothing":     http.StatusNotFound,
		"PATCH /api/v1/agent/runs": http.StatusMethodNotAllowed,
		"POST /api/v1//agent/runs": http.StatusBadRequest,
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", request); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", request, err)
			continue
		}
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", request, res.StatusCode, want)
		}
		_ = res.Body.Close()
		_ = conn.Close()
	}
}

// TestX5ServerFilesAreOutOfReach puts the database where agents can see the folder:
// they cannot read it, and nobody else on the machine can.
func TestX5ServerFilesAreOutOfReach(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a folder below /opt, which agents see, can only be made by root")
	}
	dir, err := os.MkdirTemp("/opt", "lineshaft-test-") //nolint:usetesting // it must lie where agents see
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(dir, "l.db")
	n := newNode(t, database, "--isolation", "bubblewrap")
	n.start(t.Context())
	for _, part := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(database + part)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", part, info, err)
		}
	}
	c := n.client()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: fmt.Sprintf("```sh\nfor f in %[1]s/*; do if [ -s $f ]; then echo \"reads $f\"; fi; done; head -c 16 %[1]s/l.db && echo end\n```", dir)})
	if err != nil {
		t.Fatal(err)
	}
	run := waitEnd(t.Context(), t, c, started.RunID)
	for event, err := range c.Runs.AllEvents(t.Context(), started.RunID, client.EventQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == "output" && (strings.Contains(string(event.Data), "reads ") || strings.Contains(string(event.Data), "SQLite")) {
			t.Errorf("the agent saw the server's files: %s", event.Data)
		}
	}
	t.Logf("the run is %s", run.State)
}
