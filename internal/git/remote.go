package git

import (
	"bufio"
	"context"
	"io"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// parseRemote reads the address of a repository on another machine.
func parseRemote(raw string) (address, error) {
	if err := checkLetters(raw); err != nil {
		return address{}, err
	}
	if !strings.Contains(raw, "://") {
		return parseSCP(raw)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return address{}, lineshaft.Invalid("url", "is not a URL; write it as https://example.com/owner/repo.git")
	}
	a := address{kind: kind(strings.ToLower(u.Scheme)), text: raw, shown: raw, host: strings.ToLower(u.Hostname()), port: u.Port()}
	if err := a.checkScheme(u); err != nil {
		return address{}, err
	}
	_, rest, _ := strings.Cut(raw, "://")
	authority, _, _ := strings.Cut(rest, "/")
	switch {
	case strings.Contains(authority, "%"):
		return address{}, lineshaft.Invalid("url", "has a percent-encoded host; write it as it is")
	case u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(raw, "?#"):
		return address{}, lineshaft.Invalid("url", "must not have a query or a fragment; give the branch and the folder separately")
	case a.host == "" || strings.HasPrefix(a.host, "-"):
		return address{}, lineshaft.Invalid("url", "needs the name of a host")
	case len(strings.Trim(u.Path, "/")) == 0 || strings.HasPrefix(strings.TrimPrefix(u.Path, "/"), "-"):
		return address{}, lineshaft.Invalid("url", "needs the path of a repository after the host")
	}
	return a, checkHost(a.host, a.port)
}

// checkScheme also keeps credentials out: addresses are stored and shown.
func (a *address) checkScheme(u *url.URL) error {
	const advice = "must not hold a user or a password, because addresses are stored and shown; the server has its own in LINESHAFT_FORGE_CREDENTIALS"
	switch a.kind {
	case kindHTTPS:
		if u.User != nil {
			return lineshaft.Invalid("url", advice)
		}
		a.port = orDefault(a.port, "443")
	case kindHTTP:
		if u.User != nil {
			return lineshaft.Invalid("url", advice)
		}
		if !loopback(a.host) {
			return lineshaft.Invalid("url", "plain http is for this machine alone; use https")
		}
		a.port = orDefault(a.port, "80")
	case kindSSH:
		if _, has := u.User.Password(); has {
			return lineshaft.Invalid("url", advice)
		}
		if u.User != nil && !userForm.MatchString(u.User.Username()) {
			return lineshaft.Invalid("url", "has a user that ssh does not take; write ssh://git@example.com/owner/repo.git")
		}
		a.port = orDefault(a.port, "22")
	case kindLocal:
		return lineshaft.Invalid("url", "write a local repository as file:///path, with three slashes")
	default:
		return lineshaft.Invalid("url", "%s:// is not used here; use https or ssh", lineshaft.Clip(u.Scheme, 20))
	}
	return nil
}

// parseSCP reads git@example.com:owner/repo.git.
func parseSCP(raw string) (address, error) {
	parts := scpForm.FindStringSubmatch(raw)
	if parts == nil {
		return address{}, lineshaft.Invalid("url", "is not the address of a repository; write https://example.com/owner/repo.git or git@example.com:owner/repo.git")
	}
	host := strings.ToLower(strings.Trim(parts[2], "[]"))
	return address{kind: kindSSH, text: raw, shown: raw, host: host, port: "22"}, checkHost(host, "22")
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Head finds the newest commit of a branch, or of the default branch for "". For a folder
// without git it is "dir-" and a digest of its content.
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
