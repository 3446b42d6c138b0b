//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// mechanisms runs a test in every sandbox, with the control groups of the
// machine and as if it had none.
func mechanisms(t *testing.T, test func(t *testing.T, s sandbox.Sandbox, r sandbox.Report)) {
	t.Helper()
	o := options()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = []string{self}
	for _, groups := range []string{"with groups", "without groups"} {
		prepare := func(s sandbox.Sandbox) sandbox.Sandbox {
			if groups == "without groups" {
				return sandbox.WithoutGroups(s)
			}
			return s
		}
		t.Run("none "+groups, func(t *testing.T) {
			t.Parallel()
			n := sandbox.NewNone(o)
			s := prepare(n)
			test(t, s, n.Mechanism(t.Context()))
		})
		t.Run("bubblewrap "+groups, func(t *testing.T) {
			t.Parallel()
			bubblewrap(t, o)
			own := o
			own.UIDBase = ownUser(t)
			b := sandbox.NewBubblewrap(own)
			s := prepare(b)
			test(t, s, b.Mechanism(t.Context()))
		})
	}
}

// ownUser is a user for one test: without groups the kernel counts all processes of a
// user, those of other tests with the same one too.
func ownUser(t *testing.T) int {
	h := fnv.New32()
	fmt.Fprintf(h, "%d %s", os.Getpid(), t.Name())
	return 100_000 + int(h.Sum32()%1_000_000_000)
}

func TestX5MemoryLimit(t *testing.T) {
	t.Parallel()
	mechanisms(t, func(t *testing.T, s sandbox.Sandbox, r sandbox.Report) {
		m := mark()
		// tail keeps all of a line that never ends.
		spec := shell(t, "setsid sleep "+m+" & tail /dev/zero; echo survived; sleep 1000")
		spec.Limits.MemoryBytes = 48 << 20
		exit, out := run(t, s, spec)
		gone(t, m)
		if exit.Reason != sandbox.ReasonMemory || strings.Contains(out, "survived 1") {
			t.Errorf("%s: got %+v, output %q", r.Memory, exit, out)
		}
		if r.Memory != "polled" && exit.MaxRSS > 64<<20 {
			t.Errorf("%s: a process got to %d bytes", r.Memory, exit.MaxRSS)
		}
		exit, out = run(t, s, shell(t, "head -c 1000000 /dev/zero | tail -c 5 | wc -c"))
		if exit.Reason != "" || exit.Code != 0 {
			t.Errorf("within the limit: %+v, %q", exit, out)
		}
	})
}

func TestX5ProcessLimit(t *testing.T) {
	t.Parallel()
	mechanisms(t, func(t *testing.T, s sandbox.Sandbox, r sandbox.Report) {
		const limit = 40
		m := mark()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		spec, out := shell(t, ""), newLines()
		spec.Command = []string{self, "forker", "200", m}
		spec.Stdout, spec.Stderr = out, out
		spec.Limits.Processes = limit
		p := begin(t, s, spec)
		if r.Processes == "polled" {
			if exit := wait(t, p); exit.Reason != sandbox.ReasonProcesses {
				t.Errorf("got %+v", exit)
			}
			gone(t, m)
			return
		}
		out.await(t, "started")
		var started int
		if _, err := fmt.Sscanf(out.String(), "started %d", &started); err != nil || started < 5 || started >= limit {
			t.Errorf("%s: %q, %v", r.Processes, out, err)
		}
		p.Kill(0)
		wait(t, p)
		gone(t, m)
	})
}

// The bomb has an end of its own, 2^10 processes, for machines where the limit
// does not work. Where only polling holds the limit it is not tried: a machine
// without control groups may be someone's laptop.
func TestX5ForkBombIsBoundedAndEnds(t *testing.T) {
	t.Parallel()
	mechanisms(t, func(t *testing.T, s sandbox.Sandbox, r sandbox.Report) {
		if r.Processes == "polled" {
			t.Skip("without a control group processes are counted after they were started")
		}
		m := mark()
		spec, out := shell(t, "setsid sleep "+m+` & bomb() { if [ $1 -gt 0 ]; then bomb $(($1-1)) | bomb $(($1-1)) & else sleep 1000; fi; }; bomb 9; sleep 1000`), newLines()
		spec.Stdout, spec.Stderr = out, out
		spec.Limits.Processes = 60
		p := begin(t, s, spec)
		out.await(t, "fork") // "Cannot fork", "can't fork": the limit bites
		p.Kill(0)
		wait(t, p) // killed, or ended on its own because its first shell could not fork either
		gone(t, m)
	})
}

func TestX5FileSizeLimit(t *testing.T) {
	t.Parallel()
	mechanisms(t, func(t *testing.T, s sandbox.Sandbox, _ sandbox.Report) {
		spec := shell(t, "head -c 3000000 /dev/zero > big; echo code $?")
		spec.Limits.FileBytes = 1 << 20
		_, out := run(t, s, spec)
		info, err := os.Stat(filepath.Join(spec.Dir, "big"))
		if err != nil || info.Size() != 1<<20 || strings.Contains(out, "code 0") {
			t.Errorf("got %v, %v, output %q", info, err, out)
		}
	})
}

// Space is used by small files, and by files that have no name any more.
func TestX5DiskLimit(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"small files":   `i=0; while [ $i -lt 400 ]; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); done`,
		"deleted files": `for i in 3 4 5 6 7 8 9; do eval "exec $i>f; rm f; head -c 3000000 /dev/zero >&$i"; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s sandbox.Sandbox) {
				m := mark()
				spec := shell(t, "setsid sleep "+m+" & "+script+"; sleep 1000")
				spec.Limits.DiskBytes = 12 << 20
				exit, out := run(t, s, spec)
				gone(t, m)
				if exit.Reason != sandbox.ReasonDisk {
					t.Errorf("got %+v, output %q", exit, out)
				}
			})
		})
	}
}

func TestX5DiskWithinTheLimit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		spec := shell(t, "head -c 3000000 /dev/zero > big; sleep 1.2; rm big; head -c 3000000 /dev/zero > other; sleep 1.2; exit 4")
		spec.Limits.DiskBytes = 5 << 20
		if exit, out := run(t, s, spec); exit.Reason != "" || exit.Code != 4 {
			t.Errorf("got %+v, output %q", exit, out)
		}
		// One file cannot outrun the next look.
		spec = shell(t, "head -c 9000000 /dev/zero > big; echo code $?")
		spec.Limits.DiskBytes = 5 << 20
		if _, out := run(t, s, spec); strings.Contains(out, "code 0") {
			t.Errorf("output %q", out)
		}
	})
}

func TestX5CPULimit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		m, ok := s.(interface {
			Mechanism(ctx context.Context) sandbox.Report
		})
		if !ok || m.Mechanism(t.Context()).CPU == "not held" {
			t.Skip("this machine has no control group for processor time")
		}
		spec, out := shell(t, "echo up; while :; do :; done"), newLines()
		spec.Stdout = out
		spec.Limits.CPUs = 0.2
		begun := time.Now()
		p := begin(t, s, spec)
		out.await(t, "up")
		<-time.After(1500 * time.Millisecond) // processor time has to pass: that is what is measured
		p.Kill(0)
		exit := wait(t, p)
		if share := exit.CPU.Seconds() / time.Since(begun).Seconds(); share > 0.4 {
			t.Errorf("it got %.2f of a processor", share)
		}
	})
}

func TestX5LimitThatIsNotHeldIsSaid(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := options()
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	n := sandbox.NewNone(o)
	s := sandbox.WithoutGroups(n)
	for range 2 {
		spec := shell(t, "exit 0")
		spec.Limits.CPUs = 1
		run(t, s, spec)
	}
	if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "limit=cpus") {
		t.Errorf("log: %q", log.String())
	}
	r := n.Mechanism(t.Context())
	if r.CPU != "not held" || r.Memory != "polled" || r.Processes != "polled" || r.FileSize != "rlimit" || !strings.Contains(r.Advice, "Delegate=yes") {
		t.Errorf("report: %+v", r)
	}
}

// Groups are made for one tree and removed with it.
func TestX5GroupsAreRemoved(t *testing.T) {
	t.Parallel()
	mechanisms(t, func(t *testing.T, s sandbox.Sandbox, _ sandbox.Report) {
		spec, out := shell(t, "cat /proc/self/cgroup; echo up; exec sleep 1000"), newLines()
		if s.Name() == "bubblewrap" {
			spec.Command[2] = "echo up; exec sleep 1000"
		}
		spec.Stdout = out
		spec.Limits = sandbox.Limits{MemoryBytes: 1 << 30, Processes: 1000, CPUs: 1}
		p := begin(t, s, spec)
		out.await(t, "up")
		text, err := os.ReadFile("/proc/" + itoa(p.PID()) + "/cgroup")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(string(text)) {
			if name := filepath.Base(strings.TrimSpace(line)); strings.HasPrefix(name, "lineshaft-") {
				names = append(names, name)
			}
		}
		p.Kill(0)
		wait(t, p)
		_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, _ os.DirEntry, err error) error {
			for _, name := range names {
				if err == nil && filepath.Base(path) == name {
					t.Errorf("%s is left", path)
				}
			}
			return nil
		})
	})
}

// Memory that belongs to no process alone counts, too, without a control group.
func TestX5SharedMemoryCountsAgainstTheLimit(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		script string
		reason string
	}{
		"memory file":                      {self + " hold memfd", sandbox.ReasonMemory},
		"memory file, mapped and closed":   {self + " hold mapped", sandbox.ReasonMemory},
		"shared anonymous memory":          {self + " hold shared", sandbox.ReasonMemory},
		"files in two folders":             {"head -c 40000000 /dev/zero >/tmp/f; head -c 40000000 /dev/zero >/dev/shm/f; sleep 1000", sandbox.ReasonMemory},
		"shared, within the limit":         {self + " hold little", ""},
		"a file in /tmp, within the limit": {"head -c 10000000 /dev/zero >/tmp/f; sleep 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			o.ReadOnly, o.UIDBase = []string{self}, ownUser(t)
			spec := shell(t, tc.script)
			spec.Limits.MemoryBytes = 64 << 20
			if exit, out := run(t, sandbox.WithoutGroups(sandbox.NewBubblewrap(o)), spec); exit.Reason != tc.reason {
				t.Errorf("got %+v, output %q", exit, out)
			}
		})
	}
}

// hold takes memory and keeps it: until it is ended, or for as long as a few looks take.
func hold(how string) int {
	size, flags, fd := 200<<20, unix.MAP_SHARED, -1
	var err error
	switch how {
	case "shared":
		flags |= unix.MAP_ANONYMOUS
	case "little":
		size, flags = 20<<20, flags|unix.MAP_ANONYMOUS
	default:
		if fd, err = unix.MemfdCreate("hold", unix.MFD_CLOEXEC); err == nil {
			err = unix.Ftruncate(fd, int64(size))
		}
	}
	if err == nil && how == "memfd" { // written, never mapped
		for at := int64(0); err == nil && at < int64(size); at += 1 << 20 {
			_, err = unix.Pwrite(fd, make([]byte, 1<<20), at)
		}
	} else if err == nil {
		var memory []byte
		if memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags); err == nil {
			if fd >= 0 {
				_ = unix.Close(fd)
			}
			for i := 0; i < size; i += 4096 {
				memory[i] = 1
			}
			defer runtime.KeepAlive(memory)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	if how == "little" {
		<-time.After(time.Second) // several looks have to pass without an end
		return 0
	}
	<-time.After(time.Hour)
	return 0
}
