package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Copied says what a backup, a restore or a move has copied.
type Copied = store.BackupSummary

// Progress is called for each table that is done.
type Progress func(table string, rows int64)

// Backup writes the database of cfg to a file that only this user may read. The file
// is written whole or not at all.
func Backup(ctx context.Context, cfg config.Config, file string, progress Progress) (found Copied, err error) {
	if err := replaceable(file); err != nil {
		return found, err
	}
	snapshot, err := store.OpenReadOnly(ctx, cfg.DatabaseOrDefault())
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	sweepParts(file)
	to, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+partMark+"*") // with mode 0600
	if err != nil {
		return found, fmt.Errorf("make backup: %w", err)
	}
	defer func() { _ = os.Remove(to.Name()) }() // after the rename there is none
	if err := syscall.Flock(int(to.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return found, errors.Join(fmt.Errorf("make backup: lock %s: %w", to.Name(), err), to.Close())
	}
	found, err = snapshot.Backup(ctx, to, progress)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return found, err
	}
	if err := os.Rename(to.Name(), file); err != nil {
		return found, fmt.Errorf("make backup: %w", err)
	}
	return found, syncFolder(filepath.Dir(file))
}

// partMark is in the names of files that are still being written; an unlocked file older than
// partAge was certainly left behind.
const (
	partMark = ".part-"
	partAge  = time.Minute
)

// replaceable refuses a name that belongs to anything but a file: a rename would put
// the backup in the place of a device.
func replaceable(file string) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("make backup: %w", err)
	case info.IsDir():
		return lineshaft.Invalid("file", "%s is a folder; name a file in it", file)
	case !info.Mode().IsRegular():
		return lineshaft.Invalid("file", "%s is not a regular file, and a backup does not take the place of anything else; name another", file)
	}
	return nil
}

// sweepParts removes what killed backups to the same file left: each part holds
// everything that a backup does. Those that are still being written are locked. A part that
// cannot be removed does not stop a backup.
func sweepParts(file string) {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(entry.Name(), filepath.Base(file)+partMark) || time.Since(info.ModTime()) < partAge {
			continue
		}
		path := filepath.Join(filepath.Dir(file), entry.Name())
		part, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(part.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(path)
		}
		_ = part.Close()
	}
}

// syncFolder makes a rename durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("make backup durable: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("make backup durable: %w", err)
	}
	return nil
}

// Restore fills the new database of cfg from a file that Backup wrote.
func Restore(ctx context.Context, cfg config.Config, file string, progress Progress) (Copied, error) {
	open := func() (io.ReadCloser, error) { return os.Open(file) }
	return store.Restore(ctx, store.Options{Database: cfg.DatabaseOrDefault()}, open, progress)
}

// MoveDatabase copies one database into a new one. The first stays as it is.
func MoveDatabase(ctx context.Context, from, to string, progress Progress) (Copied, error) {
	open := func() (io.ReadCloser, error) {
		snapshot, err := store.OpenReadOnly(ctx, from)
		if err != nil {
			return nil, err
		}
		out, in := io.Pipe()
		done := make(chan error, 1)
		go func() {
			_, err := snapshot.Backup(ctx, in, nil)
			err = errors.Join(err, snapshot.Close())
			done <- in.CloseWithError(err)
		}()
		return &piped{PipeReader: out, done: done}, nil
	}
	return store.Restore(ctx, store.Options{Database: to}, open, progress)
}

// piped ends the writer with the reader.
type piped struct {
	*io.PipeReader
	done <-chan error
}

// Close implements io.Closer.
func (p *piped) Close() error {
	err := p.PipeReader.Close()
	return errors.Join(err, <-p.done)
}
