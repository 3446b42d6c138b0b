package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
)

// lockWait is how long a lock may be held by a server that is just going: killed
// while it starts a process, it lives on in that child for a moment.
const lockWait = 2 * time.Second

// lockFile takes an exclusive lock that ends with the process, so that two servers
// never write one SQLite file.
func lockFile(ctx context.Context, path string) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		select {
		case <-ctx.Done():
			taken := lineshaft.Conflict("another lineshaft server is running on this database (%s is locked); "+
				"stop it, or give another --data-dir; with PostgreSQL several can share one", path)
			taken.Cause = file.Close()
			return nil, taken
		case <-time.After(20 * time.Millisecond):
		}
	}
}
