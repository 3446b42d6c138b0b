package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The network of a test: a namespace with a bridge in it, and a namespace for each
// worker with a cable to that bridge. All of its addresses are inside; the server
// listens on loopback, and a relay brings to it what arrives at the bridge. The names
// have the number of the test's process, so that what a killed test left can be recognised
// and removed.
type testNet struct {
	hub, address string
	prefix       string
	cables       int
	listener     net.Listener
}

// newTestNet makes a bridge without workers. Where namespaces cannot be made a full
// test fails: it would show nothing.
func newTestNet(t *testing.T) *testNet {
	t.Helper()
	if os.Geteuid() != 0 {
		reason := "network namespaces are made by root: a worker cannot be cut off"
		if os.Getenv("LINESHAFT_TEST_FULL") != "" {
			t.Fatal(reason + "; run the full tests as root")
		}
		t.Skip(reason)
	}
	removeLeftNets(t)
	n := &testNet{address: "10.213.0.1"}
	for number := 1; ; number++ { // the name of the hub decides: tests may run side by side
		n.prefix = fmt.Sprintf("lsf%dx%d", os.Getpid(), number)
		n.hub = n.prefix + "h"
		if exec.Command("ip", "netns", "add", n.hub).Run() == nil {
			break
		}
		if number == 50 {
			t.Fatalf("no network namespace can be made; try: ip netns add %s", n.hub)
		}
	}
	t.Cleanup(func() { removeNamespace(t, n.hub) })
	// Without an address of its own a bridge takes one of its cables', another with each
	// new cable, and anyone who knows the old one talks to nobody for half a minute.
	runIP(t, "-n", n.hub, "link", "add", "bridge", "address", "02:6c:73:66:00:01", "type", "bridge")
	runIP(t, "-n", n.hub, "addr", "add", n.address+"/24", "dev", "bridge")
	runIP(t, "-n", n.hub, "link", "set", "bridge", "up")
	listener, err := listenInside(t.Context(), n.hub, n.address+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	n.listener = listener
	return n
}

// listenInside opens a listener in a network namespace. The thread that was in there
// is not used again.
func listenInside(ctx context.Context, namespace, address string) (net.Listener, error) {
	type made struct {
		listener net.Listener
		err      error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		f, err := os.Open("/run/netns/" + namespace)
		if err == nil {
			err = errors.Join(unix.Setns(int(f.Fd()), unix.CLONE_NEWNET), f.Close())
		}
		if err != nil {
			done <- made{err: fmt.Errorf("enter namespace %s: %w", namespace, err)}
			return
		}
		var config net.ListenConfig
		listener, err := config.Listen(ctx, "tcp", address)
		done <- made{listener, err}
	}()
	m := <-done
	return m.listener, m.err
}

// url is where workers find the server.
func (n *testNet) url() string { return "http://" + n.listener.Addr().String() }

// relay passes what arrives on to the server until the test ends. While the server is
// unreachable, connections end, as a load balancer would end them.
func (n *testNet) relay(server string) {
	for {
		from, err := n.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			to, err := net.Dial("tcp", server)
			if err != nil {
				_ = from.Close()
				return
			}
			both := func(dst, src net.Conn) {
				_, _ = io.Copy(dst, src) // its end is the end of the connection
				_ = dst.Close()
				_ = src.Close()
			}
			go both(to, from)
			both(from, to)
		}()
	}
}

// cable is one worker's way to the server.
type cable struct{ hub, name, link string }

// cable makes a namespace that reaches the server and nothing else.
func (n *testNet) cable(t *testing.T) *cable {
	t.Helper()
	n.cables++
	c := &cable{hub: n.hub, name: fmt.Sprintf("%sn%d", n.prefix, n.cables), link: fmt.Sprintf("v%d", n.cables)}
	runIP(t, "netns", "add", c.name)
	t.Cleanup(func() { removeNamespace(t, c.name) })
	runIP(t, "-n", n.hub, "link", "add", c.link, "type", "veth", "peer", "name", "up0", "netns", c.name)
	runIP(t, "-n", n.hub, "link", "set", c.link, "master", "bridge", "up")
	runIP(t, "-n", c.name, "link", "set", "lo", "up")
	runIP(t, "-n", c.name, "link", "set", "up0", "up")
	runIP(t, "-n", c.name, "addr", "add", strings.TrimSuffix(n.address, "1")+fmt.Sprint(n.cables+1)+"/24", "dev", "up0")
	return c
}

// inside is what starts a program in the namespace; it becomes that program.
func (c *cable) inside() []string { return []string{"ip", "netns", "exec", c.name} }

// cut takes the cable out: what is sent then is lost without a word.
func (c *cable) cut(t *testing.T) {
	t.Helper()
	runIP(t, "-n", c.hub, "link", "set", c.link, "down")
}

func (c *cable) heal(t *testing.T) {
	t.Helper()
	runIP(t, "-n", c.hub, "link", "set", c.link, "up")
}

func runIP(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func removeNamespace(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
		t.Logf("remove namespace %s: %v: %s", name, err, out)
	}
}

// removeLeftNets takes away the nets of test processes that were killed.
func removeLeftNets(t *testing.T) {
	t.Helper()
	left := func(name string) bool {
		var pid, number int
		if n, _ := fmt.Sscanf(name, "lsf%dx%d", &pid, &number); n != 2 {
			return false
		}
		_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		return err != nil
	}
	namespaces, _ := filepath.Glob("/run/netns/lsf*") // the pattern is good
	for _, path := range namespaces {
		if left(filepath.Base(path)) {
			removeNamespace(t, filepath.Base(path))
		}
	}
}
