package clients_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/tests/clients/cutproxy"
)

const adminKey = "ls_clients_admin_key_0123456789abcdef"

// binary builds the program once for all tests of this package.
var binary = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("LINESHAFT_BIN"); bin != "" {
		return bin, nil
	}
	dir, err := os.MkdirTemp("", "lineshaft-clients-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "lineshaft")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/lineshaft").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
})

// serve starts a server and returns its address; the test stops it.
func serve(t *testing.T, flags ...string) string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir()}, flags...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LINESHAFT_ADMIN_KEY=" + adminKey}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	var log []string
	for lines.Scan() {
		log = append(log, lines.Text())
		if _, address, ok := strings.Cut(lines.Text(), " is ready at "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return address
		}
	}
	t.Fatalf("the server did not get ready:\n%s", strings.Join(log, "\n"))
	return ""
}

// through starts a proxy before a server.
func through(t *testing.T, address string) *cutproxy.Proxy {
	t.Helper()
	proxy, err := cutproxy.New(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy
}

func connect(t *testing.T, address string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(address, adminKey, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}
