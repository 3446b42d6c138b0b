package peer_test

import (
	"net/netip"
	"testing"

	"github.com/lineshaft/lineshaft/internal/peer"
)

func TestS7PublicAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "64:ff9b::808:808": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.0.1": false, "169.254.169.254": false, "fe80::1": false,
		"fd00::1": false, "100.64.0.1": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "255.255.255.255": false,
		"::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false,
	} {
		if got := peer.Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if peer.Public(netip.Addr{}) {
		t.Error("no address is a public one")
	}
}
