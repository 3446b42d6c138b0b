package git

import (
	"bufio"
	"context"
	"io"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Head finds the newest commit of a branch; of the default one for "". For a folder
// without git it is "dir-" and a digest of what is in there.
func (c *Client) Head(ctx context.Context, url, branch string) (string, error) {
	a, err := c.address(url)
	if err != nil {
		return "", err
	}
	if branch != "" {
		if err := checkBranch(branch); err != nil {
			return "", err
		}
	}
	ctx, cancel := c.bounded(ctx, a, 1)
	defer cancel()
	// A listing is short: one that hangs must not keep others waiting.
	ctx, enough := context.WithTimeoutCause(ctx, headTimeout, lineshaft.Unavailable(nil, "%s did not answer within %s; check that this server can reach it", a.shown, headTimeout))
	defer enough()
	if a, err = c.findLocal(a); err != nil {
		return "", err
	}
	if a.kind == kindLocal && !isRepository(a.text) {
		return c.readFolder(ctx, a, nil)
	}
	return c.remoteHead(ctx, a, branch)
}

// headTimeout bounds the question for the newest commit.
const headTimeout = 20 * time.Second

func (c *Client) remoteHead(ctx context.Context, a address, branch string) (string, error) {
	pin, err := c.reach(ctx, a)
	if err != nil {
		return "", err
	}
	login, done, err := c.forgeLogin(a)
	defer done()
	if err != nil {
		return "", err
	}
	ref := "HEAD"
	if branch != "" {
		ref = "refs/heads/" + branch
	}
	var commit string
	err = c.run(ctx, call{
		args: []string{"ls-remote", "--quiet", "--", a.text, ref},
		at:   a, pin: pin, login: login,
		output: func(r io.Reader) (err error) {
			commit, err = findRef(r, ref)
			return err
		},
	})
	switch {
	case err != nil:
		return "", explain(ctx, a, login, err)
	case commit == "" && branch == "":
		return "", notFound(nil, "%s has no commits yet; push a first one", a.shown)
	case commit == "":
		return "", notFound(nil, "%s has no branch %q; check its name, or push it", a.shown, branch)
	}
	return commit, nil
}

// forgeLogin is that of the operator, for the forge alone.
func (c *Client) forgeLogin(a address) (*login, func(), error) {
	if !c.forge.has(a) {
		return nil, func() {}, nil
	}
	return c.prepareLogin(c.cfg.Credentials, a)
}

// findRef reads what ls-remote prints. A pattern also finds refs that only end like
// it, hence the comparison.
func findRef(r io.Reader, ref string) (string, error) {
	commit := ""
	lines := bufio.NewScanner(io.LimitReader(r, 1<<20))
	for lines.Scan() {
		id, name, _ := strings.Cut(lines.Text(), "\t")
		if name == ref && checkCommit(id) == nil {
			commit = id
		}
	}
	return commit, lines.Err()
}
