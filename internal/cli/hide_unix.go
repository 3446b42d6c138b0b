//go:build linux || darwin

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// hideTyping makes a terminal keep what is typed to itself until restore is called.
func hideTyping(terminal *os.File) (restore func(), err error) {
	fd := int(terminal.Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	quiet := *was
	quiet.Lflag &^= unix.ECHO
	quiet.Lflag |= unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(fd, setTermios, &quiet); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }, nil // the terminal may be gone by then
}
