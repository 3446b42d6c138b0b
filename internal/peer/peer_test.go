package peer_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/peer"
)

func request(t *testing.T, remote string, header http.Header) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	r.RemoteAddr = remote
	for name, values := range header {
		r.Header[name] = values
	}
	return r
}

func TestH12AddrCountsTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, tc := range []struct {
		remote, forwarded, want string
	}{
		{"203.0.113.9:1", "", "203.0.113.9"},
		{"203.0.113.9:1", "1.2.3.4", "203.0.113.9"},
		{"10.0.0.1:1", "", "10.0.0.1"},
		{"10.0.0.1:1", "6.6.6.6, 1.2.3.4", "1.2.3.4"},
		{"10.0.0.1:1", "6.6.6.6, 1.2.3.4, 10.0.0.2", "1.2.3.4"},
		{"10.0.0.1:1", "rubbish", "10.0.0.1"},
		{"[::ffff:10.0.0.1]:1", "2001:db8::1", "2001:db8::1"},
	} {
		r := request(t, tc.remote, http.Header{"X-Forwarded-For": {tc.forwarded}})
		if got := peer.Addr(r, trusted); got.String() != tc.want {
			t.Errorf("%s via %q: %s, want %s", tc.remote, tc.forwarded, got, tc.want)
		}
	}
	if got := peer.Addr(request(t, "pipe", nil), trusted); got.IsValid() {
		t.Errorf("no address, but %s", got)
	}
}

func TestS4HTTPSCountsTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, tc := range []struct {
		remote, proto string
		want          bool
	}{{"10.0.0.1:1", "https", true}, {"10.0.0.1:1", "http", false}, {"10.0.0.1:1", "", false}, {"203.0.113.9:1", "https", false}, {"pipe", "https", false}} {
		if got := peer.HTTPS(request(t, tc.remote, http.Header{"X-Forwarded-Proto": {tc.proto}}), trusted); got != tc.want {
			t.Errorf("%s says %q: %v", tc.remote, tc.proto, got)
		}
	}
	direct := request(t, "203.0.113.9:1", nil)
	direct.TLS = &tls.ConnectionState{}
	if !peer.HTTPS(direct, nil) {
		t.Error("an encrypted connection does not count")
	}
}

func TestH10RequestIDIsTakenWhenSane(t *testing.T) {
	t.Parallel()
	for id, taken := range map[string]bool{
		"req-1": true, "A.b_c-9": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
		"": false, "a b": false, "<script>": false, "é": false, "a/b": false,
	} {
		got := peer.RequestID(request(t, "1.2.3.4:5", http.Header{"X-Request-Id": {id}}))
		if (got == id) != taken || got == "" {
			t.Errorf("%q became %q", id, got)
		}
	}
}
