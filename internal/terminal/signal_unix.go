//go:build linux || darwin

package terminal

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Size asks the terminal how wide and how high it is; 0 when it does not say.
func Size(file *os.File) (columns, rows int) {
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// Signals says what happens to the program until stop is called. Interrupts and the
// request to end are not among them: who handles them does so for the whole program.
func Signals() (signals <-chan Signal, stop func()) {
	from, to, done := make(chan os.Signal, 8), make(chan Signal, 8), make(chan struct{})
	signal.Notify(from, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		defer close(to)
		for {
			select {
			case <-done:
				return
			case s := <-from:
				what := map[os.Signal]Signal{syscall.SIGWINCH: SignalResize, syscall.SIGTSTP: SignalSuspend, syscall.SIGHUP: SignalEnd, syscall.SIGQUIT: SignalEnd}[s]
				select {
				case to <- what:
				case <-done:
					return
				}
			}
		}
	}()
	return to, func() {
		signal.Stop(from)
		close(done)
	}
}

// Suspend stops the program as Ctrl-Z does, and returns when it was continued.
func Suspend() {
	// The stop reaches the threads one after another, so this one may run on for a while.
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) // to oneself it is always allowed
	<-continued
}
