package git

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/peer"
)

// trusts says that the operator has named the place, or lets all be reached.
func (c *Client) trusts(a address) bool {
	return a.kind == kindLocal || c.cfg.AllowFile || c.forge.has(a)
}

// reach keeps strangers' addresses away from the operator's own network (S-7): only
// the forge may be in it. It returns what git is to use for the name, so that another
// answer of the name server does not get round the check.
func (c *Client) reach(ctx context.Context, a address) (pin string, err error) {
	if c.trusts(a) {
		return "", nil
	}
	addrs, err := peer.Guard{Resolve: c.cfg.Resolve}.Addresses(ctx, a.host)
	if _, private := errors.AsType[*peer.PrivateError](err); private {
		return "", lineshaft.Invalid("url", "%s is in a private network; the host of --forge-url may be, others only with --allow-local-git", a.host)
	}
	if err != nil {
		// Git has a resolver of its own, which may find what this one did not.
		return "", cmp.Or[error](ctx.Err(), lineshaft.Unavailable(err, "the host %s cannot be found from this server; check the address", a.host))
	}
	if _, err := netip.ParseAddr(a.host); err == nil {
		return "", nil
	}
	if a.kind == kindSSH {
		return addrs[0].Unmap().String(), nil
	}
	names := make([]string, 0, len(addrs))
	for _, addr := range addrs {
		name := addr.Unmap().String()
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return a.host + ":" + a.port + ":" + strings.Join(names, ","), c.pins(ctx)
}

// hostForm is what every program reads in the same way, so that the name that was
// checked is the name that git is held to.
var hostForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`)

// checkHost accepts only a host and a port in their one spelling.
func checkHost(host, port string) error {
	if addr, err := netip.ParseAddr(host); (err != nil || addr.Zone() != "") && !hostForm.MatchString(host) {
		return lineshaft.Invalid("url", "%q is not the name of a host; write it in letters, digits, dots and hyphens, without a dot at its end", lineshaft.Clip(host, 80))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return lineshaft.Invalid("url", "%q is not a port; write a number from 1 to 65535", lineshaft.Clip(port, 20))
	}
	return nil
}

// pinsSince is the first git that can be held to an address: older ones ignore it.
const pinsSince = 37

// pins says whether this git can be held to the address that was checked.
func (c *Client) pins(ctx context.Context) error {
	c.mu.Lock()
	known := c.canPin
	c.mu.Unlock()
	if known {
		return nil
	}
	var said string
	err := c.run(ctx, call{args: []string{"version"}, output: func(r io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(r, 256))
		said = string(text)
		return err
	}})
	if err != nil {
		return err
	}
	if !canPin(said) {
		return lineshaft.Unavailable(nil, "the git program of this server is older than 2.%d and cannot be held to a checked address; install a newer one, or use the host of --forge-url or ssh", pinsSince)
	}
	c.mu.Lock()
	c.canPin = true
	c.mu.Unlock()
	return nil
}

// canPin reads "git version 2.39.5".
func canPin(said string) bool {
	parts := strings.SplitN(strings.TrimPrefix(strings.TrimSpace(said), "git version "), ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, bad := strconv.Atoi(parts[1])
	return err == nil && bad == nil && (major > 2 || major == 2 && minor >= pinsSince)
}

// proxies lead git to the operator's hosts alone: with a proxy in between, the name that
// was checked would be looked up again, by the proxy.
func (c *Client) proxies(a address) []string {
	if !c.trusts(a) {
		return nil
	}
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
