package gateway

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft/internal/peer"
)

// guard is the way to addresses that somebody else has named.
func (g *Gateway) guard(private bool) peer.Guard {
	return peer.Guard{AllowPrivate: private, Resolve: g.config.Resolve}
}

// dial connects to a host of the allow-list.
func (g *Gateway) dial(ctx context.Context, host, port string, private bool) (net.Conn, error) {
	return g.guard(private).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
}

// pattern is one entry of the allow-list.
type pattern struct {
	name   string // without *.
	suffix bool
	addr   netip.Addr // set when it is an address
	port   string     // empty is 443 and 80
}

func parsePattern(text string) pattern {
	text = strings.ToLower(strings.TrimSpace(text))
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return pattern{addr: addr.Unmap()}
	}
	var p pattern
	if host, port, err := net.SplitHostPort(text); err == nil {
		text, p.port = host, port
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		p.addr = addr.Unmap()
		return p
	}
	p.name, p.suffix = strings.CutPrefix(text, "*.")
	return p
}

// allows says whether the pattern lets an agent reach a host.
func (p pattern) allows(host, port string) bool {
	if p.port != port && (p.port != "" || port != "443" && port != "80") {
		return false
	}
	if p.addr.IsValid() {
		addr, err := netip.ParseAddr(host)
		return err == nil && addr.Unmap() == p.addr
	}
	return !p.suffix && host == p.name || p.suffix && strings.HasSuffix(host, "."+p.name)
}

// allowed looks a host up in the list. A private address is reached only when the
// list has the address itself, never by a name.
func (g *Gateway) allowed(host, port string) (private, ok bool) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return false, false
	}
	for _, p := range g.hosts {
		if p.allows(host, port) {
			return p.addr.IsValid(), true
		}
	}
	return false, false
}
