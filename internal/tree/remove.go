package tree

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Remove removes a file, or a folder with all that is in it. What is not there is
// removed already. The folder that holds it must be nobody else's to change.
func Remove(ctx context.Context, name string) error {
	parent, err := os.Open(filepath.Dir(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove folder: %w", err)
	}
	defer func() { _ = parent.Close() }()
	return RemoveAt(ctx, parent, filepath.Base(name))
}

// RemoveAt is Remove of a name in an open folder. It removes as much as it can,
// and returns the first error.
func RemoveAt(ctx context.Context, folder *os.File, name string) error {
	if err := newRemover().remove(ctx, int(folder.Fd()), name); err != nil {
		return fmt.Errorf("remove folder: %w", err)
	}
	return nil
}

// needToRemove is what the owner of a folder needs to empty it.
const needToRemove = 0o700

// remover removes one tree. A folder that it meets below another is moved to the
// top under a number, and emptied when its turn comes: so no path gets longer than
// one name, nothing has to be remembered of the way, and three descriptors do.
type remover struct {
	top    int
	prefix string // of the numbers: random, so that no name of the tree's is like it
	moved  int    // folders moved to the top
	done   int    // of those, how many had their turn
	buffer []byte
	calls  int // calls of the kernel that change something
	failed error
}

func newRemover() *remover {
	return &remover{prefix: ".remove-" + rand.Text() + "-", buffer: make([]byte, 32<<10)}
}

func (r *remover) remove(ctx context.Context, parent int, name string) error {
	info, err := statAt(parent, name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode.IsDir() {
		r.calls++
		return unlink(parent, name, 0)
	}
	if r.top, err = openFolder(parent, name, needToRemove); err != nil {
		return err
	}
	defer func() { _ = unix.Close(r.top) }()
	r.until(ctx, parent, name, r.top, func(name string) { r.clear(ctx, name) })
	return r.failed
}

// rounds is how often a folder is listed that does not get empty: its listing may
// miss names while others go, and somebody may still be adding some.
const rounds = 16

// until empties an open folder and removes it by its name.
func (r *remover) until(ctx context.Context, parent int, name string, fd int, folder func(string)) {
	for range rounds {
		if !r.drain(ctx, fd, folder) {
			return
		}
		r.calls++
		err := unlink(parent, name, unix.AT_REMOVEDIR)
		if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
			r.note(err)
			return
		}
		if r.failed != nil {
			return // it cannot get empty
		}
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			r.note(err)
			return
		}
	}
	r.note(fmt.Errorf("%s is being filled meanwhile", name))
}

// drain removes the files of an open folder, and calls folder with the names of
// those in it. At the top the folders that were moved there follow.
func (r *remover) drain(ctx context.Context, fd int, folder func(string)) bool {
	for {
		if ctx.Err() != nil {
			r.note(context.Cause(ctx))
			return false
		}
		names, err := readSome(fd, r.buffer)
		r.note(err)
		if err != nil {
			return false
		}
		if len(names) == 0 {
			break
		}
		for _, name := range names {
			if fd == r.top && strings.HasPrefix(name, r.prefix) {
				continue
			}
			r.calls++
			switch err := unlink(fd, name, 0); {
			case errors.Is(err, unix.EISDIR), errors.Is(err, unix.EPERM): // the second is what POSIX says
				folder(name)
			default:
				r.note(err)
			}
		}
	}
	for ; fd == r.top && r.done < r.moved && ctx.Err() == nil; r.done++ {
		r.clear(ctx, r.prefix+strconv.Itoa(r.done))
	}
	return true
}

func (r *remover) clear(ctx context.Context, name string) {
	r.calls++
	fd, err := openFolder(r.top, name, needToRemove)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			r.note(err)
		}
		return
	}
	defer func() { _ = unix.Close(fd) }()
	r.until(ctx, r.top, name, fd, func(inner string) { r.lift(fd, inner) })
}

// lift moves a folder to the top.
func (r *remover) lift(fd int, name string) {
	to := r.prefix + strconv.Itoa(r.moved)
	r.calls++
	err := unix.Renameat(fd, name, r.top, to)
	if errors.Is(err, unix.EACCES) { // moving a folder writes to it
		if err = unlock(fd, name, unix.S_IFDIR, 0o700); err == nil {
			err = unix.Renameat(fd, name, r.top, to)
		}
	}
	if err == nil {
		r.moved++
	} else if !errors.Is(err, unix.ENOENT) {
		r.note(fmt.Errorf("move %s: %w", name, err))
	}
}

func (r *remover) note(err error) {
	if r.failed == nil {
		r.failed = err
	}
}

// unlink removes one name. One that is not there is removed already.
func unlink(folder int, name string, flags int) error {
	err := retry(func() error { return unix.Unlinkat(folder, name, flags) })
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return fmt.Errorf("remove %s: %w", name, err)
}
