package git

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lineshaft/lineshaft"
)

const maxAddress = 2048

type kind string

const (
	kindHTTPS kind = "https"
	kindHTTP  kind = "http" // of this machine only
	kindSSH   kind = "ssh"
	kindLocal kind = "file"
)

// address is a repository's place, checked.
type address struct {
	kind kind
	// text is what git is given; shown is what people are shown.
	text, shown string
	host, port  string
}

var (
	helperForm = regexp.MustCompile(`^[A-Za-z0-9.+-]*::`)
	scpForm    = regexp.MustCompile(`^(?:([A-Za-z0-9._][A-Za-z0-9._-]*)@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]):([A-Za-z0-9._~/].*)$`)
	userForm   = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._-]*$`)
)

// address checks where a repository is said to be. Only what comes out of here may
// be given to git.
func (c *Client) address(raw string) (address, error) {
	if err := checkLetters(raw); err != nil {
		return address{}, err
	}
	path, local := localPath(raw)
	if !local {
		return parseRemote(raw)
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return address{}, lineshaft.Invalid("url", "has a control character")
	}
	path = filepath.Clean(path)
	below := strings.HasPrefix(path, c.forge.root+"/")
	if c.forge.root != "" && below {
		return address{kind: kindLocal, text: path, shown: strings.TrimPrefix(path, c.forge.root+"/")}, nil
	}
	if !c.cfg.AllowFile {
		return address{}, lineshaft.Invalid("url", "this server does not read repositories from its own disk; use https or ssh, or start it with --allow-local-git")
	}
	return address{kind: kindLocal, text: path, shown: raw}, nil
}

func checkLetters(raw string) error {
	switch {
	case raw == "":
		return lineshaft.Invalid("url", "a repository needs an address, such as https://example.com/owner/repo.git")
	case len(raw) > maxAddress:
		return lineshaft.Invalid("url", "longer than %d bytes", maxAddress)
	case strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' || r == 0xfffd }):
		return lineshaft.Invalid("url", "has a space, a backslash or a control character; percent-encode it")
	case strings.HasPrefix(raw, "-"):
		return lineshaft.Invalid("url", "must not begin with '-'")
	case helperForm.MatchString(raw):
		return lineshaft.Invalid("url", "must be an https or ssh address; helpers of git, such as ext::, are not run")
	}
	return nil
}

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
		return address{}, lineshaft.Invalid("url", "must have no query and no fragment; name a branch and a folder apart")
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
		return lineshaft.Invalid("url", "%s:// is not used here; use https or ssh", clip(u.Scheme, 20))
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

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

var userinfo = regexp.MustCompile(`(://)[^/@\s]*@`)

// redact takes users and passwords out of URLs in a text.
func redact(text string) string { return userinfo.ReplaceAllString(text, "$1") }

// checkBranch wants a name that is one branch: no option, no pattern, no refspec.
func checkBranch(name string) error {
	if !lineshaft.ValidBranch(name) {
		return lineshaft.Invalid("branch", "%q cannot be the name of a branch", clip(name, 80))
	}
	return nil
}

var commitForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func checkCommit(commit string) error {
	if !commitForm.MatchString(commit) {
		return lineshaft.Invalid("commit", "%q is not the full id of a commit", clip(commit, 80))
	}
	return nil
}
