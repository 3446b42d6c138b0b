package git

import (
	"net/netip"
	"net/url"
	"strings"

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
