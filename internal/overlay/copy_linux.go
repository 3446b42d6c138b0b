package overlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft/internal/tree"
)

// ErrIndexed is wrapped by CopyStore when a file with several names was written to: inodes
// record which names it has, and a copy does not have those inodes.
var ErrIndexed = errors.New("a file with several names was written to")

// Kind is what an entry of what was written says of the lower folder.
type Kind int

// What entries say.
const (
	// Entry takes the place of a lower one; a folder is one with the lower one.
	Entry Kind = iota
	// Gone says that the lower entry was removed.
	Gone
	// Opaque is a folder without any lower content.
	Opaque
	// Moved is a folder that has what is lower at another place.
	Moved
)

// KindOf looks at an entry below the folder upper of a store.
func KindOf(name string, mode fs.FileMode) Kind {
	value := make([]byte, 8)
	switch {
	case mode&fs.ModeCharDevice != 0:
		return Gone
	case !mode.IsDir():
		return Entry
	}
	if _, err := unix.Lgetxattr(name, "trusted.overlay.redirect", value); !errors.Is(err, unix.ENODATA) {
		return Moved
	}
	if _, err := unix.Lgetxattr(name, "trusted.overlay.opaque", value); err == nil {
		return Opaque
	}
	return Entry
}

// Indexed says that a file with several names may have been written to by another name.
func Indexed(store string) bool {
	index, err := os.ReadDir(filepath.Join(store, "work", "index"))
	return err != nil || slices.ContainsFunc(index, func(e fs.DirEntry) bool { return e.Type()&fs.ModeDevice == 0 })
}

// CopyStore copies what was written through a mount into another store, for a mount on top of
// the same lower folder. Nobody may write in the meantime.
func CopyStore(ctx context.Context, from, to string) error {
	if Indexed(from) {
		return fmt.Errorf("copy store: %w", ErrIndexed)
	}
	from, to = filepath.Join(from, "upper"), filepath.Join(to, "upper")
	if err := errors.Join(os.MkdirAll(to, 0o700), copyAttributes(from, to)); err != nil {
		return fmt.Errorf("copy store: %w", err)
	}
	folder, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy store: %w", err)
	}
	defer func() { _ = folder.Close() }()
	var (
		folders []func() error // their times change with what is put into them
		left    error
	)
	walker := tree.Walker{
		Visit: func(e *tree.Entry) error {
			name, info := filepath.FromSlash(e.Path()), e.Info
			source, target := filepath.Join(from, name), filepath.Join(to, name)
			if info.Links > 1 && info.Mode.IsRegular() {
				return ErrIndexed
			}
			if err := copyEntry(e, target); err != nil || info.Mode&fs.ModeDevice != 0 {
				return err
			}
			finish := func() error { return finishEntry(source, target, info) }
			if info.Mode.IsDir() {
				folders = append(folders, finish)
				return nil
			}
			return finish()
		},
		Left: func(_ string, why error) { left = errors.Join(left, why) },
	}
	err = errors.Join(walker.Walk(ctx, folder), left)
	for _, finish := range slices.Backward(folders) {
		if err == nil {
			err = finish()
		}
	}
	if err != nil {
		return fmt.Errorf("copy store: %w", err)
	}
	return nil
}

// copyEntry makes one entry, without what finishEntry sets.
func copyEntry(e *tree.Entry, target string) error {
	switch mode := e.Info.Mode; {
	case mode.IsDir():
		return os.Mkdir(target, 0o700)
	case mode.IsRegular():
		source, _, err := e.Open()
		if err != nil {
			return err
		}
		defer func() { _ = source.Close() }()
		f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, source)
		return errors.Join(err, f.Close())
	case mode&fs.ModeSymlink != 0:
		to, err := e.Readlink()
		if err != nil {
			return err
		}
		return os.Symlink(to, target)
	case mode&fs.ModeCharDevice != 0: // a name that was removed
		return unix.Mknod(target, unix.S_IFCHR, 0)
	case mode&fs.ModeSocket != 0: // nobody listens there
		return nil
	}
	return fmt.Errorf("%q is a special file", e.Name)
}

func finishEntry(source, target string, info tree.Info) error {
	if info.Mode&fs.ModeSocket != 0 {
		return nil
	}
	err := os.Lchown(target, int(info.UID), int(info.GID))
	if err == nil && info.Mode&fs.ModeSymlink == 0 {
		err = errors.Join(os.Chmod(target, info.Mode), copyAttributes(source, target))
	}
	at := unix.NsecToTimespec(info.Modified.UnixNano())
	return errors.Join(err, unix.UtimesNanoAt(unix.AT_FDCWD, target, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW))
}

// copyAttributes copies what was noted of an entry: by the kernel, that it was moved or replaced,
// and by programs.
func copyAttributes(source, target string) error {
	names := make([]byte, 64<<10)
	n, err := unix.Llistxattr(source, names)
	if err != nil {
		return fmt.Errorf("list attributes: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if !strings.HasPrefix(name, "trusted.overlay.") && !strings.HasPrefix(name, "user.") {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(source, name, value)
		if err == nil {
			err = unix.Lsetxattr(target, name, value[:n], 0)
		}
		if err != nil {
			return fmt.Errorf("copy attribute %s: %w", name, err)
		}
	}
	return nil
}
