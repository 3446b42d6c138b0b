//go:build linux

package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

func TestX5WorkspaceIsWritableAndNothingElse(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, options())
	spec := shell(t, `
pwd
echo mine > file && mkdir dir && echo workspace ok
echo x > /tmp/x && echo x > /var/tmp/y && cat /tmp/y > /dev/null && echo tmp ok
echo x > /dev/shm/x && echo shm ok
for p in / /usr /usr/local /etc /etc/passwd /opt /run /var /dev /home /root /proc/sys/kernel/hostname; do
  if [ -d $p ]; then p=$p/lineshaft-test; fi
  (echo x > $p) 2>/dev/null && echo "wrote $p"
done
true`)
	if err := os.WriteFile(filepath.Join(spec.Dir, "given"), []byte("from the server"), 0o600); err != nil {
		t.Fatal(err)
	}
	exit, out := run(t, s, spec)
	if want := "/workspace\nworkspace ok\ntmp ok\nshm ok\n"; out != want || exit.Code != 0 {
		t.Errorf("got %+v\n%s\nwant\n%s", exit, out, want)
	}
	if text, err := os.ReadFile(filepath.Join(spec.Dir, "file")); string(text) != "mine\n" {
		t.Errorf("on the host: %q, %v", text, err)
	}
	if _, out := run(t, s, sandbox.Spec{Dir: spec.Dir, Command: []string{"cat", "given"}, Env: basicEnv()}); out != "from the server" {
		t.Errorf("a file of the server in the workspace: %q", out)
	}
}

func TestX5HostIsNotVisible(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, options())
	data, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{data, other} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("server's"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/root"
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	hidden := []string{
		"/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/sudoers", "/etc/ssl/private", "/root", home, "/home", "/var/lib", "/var/log",
		"/boot", "/srv", "/mnt", "/sys", "/run/docker.sock", data, filepath.Join(other, "secret"), wd,
	}
	_, out := run(t, s, shell(t, `for p in `+strings.Join(hidden, " ")+`; do if [ -e $p ]; then echo "sees $p"; fi; done; ls -A /tmp; cut -d: -f1 /etc/passwd`))
	if out != "root\nagent\nnobody\n" {
		t.Errorf("got %s", out)
	}
}

func TestX5OnlyOwnProcessesAreVisible(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, options())
	_, out := run(t, s, shell(t, `for d in /proc/[0-9]*; do tr '\0' ' ' < $d/cmdline; echo; done; echo up`))
	if strings.Contains(out, os.Args[0]) || strings.Contains(out, "supervise") || strings.Count(out, "\n") > 6 || !strings.Contains(out, "up") {
		t.Errorf("sees\n%s", out)
	}
	if strings.Contains(out, t.TempDir()[:10]) || strings.Contains(out, "--bind") {
		t.Errorf("paths of the host are visible in\n%s", out)
	}
}

func TestX5AgentIsAnotherUser(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, options())
	spec, out := shell(t, "id -u; id -un; id -G; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status; hostname; echo up; exec sleep 1000"), newLines()
	spec.Slot = 3
	spec.Stdout, spec.Stderr = out, out
	p := begin(t, s, spec)
	out.await(t, "up")
	if want := "61003\nagent\n61003\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nlineshaft\nup\n"; out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
	status, err := os.ReadFile("/proc/" + itoa(p.PID()) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	want := os.Getuid() // a server that is not root cannot become another
	if want == 0 {
		want = 61003
	}
	if !strings.Contains(string(status), "\nUid:\t"+strconv.Itoa(want)+"\t") {
		t.Errorf("on the host it is not user %d:\n%s", want, status)
	}
	p.Kill(0)
	wait(t, p)
}

// The agent's descriptors are its three streams.
func TestX5NoDescriptorLeaks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		spec := shell(t, "")
		spec.Command = []string{"ls", "/proc/self/fd"}
		if _, out := run(t, s, spec); out != "0\n1\n2\n3\n" { // the last is the directory that ls reads
			t.Errorf("got %q", out)
		}
	})
}

func TestX5NetworkNone(t *testing.T) {
	t.Parallel()
	s := bubblewrap(t, options())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	script := `tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; bash -c ': < /dev/tcp/127.0.0.1/` + port + `' 2>/dev/null && echo connected; grep -c localhost /etc/hosts; true`

	spec := shell(t, script)
	spec.Network = sandbox.NetworkNone
	if _, out := run(t, s, spec); out != "lo\n2\n" {
		t.Errorf("network none: got %q", out)
	}
	if _, out := run(t, s, shell(t, script)); !strings.Contains(out, "connected\n") {
		t.Errorf("network full: got %q", out)
	}
}

func TestX5ReadOnlyAndHiddenPaths(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	tools, data := filepath.Join(base, "tools"), filepath.Join(base, "tools", "data")
	if err := os.MkdirAll(filepath.Join(data, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{tools + "/tool": "#!/bin/sh\necho tool\n", data + "/secret": "s", data + "/bin/helper": "#!/bin/sh\necho helper\n"} {
		program(t, path, text)
	}
	o := options()
	o.ReadOnly = []string{tools, filepath.Join(data, "bin"), "/no/such/path"}
	o.Hide = []string{data, base, "/no/such/path"}
	s := bubblewrap(t, o)
	spec := shell(t, "tool; helper; ls "+data+"; (echo x > "+tools+"/x) 2>/dev/null && echo wrote; (echo x > "+data+"/x) 2>/dev/null && echo wrote; true")
	spec.Env = []string{"PATH=/usr/bin:/bin:" + tools + ":" + data + "/bin"}
	if _, out := run(t, s, spec); out != "tool\nhelper\nbin\n" {
		t.Errorf("got %q", out)
	}
	spec.Command = []string{data + "/secret"}
	if _, err := s.Start(t.Context(), spec); err == nil {
		t.Error("a hidden file was started")
	}
}

// Links of the workspace are given to the agent, what they point to is not.
func TestX5OwnerChangeDoesNotFollowLinks(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only a server that is root changes owners")
	}
	s := bubblewrap(t, options())
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := shell(t, "stat -c '%u %N' link sub/file; cat link")
	if err := os.MkdirAll(filepath.Join(spec.Dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(spec.Dir, "sub", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(spec.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(spec.Dir, "dirlink")); err != nil {
		t.Fatal(err)
	}
	_, out := run(t, s, spec)
	if !strings.Contains(out, "61000 'link'") || !strings.Contains(out, "61000 'sub/file'") || strings.Contains(out, "mine") {
		t.Errorf("got %s", out)
	}
	info, err := os.Stat(outside)
	if err != nil {
		t.Fatal(err)
	}
	if owner := ownerOf(info); owner != 0 {
		t.Errorf("the file outside belongs to %d now", owner)
	}
}

func TestX5SandboxThatCannotBeSetUpIsAStartError(t *testing.T) {
	t.Parallel()
	fake := filepath.Join(t.TempDir(), "bwrap")
	program(t, fake, "#!/bin/sh\n[ \"$1\" = --help ] && exit 0\necho 'bwrap: no namespaces for you' >&2; exit 1\n")
	for _, dir := range []string{filepath.Dir(fake), filepath.Dir(filepath.Dir(fake))} {
		if err := os.Chmod(dir, 0o755); err != nil { // the other user has to get to it
			t.Fatal(err)
		}
	}
	o := options()
	o.Bubblewrap = fake
	err := sandbox.NewBubblewrap(o).Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no namespaces for you") {
		t.Errorf("got %v", err)
	}
}

func TestX5GuestPaths(t *testing.T) {
	t.Parallel()
	wrapped, plain := sandbox.NewBubblewrap(options()), sandbox.NewNone(options())
	for _, test := range []struct{ path, wrapped, plain string }{
		{"/ws/r1/a/b", "/workspace/a/b", "/ws/r1/a/b"},
		{"/ws/r1", "/workspace", "/ws/r1"},
		{"/ws/r1/", "/workspace", "/ws/r1"},
		{"a/b", "/workspace/a/b", "/ws/r1/a/b"},
		{".", "/workspace", "/ws/r1"},
		{"/ws/r10/a", "/ws/r10/a", "/ws/r10/a"},
		{"/ws/r1/..b", "/workspace/..b", "/ws/r1/..b"},
	} {
		if got := wrapped.Guest("/ws/r1", test.path); got != test.wrapped {
			t.Errorf("bubblewrap %s: got %s", test.path, got)
		}
		if got := plain.Guest("/ws/r1", test.path); got != test.plain {
			t.Errorf("none %s: got %s", test.path, got)
		}
	}
}
