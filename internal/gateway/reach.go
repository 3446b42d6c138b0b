package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft/internal/peer"
)

// privateError refuses an address (S-7).
type privateError struct{ host string }

func (e *privateError) Error() string { return e.host + " is in a private network" }

// addresses resolves a name once. The result is what is dialled, so that another
// answer of the name server does not get round the check.
func (g *Gateway) addresses(ctx context.Context, host string, private bool) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, addr)
	} else if numeric(host) {
		return nil, &privateError{host}
	} else if addrs, err = g.config.Resolve(ctx, host); err != nil {
		return nil, fmt.Errorf("find %s: %w", host, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("find %s: it has no address", host)
	}
	for _, addr := range addrs {
		if !private && !peer.Public(addr) {
			return nil, &privateError{host}
		}
	}
	return addrs, nil
}

// numeric says whether a host that is no ordinary address may still be read as one:
// some resolvers take 127.1, 0x7f.1 and 2130706433 for the loopback address.
func numeric(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = strings.ToLower(last[strings.LastIndex(last, ".")+1:])
	return strings.HasPrefix(last, "0x") || last != "" && strings.Trim(last, "0123456789") == ""
}

// dial connects to the first of the addresses that answers.
func (g *Gateway) dial(ctx context.Context, host, port string, private bool) (net.Conn, error) {
	addrs, err := g.addresses(ctx, host, private)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, addr := range addrs {
		conn, err := dialer().DialContext(ctx, "tcp", net.JoinHostPort(addr.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (g *Gateway) dialTool(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial tool server: %w", err)
	}
	return g.dial(ctx, host, port, g.config.AllowLocal)
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
