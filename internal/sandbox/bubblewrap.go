package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/lineshaft/lineshaft/internal/tree"
)

// guestDir is where the agent sees its workspace.
const guestDir = "/workspace"

// wrapProcesses is the number of bubblewrap's own processes in a tree: the one
// outside and the init inside.
const wrapProcesses = 2

// Bubblewrap runs agents in namespaces of their own, with a read-only system, a
// private /tmp and the workspace at /workspace. They see nothing else of the host's
// files. A server that is root gives each slot a user of its own; otherwise
// the agent has another user id inside only.
type Bubblewrap struct {
	options Options
	limits  limiter

	once    sync.Once
	program string // resolved path of bwrap
	sized   bool   // whether it knows --size
	err     error  // why there is none
}

var _ Sandbox = (*Bubblewrap)(nil)

// NewBubblewrap makes a sandbox that uses the program bwrap.
func NewBubblewrap(options Options) *Bubblewrap { return &Bubblewrap{options: options.withDefaults()} }

// Name is "bubblewrap".
func (b *Bubblewrap) Name() string { return "bubblewrap" }

// Mechanism says what holds the limits on this machine.
func (b *Bubblewrap) Mechanism(context.Context) Report {
	r := b.limits.report(processLimit())
	r.Kill = "pid namespace"
	r.Calls = b.filtered()
	return r
}

// filtered says which system calls agents can make.
func (b *Bubblewrap) filtered() string {
	switch {
	case b.options.Unfiltered:
		return "all, as asked for"
	case !filtering:
		return "all, there is no filter for this processor"
	}
	return "filtered by seccomp"
}

// Guest is the place below /workspace. A path outside dir is returned as it is.
func (b *Bubblewrap) Guest(dir, p string) string {
	if !filepath.IsAbs(p) {
		return path.Join(guestDir, filepath.ToSlash(p))
	}
	if rel, ok := inside(dir, p); ok {
		return path.Join(guestDir, filepath.ToSlash(rel))
	}
	return p
}

// programPaths change when programs of the machine are installed, updated or removed.
var programPaths = []string{
	"/etc/os-release", "/usr/bin", "/usr/lib", "/usr/local/bin", "/usr/local/lib", "/usr/local/lib/node_modules",
	"/var/lib/dpkg/status", "/lib/apk/db/installed", "/var/lib/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/rpmdb.sqlite",
	"/var/lib/pacman/local",
}

// System changes when the machine's programs do, which are all that an agent has.
func (b *Bubblewrap) System(context.Context, string) (string, error) {
	var all strings.Builder
	for _, name := range append(slices.Clone(programPaths), b.options.ReadOnly...) {
		if info, err := os.Stat(name); err == nil {
			_, _ = fmt.Fprintf(&all, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return all.String(), nil
}

// Owner is the owner of a slot's workspace while an agent works there, when this process
// is root.
func (b *Bubblewrap) Owner(slot int) int { return b.options.UIDBase + slot }

// OwnLoopback is true where the agent is cut off from the machine's network.
func (b *Bubblewrap) OwnLoopback(network Network) bool { return network.own() }

// ProgramDir is a folder below /run.
func (b *Bubblewrap) ProgramDir() string {
	if b.options.Program == "" {
		return ""
	}
	return guestProgramDir
}

// Check starts a process in a sandbox.
func (b *Bubblewrap) Check(ctx context.Context) error {
	if err := b.find(ctx); err != nil {
		return err
	}
	if err := check(ctx, b); err != nil {
		if advice := namespaceAdvice("/proc/sys"); advice != "" {
			return fmt.Errorf("%w; %s", err, advice)
		}
		return err
	}
	return nil
}

// find looks for the program, once.
func (b *Bubblewrap) find(ctx context.Context) error {
	b.once.Do(func() {
		if runtime.GOOS != "linux" {
			b.err = fmt.Errorf("%w: bubblewrap needs Linux; use isolation container or none", ErrUnavailable)
			return
		}
		if b.program, b.err = exec.LookPath(b.options.Bubblewrap); b.err != nil {
			b.err = fmt.Errorf("%w: %s was not found; install bubblewrap (apt install bubblewrap, dnf install bubblewrap, apk add bubblewrap)",
				ErrUnavailable, b.options.Bubblewrap)
			return
		}
		help, err := exec.CommandContext(context.WithoutCancel(ctx), b.program, "--help").CombinedOutput()
		if err != nil {
			b.err = fmt.Errorf("%w: %s --help: %w", ErrUnavailable, b.program, err)
			return
		}
		b.sized = strings.Contains(string(help), "--size ")
	})
	return b.err
}

// Start starts an agent. A server that is root gives the workspace to the user of
// the slot first.
func (b *Bubblewrap) Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := spec.validate(); err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	if err := b.find(ctx); err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	v, err := b.view(spec)
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	if _, err := lookPath(spec.Command[0], guestDir, spec.Env, v.executable); err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	own := wrapProcesses
	command := spec.Command
	if spec.Forward != (Forward{}) {
		own += forwardProcesses
		command = forwardCommand(spec.Forward.Port, command)
	}
	h := b.limits.hierarchy()
	b.limits.warn(b.options.Logger, spec.Limits)
	o := &order{
		Path:       b.program,
		Argv:       command,
		FileBytes:  spec.Limits.largestFile(),
		Disk:       quota{Dir: v.dir, Bytes: spec.Limits.DiskBytes},
		FeedWithin: spec.FeedWithin,
		Groups:     h.plan(spec.Limits, own, false),
		Wrap:       &wrap{Args: v.args(), Files: v.files(), Sources: v.sources()},
	}
	if !b.options.Unfiltered {
		o.Wrap.Filter = seccompFilter()
	}
	if os.Geteuid() == 0 {
		o.UID = v.uid
		if err := v.give(ctx); err != nil {
			return nil, fmt.Errorf("start agent: %w", err)
		}
	}
	if h.version(controllerMemory) == 0 {
		o.Polled.MemoryBytes, o.Polled.Private = spec.Limits.MemoryBytes, spec.Limits.MemoryBytes > 0
	}
	if limit := spec.Limits.Processes; limit > 0 && h.version(controllerPids) == 0 {
		if processLimit() == heldByRlimit {
			o.Processes = limit + own
		} else {
			o.Polled.Processes = limit + own
		}
	}
	return start(ctx, b.options, o, spec)
}

// check runs nothing in a sandbox.
func check(ctx context.Context, s Sandbox) error {
	dir, err := os.MkdirTemp("", "lineshaft-check")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := s.Start(ctx, Spec{Dir: dir, Command: []string{"/bin/sh", "-c", "exit 0"}})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	exit, err := p.Wait()
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("a shell ended with code %d", exit.Code)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// namespaceAdvice names the setting of the kernel, below sys, that forbids user namespaces.
func namespaceAdvice(sys string) string {
	for _, s := range []struct{ name, bad, good string }{
		{"kernel.unprivileged_userns_clone", "0", "1"},
		{"user.max_user_namespaces", "0", "10000"},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
	} {
		text, err := os.ReadFile(filepath.Join(sys, strings.ReplaceAll(s.name, ".", "/")))
		if err == nil && strings.TrimSpace(string(text)) == s.bad {
			return fmt.Sprintf("this kernel forbids user namespaces: set %s=%s with sysctl, or use another isolation", s.name, s.good)
		}
	}
	return ""
}

// giveTo makes uid the owner of everything in dir that is not its already. Links
// are changed themselves, never followed, even while a process changes the tree.
func giveTo(ctx context.Context, dir string, uid int) error {
	folder, err := os.Open(dir)
	if err == nil {
		defer func() { _ = folder.Close() }()
		err = giveTree(ctx, folder, uid)
	}
	if err != nil {
		return fmt.Errorf("give workspace to user %d: %w", uid, err)
	}
	return nil
}

// giveWritten is giveTo for what another folder has at the same places. The change is made in
// dir, and nothing leads out of it.
func giveWritten(ctx context.Context, dir, written string, uid int) error {
	folder, err := os.Open(written)
	if err != nil {
		return fmt.Errorf("give workspace to user %d: %w", uid, err)
	}
	defer func() { _ = folder.Close() }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("give workspace to user %d: %w", uid, err)
	}
	defer func() { _ = root.Close() }()
	err = root.Chown(".", uid, uid)
	walker := tree.Walker{
		Visit: func(e *tree.Entry) error {
			if e.Info.UID == uint32(uid) && e.Info.GID == uint32(uid) || e.Info.Mode&os.ModeDevice != 0 { // a device says what was removed
				return nil
			}
			if err := root.Lchown(e.Path(), uid, uid); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		},
		Left: func(_ string, why error) {
			if !errors.Is(why, os.ErrNotExist) {
				err = errors.Join(err, why)
			}
		},
	}
	if err = errors.Join(walker.Walk(ctx, folder), err); err != nil {
		return fmt.Errorf("give workspace to user %d: %w", uid, err)
	}
	return nil
}

// giveTree changes the owner of an open folder, and of every entry that has another one.
func giveTree(ctx context.Context, folder *os.File, uid int) error {
	if err := folder.Chown(uid, uid); err != nil {
		return err
	}
	var left error
	walker := tree.Walker{
		Visit: func(e *tree.Entry) error {
			if e.Info.UID == uint32(uid) && e.Info.GID == uint32(uid) {
				return nil
			}
			if err := e.Chown(uid, uid); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		},
		Left: func(_ string, why error) {
			if !errors.Is(why, os.ErrNotExist) {
				left = why
			}
		},
	}
	return errors.Join(walker.Walk(ctx, folder), left)
}
