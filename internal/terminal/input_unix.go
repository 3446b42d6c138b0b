//go:build linux || darwin

package terminal

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// escapeWait is how long, in milliseconds, a lone escape character waits for what would
// make it a key with a name.
const escapeWait = 50

// Input is a terminal whose typing comes key by key and is not shown. Signals by keys
// stay: Ctrl-C and Ctrl-Z do what they do everywhere.
type Input struct {
	file *os.File
	was  *unix.Termios
	mu   sync.Mutex
}

// OpenInput takes the typing of a terminal. It refuses what is none, and a terminal that
// belongs to another job of the shell.
func OpenInput(file *os.File) (*Input, error) {
	fd := int(file.Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("look at the terminal: %w", err)
	}
	// A terminal that does not control this process does not say whose it is.
	if owner, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && owner != unix.Getpgrp() {
		return nil, errors.New("the terminal belongs to another job")
	}
	in := &Input{file: file, was: was}
	return in, in.Take()
}

// Hide makes a terminal keep what is typed to itself, line by line, until restore is called.
func Hide(file *os.File) (restore func(), err error) {
	was, err := unix.IoctlGetTermios(int(file.Fd()), getTermios)
	if err != nil {
		return nil, fmt.Errorf("look at the terminal: %w", err)
	}
	in := &Input{file: file, was: was}
	silent := *was
	silent.Lflag |= unix.ICANON
	return in.Restore, in.silence(silent)
}

// Take makes typing silent and immediate, again after Restore.
func (in *Input) Take() error {
	immediate := *in.was
	immediate.Lflag &^= unix.ICANON
	immediate.Cc[unix.VMIN], immediate.Cc[unix.VTIME] = 1, 0
	return in.silence(immediate)
}

func (in *Input) silence(mode unix.Termios) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	mode.Lflag &^= unix.ECHO
	mode.Lflag |= unix.ISIG
	if err := unix.IoctlSetTermios(int(in.file.Fd()), setTermios, &mode); err != nil {
		return fmt.Errorf("set up the terminal: %w", err)
	}
	return nil
}

// Restore gives the terminal back as it was. It may be called twice.
func (in *Input) Restore() {
	in.mu.Lock()
	defer in.mu.Unlock()
	_ = unix.IoctlSetTermios(int(in.file.Fd()), setTermios, in.was) // the terminal may be gone by then
}

// Read hands on keys until stop is closed or the terminal is gone.
func (in *Input) Read(stop <-chan struct{}, key func(Key)) error {
	wake, waker, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = wake.Close() }()
	done := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-stop:
		case <-done:
		}
		_ = waker.Close() // which ends the poll
	})
	defer waiting.Wait()
	defer close(done)
	rest, buffer := "", make([]byte, 4096)
	for {
		timeout := -1
		if rest != "" {
			timeout = escapeWait
		}
		ready, err := in.wait(wake, timeout)
		if err != nil || ready == stopped {
			return err
		}
		n := 0
		if ready == typed {
			if n, err = unix.Read(int(in.file.Fd()), buffer); err != nil && !errors.Is(err, unix.EINTR) {
				return fmt.Errorf("read the terminal: %w", err)
			}
			if n == 0 && err == nil {
				return nil // it is gone
			}
		}
		var keys []Key
		keys, rest = DecodeKeys(rest+string(buffer[:max(n, 0)]), ready == silence)
		for _, k := range keys {
			key(k)
		}
	}
}

type readiness int

const (
	silence readiness = iota
	typed
	stopped
)

// wait returns when something was typed, when wake is closed, or after the time-out.
func (in *Input) wait(wake *os.File, timeout int) (readiness, error) {
	fds := []unix.PollFd{{Fd: int32(in.file.Fd()), Events: unix.POLLIN}, {Fd: int32(wake.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, timeout)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return stopped, fmt.Errorf("wait for the terminal: %w", err)
		case n == 0:
			return silence, nil
		case fds[1].Revents != 0:
			return stopped, nil
		}
		return typed, nil
	}
}
