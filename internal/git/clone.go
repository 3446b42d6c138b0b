package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Clone makes a working copy of the default branch in dir, which must be missing or
// empty, and returns its commit. Credentials are a token, user:token or, for ssh, a
// private key in PEM; nothing of them is left in dir. Submodules are not followed. A
// local folder without git is copied.
func (c *Client) Clone(ctx context.Context, url, dir, credentials string) (commit string, err error) {
	a, err := c.address(url)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("clone: %w", err)
	}
	ctx, cancel := c.bounded(ctx, a, 5)
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
		commit, err = c.cloneFrom(ctx, a, dir, credentials)
	}
	if err != nil && fresh {
		err = errors.Join(err, remove(ctx, dir))
	}
	return commit, err
}

// vacant wants a folder that is missing or empty, and says which.
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

func (c *Client) cloneFrom(ctx context.Context, a address, dir, credentials string) (string, error) {
	if credentials == "" && c.forge.has(a) {
		credentials = c.cfg.Credentials
	}
	login, done, err := c.prepareLogin(credentials, a)
	defer done()
	if err != nil {
		return "", err
	}
	pin, err := c.reach(ctx, a)
	if err != nil {
		return "", err
	}
	watched, stop := watch(ctx, dir, c.cfg.MaxClone)
	defer stop()
	err = c.run(watched, call{
		args: []string{"clone", "--quiet", "--no-local", "--no-recurse-submodules", "--template=", "--", a.text, dir},
		at:   a, pin: pin, login: login,
	})
	if err != nil {
		return "", explain(watched, a, login, err)
	}
	if sizeOf(dir) > c.cfg.MaxClone { // grown since it was last looked at
		return "", errors.Join(oversize(c.cfg.MaxClone), remove(ctx, dir))
	}
	commit, err := c.checkedOut(ctx, dir)
	if err != nil {
		return "", notFound(err, "%s has no commits yet; push a first one", a.shown)
	}
	return commit, nil
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
