package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// heldByContainer is what holds the limits of a container.
const heldByContainer = "container runtime"

// initProcesses is the number of processes in a container that are not the agent's.
const initProcesses = 1

// Container runs agents in containers of docker or podman, through their command
// line: a read-only image, a private /tmp, the workspace at /workspace, no
// capabilities, a user of the slot's. The supervisor removes the container at the
// end, whatever the cause of the end.
type Container struct {
	options Options

	once   sync.Once
	cli    string // resolved path of the program
	podman bool
	err    error // why there is none

	mu   sync.Mutex
	live map[string]bool // names of the containers that a supervisor looks after
	// unseen are those that nothing looks after, and when Sweep first saw that.
	unseen map[string]time.Time

	claim   sync.Once
	process string // name of this process
	lock    *os.File
	claimed error // why there is no lock
}

var _ Sandbox = (*Container)(nil)

// NewContainer makes a sandbox that uses docker or podman.
func NewContainer(options Options) *Container {
	return &Container{options: options.withDefaults(), live: map[string]bool{}}
}

// Name is "container".
func (c *Container) Name() string { return "container" }

// Mechanism says what holds the limits.
func (c *Container) Mechanism(context.Context) Report {
	return Report{
		Memory: heldByContainer, Processes: heldByContainer, CPU: heldByContainer, FileSize: heldByRlimit,
		Disk: polling(), Kill: "removal of the container",
	}
}

// Guest is the place below /workspace. A path outside dir is returned as it is.
func (c *Container) Guest(dir, p string) string {
	if !filepath.IsAbs(p) {
		return path.Join(guestDir, filepath.ToSlash(p))
	}
	if rel, ok := inside(dir, p); ok {
		return path.Join(guestDir, filepath.ToSlash(rel))
	}
	return p
}

// System is the id of the image that a spec with this image gets.
func (c *Container) System(ctx context.Context, image string) (string, error) {
	if err := c.find(ctx); err != nil {
		return "", err
	}
	id, err := c.run(ctx, "image", "inspect", "--format", "{{.Id}}", cmp.Or(image, c.options.Image))
	if err != nil {
		return "", fmt.Errorf("find id of image: %w", err)
	}
	return strings.TrimSpace(id), nil
}

// OwnLoopback is true: a container has interfaces of its own even when it reaches
// the network.
func (c *Container) OwnLoopback(Network) bool { return true }

// ProgramDir is a folder below /run, where this program is one for Linux.
func (c *Container) ProgramDir() string {
	if c.options.Program == "" || runtime.GOOS != "linux" {
		return ""
	}
	return guestProgramDir
}

// find looks for the program, once.
func (c *Container) find(ctx context.Context) error {
	c.once.Do(func() {
		names := []string{c.options.Container}
		if c.options.Container == "" {
			names = []string{"podman", "docker"}
		}
		for _, name := range names {
			if c.cli, c.err = exec.LookPath(name); c.err == nil {
				break
			}
		}
		if c.err != nil {
			c.err = fmt.Errorf("%w: %s was not found; install podman or docker, or name its program with --container-program",
				ErrUnavailable, strings.Join(names, " or "))
			return
		}
		version, err := c.run(context.WithoutCancel(ctx), "--version")
		if err != nil {
			c.err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		c.podman = strings.Contains(strings.ToLower(version), "podman")
	})
	return c.err
}

// run calls the program and gives what it prints.
func (c *Container) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.cli, args...)
	cmd.Env = toolEnv(os.Environ())
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(c.cli), args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", filepath.Base(c.cli), args[0], err)
	}
	return string(out), nil
}

// Check runs a shell in the image for environments that name none. It fetches
// nothing: that may take longer than anyone waits for a check.
func (c *Container) Check(ctx context.Context) error {
	if err := c.find(ctx); err != nil {
		return err
	}
	if _, err := c.run(ctx, "ps"); err != nil {
		return fmt.Errorf("%w: %w; start its service, or let this user use it", ErrUnavailable, err)
	}
	if _, err := c.run(ctx, "image", "inspect", c.options.Image); err != nil {
		return fmt.Errorf("%w: image %s is not here: %s pull %s, or name another with --container-image",
			ErrUnavailable, c.options.Image, filepath.Base(c.cli), c.options.Image)
	}
	return check(ctx, c)
}

// Clean removes what earlier processes with the same Options.Owner left. It keeps what
// another live process has made.
func (c *Container) Clean(ctx context.Context) error {
	names, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if c.lives(name) || c.another(name, containerPrefix) {
			continue
		}
		if err := c.remove(ctx, name); err != nil {
			return err
		}
	}
	return c.removeFiles()
}

// Sweep removes the containers that nothing has looked after for a while, such as those of a
// killed supervisor. It leaves those that work, here or for another process.
func (c *Container) Sweep(ctx context.Context, now time.Time) error {
	names, err := c.list(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range c.strays(names, now) {
		errs = append(errs, c.remove(ctx, name))
	}
	return errors.Join(errs...)
}

// list names the containers with the label of this data directory.
func (c *Container) list(ctx context.Context) ([]string, error) {
	if err := c.find(ctx); err != nil {
		return nil, err
	}
	if err := c.claimProcess(); err != nil {
		return nil, err
	}
	names, err := c.run(ctx, "ps", "-a", "--filter", "label="+ownerLabel+"="+c.options.Owner, "--format", "{{.Names}}")
	if err != nil {
		return nil, fmt.Errorf("find left containers: %w", err)
	}
	return strings.Fields(names), nil
}

func (c *Container) remove(ctx context.Context, name string) error {
	if _, err := c.run(ctx, "rm", "-f", "-v", name); err != nil {
		return fmt.Errorf("remove left container: %w", err)
	}
	return nil
}

func (c *Container) lives(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live[name]
}

// note keeps Sweep from a container until its supervisor has ended, and then removes
// what a killed supervisor has left of its files.
func (c *Container) note(b *box) (ended func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[b.name] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.live, b.name)
		_ = os.RemoveAll(b.state)
	}
}

// Start starts an agent. Only the container itself finds out that the image does not have a
// command: the agent then ends at once, with a code that is not 0.
func (c *Container) Start(ctx context.Context, spec Spec) (*Process, error) {
	err := spec.validate()
	if err == nil {
		err = c.find(ctx)
	}
	var b *box
	if err == nil {
		b, err = c.box(ctx, spec)
	}
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	o := &order{
		Path: c.cli, Argv: append([]string{c.cli}, b.args...), Env: b.env, Dir: "/", FeedWithin: spec.FeedWithin,
		Disk:      quota{Dir: b.dir, Bytes: spec.Limits.DiskBytes},
		Container: &contained{Program: c.cli, Name: b.name, Env: toolEnv(os.Environ()), State: b.state, Bounded: spec.Limits.MemoryBytes > 0},
	}
	ended := c.note(b)
	p, err := start(ctx, c.options, o, spec)
	if err != nil {
		ended() // even the supervisor did not start
		return nil, err
	}
	go func() {
		<-p.Done()
		ended()
	}()
	return p, nil
}

// box is one container to be.
type box struct {
	name  string
	dir   string // workspace, links resolved
	state string // folder for what the program must read and write
	args  []string
	env   []string // of the program
}

// box prepares a container: files, owners and the command line.
func (c *Container) box(ctx context.Context, spec Spec) (*box, error) {
	if spec.Forward != (Forward{}) && c.ProgramDir() == "" {
		return nil, fmt.Errorf("forward: %w without this program in the container", ErrUnsupported)
	}
	v := &view{spec: spec, uid: c.options.UIDBase + spec.Slot}
	for _, p := range []struct {
		from string
		to   *string
	}{{spec.Dir, &v.dir}, {c.options.Program, &v.program}, {spec.Forward.Socket, &v.socket}} {
		var err error
		if p.from == "" {
			continue
		}
		if *p.to, err = filepath.EvalSymlinks(p.from); err != nil {
			return nil, fmt.Errorf("resolve path: %w", err)
		}
		if strings.Contains(*p.to, ":") {
			return nil, fmt.Errorf("a container cannot mount %s: its name holds a colon", *p.to)
		}
	}
	if os.Geteuid() == 0 {
		if err := v.give(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.claimProcess(); err != nil {
		return nil, err
	}
	state, err := os.MkdirTemp(c.options.State, statePrefix+c.process+"-")
	if err != nil {
		return nil, fmt.Errorf("make folder for container: %w", err)
	}
	b := &box{name: containerPrefix + c.process + "-" + strings.ToLower(rand.Text()[:16]), dir: v.dir, state: state}
	if err := c.fill(b, v); err != nil {
		_ = os.RemoveAll(state)
		return nil, err
	}
	return b, nil
}
