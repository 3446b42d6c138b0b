package git

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	folders "github.com/lineshaft/lineshaft/internal/tree"
)

const (
	// cleanEvery is how often the cache is checked, cacheAge how long a repository
	// that nobody asks for stays.
	cleanEvery = time.Hour
	cacheAge   = 14 * 24 * time.Hour
)

// cached is a repository in the cache.
type cached struct {
	dir  string
	used time.Time
	size int64
}

// cleanUp removes what was not used for long, and the oldest while there is too much.
// The caller uses the repository at keep.
func (c *Client) cleanUp(ctx context.Context, keep string) {
	c.mu.Lock()
	due := time.Since(c.cleaned) >= cleanEvery
	if due {
		c.cleaned = time.Now()
	}
	c.mu.Unlock()
	if !due {
		return
	}
	c.removeOld(ctx, "repositories", c.cfg.MaxCache, keep, time.Now())
	c.sweepKeys()
}

func (c *Client) removeOld(ctx context.Context, folder string, most int64, keep string, now time.Time) {
	all := c.cachedRepositories(folder)
	var total int64
	for _, r := range all {
		total += r.size
	}
	slices.SortFunc(all, func(a, b cached) int { return a.used.Compare(b.used) })
	for _, r := range all {
		if r.dir == keep || total <= most && now.Sub(r.used) < cacheAge {
			continue
		}
		if removeUnused(ctx, r.dir) {
			total -= r.size
		}
	}
}

func (c *Client) cachedRepositories(folder string) []cached {
	entries, err := os.ReadDir(c.path(folder))
	if err != nil {
		return nil
	}
	var all []cached
	for _, entry := range entries {
		dir := c.path(folder, entry.Name())
		if !strings.HasSuffix(dir, ".git") {
			continue
		}
		r := cached{dir: dir, size: sizeOf(dir)}
		if info, err := os.Stat(dir + ".lock"); err == nil {
			r.used = info.ModTime()
		}
		all = append(all, r)
	}
	return all
}

// removeUnused removes a repository that nobody holds. Its lock stays: another process
// may wait for that very file.
func removeUnused(ctx context.Context, dir string) bool {
	lock, err := lockFile(ctx, dir+".lock", syscall.LOCK_EX, false)
	if err != nil {
		return false
	}
	defer unlockFile(lock)
	return remove(ctx, dir) == nil
}

// remove removes a folder that a repository has filled, however deep, also after
// the end of the work that filled it.
func remove(ctx context.Context, dir string) error {
	return folders.Remove(context.WithoutCancel(ctx), dir)
}
