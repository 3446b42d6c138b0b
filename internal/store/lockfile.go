package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/lineshaft/lineshaft"
)

// lockFile takes an exclusive lock that ends with the process, so that two servers
// never write one SQLite file.
func lockFile(path string) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		closeErr := file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, lineshaft.Conflict("another lineshaft server is running on this database (%s is locked); "+
				"stop it, give this one its own --data-dir, or use PostgreSQL for several nodes", path)
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), closeErr)
	}
	return file.Close, nil
}
