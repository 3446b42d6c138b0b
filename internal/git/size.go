package git

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/lineshaft/lineshaft"
)

const watchPoll = 250 * time.Millisecond

func oversize(limit int64) error {
	return &lineshaft.Error{
		Code:    lineshaft.CodePayloadTooLarge,
		Message: fmt.Sprintf("the repository has more than %d MiB; use a smaller one", limit>>20),
	}
}

// watch ends the context when a folder grows too large: git itself sets no limit.
func watch(ctx context.Context, dir string, limit int64) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pause := watchPoll
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			began := time.Now()
			if sizeOf(dir) > limit {
				cancel(oversize(limit))
			}
			pause = max(watchPoll, 20*time.Since(began)) // large folders take long to walk
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// sizeOf sums the files below a folder. Those that vanish meanwhile do not count.
func sizeOf(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
