//go:build !linux

package tree

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// unlock lets the owner use a file or a folder again whose permissions it has
// taken away.
func unlock(folder int, name string, _, mode uint32) error {
	if err := unix.Fchmodat(folder, name, mode, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("open up %s: %w", name, err)
	}
	return nil
}
