//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

// agent is the started program as the supervisor sees it.
type agent struct {
	pid   int        // child of the supervisor and leader of a process group
	ready chan error // gives nil when the agent runs
}

// adoptOrphans does nothing: subreapers are a thing of Linux.
func adoptOrphans() error { return nil }

// closeOnExec does nothing more than Supervise has done.
func closeOnExec() {}

func processLimit() string { return notHeld }

// startAgent starts the program of the order in its own process group.
func startAgent(o *order) (*agent, error) {
	if o.Wrap != nil {
		return nil, errors.New("bubblewrap needs Linux")
	}
	pid, err := syscall.ForkExec(o.Path, o.Argv, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   o.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(o.Path), err)
	}
	a := &agent{pid: pid, ready: make(chan error, 1)}
	if o.Container != nil {
		go func() { a.ready <- o.Container.await(pid) }()
		return a, nil
	}
	a.ready <- nil
	return a, nil
}

func (a *agent) terminate() { _ = syscall.Kill(-a.pid, syscall.SIGTERM) }

// finish is called when the agent itself has ended. Its orphans are nobody's
// children here, so this is the last chance to end them.
func (a *agent) finish() { a.kill() }

func (a *agent) kill() { _ = syscall.Kill(-a.pid, syscall.SIGKILL) }

// Control groups are a thing of Linux: there is never one in an order.
func (groups) create() error          { return nil }
func (groups) remove(context.Context) {}
func (groups) kill()                  {}
func (groups) outOfMemory() bool      { return false }
