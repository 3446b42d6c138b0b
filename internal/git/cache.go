package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
)

// maxCommits is how many commits of a repository are kept before it is fetched again.
const maxCommits = 64

func (c *Client) bounded(ctx context.Context, a address, times int) (context.Context, context.CancelFunc) {
	limit := c.cfg.Timeout * time.Duration(times)
	return context.WithTimeoutCause(ctx, limit, lineshaft.Unavailable(nil, "%s did not answer within %s; check that this server can reach it", a.shown, limit))
}

// withCommit calls use with a bare repository that has the commit, locked against
// other users of this process and of others.
func (c *Client) withCommit(ctx context.Context, a address, commit string, use func(dir string) error) error {
	key := sha256.Sum256([]byte(fmt.Sprintf("%s %d", a.text, len(commit))))
	dir := c.path("repositories", hex.EncodeToString(key[:16])+".git")
	unlock, err := c.lock(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	if c.holds(dir, commit) {
		if err := use(dir); !damaged(ctx, err) {
			return err
		}
	}
	if err := c.obtain(ctx, a, dir, commit); err != nil {
		return err
	}
	defer c.cleanUp(ctx, dir)
	return use(dir)
}

// damaged says that a cached repository is to be fetched again: git cannot read it.
func damaged(ctx context.Context, err error) bool {
	_, failed := errors.AsType[*commandError](err)
	return ctx.Err() == nil && (failed || errors.Is(err, errOutput) && lineshaft.CodeOf(err) == lineshaft.CodeInternal)
}

// obtain fetches a commit. What cannot be added to is thrown away first.
func (c *Client) obtain(ctx context.Context, a address, dir, commit string) error {
	login, done, err := c.forgeLogin(a)
	defer done()
	if err != nil {
		return err
	}
	pin, err := c.reach(ctx, a)
	if err != nil {
		return err
	}
	if c.extends(ctx, dir, commit) {
		return explain(ctx, a, login, c.fetch(ctx, a, dir, commit, pin, login))
	}
	if err := remove(ctx, dir); err != nil {
		return fmt.Errorf("clear cached repository: %w", err)
	}
	if err := c.create(ctx, dir, len(commit)); err != nil {
		return err
	}
	return explain(ctx, a, login, c.fetch(ctx, a, dir, commit, pin, login))
}

// extends says whether a commit can be added to a repository of the cache: there are
// not too many yet, it is not kept in a damaged state, and git can read the others.
func (c *Client) extends(ctx context.Context, dir, commit string) bool {
	kept := c.commits(dir)
	if len(kept) == 0 || len(kept) >= maxCommits || c.holds(dir, commit) {
		return false
	}
	return c.run(ctx, call{args: []string{"--git-dir=" + dir, "cat-file", "-e", kept[0] + "^{tree}"}}) == nil
}

// create makes an empty repository, complete at once.
func (c *Client) create(ctx context.Context, dir string, idLength int) error {
	format := "sha1"
	if idLength == 64 {
		format = "sha256"
	}
	half := dir + ".new"
	if err := remove(ctx, half); err != nil {
		return fmt.Errorf("clear half a repository: %w", err)
	}
	if err := c.run(ctx, call{args: []string{"init", "--bare", "--quiet", "--template=", "--object-format=" + format, "--", half}}); err != nil {
		return err
	}
	return os.Rename(half, dir)
}

// fetch asks for the one commit. Old servers refuse to give a commit by its id; then all
// branches are fetched, and it must be the head of one.
func (c *Client) fetch(ctx context.Context, a address, dir, commit, pin string, login *login) error {
	fetch := func(refspec string) error {
		watched, stop := watch(ctx, dir, c.cfg.MaxFetch)
		defer stop()
		err := c.run(watched, call{
			args: []string{
				"--git-dir=" + dir, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
				"--no-auto-maintenance", "--no-show-forced-updates", "--depth=1", "--", a.text, refspec,
			},
			at: a, pin: pin, login: login,
		})
		if err != nil && ctx.Err() == nil && watched.Err() != nil {
			return context.Cause(watched)
		}
		return err
	}
	err := fetch("+" + commit + ":" + commitRefs + commit)
	if said, ok := errors.AsType[*commandError](err); ok && strings.Contains(said.stderr, "unadvertised object") {
		if err = fetch("+refs/heads/*:refs/heads/*"); err == nil {
			err = c.run(ctx, call{args: []string{"--git-dir=" + dir, "update-ref", "--", commitRefs + commit, commit}})
		}
	}
	if err == nil && sizeOf(dir) > c.cfg.MaxFetch {
		err = oversize(c.cfg.MaxFetch)
	}
	if lineshaft.CodeOf(err) == lineshaft.CodePayloadTooLarge {
		return errors.Join(err, remove(ctx, dir))
	}
	return err
}

// commitRefs hold the commits that are complete: git writes them after the objects.
const commitRefs = "refs/lineshaft/"

func (c *Client) commits(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(commitRefs)))
	if err != nil {
		return nil // none yet
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func (c *Client) holds(dir, commit string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(commitRefs), commit))
	return err == nil
}

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
	file, err := lockFile(ctx, dir+".lock", syscall.LOCK_EX, true)
	if err != nil {
		<-place
		return nil, fmt.Errorf("lock cached repository: %w", err)
	}
	// Its time is that of the last use.
	_ = os.Chtimes(file.Name(), time.Time{}, time.Now())
	return func() { unlockFile(file); <-place }, nil
}

var errLocked = errors.New("locked")

// lockFile opens a file and locks it: how is LOCK_EX or LOCK_SH.
func lockFile(ctx context.Context, path string, how int, wait bool) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := relock(ctx, file, how, wait); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// relock locks an open file, or changes its lock; between the two locks there may be none.
func relock(ctx context.Context, file *os.File, how int, wait bool) error {
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) && !wait {
			return errLocked
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

// unlockFile unlocks explicitly: a child that is just being started may still hold
// the file open, and the lock with it.
func unlockFile(file *os.File) {
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
	_ = file.Close()
}
