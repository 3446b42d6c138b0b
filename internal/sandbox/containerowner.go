package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// containerPrefix begins the names of containers; the process that made one follows.
	containerPrefix = "lineshaft-"
	// processPrefix begins the names of files that processes hold locked while they live.
	processPrefix = "process-"
	// strayGrace is how long nothing looks after a container before Sweep removes it: its
	// supervisor may still be working on it.
	strayGrace = 2 * time.Minute
)

// claimProcess gives this process a name that its containers carry, and holds a lock under
// that name until it ends. Several workers may share a data directory, and with it the
// label of their containers; `lineshaft doctor` also makes some.
func (c *Container) claimProcess() error {
	c.claim.Do(func() {
		c.process = strings.ToLower(rand.Text()[:8])
		c.claimed = c.lockProcess()
	})
	return c.claimed
}

func (c *Container) lockProcess() error {
	if err := os.MkdirAll(c.options.State, 0o700); err != nil {
		return fmt.Errorf("make folder for containers: %w", err)
	}
	// It gets its name when it is locked: nobody finds it free before.
	file, err := os.CreateTemp(c.options.State, "new-"+processPrefix)
	if err != nil {
		return fmt.Errorf("make lock for containers: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(file.Name(), c.processFile(c.process))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		_ = file.Close()
		return fmt.Errorf("lock for containers: %w", err)
	}
	c.lock = file
	return nil
}

func (c *Container) processFile(process string) string {
	return filepath.Join(c.options.State, processPrefix+process)
}

// another says whether another process that made something is alive. The name of what it
// made begins with a prefix and the process.
func (c *Container) another(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	process, _, named := strings.Cut(rest, "-")
	return ok && named && process != c.process && c.alive(process)
}

// alive says whether a process holds its lock. When that is unknown, the process counts as
// alive: nothing of it is removed.
func (c *Container) alive(process string) bool {
	file, err := os.Open(c.processFile(process))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = file.Close() }()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// removeFiles removes what processes left that live no more.
func (c *Container) removeFiles() error {
	entries, err := os.ReadDir(c.options.State)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("find left files: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		process, ofProcess := strings.CutPrefix(name, processPrefix)
		ofContainer := strings.HasPrefix(name, statePrefix)
		if ofContainer && c.another(name, statePrefix) || !ofContainer && (!ofProcess || process == c.process || c.alive(process)) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.options.State, name)); err != nil {
			return fmt.Errorf("remove left files: %w", err)
		}
	}
	return nil
}

// strays are those of some containers that nothing has looked after for the grace.
func (c *Container) strays(names []string, now time.Time) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := map[string]time.Time{}
	var due []string
	for _, name := range names {
		if c.live[name] || c.another(name, containerPrefix) { // it was noted before it was made
			continue
		}
		first, seen := c.unseen[name]
		if !seen {
			first = now
		}
		since[name] = first
		if now.Sub(first) >= strayGrace {
			due = append(due, name)
		}
	}
	c.unseen = since
	return due
}
