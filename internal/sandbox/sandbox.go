package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Network says which part of the network an agent can reach.
type Network string

const (
	// NetworkFull is the network of the machine. It is what the zero value means.
	NetworkFull Network = "full"
	// NetworkNone is a loopback interface of the agent's own and nothing else.
	NetworkNone Network = "none"
	// NetworkAllow is the same for a sandbox: what the agent reaches besides, it
	// reaches through a proxy behind its [Spec.Forward].
	NetworkAllow Network = "allow"
)

// own says that the agent has a loopback interface of its own and nothing else.
func (n Network) own() bool { return n == NetworkNone || n == NetworkAllow }

// The values of [Exit.Reason].
const (
	// ReasonExited means that the agent ended on its own.
	ReasonExited = ""
	// ReasonKilled means that [Process.Kill] was called, or the context of Start ended, before the agent ended.
	ReasonKilled = "killed"
	// ReasonStarved means that the supervisor was not fed for [Spec.FeedWithin].
	ReasonStarved = "starved"
	// ReasonOrphaned means that the process that called Start died. Only a log can ever show it.
	ReasonOrphaned = "orphaned"
	// ReasonMemory means that the tree went over [Limits.MemoryBytes].
	ReasonMemory = "memory"
	// ReasonProcesses means that the tree went over [Limits.Processes] where the kernel could not refuse the fork.
	ReasonProcesses = "processes"
	// ReasonDisk means that the workspace went over [Limits.DiskBytes].
	ReasonDisk = "disk"
	// ReasonLost means that the supervisor itself died; Wait returns [ErrSupervisorLost] with it.
	ReasonLost = "lost"
)

// The errors a caller may want to tell apart.
var (
	// ErrUnavailable is wrapped by Check and Start when this machine cannot run the sandbox. The text says what to do.
	ErrUnavailable = errors.New("sandbox is not available on this machine")
	// ErrUnsupported is wrapped by Start when the sandbox cannot give what the spec asks for.
	ErrUnsupported = errors.New("not supported by this sandbox")
	// ErrNotFound is wrapped by Start when the command does not exist inside the sandbox.
	ErrNotFound = errors.New("command not found in the sandbox")
	// ErrSupervisorLost is returned by Wait when the supervisor died without a report.
	ErrSupervisorLost = errors.New("supervisor of the agent died")
)

// Limits bound one process tree. A zero field means no limit. The Mechanism methods
// say what enforces each limit on this machine.
type Limits struct {
	MemoryBytes int64   // memory of the whole tree, files in its private /tmp included
	Processes   int     // processes and threads of the whole tree
	CPUs        float64 // processor time per wall time; 1.5 is one and a half cores
	FileBytes   int64   // size of any one file that is written
	DiskBytes   int64   // space that the workspace takes, with files that were deleted but are still open
}

// Spec says what to start.
type Spec struct {
	// Dir is the workspace on the host, an absolute path. It is the working
	// directory and the only place, besides a private /tmp, an isolated agent can write.
	Dir string
	// Written, when set, has what was written in Dir, at the same places: the rest of Dir
	// belongs to the user of the slot already, and checking all of it would take long.
	Written string
	// Command is the program and its arguments. A name without a slash is looked
	// up in the PATH of Env, as the agent sees it. It is visible to other users of
	// the machine: secrets belong in Env.
	Command []string
	// Env is the complete environment, as KEY=value. Only PWD is added.
	Env []string
	// Stdin is what the agent reads; nil is /dev/null. A *os.File is inherited and
	// stays the caller's. Any other reader is copied, and closed at the end if it
	// is an io.Closer, so that nobody blocks on writing to an agent that is gone.
	Stdin io.Reader
	// Stdout and Stderr get what the agent prints, each from one goroutine; nil
	// discards. One writer given for both gets both, in order, from one goroutine.
	Stdout, Stderr io.Writer
	// Limits of the whole tree.
	Limits Limits
	// Network is what the agent can reach; empty is [NetworkFull].
	Network Network
	// Image is the image of a container; empty is the default one. Other sandboxes
	// do not use it.
	Image string
	// Forward, when its Socket is set, is reached on the agent's own loopback
	// interface. It needs a network of the agent's own: see [Sandbox.OwnLoopback].
	Forward Forward
	// FeedWithin is how long the supervisor lives without [Process.Feed], by its
	// own clock, which also counts while the machine sleeps. Zero is for ever.
	FeedWithin time.Duration
	// Slot is the number of the worker's slot. A server that is root gives each
	// slot its own user: Options.UIDBase + Slot.
	Slot int
}

// Forward is a unix socket of the host that the agent reaches as a TCP port.
type Forward struct {
	Socket string // absolute path on the host
	Port   int    // on 127.0.0.1 inside
}

// Exit says how an agent ended.
type Exit struct {
	Code   int           `json:"code"`              // exit code; 128 + n when signal n ended it, as shells do
	Signal string        `json:"signal,omitempty"`  // name of the signal, where the sandbox lets it be seen
	Reason string        `json:"reason,omitempty"`  // one of the Reason constants
	MaxRSS int64         `json:"max_rss,omitempty"` // bytes, of the largest process
	CPU    time.Duration `json:"cpu,omitempty"`     // user and system time of the whole tree
}

// Sandbox starts agents. All methods may be called at the same time; each Start
// is independent of the others.
type Sandbox interface {
	// Name is the word used in settings: "none", "bubblewrap" or "container".
	Name() string
	// Check starts a process that does nothing in the sandbox. The error says
	// what to install or to change; it wraps ErrUnavailable.
	Check(ctx context.Context) error
	// Guest is path, on the host and inside the workspace dir, as the agent sees
	// it. A relative path is inside dir.
	Guest(dir, path string) string
	// OwnLoopback says that an agent with that network has a loopback interface of
	// its own, so that ports of the host's are out of its reach.
	OwnLoopback(network Network) bool
	// ProgramDir is a folder, as the agent sees it, that holds this program under
	// the name lineshaft; empty when there is none.
	ProgramDir() string
	// Start returns when the agent runs, or with an error when nothing runs. The
	// end of ctx kills the agent like Kill(0), also after Start has returned.
	Start(ctx context.Context, spec Spec) (*Process, error)
}

// Options are the settings of a sandbox.
type Options struct {
	// Supervisor is the argv of a process that calls [Supervise], in general
	// {"/proc/self/exe", "supervise"}.
	Supervisor []string
	// Program is this program's own file, which agents find in the folder that
	// [Sandbox.ProgramDir] names and which a [Spec.Forward] needs: it calls
	// [RunForward] when its first argument is "forward". Empty: agents get none.
	Program string
	// Links is a folder for a link to Program, made by the sandbox None. Empty: none is made.
	Links string
	// UIDBase is the first user id given to slots by a server that is root. Default 61000.
	UIDBase int
	// ReadOnly are further paths that isolated agents see, at the same place and read-only.
	ReadOnly []string
	// Hide are directories and files that must not be seen even when they lie below
	// a path that is: the data directory, the database. They need not exist.
	Hide []string
	// Unfiltered lets agents in bubblewrap make all system calls, so that they can have
	// sandboxes of their own.
	Unfiltered bool
	// Bubblewrap is the program to use; default "bwrap", looked up in the server's PATH.
	Bubblewrap string
	// Container is docker or podman, or a program like these; default the first of podman and docker in PATH.
	Container string
	// Image is for containers of a spec without one.
	Image string
	// State is a folder for what containers need while they run; default the
	// system's for temporary files. It holds secrets for that time.
	State string
	// Owner marks containers, so that a later process with the same one finds
	// what this one has left; default "lineshaft".
	Owner string
	// Logger gets a warning for each limit that cannot be held. Default: none.
	Logger *slog.Logger
}

const defaultUIDBase = 61000

// DefaultImage is the image of containers when nobody names one.
const DefaultImage = "debian:13"

func (o Options) withDefaults() Options {
	o.UIDBase = cmp.Or(o.UIDBase, defaultUIDBase)
	o.Bubblewrap = cmp.Or(o.Bubblewrap, "bwrap")
	o.Image = cmp.Or(o.Image, DefaultImage)
	o.State = cmp.Or(o.State, os.TempDir())
	o.Owner = cmp.Or(o.Owner, "lineshaft")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// validate reports everything that is wrong with a spec at once.
func (s *Spec) validate() error {
	var errs []error
	if !filepath.IsAbs(s.Dir) {
		errs = append(errs, fmt.Errorf("workspace %q is not an absolute path", s.Dir))
	} else if info, err := os.Stat(s.Dir); err != nil {
		errs = append(errs, fmt.Errorf("workspace: %w", err))
	} else if !info.IsDir() {
		errs = append(errs, fmt.Errorf("workspace %s is not a directory", s.Dir))
	}
	if len(s.Command) == 0 || s.Command[0] == "" {
		errs = append(errs, errors.New("command is empty"))
	}
	if strings.HasPrefix(s.Image, "-") { // it would be an option of docker or podman
		errs = append(errs, fmt.Errorf("image %q begins with '-'; name another in the environment or the runner", s.Image[:min(len(s.Image), 40)]))
	}
	for _, arg := range s.Command {
		if strings.ContainsRune(arg, 0) {
			errs = append(errs, errors.New("command holds a NUL byte"))
			break
		}
	}
	for _, kv := range s.Env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.ContainsRune(kv, 0) {
			// The value may be a secret: only the name is said.
			errs = append(errs, fmt.Errorf("environment entry %q is not KEY=value without NUL bytes", name[:min(len(name), 40)]))
		}
	}
	switch s.Network {
	case "", NetworkFull, NetworkNone, NetworkAllow:
	default:
		errs = append(errs, fmt.Errorf("network %q is not one of %q, %q and %q", s.Network, NetworkFull, NetworkNone, NetworkAllow))
	}
	if err := s.Forward.validate(); err != nil {
		errs = append(errs, err)
	}
	if s.Slot < 0 || s.FeedWithin < 0 || s.Limits.negative() {
		errs = append(errs, errors.New("slot, feed time and limits must not be negative"))
	}
	return errors.Join(errs...)
}

func (l Limits) negative() bool {
	return l.MemoryBytes < 0 || l.Processes < 0 || l.CPUs < 0 || l.FileBytes < 0 || l.DiskBytes < 0
}

// largestFile is the limit for one file: none can be larger than the whole
// workspace may get before the next look.
func (l Limits) largestFile() int64 {
	if l.FileBytes == 0 || l.DiskBytes > 0 && l.DiskBytes < l.FileBytes {
		return l.DiskBytes
	}
	return l.FileBytes
}

// withPWD gives env the one variable that is not the caller's: shells and
// bubblewrap set PWD in any case, so it is made the same everywhere.
func withPWD(env []string, dir string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, "PWD=") {
			out = append(out, kv)
		}
	}
	return append(out, "PWD="+dir)
}
