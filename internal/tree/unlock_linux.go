package tree

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// unlock lets the owner use a file or a folder again whose permissions it has
// taken away. It opens the place without the file, because a change by name would
// follow a link that is put there meanwhile.
func unlock(folder int, name string, kind, mode uint32) error {
	fd, err := openAt(folder, name, unix.O_PATH)
	if err != nil {
		return fmt.Errorf("open up %s: %w", name, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("open up %s: %w", name, err)
	}
	if st.Mode&unix.S_IFMT != kind {
		return ErrMoved
	}
	if err := os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), os.FileMode(mode)); err != nil {
		return fmt.Errorf("open up %s: %w", name, err)
	}
	return nil
}
