package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The descriptors bubblewrap gets after the three streams, in this order; the
// files it must make follow.
const (
	wrapArgsFD = iota + 3
	wrapBlockFD
	wrapStatusFD
	wrapFirstFileFD
)

// agent is the started program as the supervisor sees it.
type agent struct {
	pid    int          // child of the supervisor: the agent, or bubblewrap
	init   process      // bubblewrap: the first process of its namespace, when known
	inits  chan process // bubblewrap: gives init
	ready  chan error   // gives nil when the agent runs, or why it never will
	killed bool         // its process group was ended
}

// adoptOrphans makes the supervisor the parent of every orphan of the tree.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become child subreaper: %w", err)
	}
	return nil
}

// closeOnExec keeps every descriptor but the streams from the agent, also those
// that the server itself has inherited from the process that started it.
func closeOnExec() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd") // kernel before 5.11
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// processLimit is what holds the number of processes in a sandbox with a user of
// its own. Root of a user namespace is not exempt from RLIMIT_NPROC: there the
// supervisor could not live with the limit that its child must inherit.
func processLimit() string {
	if os.Geteuid() != 0 {
		return heldByRlimit
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err == nil && strings.Join(strings.Fields(string(ids)), " ") == "0 0 4294967295" {
		return heldByRlimit
	}
	return heldByPolling
}

// startAgent starts the program of the order. The calling thread must be locked
// and must live as long as the agent.
func startAgent(o *order) (*agent, error) {
	if o.Wrap != nil {
		return startWrapped(o)
	}
	if o.Container != nil {
		return startContained(o)
	}
	if os.Geteuid() != 0 {
		// A program that gains another user (sudo) could no longer be ended.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("forbid new privileges: %w", err)
		}
	}
	pid, err := fork(o, o.Argv, o.Env, o.Dir, nil)
	if err != nil {
		return nil, err
	}
	a := &agent{pid: pid, ready: make(chan error, 1)}
	a.ready <- nil
	return a, nil
}

// startContained starts docker or podman.
func startContained(o *order) (*agent, error) {
	pid, err := fork(o, o.Argv, o.Env, o.Dir, nil)
	if err != nil {
		return nil, err
	}
	a := &agent{pid: pid, ready: make(chan error, 1)}
	go func() { a.ready <- o.Container.await(pid) }()
	return a, nil
}

// startWrapped starts bubblewrap. It has two ends: one of a socket that says when
// the sandbox is set up, and one of a pipe that says which process is its first.
func startWrapped(o *order) (*agent, error) {
	if err := makeReachable(o.UID, o.Wrap.Sources); err != nil {
		return nil, err
	}
	block, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make block socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(block[0]), "block"), os.NewFile(uintptr(block[1]), "block")
	if !o.limitsWithin() {
		if err := unblock(ours); err != nil {
			return nil, err
		}
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make status pipe: %w", err)
	}
	args, files, err := o.Wrap.open()
	if err != nil {
		return nil, err
	}
	extra := append([]*os.File{args, theirs, statusW}, files...)
	argv := append([]string{"bwrap", "--args", strconv.Itoa(wrapArgsFD), "--"}, o.Argv...)
	// Its own environment is empty: a variable of the agent such as LD_PRELOAD
	// must not act on bubblewrap, outside the sandbox.
	pid, err := fork(o, argv, []string{}, "/", extra)
	for _, f := range extra {
		_ = f.Close()
	}
	if err != nil {
		return nil, err
	}
	a := &agent{pid: pid, inits: make(chan process, 1), ready: make(chan error, 1)}
	go func() {
		a.ready <- a.release(o, ours, statusR)
		// It writes more at the end, and must find a reader: it would die of the signal.
		_, _ = io.Copy(io.Discard, statusR)
	}()
	return a, nil
}

// open makes the files that bubblewrap reads: its options and what to put into the sandbox.
func (w *wrap) open() (args *os.File, files []*os.File, err error) {
	options := []string{"--block-fd", strconv.Itoa(wrapBlockFD), "--json-status-fd", strconv.Itoa(wrapStatusFD)}
	for i, f := range w.Files {
		mem, err := memoryFile(f.Content)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, mem)
		options = append(options, "--file", strconv.Itoa(wrapFirstFileFD+i), f.Path)
	}
	if len(w.Filter) > 0 {
		mem, err := memoryFile(string(w.Filter))
		if err != nil {
			return nil, nil, err
		}
		options = append(options, "--seccomp", strconv.Itoa(wrapFirstFileFD+len(files)))
		files = append(files, mem)
	}
	options = append(options, w.Args...)
	args, err = memoryFile(strings.Join(options, "\x00") + "\x00")
	return args, files, err
}

// limitsWithin reports whether the number of processes must be limited within
// the user namespace of the sandbox, because outside the kernel would count all
// processes of the server's user. Then bubblewrap waits for that.
func (o *order) limitsWithin() bool { return o.Processes > 0 && o.UID == 0 }

// release sets the limits of a sandbox that waits for them, and returns when it
// is set up.
func (a *agent) release(o *order, block, status *os.File) error {
	defer func() { _ = block.Close() }()
	var info struct {
		Child int `json:"child-pid"`
	}
	if err := json.NewDecoder(status).Decode(&info); err != nil || info.Child == 0 {
		return errors.New("bubblewrap ended before it made a sandbox")
	}
	if p, ok := readProcess(info.Child); ok {
		a.inits <- p
	}
	if o.limitsWithin() {
		if err := unix.Prlimit(info.Child, unix.RLIMIT_NPROC, fixed(int64(o.Processes)), nil); err != nil {
			return fmt.Errorf("limit processes: %w", err)
		}
		if err := unblock(block); err != nil {
			return err
		}
	}
	// It closes its end after reading the byte. When it died before, the byte is
	// unread, and the kernel says so by a reset instead of an end of file.
	if _, err := block.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return errors.New("bubblewrap could not set up the sandbox")
	}
	return nil
}

// unblock lets bubblewrap continue when it has made its namespaces.
func unblock(block *os.File) error {
	if _, err := block.Write([]byte{1}); err != nil {
		return errors.New("bubblewrap could not set up the sandbox")
	}
	return nil
}

// fork starts one program in the groups of the order.
func fork(o *order, argv, env []string, dir string, extra []*os.File) (int, error) {
	attr := &syscall.ProcAttr{
		Dir:   dir,
		Env:   env,
		Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{
			Pdeathsig: syscall.SIGKILL, // if the supervisor is killed itself
			Setsid:    true,
		},
	}
	for _, f := range extra {
		attr.Files = append(attr.Files, f.Fd())
	}
	if o.UID != 0 {
		attr.Sys.Credential = &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.UID)}
	}
	if err := o.setLimits(); err != nil {
		return 0, err
	}
	leave, err := groups(o.Groups).enter(attr.Sys)
	if err != nil {
		return 0, err
	}
	defer leave()
	defer preferForOOM()()
	pid, err := syscall.ForkExec(o.Path, argv, attr)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", filepath.Base(o.Path), err)
	}
	return pid, nil
}

// setLimits sets those limits of the supervisor that the program is to inherit.
// It writes no files itself, and the processes that count are those of another
// user, so it can live with them.
func (o *order) setLimits() error {
	if o.FileBytes > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, fixed(o.FileBytes)); err != nil {
			return fmt.Errorf("limit file size: %w", err)
		}
	}
	if o.Processes > 0 && o.UID != 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, fixed(int64(o.Processes))); err != nil {
			return fmt.Errorf("limit processes: %w", err)
		}
	}
	return nil
}

// preferForOOM makes what is forked until the returned function is called the
// kernel's first choice when the machine runs out of memory, before the
// supervisor and the server. It is a help, not a promise: errors are ignored.
func preferForOOM() (restore func()) {
	const path = "/proc/self/oom_score_adj"
	before, err := os.ReadFile(path)
	if err != nil {
		return func() {}
	}
	_ = os.WriteFile(path, []byte("500"), 0)
	return func() { _ = os.WriteFile(path, before, 0) }
}

// memoryFile is a file without a name that holds content.
func memoryFile(content string) (*os.File, error) {
	fd, err := unix.MemfdCreate("lineshaft", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	if _, err := f.WriteString(content); err != nil {
		return nil, fmt.Errorf("fill memory file: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("rewind memory file: %w", err)
	}
	return f, nil
}

func fixed(n int64) *unix.Rlimit { return &unix.Rlimit{Cur: uint64(n), Max: uint64(n)} }

// terminate asks the agent to end: SIGTERM to its process group, so that a shell
// that waits for a child gets to run its trap.
func (a *agent) terminate() {
	if a.inits == nil {
		_ = syscall.Kill(-a.pid, syscall.SIGTERM)
		return
	}
	a.learnInit()
	for _, p := range scan() {
		if a.init.pid != 0 && p.parent == a.init.pid && p.innerPID() == 2 {
			// The group also holds bubblewrap's init, which the kernel protects.
			if group, err := syscall.Getpgid(p.pid); err == nil {
				_ = syscall.Kill(-group, syscall.SIGTERM)
			}
			return
		}
	}
}

// kill ends what can be ended in one act: the namespace of the agent with
// everything inside, or its process group. The rest is left to killTree.
func (a *agent) kill() {
	if a.inits != nil {
		a.learnInit()
		if a.init.pid != 0 {
			send(a.init, syscall.SIGKILL)
		}
		return
	}
	// Once only: later the number may be another group's.
	if !a.killed {
		a.killed = true
		_ = syscall.Kill(-a.pid, syscall.SIGKILL)
	}
}

// finish is called when the agent itself has ended. There is nothing to do: the remaining
// processes are children of the supervisor.
func (a *agent) finish() {}

func (a *agent) learnInit() {
	select {
	case a.init = <-a.inits:
	default:
	}
}
