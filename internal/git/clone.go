package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// cloneTimes is how much longer than one answer a clone may take.
const cloneTimes = 5

// Clone makes a working copy of the default branch in dir, which must be missing or
// empty, and returns its commit. Credentials are a token, user:token or, for ssh, a
// private key in PEM; nothing of them is left in dir. Submodules are not followed. A
// local folder without git is copied.
func (c *Client) Clone(ctx context.Context, url, dir, credentials string) (commit string, err error) {
	return c.cloneInto(ctx, url, dir, credentials)
}

// CloneBare is Clone without the files: dir has the folder .git alone.
func (c *Client) CloneBare(ctx context.Context, url, dir, credentials string) (commit string, err error) {
	return c.cloneInto(ctx, url, dir, credentials, "--no-checkout")
}

func (c *Client) cloneInto(ctx context.Context, url, dir, credentials string, options ...string) (commit string, err error) {
	a, err := c.address(url)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("clone: %w", err)
	}
	ctx, cancel := c.bounded(ctx, a, cloneTimes+mirrorTimes)
	defer cancel()
	if a, err = c.findLocal(a); err != nil {
		return "", err
	}
	fresh, err := vacant(dir)
	if err != nil {
		return "", err
	}
	if a.kind == kindLocal && !isRepository(a.text) {
		commit, err = c.copyFolder(ctx, a, dir)
	} else {
		commit, err = c.cloneFrom(ctx, a, dir, credentials, options)
	}
	if err != nil && fresh {
		err = errors.Join(err, remove(ctx, dir))
	}
	return commit, err
}

// vacant accepts only a folder that is missing or empty, and says which.
func vacant(dir string) (missing bool, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("clone: %w", err)
	case len(entries) > 0:
		return false, lineshaft.Conflict("the folder %q to clone into is not empty", filepath.Base(dir))
	}
	return false, nil
}

func (c *Client) cloneFrom(ctx context.Context, a address, dir, credentials string, options []string) (string, error) {
	r, done, err := c.visit(ctx, a, credentials)
	defer done()
	if err != nil {
		return "", err
	}
	err = c.cloneMirror(ctx, r, dir, options)
	if errors.Is(err, errNoMirror) && ctx.Err() == nil { // damaged, or there is no room: the host still has it
		failed := err != errNoMirror //nolint:errorlint // with a cause, or without
		ctx, cancel := c.bounded(ctx, a, cloneTimes)
		defer cancel()
		if err = c.clone(ctx, a, call{at: a, pin: r.pin, login: r.login}, dir, options); err == nil && failed {
			c.distrust(a)
		}
	}
	if err != nil {
		return "", explain(ctx, a, r.login, err)
	}
	commit, err := c.checkedOut(ctx, dir)
	if err != nil {
		return "", notFound(err, "%s has no commits yet; push a first one", a.shown)
	}
	return commit, nil
}

// visited is a repository with what git needs to speak to its host.
type visited struct {
	address
	pin   string
	login *login
}

// visit prepares to speak to a host, with the forge's credentials if there are no
// others. The caller must call done.
func (c *Client) visit(ctx context.Context, a address, credentials string) (r visited, done func(), err error) {
	if credentials == "" && c.forge.has(a) {
		credentials = c.cfg.Credentials
	}
	r.address = a
	if r.login, done, err = c.prepareLogin(credentials, a); err == nil {
		r.pin, err = c.reach(ctx, a)
	}
	return r, done, err
}

// clone runs git clone for an address, in the way that how says.
func (c *Client) clone(ctx context.Context, a address, how call, dir string, options []string) error {
	watched, stop := watch(ctx, dir, c.cfg.MaxClone)
	defer stop()
	how.args = append(how.args, "clone", "--quiet", "--no-local", "--no-recurse-submodules", "--template=")
	how.args = slices.Concat(how.args, options, []string{"--", a.text, dir})
	if err := c.run(watched, how); err != nil {
		return explain(watched, a, how.login, err)
	}
	if sizeOf(dir) > c.cfg.MaxClone { // grown since the last look
		return errors.Join(oversize(c.cfg.MaxClone), remove(ctx, dir))
	}
	return nil
}

func (c *Client) checkedOut(ctx context.Context, dir string) (string, error) {
	var commit string
	err := c.run(ctx, call{
		args: []string{"--git-dir=" + filepath.Join(dir, ".git"), "rev-parse", "--verify", "--quiet", "HEAD^{commit}"},
		output: func(r io.Reader) error {
			text, err := io.ReadAll(io.LimitReader(r, 256))
			commit = strings.TrimSpace(string(text))
			return err
		},
	})
	if err != nil {
		return "", err
	}
	return commit, checkCommit(commit)
}

// copyFolder copies the files of a folder that has no git.
func (c *Client) copyFolder(ctx context.Context, a address, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("copy folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("copy folder: %w", err)
	}
	state, err := c.readFolder(ctx, a, func(path string, info fs.FileInfo, r io.Reader) error {
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(path)), 0o755); err != nil {
			return err
		}
		file, err := root.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|info.Mode()&0o111)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, r)
		return errors.Join(err, file.Close())
	})
	return state, errors.Join(err, root.Close())
}
