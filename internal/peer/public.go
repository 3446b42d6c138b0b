package peer

import "net/netip"

// sharedSpace is that of carriers and of some clouds' services.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// nat64 leads to IPv4 addresses, private ones too.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Public says whether an address is one of the open internet, which outbound requests
// may reach without being allowed to (S-7).
func Public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() && !sharedSpace.Contains(addr)
}
