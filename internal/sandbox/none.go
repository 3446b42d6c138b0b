package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// None runs agents as they are: the user, the files and the network of the
// server. What it shares with the other sandboxes is the certain end of the
// tree, the clean environment and, as far as the machine allows, the limits.
type None struct {
	options Options
	limits  limiter

	linking sync.Once
	linked  error
}

var _ Sandbox = (*None)(nil)

// NewNone makes a sandbox without isolation.
func NewNone(options Options) *None { return &None{options: options.withDefaults()} }

// Name is "none".
func (n *None) Name() string { return "none" }

// Mechanism says what holds the limits on this machine.
func (n *None) Mechanism(context.Context) Report {
	r := n.limits.report(polling())
	r.Kill = "process tree"
	if n.limits.hierarchy().kill {
		r.Kill = "cgroup.kill and process tree"
	}
	return r
}

// Guest is the path itself.
func (n *None) Guest(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// Check starts a process.
func (n *None) Check(ctx context.Context) error { return check(ctx, n) }

// Start starts an agent. A spec that asks for no network is refused.
func (n *None) Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := spec.validate(); err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	if spec.Network.own() {
		return nil, fmt.Errorf("start agent: network %q: %w; use isolation bubblewrap", spec.Network, ErrUnsupported)
	}
	if spec.Forward != (Forward{}) {
		return nil, fmt.Errorf("start agent: forward: %w; the agent needs a network of its own", ErrUnsupported)
	}
	if err := n.link(); err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	program, err := lookPath(spec.Command[0], spec.Dir, spec.Env, executable)
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	h := n.limits.hierarchy()
	n.limits.warn(n.options.Logger, spec.Limits)
	o := &order{
		Path:       program,
		Argv:       spec.Command,
		Env:        withPWD(spec.Env, spec.Dir),
		Dir:        spec.Dir,
		FileBytes:  spec.Limits.largestFile(),
		Disk:       quota{Dir: spec.Dir, Bytes: spec.Limits.DiskBytes},
		FeedWithin: spec.FeedWithin,
		Groups:     h.plan(spec.Limits, 0, true),
	}
	if h.version(controllerMemory) == 0 {
		o.Polled.MemoryBytes = spec.Limits.MemoryBytes
	}
	if h.version(controllerPids) == 0 {
		o.Polled.Processes = spec.Limits.Processes
	}
	return start(ctx, n.options, o, spec)
}

// OwnLoopback is false: the agent shares the network of the machine.
func (n *None) OwnLoopback(Network) bool { return false }

// ProgramDir is the folder of Options.Links.
func (n *None) ProgramDir() string {
	if n.options.Program == "" {
		return ""
	}
	return n.options.Links
}

// link makes the link to this program, once, in place of one to an earlier version.
func (n *None) link() error {
	n.linking.Do(func() {
		dir := n.ProgramDir()
		if dir == "" {
			return
		}
		if n.linked = os.MkdirAll(dir, 0o755); n.linked != nil {
			return
		}
		path := filepath.Join(dir, programName)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			n.linked = fmt.Errorf("link this program: %w", err)
			return
		}
		if err := os.Symlink(n.options.Program, path); err != nil && !errors.Is(err, fs.ErrExist) {
			n.linked = fmt.Errorf("link this program: %w", err)
		}
	})
	return n.linked
}
