package git

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// reach keeps strangers' addresses away from the operator's own network (S-7): only
// the forge may be there. It returns what git is to use for the name, so that another
// answer of the name server does not get round the check.
func (c *Client) reach(ctx context.Context, a address) (pin string, err error) {
	if a.kind == kindLocal || c.cfg.AllowFile || c.forge.has(a) {
		return "", nil
	}
	if numeric(a.host) {
		return "", lineshaft.Invalid("url", "%s is an address in a form that programs read differently; write the name of the host", a.host)
	}
	addrs, err := c.addresses(ctx, a.host)
	if err != nil {
		if ctx.Err() == nil && a.kind != kindSSH && c.proxied() {
			return "", nil // behind a proxy names need not mean anything here
		}
		// Git has a resolver of its own, which may find what this one did not.
		return "", cmp.Or[error](ctx.Err(), lineshaft.Unavailable(err, "the host %s cannot be found from this server; check the address", a.host))
	}
	names := make([]string, 0, len(addrs))
	for _, addr := range addrs {
		addr = addr.Unmap()
		if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || sharedSpace.Contains(addr) {
			return "", lineshaft.Invalid("url", "%s is in a private network; the host of --forge-url may be, others only with --allow-local-git", a.host)
		}
		name := addr.String()
		if addr.Is6() {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	if _, err := netip.ParseAddr(a.host); err == nil || len(addrs) == 0 {
		return "", nil
	}
	if a.kind == kindSSH {
		return addrs[0].Unmap().String(), nil
	}
	return a.host + ":" + a.port + ":" + strings.Join(names, ","), nil
}

// numeric says whether a host that is no ordinary address may still be read as one:
// C libraries take 127.1, 0x7f.1 and 2130706433 for the loopback address.
func numeric(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	last := strings.TrimSuffix(host, ".")
	last = strings.ToLower(last[strings.LastIndex(last, ".")+1:])
	if strings.HasPrefix(last, "0x") {
		return true
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// proxied says that the operator has git go through a proxy.
func (c *Client) proxied() bool {
	return slices.ContainsFunc([]string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}, func(name string) bool { return os.Getenv(name) != "" })
}

// sharedSpace is that of carriers and of some clouds' services.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

func (c *Client) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	return c.resolve(ctx, host)
}
