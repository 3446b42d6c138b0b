package sandbox

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// How often the supervisor looks at its clock and at polled limits, at most.
const tick = 250 * time.Millisecond

// memoryLimit is where the supervisor begins to collect garbage.
const memoryLimit = 32 << 20

// Supervise is the body of the supervisor: it reads an order, starts the agent,
// ends its tree and reports. It is the whole of the hidden subcommand that
// [Options.Supervisor] names, and returns that command's exit code. It must be
// called by the only goroutine that does anything in its process, as early as
// possible: everything done before it adds to the start of every agent. The end
// of ctx kills the tree; a context that signals end would defeat the rule that
// only the worker decides.
func Supervise(ctx context.Context) int {
	// The kernel signals the agent when the thread that started it dies, and control
	// groups and namespaces also belong to a thread: stay on this one for good.
	runtime.LockOSThread()
	// The process uses so little memory that collecting it costs more than it frees, above
	// all in threads: there may be none left when a fork bomb must be ended.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	for _, fd := range []int{controlFD, statusFD} {
		if !isPipe(fd) {
			fmt.Fprintln(os.Stderr, "lineshaft supervise is started by a worker, not by hand")
			return 2
		}
		syscall.CloseOnExec(fd)
	}
	closeOnExec()
	// Handled, not ignored: the agent would inherit an ignored signal. Only the
	// control pipe ends the tree, so a service manager that signals the whole
	// group leaves the worker the time to end in order.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)

	s := &supervisor{
		status:   json.NewEncoder(os.NewFile(statusFD, "status")),
		commands: make(chan string),
		fed:      bootTime(),
	}
	control := bufio.NewReader(os.NewFile(controlFD, "control"))
	if err := gob.NewDecoder(control).Decode(&s.order); err != nil {
		s.report(report{Error: "read the order: " + err.Error()})
		return 1
	}
	go s.listen(control)
	return s.run(ctx)
}

// supervisor is the state of one Supervise call. Only the goroutine of run
// touches it, except for the fields listen and reap are given.
type supervisor struct {
	order    order
	status   *json.Encoder
	commands chan string // lines of the control pipe; closed at its end

	agent    *agent
	fed      time.Duration // when the last feed came, on the clock of bootTime
	grace    <-chan time.Time
	deadline time.Time // when grace fires; zero: never
}

func (s *supervisor) report(r report) {
	// A worker that is gone cannot be notified, and nobody else needs to be.
	_ = s.status.Encode(r)
}

// listen passes the lines of the control pipe on.
func (s *supervisor) listen(control *bufio.Reader) {
	defer close(s.commands)
	for {
		line, err := control.ReadString('\n')
		if err != nil {
			return
		}
		s.commands <- line
	}
}

// run starts the agent and stays until nothing of it is left.
func (s *supervisor) run(ctx context.Context) int {
	if err := adoptOrphans(); err != nil {
		s.report(report{Error: err.Error()})
		return 1
	}
	groups := groups(s.order.Groups)
	if err := groups.create(); err != nil {
		groups.remove(ctx)
		s.report(report{Error: err.Error()})
		return 1
	}
	a, err := startAgent(&s.order)
	if err != nil {
		groups.remove(ctx)
		s.report(report{Error: err.Error()})
		return 1
	}
	releaseStreams()
	s.agent = a
	children := reap(a.pid)
	exit, failure := s.watch(ctx, children)
	left := s.endContainer(ctx, children, &exit)
	s.sweep(children)
	if exit.Reason == ReasonExited && groups.outOfMemory() {
		exit.Reason = ReasonMemory
	}
	status := <-children.main
	exit.Code, exit.Signal = describe(status)
	exit.MaxRSS, exit.CPU = usage()
	groups.remove(ctx)
	if failure != "" {
		s.report(report{Error: failure})
		return 1
	}
	s.report(report{Exit: &exit, Error: left})
	return 0
}

// endContainer removes the container, which is not part of the tree, and says what
// went wrong. The program that runs it is ended before: otherwise it might make or start the
// container after it was found missing. What it left is swept afterwards.
func (s *supervisor) endContainer(ctx context.Context, children *children, exit *Exit) (failure string) {
	c := s.order.Container
	if c == nil {
		return ""
	}
	if !closed(children.ended) {
		s.agent.kill()
		select {
		case <-children.ended:
		case <-time.After(toolWithin): // stuck in the kernel
		}
	}
	ctx = context.WithoutCancel(ctx)
	if exit.Reason == ReasonExited && c.outOfMemory(ctx) {
		exit.Reason = ReasonMemory
	}
	if err := c.remove(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// watch returns when the tree must end, with the reason. A failure is the
// reason why the agent never ran.
func (s *supervisor) watch(ctx context.Context, children *children) (exit Exit, failure string) {
	ticker := time.NewTicker(s.tick())
	defer ticker.Stop()
	killed := false
	ready := s.agent.ready
	watching, stop := context.WithCancel(ctx)
	defer stop()
	full := make(chan struct{}, 1)
	go s.order.Disk.watch(watching, full)
	for {
		select {
		case err := <-ready:
			ready = nil
			if err != nil {
				return exit, err.Error()
			}
			s.report(report{Started: s.agent.pid})
		case <-children.ended:
			if ready != nil { // it may have been ready and gone at once
				if err := <-ready; err != nil {
					return exit, err.Error()
				}
				s.report(report{Started: s.agent.pid})
			}
			if killed {
				exit.Reason = ReasonKilled
			}
			return exit, ""
		case line, ok := <-s.commands:
			if !ok {
				exit.Reason = ReasonOrphaned
				return exit, ""
			}
			done, asked := s.obey(line)
			killed = killed || asked
			if done != "" {
				exit.Reason = done
				return exit, ""
			}
		case <-full:
			exit.Reason = ReasonDisk
			return exit, ""
		case <-s.grace:
			exit.Reason = ReasonKilled
			return exit, ""
		case <-ticker.C:
			if exit.Reason = s.inspect(ready == nil); exit.Reason != "" {
				return exit, ""
			}
		case <-ctx.Done():
			exit.Reason = ReasonKilled
			return exit, ""
		}
	}
}

// obey carries out one command. The reason is set when the tree must end now;
// asked is true when it was asked to end at all.
func (s *supervisor) obey(line string) (reason string, asked bool) {
	name, grace, err := parseCommand(line)
	switch {
	case err != nil || name == commandKill || grace == 0 && name == commandTerm:
		// A worker that cannot be understood is treated as one that is gone.
		return ReasonKilled, true
	case name == commandTerm:
		s.agent.terminate()
		if at := time.Now().Add(grace); s.deadline.IsZero() || at.Before(s.deadline) {
			s.deadline, s.grace = at, time.After(grace)
		}
		return "", true
	}
	// A feed that comes too late does not revive: a worker that was frozen
	// together with its supervisor has lost its lease.
	if s.starved() {
		return ReasonStarved, false
	}
	s.fed = bootTime()
	return "", false
}

func (s *supervisor) starved() bool {
	return s.order.FeedWithin > 0 && bootTime()-s.fed >= s.order.FeedWithin
}

// inspect runs at every tick. Limits are the agent's own: what starts it is not
// held to them.
func (s *supervisor) inspect(running bool) string {
	switch {
	case s.starved():
		return ReasonStarved
	case !running:
		return ""
	case groups(s.order.Groups).outOfMemory():
		return ReasonMemory
	}
	return s.order.Polled.exceeded()
}

func (s *supervisor) tick() time.Duration {
	if f := s.order.FeedWithin; f > 0 {
		return max(min(tick, f/8), time.Millisecond)
	}
	return tick
}

// sweep ends all that is left. It returns when there is nothing.
func (s *supervisor) sweep(c *children) {
	s.agent.finish()
	pause := 5 * time.Millisecond
	for round := 0; !closed(c.gone); round++ {
		groups(s.order.Groups).kill()
		s.agent.kill()
		if round > 0 { // the search of all processes is seldom needed, and slow
			killTree(os.Getpid())
		}
		select {
		case <-c.gone:
		case <-time.After(pause):
			pause = min(2*pause, tick)
		}
	}
}

// children are the processes the supervisor must wait for: the agent and every
// orphan of its tree.
type children struct {
	main  chan syscall.WaitStatus // gets the status of the agent
	ended chan struct{}           // closed when the agent was reaped
	gone  chan struct{}           // closed when no child is left, so nothing of the tree
}

// reap waits for children until there is none. An orphan anywhere in the tree
// becomes a child of the supervisor, so none left means that the tree is gone.
func reap(pid int) *children {
	c := &children{main: make(chan syscall.WaitStatus, 1), ended: make(chan struct{}), gone: make(chan struct{})}
	go func() {
		var mainEnded bool
		for {
			// Once the agent is reaped, ended may only be closed after it is known
			// whether anything is left: then an ordinary end needs no sweep.
			flags := 0
			if mainEnded && !closed(c.ended) {
				flags = syscall.WNOHANG
			}
			var status syscall.WaitStatus
			got, err := syscall.Wait4(-1, &status, flags, nil)
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil: // no child is left
				close(c.gone)
				if !closed(c.ended) {
					close(c.ended)
				}
				return
			case got == pid:
				mainEnded = true
				c.main <- status
			case got == 0:
				close(c.ended)
			}
		}
	}()
	return c
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// describe gives the exit code the way shells do.
func describe(status syscall.WaitStatus) (code int, signal string) {
	if status.Signaled() {
		return 128 + int(status.Signal()), signalName(status.Signal())
	}
	return status.ExitStatus(), ""
}

// usage adds up what the reaped tree has used.
func usage() (maxRSS int64, cpu time.Duration) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0, 0
	}
	return u.Maxrss * maxRSSUnit, time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// releaseStreams lets go of the agent's streams: the worker must see their end
// when the agent closes them, and nothing of ours may get into them.
func releaseStreams() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer func() { _ = null.Close() }()
	for fd := range 3 {
		_ = duplicate(int(null.Fd()), fd)
	}
}

func isPipe(fd int) bool {
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO
}
