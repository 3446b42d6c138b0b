package git

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
)

// maxListing bounds the branches and tags that a repository lists, maxPacks how many
// fetches are kept apart in a mirror.
const (
	maxListing = 32 << 20
	maxPacks   = 24
	// mirrorTimes is how much longer than one answer a clone waits for its mirror; the host
	// has its own time after that.
	mirrorTimes = 3
)

// listing is what a repository has, as one caller sees it.
type listing struct {
	// head is the default branch; empty when the host does not name it.
	head   string
	commit string
	refs   map[string]string // branches and tags
}

// print is the same for the same branches and tags at the same commits.
func (l listing) print() string {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%q\n", l.head) // a hash never fails
	for _, name := range slices.Sorted(maps.Keys(l.refs)) {
		_, _ = fmt.Fprintf(sum, "%s %q\n", l.refs[name], name)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// maxTips is how many commits are reported; with more, CloneNewer would not be worth it.
const maxTips = 2000

// tips are the ids that branches and tags have; nil when there are too many.
func (l listing) tips() []string {
	tips := slices.Compact(slices.Sorted(maps.Values(l.refs)))
	if len(tips) > maxTips {
		return nil
	}
	return tips
}

// Find asks the host, with the credentials of the caller, what Clone would give: the
// commit of the default branch, a print of all branches and tags, and what these lead to,
// for CloneNewer. For a folder without git the commit is a digest.
func (c *Client) Find(ctx context.Context, url, credentials string) (commit, refs string, tips []string, err error) {
	a, err := c.address(url)
	if err != nil {
		return "", "", nil, err
	}
	ctx, cancel := c.bounded(ctx, a, 1)
	defer cancel()
	if a, err = c.findLocal(a); err != nil {
		return "", "", nil, err
	}
	if a.kind == kindLocal && !isRepository(a.text) {
		commit, err = c.readFolder(ctx, a, nil)
		return commit, "", nil, err
	}
	r, done, err := c.visit(ctx, a, credentials)
	defer done()
	if err != nil {
		return "", "", nil, err
	}
	l, err := c.list(ctx, r)
	return l.commit, l.print(), l.tips(), err
}

// list asks the host for its branches and tags.
func (c *Client) list(ctx context.Context, r visited) (l listing, err error) {
	err = c.run(ctx, call{
		args: []string{"ls-remote", "--quiet", "--symref", "--", r.text, "HEAD", "refs/heads/*", "refs/tags/*"},
		at:   r.address, pin: r.pin, login: r.login,
		output: func(out io.Reader) (err error) {
			l, err = readListing(out)
			return err
		},
	})
	if err == nil && l.commit == "" {
		return l, notFound(nil, "%s has no commits yet; push a first one", r.shown)
	}
	return l, explain(ctx, r.address, r.login, err)
}

// readListing reads what ls-remote prints: an id or "ref: " and a branch, and a name.
func readListing(r io.Reader) (listing, error) {
	l := listing{refs: map[string]string{}}
	lines := bufio.NewScanner(io.LimitReader(r, maxListing))
	for lines.Scan() {
		value, name, _ := strings.Cut(lines.Text(), "\t")
		branch, isBranch := strings.CutPrefix(value, "ref: ")
		switch {
		case name == "HEAD" && isBranch:
			l.head = branch
		case checkCommit(value) != nil || strings.HasSuffix(name, "^{}"):
		case name == "HEAD":
			l.commit = value
		case strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/"):
			l.refs[name] = value
		}
	}
	return l, lines.Err()
}

// mirrorOf is where the mirror of a repository is, or would be; empty when there is to be none.
func (c *Client) mirrorOf(a address) string {
	if c.cfg.MaxMirrors <= 0 || a.kind == kindLocal {
		return ""
	}
	key := sha256.Sum256([]byte(a.text))
	return c.path("mirrors", hex.EncodeToString(key[:16])+".git")
}

// errNoMirror is why a repository is cloned from its host.
var errNoMirror = errors.New("no mirror")

// cloneMirror clones from this machine's mirror of a repository. The host is asked
// first, with the caller's credentials, and the mirror must have what it lists:
// so nobody gets more from a mirror than from the host. Git gets the host's address,
// so the clone is the same as from the host; it has its own objects, and
// only those that its branches and tags lead to.
func (c *Client) cloneMirror(ctx context.Context, r visited, dir string, options []string) error {
	mirror := c.mirrorOf(r.address)
	if mirror == "" || isYoung(mirror+".large") {
		return errNoMirror
	}
	ctx, cancel := c.bounded(ctx, r.address, mirrorTimes)
	defer cancel()
	l, err := c.list(ctx, r)
	if err != nil || l.head == "" || l.refs[l.head] != l.commit {
		return errNoMirror // the clone itself says what is wrong, if it is
	}
	unlock, err := c.refresh(ctx, r, l, mirror)
	switch {
	case ctx.Err() != nil || err == errNoMirror: //nolint:errorlint // without a cause: nothing is wrong with the mirror
		return errNoMirror
	case err != nil:
		return fmt.Errorf("%w: %w", errNoMirror, err)
	}
	defer unlock()
	err = c.clone(ctx, r.address, call{
		// Objects were checked when they came here.
		args: []string{"-c", "transfer.fsckObjects=false", "-c", "fetch.fsckObjects=false"},
		at:   address{kind: kindLocal, text: mirror, shown: r.shown},
		env:  []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + mirror + ".insteadOf", "GIT_CONFIG_VALUE_0=" + r.text},
	}, dir, options)
	if err == nil || lineshaft.CodeOf(err) == lineshaft.CodePayloadTooLarge {
		return err
	}
	removed := remove(context.WithoutCancel(ctx), dir)
	if ctx.Err() != nil && removed == nil {
		return errNoMirror
	}
	return errors.Join(fmt.Errorf("%w: %w", errNoMirror, err), removed)
}

// distrust has a mirror made again that could not be used although the host could.
func (c *Client) distrust(a address) {
	if mirror := c.mirrorOf(a); mirror != "" {
		_ = os.WriteFile(mirror+".bad", nil, 0o600) // without it, the next clone says so again
	}
}

// isYoung says that a mark was made today.
func isYoung(mark string) bool {
	info, err := os.Stat(mark)
	return err == nil && time.Since(info.ModTime()) < 24*time.Hour
}

// refresh brings a mirror to what the host lists, if needed, and locks it for
// reading. A run that waited for another's fetch finds that there is nothing to fetch.
func (c *Client) refresh(ctx context.Context, r visited, l listing, mirror string) (unlock func(), err error) {
	// All come through the gate: while a writer waits, no more readers come,
	// and between writing and reading nobody gets in.
	gate, err := lockFile(ctx, mirror+".gate", syscall.LOCK_EX, true)
	if err != nil {
		return nil, fmt.Errorf("lock mirror: %w", err)
	}
	defer unlockFile(gate)
	if isYoung(mirror + ".large") { // the caller before found this out
		return nil, errNoMirror
	}
	lock, err := lockFile(ctx, mirror+".lock", syscall.LOCK_SH, true)
	if err != nil {
		return nil, fmt.Errorf("lock mirror: %w", err)
	}
	_ = os.Chtimes(lock.Name(), time.Time{}, time.Now()) // of its last use
	if !c.mirrors(ctx, mirror, l) {
		if err = relock(ctx, lock, syscall.LOCK_EX, true); err == nil {
			err = errors.Join(c.fetchMirror(ctx, r, l, mirror), relock(ctx, lock, syscall.LOCK_SH, true))
		}
		if err == nil && !c.mirrors(ctx, mirror, l) {
			err = errNoMirror // the host has moved on meanwhile
		}
	}
	if err != nil {
		unlockFile(lock)
		return nil, err
	}
	return func() { unlockFile(lock) }, nil
}

// mirrors says whether a mirror has exactly what is listed.
func (c *Client) mirrors(ctx context.Context, mirror string, want listing) bool {
	if _, err := os.Stat(mirror + ".bad"); err == nil {
		return false
	}
	head, err := os.ReadFile(filepath.Join(mirror, "HEAD"))
	if err != nil {
		return false
	}
	have := listing{refs: map[string]string{}}
	have.head, _ = strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
	err = c.run(ctx, call{
		args: []string{"--git-dir=" + mirror, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/", "refs/tags/"},
		output: func(r io.Reader) error {
			lines := bufio.NewScanner(io.LimitReader(r, maxListing))
			for lines.Scan() {
				id, name, _ := strings.Cut(lines.Text(), " ")
				have.refs[name] = id
			}
			return lines.Err()
		},
	})
	return err == nil && have.print() == want.print()
}

// fetchMirror fetches what a mirror does not have, with the caller's login, of which
// nothing is kept.
func (c *Client) fetchMirror(ctx context.Context, r visited, l listing, mirror string) error {
	_, bad := os.Stat(mirror + ".bad")
	_, missing := os.Stat(mirror)
	if bad == nil || missing != nil {
		if err := c.newMirror(ctx, mirror, len(l.commit)); err != nil {
			return err
		}
	}
	if err := removeHalves(mirror); err != nil { // of a process that was killed
		return err
	}
	err := c.fetchAll(ctx, r, l, mirror)
	if lineshaft.CodeOf(err) == lineshaft.CodePayloadTooLarge {
		return errors.Join(err, remove(ctx, mirror), os.WriteFile(mirror+".large", nil, 0o600))
	}
	if err != nil {
		c.removeOld(context.WithoutCancel(ctx), "mirrors", c.cfg.MaxMirrors, mirror, time.Now())
		return errors.Join(err, removeHalves(mirror))
	}
	if packs, _ := filepath.Glob(filepath.Join(mirror, "objects", "pack", "*.pack")); len(packs) > maxPacks {
		// Nothing borrows from it, and nobody reads it now. The mirror works with many packs as well.
		_ = c.run(ctx, call{args: []string{"--git-dir=" + mirror, "repack", "-a", "-d", "-q", "--write-bitmap-index"}})
	}
	c.removeOld(ctx, "mirrors", c.cfg.MaxMirrors, mirror, time.Now())
	return nil
}

// removeHalves removes what a fetch that was ended has left in a mirror.
func removeHalves(mirror string) error {
	var errs []error
	for _, folder := range []string{"pack", "??"} {
		halves, err := filepath.Glob(filepath.Join(mirror, "objects", folder, "tmp_*"))
		errs = append(errs, err)
		for _, half := range halves {
			if err := os.Remove(half); !errors.Is(err, os.ErrNotExist) { // git removes its own when it ends
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Client) newMirror(ctx context.Context, mirror string, idLength int) error {
	if err := remove(ctx, mirror); err != nil {
		return fmt.Errorf("clear mirror: %w", err)
	}
	if err := os.Remove(mirror + ".bad"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clear mirror: %w", err)
	}
	return c.create(ctx, mirror, idLength)
}

func (c *Client) fetchAll(ctx context.Context, r visited, l listing, mirror string) error {
	most := min(c.cfg.MaxClone, c.cfg.MaxMirrors)
	watched, stop := watch(ctx, mirror, most)
	defer stop()
	err := c.run(watched, call{
		args: []string{
			"--git-dir=" + mirror, "fetch", "--quiet", "--force", "--prune", "--no-tags", "--no-write-fetch-head",
			"--no-recurse-submodules", "--no-auto-maintenance", "--no-show-forced-updates", "--", r.text,
			"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*",
		},
		at: r.address, pin: r.pin, login: r.login,
	})
	switch {
	case err != nil && ctx.Err() == nil && watched.Err() != nil:
		return context.Cause(watched)
	case err != nil:
		return err
	case sizeOf(mirror) > most: // grown since the last look
		return oversize(most)
	}
	return c.run(ctx, call{args: []string{"--git-dir=" + mirror, "symbolic-ref", "HEAD", l.head}})
}
