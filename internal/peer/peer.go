// Package peer tells who sent an HTTP request: the address behind trusted proxies
// and the name that the request goes by in logs; and which addresses are public, so
// that outbound requests reach no others (Guard). Credentials are not its business.
package peer

import (
	"crypto/rand"
	"net/http"
	"net/netip"
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
	for _, prefix := range trusted {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
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
