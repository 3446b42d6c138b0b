//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// windowColumns asks the terminal how wide it is; 0 when it does not say.
func windowColumns(file *os.File) int {
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
