package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// cutter is a TCP proxy whose connections can be cut, to take a database away.
type cutter struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	down     bool
	conns    map[net.Conn]struct{}
}

func newCutter(t *testing.T, target string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: l, target: target, conns: map[net.Conn]struct{}{}}
	t.Cleanup(func() { c.set(true); _ = l.Close() })
	go c.accept()
	return c
}

func (c *cutter) accept() {
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", c.target)
		c.mu.Lock()
		if err != nil || c.down {
			c.mu.Unlock()
			_ = in.Close()
			continue
		}
		c.conns[in], c.conns[out] = struct{}{}, struct{}{}
		c.mu.Unlock()
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
	}
}

// set takes the database away or gives it back.
func (c *cutter) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
	if down {
		for conn := range c.conns {
			_ = conn.Close()
			delete(c.conns, conn)
		}
	}
}

// TestD2DatabaseAway takes PostgreSQL away: every route says 503, never 404 and
// never 200, and the server recovers on its own.
func TestD2DatabaseAway(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := newCutter(t, u.Host)
	u.Host = proxy.listener.Addr().String()
	n := newNode(t, u.String())
	n.start(t.Context())
	c := n.client()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho before\n```"})
	if err != nil {
		t.Fatal(err)
	}
	waitEnd(t.Context(), t, c, started.RunID)
	proxy.set(true)
	for _, call := range []struct{ method, path, body string }{
		{"POST", "/agent/runs", `{"prompt": "x"}`},
		{"GET", "/agent/runs", ""},
		{"GET", "/agent/runs/" + started.RunID, ""},
		{"GET", "/agent/runs/" + started.RunID + "/events", ""},
		{"POST", "/agent/runs/" + started.RunID + "/cancel", ""},
		{"POST", "/agent/runs/" + started.RunID + "/followups", `{"message": "x"}`},
		{"GET", "/apikeys", ""},
		{"GET", "/audit", ""},
	} {
		if status := n.call(t, call.method, "/api/v1"+call.path, call.body); status != http.StatusServiceUnavailable {
			t.Errorf("%s %s without a database: %d, want 503", call.method, call.path, status)
		}
	}
	if status := n.call(t, "GET", "/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz without a database: %d", status)
	}
	if status := n.call(t, "GET", "/healthz", ""); status != http.StatusOK {
		t.Errorf("/healthz without a database: %d", status)
	}
	proxy.set(false)
	eventually(t, "the server is ready again", func() bool { return n.call(t, "GET", "/readyz", "") == http.StatusOK })
	after, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho after\n```"})
	if err != nil {
		t.Fatal(err)
	}
	if run := waitEnd(t.Context(), t, c, after.RunID); run.State != "SUCCEEDED" {
		t.Errorf("after the outage a run is %s", run.State)
	}
}

func (n *node) call(t *testing.T, method, path, body string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, n.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	res, err := browser().Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// TestD2DiskFull fills the disk under SQLite: creates are refused with 503, what
// was acknowledged stays, and with space the server recovers on its own.
func TestD2DiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a small file system to fill can only be mounted by root")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=12m", "lineshaft-test", dir).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	n := newNode(t, filepath.Join(dir, "l.db"), "--no-worker")
	n.start(t.Context())
	c := n.client()
	prompt := strings.Repeat("fill the disk ", 20_000)
	acknowledged, refused := []string{}, 0
	for i := 0; i < 400 && refused < 20; i++ {
		started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: prompt})
		if err != nil {
			refused++
			if status := n.call(t, "POST", "/api/v1/agent/runs", `{"prompt": "`+prompt+`"}`); status != http.StatusServiceUnavailable && status != http.StatusOK {
				t.Fatalf("on a full disk: %d, want 503", status)
			}
			continue
		}
		acknowledged = append(acknowledged, started.RunID)
	}
	if refused == 0 || len(acknowledged) == 0 {
		t.Fatalf("%d acknowledged, %d refused: the disk did not fill", len(acknowledged), refused)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,size=64m", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	eventually(t, "creates work again", func() bool { return n.call(t, "POST", "/api/v1/agent/runs", `{"prompt": "x"}`) == http.StatusOK })
	n.kill()
	n.start(t.Context())
	for _, id := range acknowledged {
		if _, err := n.client().Runs.Get(t.Context(), id); err != nil {
			t.Fatalf("an acknowledged run is gone: %v", err)
		}
	}
	t.Logf("%d acknowledged before and between %d refusals", len(acknowledged), refused)
}

// TestD1SecondServerRefuses starts a second server on the same SQLite file.
func TestD1SecondServerRefuses(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "l.db")
	n := newNode(t, database)
	n.start(t.Context())
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), bin, "serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--database", database).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another lineshaft server is running on this database") {
		t.Fatalf("second server: %v\n%s", err, out)
	}
}
