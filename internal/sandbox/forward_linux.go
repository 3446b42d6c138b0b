package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"path"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeAgent listens, starts the forwarding process and executes the command. It
// returns only with an error.
func becomeAgent(ctx context.Context, port int, socket string, command []string) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("listen for the agent: %w", err)
	}
	if err := leaveBehind(listener, socket); err != nil {
		return fmt.Errorf("start forward: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find working directory: %w", err)
	}
	env := syscall.Environ()
	program, err := lookPath(command[0], path.Clean(dir), env, executable)
	if err != nil {
		return err
	}
	// Everything else that is open here is closed by the kernel at this moment.
	return fmt.Errorf("execute %s: %w", program, syscall.Exec(program, command, env))
}

// leaveBehind starts the forwarding process. It is a child of the sandbox's first
// process and not of the agent, which may wait for all its children; it has its own
// session, so that signals for the agent's group do not reach it; and it has none
// of the agent's streams, whose end must be seen, nor its environment.
func leaveBehind(listener net.Listener, socket string) error {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return fmt.Errorf("listener is a %T", listener)
	}
	file, err := tcp.File()
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	_, err = syscall.ForkExec("/proc/self/exe", []string{programName, forwardWord, serveWord, socket}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1"},
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), file.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_PARENT},
	})
	return err
}
