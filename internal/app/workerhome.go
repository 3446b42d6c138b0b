package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// workerHome is the folder of one worker process. A process that ends in good order
// removes its name; a process that finds a name is the next life of a process that
// died, and reports that to the server, which then knows that what that one held is over
//
type workerHome struct {
	dir     string
	process string
	unclean bool
	lock    *os.File
}

// openWorkerHome takes the folder for this process alone.
func openWorkerHome(dir string) (*workerHome, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	h := &workerHome{dir: dir, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		h.unlock()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another worker uses %s; give each its own --data-dir", dir)
		}
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if err := h.name(); err != nil {
		h.unlock()
		return nil, err
	}
	return h, nil
}

func (h *workerHome) nameFile() string { return filepath.Join(h.dir, "process") }

// name finds the name of the process that died here, or makes one.
func (h *workerHome) name() error {
	raw, err := os.ReadFile(h.nameFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read name of worker process: %w", err)
	}
	if h.process = strings.TrimSpace(string(raw)); lineshaft.CheckWorkerID("", h.process) == nil {
		h.unclean = true
		return nil
	}
	h.process = id.Alphanumeric(12)
	temporary := h.nameFile() + ".new"
	if err := os.WriteFile(temporary, []byte(h.process+"\n"), 0o600); err != nil {
		return fmt.Errorf("store name of worker process: %w", err)
	}
	if err := os.Rename(temporary, h.nameFile()); err != nil {
		return fmt.Errorf("store name of worker process: %w", err)
	}
	return nil
}

// leave says that nothing is left of this process.
func (h *workerHome) leave() error {
	if err := os.Remove(h.nameFile()); err != nil {
		return fmt.Errorf("remove name of worker process: %w", err)
	}
	return nil
}

func (h *workerHome) unlock() { _ = h.lock.Close() }
