package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const lockPoll = 20 * time.Millisecond

// lock waits for a repository of the cache. The lock ends with the process.
func (c *Client) lock(ctx context.Context, dir string) (unlock func(), err error) {
	c.mu.Lock()
	place, ok := c.busy[dir]
	if !ok {
		place = make(chan struct{}, 1)
		c.busy[dir] = place
	}
	c.mu.Unlock()
	select {
	case place <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	file, err := lockFile(ctx, dir+".lock", true)
	if err != nil {
		<-place
		return nil, fmt.Errorf("lock cached repository: %w", err)
	}
	// Its time is that of the last use.
	_ = os.Chtimes(file.Name(), time.Time{}, time.Now())
	return func() { unlockFile(file); <-place }, nil
}

var errLocked = errors.New("locked")

func lockFile(ctx context.Context, path string, wait bool) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, syscall.EWOULDBLOCK) && !wait {
			err = errLocked
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		case <-time.After(lockPoll):
		}
	}
}

// unlockFile says that it unlocks: a child that is just being started may still hold
// the file open, and the lock with it.
func unlockFile(file *os.File) {
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
	_ = file.Close()
}
