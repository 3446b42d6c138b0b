//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const forwardPort = 4141

// talk sends a text of the given size to a port, closes its half, and says what came back.
func talk(port, size string) int {
	n, err := strconv.Atoi(size)
	if err != nil {
		return 2
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(context.Background(), "tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	defer func() { _ = conn.Close() }()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return 2
	}
	if _, err := tcp.Write(bytes.Repeat([]byte("x"), n)); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	if err := tcp.CloseWrite(); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	answer, err := io.ReadAll(tcp)
	fmt.Fprintf(os.Stdout, "%s %v\n", answer, err)
	return 0
}

// withProgram are options with the test binary as the program.
func withProgram(t *testing.T) sandbox.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Program = self
	return o
}

// counter is a service on a unix socket: it reads to the end and only then answers
// with the number of bytes.
func counter(t *testing.T) (socket string) {
	t.Helper()
	// The path of a socket has at most 107 bytes; the folder is closed to others.
	short, err := os.MkdirTemp("", "fwd") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	socket = filepath.Join(short, "s")
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				n, err := io.Copy(io.Discard, conn)
				_, _ = fmt.Fprintf(conn, "got %d %v", n, err)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return socket
}

// forwarded is a spec with a forward to a counter.
func forwarded(t *testing.T, script string) sandbox.Spec {
	t.Helper()
	spec := shell(t, script)
	spec.Env = []string{"PATH=/usr/bin:/bin:/run/lineshaft/bin", "HOME=/tmp", "MINE=1"}
	spec.Network = sandbox.NetworkNone
	spec.Forward = sandbox.Forward{Socket: counter(t), Port: forwardPort}
	return spec
}

// The service is reached without any network, in both directions to their ends.
func TestX12AgentWithoutNetworkReachesASocket(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, withProgram(t))
	spec := forwarded(t, `
lineshaft talk 4141 5
lineshaft talk 4141 3000000
for i in 1 2 3 4 5 6 7 8; do lineshaft talk 4141 $i & done; wait
tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '
exit 7`)
	spec.Network = sandbox.NetworkAllow // the proxy behind the socket is not the sandbox's affair
	exit, out := run(t, s, spec)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 11 {
		t.Fatalf("got %+v %q", exit, out)
	}
	slices.Sort(lines[2:10])
	want := "got 5 <nil> <nil>\ngot 3000000 <nil> <nil>\n"
	for i := range 8 {
		want += fmt.Sprintf("got %d <nil> <nil>\n", i+1)
	}
	if got := strings.Join(lines, "\n"); got != want+"lo" || exit.Code != 7 || exit.Reason != "" {
		t.Errorf("got %+v\n%s", exit, got)
	}
}

// The agent is what it would be without a forward: its place among the processes,
// its descriptors, environment, signals and children.
func TestX5ForwardLeavesTheAgentAsItIs(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, withProgram(t))
	script := `echo $$ $PPID "$0" "$@"
env | sort
ls /proc/self/fd | tr '\n' ' '; ulimit -n
grep -E '^(Sig(Ign|Blk)|CapEff|NoNewPrivs|PPid):' /proc/self/status
for d in /proc/[0-9]*; do set -- $(cat $d/stat 2>/dev/null); [ "$4" = $$ ] && [ "$2" != "(cat)" ] && echo child $2; done
trap 'echo asked; exit 9' TERM
echo up
while :; do sleep 0.01; done`
	var outs []string
	for _, with := range []bool{false, true} {
		spec, out := forwarded(t, script), newLines()
		if !with {
			spec.Forward = sandbox.Forward{}
		}
		spec.Stdout, spec.Stderr = out, out
		p := begin(t, s, spec)
		out.await(t, "up\n")
		p.Kill(10 * time.Second)
		if exit := wait(t, p); exit.Code != 9 {
			t.Errorf("forward %v: %+v", with, exit)
		}
		said, _, _ := strings.Cut(out.String(), "up\n") // then its shell may say something of signals
		outs = append(outs, said)
	}
	if outs[0] != outs[1] {
		t.Errorf("without a forward:\n%s\nwith one:\n%s", outs[0], outs[1])
	}
}

// The forwarding process has none of the agent's streams and variables, and ends
// with the agent.
func TestX1ForwardHoldsNothingOfTheAgentAndEndsWithIt(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, withProgram(t))
	spec, out := forwarded(t, `echo up; head -c 1 > got; exit 3`), newLines()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	spec.Stdin, spec.Stdout = inR, out
	p := begin(t, s, spec)
	_ = inR.Close()
	out.await(t, "up")
	found := forwarders(p)
	if len(found) != 1 {
		t.Fatalf("%d forwarding processes", len(found))
	}
	for _, fd := range []string{"0", "1", "2"} {
		if to, err := os.Readlink("/proc/" + found[0] + "/fd/" + fd); to != "/dev/null" {
			t.Errorf("descriptor %s is %q, %v", fd, to, err)
		}
	}
	// Once it serves it has a poller of its own, which may use pipes: none of them is the agent's.
	streams := pipes("/proc/" + strconv.Itoa(p.PID()) + "/fd")
	for _, pipe := range pipes("/proc/" + found[0] + "/fd") {
		if slices.Contains(streams, pipe) {
			t.Errorf("it holds %s", pipe)
		}
	}
	if env, err := os.ReadFile("/proc/" + found[0] + "/environ"); string(env) != "GOMAXPROCS=1\x00" {
		t.Errorf("environment %q, %v", env, err)
	}
	if _, err := inW.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	_ = inW.Close()
	if exit := wait(t, p); exit.Code != 3 || exit.Reason != "" {
		t.Errorf("got %+v", exit)
	}
	if _, err := os.Stat("/proc/" + found[0]); err == nil && len(forwarders(p)) > 0 {
		t.Error("it is left")
	}
}

// pipes lists what descriptors that are pipes are called.
func pipes(dir string) []string {
	var out []string
	links, _ := filepath.Glob(dir + "/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "pipe:") {
			out = append(out, to)
		}
	}
	return out
}

// forwarders lists the forwarding processes below the agent's supervisor.
func forwarders(p *sandbox.Process) []string {
	var out []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && strings.HasPrefix(string(args), "lineshaft\x00forward\x00serve\x00") && below(filepath.Base(dir), p.PID()) {
			out = append(out, filepath.Base(dir))
		}
	}
	return out
}

// below says whether a process descends from another.
func below(pid string, ancestor int) bool {
	for range 10 {
		status, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(status), "\nPPid:\t")
		if pid, _, _ = strings.Cut(rest, "\n"); pid == itoa(ancestor) {
			return true
		}
	}
	return false
}

func TestX12ForwardIsRefusedWhereItCannotBe(t *testing.T) {
	t.Parallel()
	wrapped := bubblewrap(t, withProgram(t))
	for _, c := range []struct {
		name   string
		s      sandbox.Sandbox
		change func(*sandbox.Spec)
		want   error
		says   string
	}{
		{"no isolation", sandbox.NewNone(withProgram(t)), func(s *sandbox.Spec) { s.Network = sandbox.NetworkFull }, sandbox.ErrUnsupported, "network of its own"},
		{"the machine's network", wrapped, func(s *sandbox.Spec) { s.Network = sandbox.NetworkFull }, sandbox.ErrUnsupported, "network of its own"},
		{"no program", bubblewrap(t, options()), func(*sandbox.Spec) {}, sandbox.ErrUnsupported, "Options.Program"},
		{"no socket", wrapped, func(s *sandbox.Spec) { s.Forward.Socket = "/no/such/socket" }, os.ErrNotExist, "socket"},
		{"relative socket", wrapped, func(s *sandbox.Spec) { s.Forward.Socket = "x" }, nil, "absolute"},
		{"port of root", wrapped, func(s *sandbox.Spec) { s.Forward.Port = 80 }, nil, "between 1024"},
		{"no such command", wrapped, func(s *sandbox.Spec) { s.Command = []string{"no-such-agent"} }, sandbox.ErrNotFound, "no-such-agent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spec := forwarded(t, "exit 0")
			c.change(&spec)
			_, err := c.s.Start(t.Context(), spec)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A file that cannot be executed is only found by executing it.
func TestX12ForwardSaysWhyTheAgentDoesNotStart(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, withProgram(t))
	spec := forwarded(t, "")
	if err := os.WriteFile(filepath.Join(spec.Dir, "agent"), []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec.Command = []string{"./agent"}
	exit, out := run(t, s, spec)
	if exit.Code != 126 || !strings.Contains(out, "execute /workspace/agent: no such file") {
		t.Errorf("got %+v, %q", exit, out)
	}
}

func TestX12ForwardByHandIsRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"4141"}, {"x", "/s", "--", "sh"}, {"4141", "/s", "sh", "-c"}} {
		if code := sandbox.RunForward(t.Context(), args); code != 2 {
			t.Errorf("%q: code %d", args, code)
		}
	}
}

// The threads of the forward are not taken from the agent's processes.
func TestX5ForwardDoesNotCountAsTheAgents(t *testing.T) {
	t.Parallel()
	bubblewrap(t, withProgram(t))
	for _, groups := range []bool{true, false} {
		var s sandbox.Sandbox = sandbox.NewBubblewrap(withProgram(t))
		if !groups {
			s = sandbox.WithoutGroups(s)
		}
		spec, out := forwarded(t, `lineshaft talk 4141 5; exec lineshaft forker 200 `+mark()), newLines()
		spec.Stdout, spec.Stderr = out, out
		spec.Limits.Processes = 40
		spec.Slot = 17 // without groups the kernel counts all processes of the slot's user
		p := begin(t, s, spec)
		out.await(t, "started")
		var size, started int
		if _, err := fmt.Sscanf(out.String(), "got %d <nil> <nil>\nstarted %d", &size, &started); err != nil || size != 5 || started < 20 || started > 45 {
			t.Errorf("groups %v: %q, %v", groups, out, err)
		}
		p.Kill(0)
		wait(t, p)
	}
}

// Agents find this program as lineshaft; without isolation through a link.
func TestX7AgentsFindThisProgram(t *testing.T) {
	t.Parallel()
	o := withProgram(t)
	o.Links = filepath.Join(t.TempDir(), "links")
	for _, s := range []sandbox.Sandbox{bubblewrap(t, o), sandbox.NewNone(o)} {
		for range 2 {
			spec := shell(t, "lineshaft forward; echo $?; ls -A "+s.ProgramDir())
			spec.Env = []string{"PATH=/usr/bin:/bin:" + s.ProgramDir()}
			if _, out := run(t, s, spec); out != "lineshaft forward is started by a worker, not by hand\n2\nlineshaft\n" {
				t.Errorf("%s: got %q", s.Name(), out)
			}
		}
	}
	for _, s := range []sandbox.Sandbox{sandbox.NewBubblewrap(options()), sandbox.NewNone(options())} {
		if s.ProgramDir() != "" {
			t.Errorf("%s without a program: %s", s.Name(), s.ProgramDir())
		}
	}
}
