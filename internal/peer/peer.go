// Package peer finds out who sent an HTTP request: the address behind trusted proxies
// and the name that the request goes by in logs; and which addresses are public, so
// that outbound requests reach no others (Guard). Credentials are not its business.
package peer

import (
	"crypto/rand"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Addr is the address of the client: the peer, or, while the peer is a trusted
// proxy, the last address before it in X-Forwarded-For. It is not valid when the
// server knows no address.
func Addr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := remote.Addr().Unmap()
	if !trusts(trusted, addr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && trusts(trusted, addr); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr
}

// HTTPS says whether the client's end of the connection is encrypted: here, or at a
// trusted proxy that says so.
func HTTPS(r *http.Request, trusted []netip.Prefix) bool {
	if r.TLS != nil {
		return true
	}
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && trusts(trusted, remote.Addr().Unmap()) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

func trusts(trusted []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(trusted, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

// RequestID is the request's own id if it is fit to be echoed and logged (H-10),
// else a new one.
func RequestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-ID"); saneID(id) {
		return id
	}
	return rand.Text()
}

func saneID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// special are ranges that are no one's on the open internet although they look so.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this host, to some systems
	netip.MustParsePrefix("100.64.0.0/10"),    // carriers, and some clouds' services
	netip.MustParsePrefix("168.63.129.16/32"), // the host of every machine in one cloud
	netip.MustParsePrefix("192.0.0.0/24"),     // protocols
	netip.MustParsePrefix("192.0.2.0/24"),     // examples
	netip.MustParsePrefix("192.88.99.0/24"),   // relays of an old tunnel
	netip.MustParsePrefix("198.51.100.0/24"),  // examples
	netip.MustParsePrefix("203.0.113.0/24"),   // examples
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),      // never given out
	netip.MustParsePrefix("::/96"),            // IPv4 in an old writing
	netip.MustParsePrefix("64:ff9b:1::/48"),   // a network's own way to IPv4
	netip.MustParsePrefix("100::/64"),         // nowhere
	netip.MustParsePrefix("2001::/32"),        // a tunnel to IPv4 behind routers
	netip.MustParsePrefix("2001:2::/48"),      // benchmarks
	netip.MustParsePrefix("2001:10::/28"),     // names that look like addresses
	netip.MustParsePrefix("2001:20::/28"),     // names that look like addresses
	netip.MustParsePrefix("2001:db8::/32"),    // examples
	netip.MustParsePrefix("3fff::/20"),        // examples
	netip.MustParsePrefix("fec0::/10"),        // the old private ones
	netip.MustParsePrefix("5f00::/16"),        // segment routing
	netip.MustParsePrefix("::ffff:0:0:0/96"),  // translated IPv4
}

var (
	// nat64 leads to the IPv4 address in its last bytes, private ones too.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// sixToFour leads to the IPv4 address after its first two bytes.
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// Public says whether an address is one of the open internet, which outbound requests
// may reach without being allowed to (S-7).
func Public(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() {
		return false
	}
	switch b := addr.As16(); {
	case nat64.Contains(addr):
		addr = netip.AddrFrom4([4]byte(b[12:]))
	case sixToFour.Contains(addr):
		addr = netip.AddrFrom4([4]byte(b[2:6]))
	case addr.Is6() && b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		// ISATAP: a tunnel within a site to the IPv4 address in the last bytes. No network
		// has to use it that way, so the outer address is looked at, too.
		if !Public(netip.AddrFrom4([4]byte(b[12:]))) {
			return false
		}
	}
	for _, prefix := range special {
		if prefix.Contains(addr) {
			return false
		}
	}
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast()
}
