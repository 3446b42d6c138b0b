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
		"168.63.129.16": false, "168.63.129.17": true, "192.0.2.1": false, "198.51.100.1": false, "203.0.113.255": false, "192.88.99.1": false,
		"2001:db8::1": false, "2001:10::1": false, "2001:2f:ffff::1": false, "2001:2::1": false, "3fff:fff::1": false, "2001:4860:4860::8888": true,
		"2001:470::5efe:10.0.0.1": false, "2001:470::200:5efe:169.254.169.254": false, "2001:470::5efe:8.8.8.8": true, "fe80::5efe:8.8.8.8": false,
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
