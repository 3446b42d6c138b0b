package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// killMargin is how long after the grace of Kill a supervisor may take before it
// counts as stopped or stuck, and its tree is ended without it.
const killMargin = 3 * time.Second

// feedsWithin is how many feeds are passed on within Spec.FeedWithin, at most.
const feedsWithin = 100

// orderWithin is how long a new supervisor may take to read its order.
const orderWithin = 20 * time.Second

// The read deadlines of streams.finish.
var (
	past  = time.Unix(1, 0)
	never = time.Time{}
)

// Process is a started agent with its supervisor. Its methods may be called by
// several goroutines and any number of times, also after the end.
type Process struct {
	supervisor *os.Process
	pid        int
	groups     groups
	container  *contained // nil: none
	streams    *streams
	preface    *preface
	unwatch    func() bool // stops watching the context of Start

	feedEvery time.Duration // feeds that come faster are not passed on; 0: none is

	mu      sync.Mutex // guards what follows, and the process id against being used again
	over    bool       // the supervisor is ending or was waited for
	control *os.File
	fed     time.Time

	started chan report // gets the first report, closed without one
	done    chan struct{}
	exit    Exit  // set before done is closed
	err     error // set before done is closed
}

// start runs a supervisor with an order.
func start(ctx context.Context, options Options, o *order, spec Spec) (*Process, error) {
	if len(options.Supervisor) == 0 {
		return nil, errors.New("start agent: no supervisor is set")
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("start agent: %w", context.Cause(ctx))
	}
	p := &Process{
		groups: o.Groups, container: o.Container, preface: &preface{}, feedEvery: o.FeedWithin / feedsWithin,
		started: make(chan report, 1), done: make(chan struct{}),
	}
	status, err := p.launch(options.Supervisor, spec)
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	if err := p.give(o); err != nil {
		_ = p.supervisor.Kill() // its end is seen by follow
	}
	p.unwatch = context.AfterFunc(ctx, func() { p.Kill(0) })
	p.streams.copy()
	go p.follow(ctx, status)
	return p.await(ctx)
}

// give passes the order on. Nothing else may be written before it is through.
func (p *Process) give(o *order) error {
	if err := p.control.SetWriteDeadline(time.Now().Add(orderWithin)); err != nil {
		return err
	}
	var buf bytes.Buffer // the encoder makes many small writes
	if err := gob.NewEncoder(&buf).Encode(o); err != nil {
		return err
	}
	if _, err := p.control.Write(buf.Bytes()); err != nil {
		return err
	}
	return p.control.SetWriteDeadline(time.Time{})
}

// await returns when the agent runs, or when it is sure that it does not.
func (p *Process) await(ctx context.Context) (*Process, error) {
	first := <-p.started
	if first.Started != 0 {
		p.pid = first.Started
		p.preface.stop()
		return p, nil
	}
	<-p.done
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("start agent: %w", context.Cause(ctx))
	case first.Error != "":
		return nil, fmt.Errorf("start agent: %s%s", first.Error, p.message())
	case p.err != nil:
		return nil, fmt.Errorf("start agent: %w%s", p.err, p.message())
	}
	return nil, fmt.Errorf("start agent: it ended before it ran: %s", p.exit.Reason)
}

func (p *Process) message() string {
	if text := strings.TrimSpace(p.preface.String()); text != "" {
		return ": " + text
	}
	return ""
}

// launch starts the supervisor process. Its environment is empty but for a
// setting of the Go runtime: it needs one processor, and nothing of the server's.
func (p *Process) launch(argv []string, spec Spec) (status *os.File, err error) {
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = controlR.Close() }()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		_ = controlW.Close()
		return nil, err
	}
	defer func() { _ = statusW.Close() }()
	if p.streams, err = openStreams(&spec, p.preface); err == nil {
		files := []*os.File{p.streams.child[0], p.streams.child[1], p.streams.child[2], controlR, statusW}
		p.supervisor, err = os.StartProcess(argv[0], argv, &os.ProcAttr{
			Dir:   "/",
			Env:   []string{"GOMAXPROCS=1"},
			Files: files,
			Sys:   &syscall.SysProcAttr{Setsid: true}, // a terminal's Ctrl-C is not for it
		})
		if err != nil {
			p.streams.abandon()
		}
	}
	if err != nil {
		_, _ = controlW.Close(), statusR.Close()
		return nil, err
	}
	p.streams.handOver()
	p.control = controlW
	return statusR, nil
}

// follow reads the reports and does what is left to do at the end.
func (p *Process) follow(ctx context.Context, status *os.File) {
	defer close(p.done)
	exit, err := p.readReports(status)
	_ = status.Close()
	p.mu.Lock()
	if err != nil {
		p.forceLocked()
	}
	// From here on its process id may become another's: only Wait touches it.
	p.over = true
	_ = p.control.Close()
	p.mu.Unlock()
	if _, waitErr := p.supervisor.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("wait for supervisor: %w", waitErr))
	}
	if err != nil {
		p.groups.kill()
		p.groups.remove(context.WithoutCancel(ctx))
		if p.container != nil {
			err = errors.Join(err, p.container.remove(context.WithoutCancel(ctx)))
		}
	}
	p.unwatch()
	p.exit, p.err = exit, errors.Join(err, p.streams.finish())
}

// readReports passes the first report on and returns the last.
func (p *Process) readReports(status *os.File) (Exit, error) {
	defer close(p.started)
	reports := json.NewDecoder(bufio.NewReader(status))
	for first := true; ; first = false {
		var r report
		if err := reports.Decode(&r); err != nil {
			return Exit{Code: -1, Reason: ReasonLost}, ErrSupervisorLost
		}
		if first {
			p.started <- r
		}
		switch {
		case r.Error != "" && r.Exit != nil:
			return *r.Exit, errors.New(r.Error)
		case r.Error != "":
			return Exit{Code: -1}, nil
		case r.Exit != nil:
			return *r.Exit, nil
		}
	}
}

// PID is the process id of the agent on the host; of bubblewrap, for an agent
// inside it. It is for logs.
func (p *Process) PID() int { return p.pid }

// Done is closed when Wait would return.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns when the agent and everything it started is gone and all output
// was passed on. The error is about the sandbox or the writers; an agent that
// fails is an Exit.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// Feed keeps the supervisor from ending the agent for another Spec.FeedWithin.
// It never blocks: a supervisor that does not listen loses the feed.
func (p *Process) Feed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A flood of feeds must not fill the pipe: a kill needs room.
	if now := time.Now(); p.feedEvery > 0 && now.Sub(p.fed) >= p.feedEvery {
		p.fed = now
		p.tellLocked(commandFeed)
	}
}

// Kill ends the agent: SIGTERM to its process group now, SIGKILL to the whole
// tree after grace, or at once when grace is zero. It does not wait; Wait does.
// A later call with less grace shortens it.
func (p *Process) Kill(grace time.Duration) {
	command := commandKill
	if grace > 0 {
		command = termCommand(grace)
	}
	p.mu.Lock()
	p.tellLocked(command)
	p.mu.Unlock()
	if closed(p.done) {
		return
	}
	margin := killMargin
	if p.container != nil {
		margin += removeWithin // it is asked of another program, which may be slow
	}
	timer := time.NewTimer(max(0, grace) + margin)
	go func() {
		defer timer.Stop()
		select {
		case <-p.done:
		case <-timer.C:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.forceLocked()
		}
	}()
}

// forceLocked ends the tree without the help of the supervisor, and the supervisor.
func (p *Process) forceLocked() {
	if p.over {
		return
	}
	p.groups.kill()
	killTree(p.supervisor.Pid)
	_ = p.supervisor.Kill()
}

// tellLocked writes one line to the supervisor, without waiting for room in the
// pipe: when there is none it has long been stopped, and Kill continues without it.
func (p *Process) tellLocked(command string) {
	if p.over {
		return
	}
	conn, err := p.control.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Write(func(fd uintptr) bool {
		_, _ = syscall.Write(int(fd), []byte(command+"\n"))
		return true
	})
}
