package app

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// closeMemory keeps other processes of the same user out of this one's memory and
// /proc folder: agents may run as that user, and this process has secrets that they
// are not given. Started programs do not inherit this.
func closeMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep other processes out of this one's memory: %w", err)
	}
	return nil
}
