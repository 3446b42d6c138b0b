package peer

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// minDial is what each of several addresses gets at least.
const minDial = 2 * time.Second

// Guard is how this program reaches an address that somebody else has named (S-7). The
// name is looked up once, every address that it stands for is checked, and what was
// checked is what is dialled: no later answer of a name server gets round it. Neither
// does a redirect, which is dialled like everything else. A proxy of the environment
// must not come in between, for it would be what is dialled and checked.
type Guard struct {
	// AllowPrivate lets every address through.
	AllowPrivate bool
	// Timeout is what a connection may take; default 10 s.
	Timeout time.Duration
	// Resolve finds the addresses of a name; nil is the machine's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// PrivateError refuses a host that is not on the open internet.
type PrivateError struct{ Host string }

// Error implements error.
func (e *PrivateError) Error() string { return e.Host + " is in a private network" }

// Private says whether a host is refused by what it is called, before it is looked up.
// C libraries take 127.1, 0x7f.1 and 2130706433 for the loopback address, so that
// whatever may be read as a number is refused unless it is written as addresses are.
func Private(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return !Public(addr)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "localhost" || strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == ""
}

// Addresses are those that a host may be dialled at.
func (g Guard) Addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if !g.AllowPrivate && Private(host) {
		return nil, &PrivateError{host}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if !g.AllowPrivate && !Public(addr) {
			return nil, &PrivateError{host}
		}
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	return addrs, nil
}

func (g Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if g.Resolve != nil {
		return g.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// DialContext connects to the first of the addresses that answers; it is for
// http.Transport.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	whole := cmp.Or(g.Timeout, 10*time.Second)
	ctx, cancel := context.WithTimeout(ctx, whole)
	defer cancel()
	addrs, err := g.Addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: max(whole/time.Duration(len(addrs)), minDial), KeepAlive: 15 * time.Second}
	var first error
	for _, addr := range addrs {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(addr.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}
