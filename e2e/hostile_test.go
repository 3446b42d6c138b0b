package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// TestH3BodyThatNeverComesIsAnsweredAtOnce sends headers that promise a body and
// then nothing: a sender that may not send one is refused without delay.
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

// TestX5ServerFilesAreOutOfReach puts the database and the settings where agents can see the folder:
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
	database, config, shown := filepath.Join(dir, "l.db"), filepath.Join(dir, "lineshaft.yaml"), filepath.Join(dir, "shown.txt")
	for _, file := range []string{config, shown} { // that anybody may read
		if err := os.WriteFile(file, []byte("metrics_key: "+hidden+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n := newNode(t, database, "--isolation", "bubblewrap", "--config", config)
	n.start(t.Context())
	for _, part := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(database + part)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", part, info, err)
		}
	}
	c := n.client()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: fmt.Sprintf("```sh\nfor f in %[1]s/*; do if [ -s $f ]; then echo \"reads $f\"; fi; done; head -c 16 %[1]s/l.db\n```", dir)})
	if err != nil {
		t.Fatal(err)
	}
	waitEnd(t.Context(), t, c, started.RunID)
	if text := printed(t, c, started.RunID); strings.Count(text, "reads "+dir) != 1 || !strings.Contains(text, "reads "+shown) || strings.Contains(text, "SQLite") {
		t.Errorf("the agent should see %s and nothing else of that folder: %s", shown, text)
	}
}

// TestH3SlowHeadersAreCutOff opens connections that send their headers byte by byte and never
// end them (slow-loris): others are served meanwhile, and each of these is cut off.
func TestH3SlowHeadersAreCutOff(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker")
	n.start(t.Context())
	var slow []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := fmt.Fprint(conn, "POST /api/v1/agent/runs HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	if status := n.call(t, "POST", "/api/v1/agent/runs", `{"prompt": "x"}`); status != http.StatusOK {
		t.Errorf("beside slow connections a run is answered with %d", status)
	}
	deadline := time.Now().Add(patience)
	var cut sync.WaitGroup
	for _, conn := range slow {
		cut.Go(func() {
			drip := time.NewTicker(200 * time.Millisecond)
			defer drip.Stop()
			for time.Now().Before(deadline) {
				<-drip.C
				if _, err := conn.Write([]byte("a")); err != nil {
					return
				}
			}
			t.Error("a connection that never ends its headers is still open")
		})
	}
	cut.Wait()
}

// TestH3ConnectionFloodIsCutOff opens thousands of connections that say nothing or begin a request and never end its
// first line: others are served meanwhile, memory stays within bounds, and each of them is cut off.
func TestH3ConnectionFloodIsCutOff(t *testing.T) {
	t.Parallel()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	many := int(min(4000, files.Max/4)) // other tests open some, too
	if many < 500 {
		t.Skipf("only %d files may be open here: that is not a flood", files.Max)
	}
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker")
	n.start(t.Context())
	before, open := residentBytes(t, n.cmd.Process.Pid), openFiles(t, n.cmd.Process.Pid)
	flood := make([]net.Conn, many)
	for i := range flood {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer func() { _ = conn.Close() }()
		if i%2 == 1 {
			if _, err := fmt.Fprint(conn, "POST /api/v1/agent/ru"); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
		}
		flood[i] = conn
	}
	opened := time.Now()
	for range 20 {
		if status := n.call(t, "POST", "/api/v1/agent/runs", `{"prompt": "x"}`); status != http.StatusOK {
			t.Fatalf("beside %d connections a run is answered with %d", many, status)
		}
	}
	served, grown := time.Since(opened), residentBytes(t, n.cmd.Process.Pid)-before
	if grown/many > 64<<10 {
		t.Errorf("each of %d connections takes %d KiB", many, grown/many>>10)
	}
	var left sync.WaitGroup
	for i, conn := range flood {
		left.Go(func() {
			_ = conn.SetReadDeadline(opened.Add(patience))
			_, err := io.Copy(io.Discard, conn)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("connection %d is still open after %s", i, patience)
			}
		})
	}
	left.Wait()
	t.Logf("20 runs beside %d connections took %s; each connection takes %d KiB; all were cut off within %s",
		many, served.Round(time.Millisecond), grown/many>>10, time.Since(opened).Round(time.Millisecond))
	within(t, patience, "the server closes its side", func() bool { return openFiles(t, n.cmd.Process.Pid) < open+100 })
}

// openFiles counts the files and connections that a process has open.
func openFiles(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestH14FollowersHoldUpNobody opens many streams of one key: others are served, and each
// stream costs little.
func TestH14FollowersHoldUpNobody(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker")
	n.start(t.Context())
	const followers = 500
	before := residentBytes(t, n.cmd.Process.Pid)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for i := range followers {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+"/api/v1/agent/events/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+adminKey)
		req.Header.Set("Accept", "text/event-stream")
		res, err := transport.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %v, %v", i, res, err)
		}
		defer func() { _ = res.Body.Close() }()
	}
	began := time.Now()
	for range 20 {
		if status := n.call(t, "POST", "/api/v1/agent/runs", `{"prompt": "x"}`); status != http.StatusOK {
			t.Fatalf("beside %d followers a run is answered with %d", followers, status)
		}
	}
	grown := residentBytes(t, n.cmd.Process.Pid) - before
	t.Logf("20 runs beside %d followers took %s; each follower takes %d KiB", followers, time.Since(began).Round(time.Millisecond), grown/followers>>10)
	if grown/followers > 512<<10 {
		t.Errorf("each of %d followers takes %d KiB", followers, grown/followers>>10)
	}
}

// residentBytes is how much memory a process has.
func residentBytes(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var total, resident int
	if _, err := fmt.Sscan(string(text), &total, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}
