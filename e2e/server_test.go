package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

const (
	adminKey = "ls_end_to_end_admin_key_0123456789"
	// masterKey is what nodes on one database share.
	masterKey = "bGluZXNoYWZ0LWVuZC10by1lbmQtbWFzdGVyLWtleSE="
)

// binary builds the program once for all tests of this package.
var binary = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("LINESHAFT_BIN"); bin != "" {
		return bin, nil
	}
	dir, err := os.MkdirTemp("", "lineshaft-e2e-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "lineshaft")
	out, err := exec.Command("go", "build", "-o", bin, "../cmd/lineshaft").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
})

// node is a server process that can be killed and started again on the same data.
type node struct {
	t        *testing.T
	args     []string
	url      string
	log      *lockedBuffer
	cmd      *exec.Cmd
	exited   chan struct{}
	extraEnv []string
	bin      string // another build than the usual, if it is set
}

// newNode prepares a server on a free port; start starts it.
func newNode(t *testing.T, database string, flags ...string) *node {
	t.Helper()
	dir := t.TempDir()
	address := freeAddress(t)
	args := append([]string{"serve", "--listen", address, "--data-dir", dir, "--database", database, "--log-format", "json"}, flags...)
	n := &node{t: t, args: args, url: "http://" + address, log: &lockedBuffer{}}
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("log of the server (its end):\n%s", n.log.tail(8000))
		}
	})
	return n
}

// start starts the process and waits until it is ready.
func (n *node) start(ctx context.Context) {
	n.t.Helper()
	n.launch()
	n.waitReady(ctx)
}

// launch starts the process.
func (n *node) launch() {
	n.t.Helper()
	bin, err := binary()
	if err != nil {
		n.t.Fatal(err)
	}
	if n.bin != "" {
		bin = n.bin
	}
	n.cmd = exec.Command(bin, n.args...)
	n.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LINESHAFT_ADMIN_KEY=" + adminKey, "LINESHAFT_MASTER_KEY=" + masterKey}, n.extraEnv...)
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.exited = make(chan struct{})
	go func() {
		defer close(n.exited)
		_ = n.cmd.Wait() // how it ended is seen in its log
	}()
}

// waitReady asks until the process answers; the process is outside, so there is
// nothing to wait on.
func (n *node) waitReady(ctx context.Context) {
	n.t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/readyz", nil)
		if err != nil {
			n.t.Fatal(err)
		}
		if res, err := browser().Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-n.exited:
			n.t.Fatalf("the server ended:\n%s", n.log.tail(4000))
		case <-time.After(10 * time.Millisecond):
		}
	}
	n.t.Fatal("the server did not become ready")
}

// kill ends the process as a power cut would.
func (n *node) kill() {
	if n.cmd == nil || n.cmd.Process == nil {
		return
	}
	_ = n.cmd.Process.Kill() // it may have ended already
	<-n.exited
}

// stop asks the process to end and waits for it.
func (n *node) stop() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		n.t.Fatal(err)
	}
	select {
	case <-n.exited:
	case <-time.After(patience):
		n.t.Fatalf("the server did not stop within %s", patience)
	}
}

// client returns a client that never retries: each call has one answer.
func (n *node) client() *client.Client {
	n.t.Helper()
	c, err := client.New(n.url, adminKey, client.WithMaxRetries(0), client.WithTimeout(patience))
	if err != nil {
		n.t.Fatal(err)
	}
	return c
}

// waitState asks until a run is in a terminal state.
func waitEnd(ctx context.Context, t *testing.T, c *client.Client, runID string) *client.Run {
	t.Helper()
	run, err := c.Runs.Wait(ctx, runID, client.WaitOptions{})
	if err != nil {
		t.Fatalf("wait for run %s: %v", runID, err)
	}
	return run
}

// browser is an HTTP client that keeps nothing between calls.
func browser() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }

// lockedBuffer is a log that may be read while a process writes it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends p.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) tail(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.buf.Bytes()
	return string(text[max(0, len(text)-n):])
}

// soak says whether the long form of a test was asked for.
func soak() bool { return os.Getenv("LINESHAFT_SOAK") != "" }

// nextPort gives each port once: that of a server which is down for a moment, or comes up
// later, is no other test's. Those of package cli begin above.
var nextPort = sync.OnceValue(func() func() int {
	var given atomic.Int64
	given.Store(rand.Int64N(10_000))
	return func() int { return 12_000 + int(given.Add(1)%10_000) }
})

// freeAddress is an address of this machine that nobody listens at. It is below the ports
// that the system gives to connections: one of those could take it before it is listened at.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", nextPort()()))
		if err == nil {
			defer func() { _ = l.Close() }()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}
