//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// testImage is made of programs of this machine.
const testImage = "localhost/lineshaft-sandbox-test:1"

// podman is a real one with a store of its own, for all tests of this package.
type podman struct {
	dir string
	err error
}

// tool is a program for Options.Container: podman with settings that work inside
// another container, where nobody may raise limits or mix control groups.
func (p *podman) tool() string { return filepath.Join(p.dir, "podman") }

var installed = sync.OnceValue(func() *podman {
	dir, err := os.MkdirTemp("", "lineshaft-podman")
	if err != nil {
		return &podman{err: err}
	}
	p := &podman{dir: dir}
	p.err = p.install()
	return p
})

func (p *podman) install() error {
	real, err := exec.LookPath("podman")
	if err != nil {
		return err
	}
	conf := "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n"
	if runc, err := exec.LookPath("runc"); err == nil {
		conf += "runtime = \"" + runc + "\"\n"
	}
	script := fmt.Sprintf("#!/bin/sh\nexport CONTAINERS_CONF=%[1]s/conf\n"+
		"if [ \"$1\" = run ]; then shift; set -- run --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \"$@\"; fi\nexec %[2]s --root %[1]s/root --runroot %[1]s/run --storage-driver vfs \"$@\"\n", p.dir, real)
	for name, text := range map[string]string{"conf": conf, "podman": script} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	build := `set -e; r=` + p.dir + `/image; mkdir -p $r/bin $r/tmp $r/workspace $r/run/lineshaft/bin $r/proc $r/dev $r/sys $r/etc $r/data; chmod 1777 $r/tmp $r/data
for b in sh sleep cat ls env id grep setsid head tail cut tr; do cp "$(readlink -f "$(command -v $b)")" $r/bin/$b; done
for f in $r/bin/* ` + self + `; do ldd $f 2>/dev/null | grep -o '/[^ ]*' | while read l; do mkdir -p $r"$(dirname $l)"; cp -nL $l $r$l; done; done
tar -C $r -c . | ` + p.tool() + ` import - ` + testImage
	out, err := exec.CommandContext(context.Background(), "/bin/sh", "-c", build).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make image: %w: %s", err, out)
	}
	return nil
}

// removePodman is called at the end of the tests.
func removePodman() {
	if p := installed(); p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// container is a sandbox of real containers. It may be missing on a laptop.
func container(t *testing.T, change func(*sandbox.Options)) *sandbox.Container {
	t.Helper()
	p := installed()
	o := withProgram(t)
	o.Container, o.Image, o.State = p.tool(), testImage, t.TempDir()
	if change != nil {
		change(&o)
	}
	s := sandbox.NewContainer(o)
	err := p.err
	if err == nil {
		err = s.Check(t.Context())
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("podman must work in CI: %v", err)
		}
		t.Skipf("podman does not run containers on this machine: %v", err)
	}
	return s
}

func contained(t *testing.T, script string) sandbox.Spec {
	t.Helper()
	spec := shell(t, script)
	// The secret has a capital letter: names of containers are random, and have none.
	spec.Env = []string{"PATH=/bin:/run/lineshaft/bin", "HOME=/workspace", "SECRET=Two\nlines", "PLAIN=a  'b' \"c\" #d"}
	spec.Network = sandbox.NetworkNone
	return spec
}

func TestX5ContainerIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	s := container(t, nil)
	spec := contained(t, `
pwd; id -u; echo "$PLAIN"; echo "$SECRET"; env | cut -d= -f1 | tr '\n' ' '; echo
echo mine > file && echo workspace ok; echo x > /tmp/x && echo tmp ok
(echo x > /bin/x) 2>/dev/null && echo wrote; (echo x > /run/lineshaft/bin/lineshaft) 2>/dev/null && echo wrote
grep -E '^(CapEff|NoNewPrivs):' /proc/self/status
tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '
cat
exit 5`)
	spec.Slot, spec.Stdin = 2, strings.NewReader("from outside\n")
	exit, out := run(t, s, spec)
	uid := "61002"
	if os.Geteuid() != 0 {
		uid = itoa(os.Geteuid())
	}
	for _, want := range []string{
		"/workspace\n" + uid + "\na  'b' \"c\" #d\nTwo\nlines\n", "workspace ok\ntmp ok\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nlo\nfrom outside\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if exit.Code != 5 || exit.Reason != "" || strings.Contains(out, "wrote") || strings.Contains(out, "DOCKER") || strings.Contains(out, "CONTAINERS_CONF") {
		t.Errorf("got %+v\n%s", exit, out)
	}
	if text, err := os.ReadFile(filepath.Join(spec.Dir, "file")); string(text) != "mine\n" {
		t.Errorf("on the host: %q, %v", text, err)
	}
}

// A container is another's child, so the end of the supervisor's tree is not enough.
func TestX1ContainerEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		do   func(t *testing.T, p *sandbox.Process)
		want string
	}{
		"kill":       {func(_ *testing.T, p *sandbox.Process) { p.Kill(0) }, sandbox.ReasonKilled},
		"grace":      {func(_ *testing.T, p *sandbox.Process) { p.Kill(50 * time.Millisecond) }, sandbox.ReasonKilled},
		"starvation": {func(*testing.T, *sandbox.Process) {}, sandbox.ReasonStarved},
		"its program is killed": {func(t *testing.T, p *sandbox.Process) {
			t.Helper()
			if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var state string
			s := container(t, func(o *sandbox.Options) { state = o.State })
			m := mark()
			spec, out := contained(t, stubborn(m)+"while :; do sleep "+m+"; done"), newLines()
			spec.Stdout, spec.Stderr = out, out
			if name == "starvation" {
				spec.FeedWithin = 15 * time.Second // a container takes seconds to be up
			}
			p := begin(t, s, spec)
			out.await(t, "up")
			awaitMarked(t, m, 4)
			end.do(t, p)
			exit := wait(t, p)
			if exit.Reason != end.want {
				t.Errorf("got %+v", exit)
			}
			gone(t, m)
			if left, _ := filepath.Glob(filepath.Join(state, "container-*")); len(left) > 0 {
				t.Errorf("files are left: %v", left)
			}
		})
	}
}

// When the supervisor itself is killed the worker removes the container.
func TestX1ContainerOfALostSupervisorEnds(t *testing.T) {
	t.Parallel()
	s := container(t, nil)
	m := mark()
	p := begin(t, s, contained(t, "sleep "+m))
	awaitMarked(t, m, 1)
	if err := syscall.Kill(parent(t, p.PID()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); !errors.Is(err, sandbox.ErrSupervisorLost) {
		t.Errorf("got %v", err)
	}
	gone(t, m)
}

// What a worker left that was killed with its supervisors is removed by the next.
func TestX3LeftContainersAreRemoved(t *testing.T) {
	t.Parallel()
	var state string
	s := container(t, func(o *sandbox.Options) { o.Owner, state = "left-by-a-worker", o.State })
	m := mark()
	out, err := exec.CommandContext(t.Context(), installed().tool(), "run", "-d", "--network", "none", "--label", "lineshaft.owner=left-by-a-worker",
		testImage, "/bin/sleep", m).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	left := filepath.Join(state, "container-x")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	other := begin(t, container(t, nil), contained(t, "sleep 1000"))
	if err := s.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone(t, m)
	if _, err := os.Stat(left); err == nil {
		t.Error("a folder is left")
	}
	if ended(other) {
		t.Error("a container of somebody else was removed")
	}
}

func TestX5ContainerLimits(t *testing.T) {
	t.Parallel()
	s := container(t, nil)
	for name, c := range map[string]struct {
		script string
		limits sandbox.Limits
		reason string
		says   string
	}{
		"memory":    {"tail /dev/zero; echo code $?; exit 1", sandbox.Limits{MemoryBytes: 48 << 20}, "", "code 137"},
		"disk":      {"i=0; while :; do head -c 3000000 /dev/zero > f$i; i=$((i+1)); done", sandbox.Limits{DiskBytes: 12 << 20}, sandbox.ReasonDisk, ""},
		"processes": {"i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; echo all", sandbox.Limits{Processes: 30}, "", "fork"},
		"file":      {"head -c 3000000 /dev/zero > f; echo code $?", sandbox.Limits{FileBytes: 1 << 20}, "", "code"},
		"tmp":       {"head -c 30000000 /dev/zero > /tmp/f; echo code $?; exit 1", sandbox.Limits{MemoryBytes: 16 << 20}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := contained(t, c.script)
			spec.Limits = c.limits
			exit, out := run(t, s, spec)
			if name != "tmp" && exit.Reason != c.reason || !strings.Contains(out, c.says) || strings.Contains(out, "code 0") || strings.Contains(out, "all") {
				t.Errorf("got %+v, %q", exit, out)
			}
		})
	}
}

// A socket of the host is reached from a container without a network.
func TestX12ContainerReachesASocket(t *testing.T) {
	t.Parallel()
	s := container(t, nil)
	spec := contained(t, "lineshaft talk 4141 3000000; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; exit 7")
	spec.Forward = sandbox.Forward{Socket: counter(t), Port: forwardPort}
	exit, out := run(t, s, spec)
	if exit.Code != 7 || out != "got 3000000 <nil> <nil>\nlo\n" {
		t.Errorf("got %+v, %q", exit, out)
	}
}

func TestX5ContainerThatCannotBeMadeIsSaid(t *testing.T) {
	t.Parallel()
	s := container(t, nil)
	spec := contained(t, "exit 0")
	spec.Image = "localhost/no-such-image:1"
	if _, err := s.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "could not make a container") || !strings.Contains(err.Error(), "no-such-image") {
		t.Errorf("missing image: %v", err)
	}
	spec = contained(t, "")
	spec.Command = []string{"no-such-agent"}
	if exit, out := run(t, s, spec); exit.Code == 0 || !strings.Contains(out, "exec") {
		t.Errorf("missing command: %+v, %q", exit, out)
	}
	for _, o := range []sandbox.Options{{Container: "no-such-program"}, {Container: installed().tool(), Image: "localhost/no-such-image:1"}} {
		if err := sandbox.NewContainer(o).Check(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "--container-") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// The words of docker, whose daemon is not here, are checked by a program that
// plays its part: it notes what it is asked and runs the agent without isolation.
func TestX5DockerIsAskedTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := filepath.Join(dir, "docker")
	script := `#!/bin/sh
printf '%s\n' "$@" > ` + dir + `/$1
case $1 in
--version) echo "Docker version 28";;
inspect) echo true;;
ps) echo "CONTAINER ID  IMAGE";;
run) while [ $# -gt 0 ]; do case $1 in --cidfile) echo id > $2;; --env-file) cat $2;; --entrypoint) e=$2;; IMAGE) shift; exec $e "$@";; esac; shift; done;;
esac
`
	program(t, tool, script)
	o := withProgram(t)
	o.Container, o.Image, o.State, o.Owner = tool, "IMAGE", t.TempDir(), "me"
	s := sandbox.NewContainer(o)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	spec := contained(t, "echo ran; exit 3")
	exit, _ := run(t, s, spec)
	if exit.Reason != "" { // nobody asks without a limit
		t.Errorf("without a limit: %+v", exit)
	}
	spec.Network = sandbox.NetworkFull
	spec.Limits = sandbox.Limits{MemoryBytes: 1 << 30, Processes: 100, CPUs: 1.5, FileBytes: 1 << 20, DiskBytes: 1 << 30}
	exit, out := run(t, s, spec) // it says that the kernel ended it
	if exit.Code != 3 || exit.Reason != sandbox.ReasonMemory || !strings.Contains(out, "HOME=/workspace\nPLAIN=a  'b' \"c\" #d\nPWD=/workspace\nran\n") || strings.Contains(out, "Two") {
		t.Errorf("got %+v, %q", exit, out)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(string(asked), "\n")
	for _, want := range []string{
		"--init", "--read-only", "--cap-drop", "no-new-privileges", "--env\nSECRET", "--memory\n1073741824", "--memory-swap\n1073741824", "--pids-limit\n101",
		"--cpus\n1.500", "--ulimit\nfsize=1048576:1048576", "--label\nlineshaft.owner=me", "--volume\n" + spec.Dir + ":/workspace", "--entrypoint\n/bin/sh\nIMAGE\n-c",
	} {
		if !strings.Contains(string(asked), want+"\n") {
			t.Errorf("%q is missing in %q", want, args)
		}
	}
	if slices.Contains(args, "--network") || slices.Contains(args, "--userns") || strings.Contains(string(asked), "Two") {
		t.Errorf("too much in %q", args)
	}
	removed, err := os.ReadFile(filepath.Join(dir, "rm"))
	if name := args[slices.Index(args, "--name")+1]; err != nil || string(removed) != "rm\n-f\n-v\n"+name+"\n" {
		t.Errorf("removed %q, %v", removed, err)
	}
}

// Values that would act on docker itself are not passed through its environment.
func TestS2ContainerVariablesDoNotReachTheProgram(t *testing.T) {
	t.Parallel()
	o := withProgram(t)
	o.Container, o.State = "/bin/echo", t.TempDir()
	s := sandbox.NewContainer(o)
	for _, kv := range []string{"LD_PRELOAD=a\nb", "DOCKER_HOST=a\nb", "PATH=a\nb", "HOME=" + strings.Repeat("x", 40<<10), "GODEBUG=a\nb", "A B=c"} {
		spec := contained(t, "exit 0")
		spec.Env = []string{kv}
		name, _, _ := strings.Cut(kv, "=")
		if _, err := s.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(o.State, "container-*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

func TestX5ContainerPaths(t *testing.T) {
	t.Parallel()
	s := sandbox.NewContainer(sandbox.Options{})
	for path, want := range map[string]string{"a/b": "/workspace/a/b", ".": "/workspace", "/ws/x": "/workspace/x", "/etc": "/etc"} {
		if got := s.Guest("/ws", path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if s.ProgramDir() != "" || !s.OwnLoopback(sandbox.NetworkFull) || s.Name() != "container" || s.Mechanism(t.Context()).Disk != "polled" {
		t.Error("it does not describe itself")
	}
}
