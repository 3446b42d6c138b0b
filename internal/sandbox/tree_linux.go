package sandbox

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxRSSUnit is the unit of Rusage.Maxrss in bytes.
const maxRSSUnit = 1024

// process is one entry of /proc.
type process struct {
	pid, parent int
	group       int // process group
	state       byte
	started     uint64 // clock ticks after boot; with pid it names a process for ever
}

// dead reports whether only the parent's wait is missing.
func (p process) dead() bool { return p.state == 'Z' || p.state == 'X' }

// innerPID is the process id in the innermost namespace.
func (p process) innerPID() int {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(status), "\nNSpid:")
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(fields[len(fields)-1])
	return n
}

// scan lists all processes.
func scan() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var out []process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				out = append(out, p)
			}
		}
	}
	return out
}

func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	return parseStat(pid, stat)
}

// parseStat takes the fields after the name, which may hold anything, brackets
// and spaces included: state, parent, group, …, start time (the 22nd of all).
func parseStat(pid int, stat []byte) (process, bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return process{}, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	group, err2 := strconv.Atoi(string(fields[2]))
	started, err3 := strconv.ParseUint(string(fields[19]), 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return process{}, false
	}
	return process{pid: pid, parent: parent, group: group, state: fields[0][0], started: started}, true
}

// descendants lists the processes below root, parents before children.
func descendants(root int) []process {
	below := map[int][]process{}
	for _, p := range scan() {
		below[p.parent] = append(below[p.parent], p)
	}
	out := below[root]
	for i := 0; i < len(out); i++ {
		out = append(out, below[out[i].pid]...)
	}
	return out
}

// killTree ends every descendant of root, a supervisor, but not root. They are
// stopped first, until a look finds no new one: a stopped process cannot start
// another one behind our back. It returns without waiting for their end.
func killTree(root int) {
	const rounds = 64 // a fork bomb may outrun one call; the caller calls again
	stopped := map[int]uint64{}
	var tree []process
	for range rounds {
		tree = descendants(root)
		signalGroups(tree, root, syscall.SIGSTOP)
		fresh := false
		for _, p := range tree {
			if stopped[p.pid] != p.started && !p.dead() {
				stopped[p.pid] = p.started
				fresh = true
				send(p, syscall.SIGSTOP)
			}
		}
		if !fresh {
			break
		}
	}
	signalGroups(tree, root, syscall.SIGKILL)
	for _, p := range tree {
		send(p, syscall.SIGKILL)
	}
}

// signalGroups signals the process groups of a tree. A supervisor leads a session
// of its own, so they hold nothing but its descendants; and a signal to a group
// is one act for the kernel, which a fork bomb cannot outrun.
func signalGroups(tree []process, root int, sig syscall.Signal) {
	done := map[int]bool{root: true, syscall.Getpgrp(): true, 0: true, 1: true} // never ourselves
	for _, p := range tree {
		if !done[p.group] && !p.dead() {
			done[p.group] = true
			_ = syscall.Kill(-p.group, sig)
		}
	}
}

// send signals exactly this process, never another that was given its number.
func send(p process, sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		_ = syscall.Kill(p.pid, sig) // kernel before 5.3, or a filter in front of it
		return
	}
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if now, ok := readProcess(p.pid); ok && now.started == p.started {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// exceeded looks at the tree of the calling process and names the limit it is over.
func (l polled) exceeded() string {
	if l == (polled{}) {
		return ""
	}
	tree := descendants(os.Getpid())
	var memory int64
	tasks := 0
	for _, p := range tree {
		pages, threads := load(p.pid)
		memory += pages * int64(os.Getpagesize())
		tasks += threads
	}
	if l.MemoryBytes > 0 && memory <= l.MemoryBytes {
		memory += sharedMemory(tree, l.Private)
	}
	switch {
	case l.MemoryBytes > 0 && memory > l.MemoryBytes:
		return ReasonMemory
	case l.Processes > 0 && tasks > l.Processes:
		return ReasonProcesses
	}
	return ""
}

// load is the memory of one process that it does not share, in pages, and its
// number of threads.
func load(pid int) (pages int64, threads int) {
	proc := "/proc/" + strconv.Itoa(pid)
	if statm, err := os.ReadFile(proc + "/statm"); err == nil {
		if f := strings.Fields(string(statm)); len(f) > 2 {
			resident, _ := strconv.ParseInt(f[1], 10, 64)
			shared, _ := strconv.ParseInt(f[2], 10, 64)
			pages = resident - shared
		}
	}
	tasks, err := os.ReadDir(proc + "/task")
	if err != nil {
		return pages, 1
	}
	return pages, len(tasks)
}

// bootTime is a clock that also counts while the machine sleeps, as leases do.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

func signalName(s syscall.Signal) string { return unix.SignalName(s) }

func duplicate(from, to int) error { return unix.Dup3(from, to, 0) }

// polling is what holds a limit when the supervisor must look itself.
func polling() string { return heldByPolling }
