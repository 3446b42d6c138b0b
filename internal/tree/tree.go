// Package tree walks and removes folders that someone else has filled, and may
// still be filling: an agent.
//
// Names are looked up one at a time in a folder that is open, and no symbolic link
// is followed, so nothing leads out however the tree changes meanwhile. However
// deep it is, a few descriptors are open at once, and the work grows with the
// number of entries and with nothing else.
package tree

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// MaxDepth is how many levels of folders are looked at where more would be of no
// use to anybody: no repository is as deep.
const MaxDepth = 256

// What a walk leaves out, and why.
var (
	// ErrDeep is for a folder below the deepest level that is walked.
	ErrDeep = errors.New("its folders are nested too deeply")
	// ErrMany is for a folder of which not all names were read.
	ErrMany = errors.New("there are too many files")
	// ErrManyAttributes is for attributes that take too many bytes.
	ErrManyAttributes = errors.New("it has too many attributes")
	// ErrMoved is for a folder that was moved or replaced meanwhile.
	ErrMoved = errors.New("it was moved or replaced meanwhile")
)

// openAt opens the entry of an open folder. It follows no link, and waits for
// nobody at the other end of a pipe.
func openAt(folder int, name string, flags int) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(folder, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// openFolder opens a folder below an open one. One whose owner does not have what
// is needed of its permissions gets them first.
func openFolder(parent int, name string, need uint32) (int, error) {
	fd, err := openAt(parent, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if need != 0 && errors.Is(err, unix.EACCES) {
		if err := unlock(parent, name, unix.S_IFDIR, 0o700); err != nil {
			return -1, err
		}
		fd, err = openAt(parent, name, unix.O_RDONLY|unix.O_DIRECTORY)
	}
	if err != nil {
		return -1, fmt.Errorf("open folder: %w", err)
	}
	if need == 0 || os.Geteuid() == 0 {
		return fd, nil
	}
	if info, err := statOf(fd); err == nil && uint32(info.Mode)&need != need && int(info.UID) == os.Geteuid() {
		_ = unix.Fchmod(fd, 0o700) // what is refused all the same says so itself
	}
	return fd, nil
}

// readSome reads the next names of an open folder; none at its end.
func readSome(folder int, buffer []byte) (names []string, err error) {
	for {
		var n int
		err := retry(func() (err error) {
			n, err = unix.ReadDirent(folder, buffer)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read folder: %w", err)
		}
		_, _, names := unix.ParseDirent(buffer[:n], -1, nil)
		if n == 0 || len(names) > 0 {
			return names, nil
		}
	}
}

// readNames reads the names of an open folder in order, at most some more than
// most; a negative most is all of them.
func readNames(folder, most int, buffer []byte) (names []string, err error) {
	for most < 0 || len(names) <= most {
		some, err := readSome(folder, buffer)
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			break
		}
		names = append(names, some...)
	}
	slices.Sort(names)
	return names, nil
}

// retry calls again what a signal has interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
