package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/peer"
)

// names is a name server.
func names(list map[string]string) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, host string) ([]netip.Addr, error) {
		var out []netip.Addr
		for text := range strings.FieldsSeq(list[host]) {
			out = append(out, netip.MustParseAddr(text))
		}
		if out == nil {
			return nil, errors.New("no such host")
		}
		return out, nil
	}
}

// TestX5AllowList: the whole decision, without a connection.
func TestX5AllowList(t *testing.T) {
	t.Parallel()
	g := New(Config{
		Hosts: []string{"example.com", "*.example.org", "Strange.Example:8443", "10.0.0.5", "[::1]:9000", "192.168.1.1:81"},
		Resolve: names(map[string]string{
			"example.com": "93.184.216.34 2606:2800::1", "a.example.org": "93.184.216.34", "evil.example.org": "93.184.216.34 127.0.0.1", "meta.example.org": "169.254.169.254",
			"cgn.example.org": "100.64.1.1", "mapped.example.org": "::ffff:10.0.0.5", "nat.example.org": "64:ff9b::7f00:1", "lan.example.org": "192.168.1.1", "zero.example.org": "0.0.0.0", "ula.example.org": "fd00::1",
		}),
	})
	for target, want := range map[string]string{
		"example.com:443": "", "example.com:80": "", "EXAMPLE.com.:443": "", "a.example.org:443": "", "strange.example:8443": "unknown", "10.0.0.5:443": "", "[::1]:9000": "", "192.168.1.1:81": "",
		"example.com:22": "refused", "example.com:0443": "refused", "example.com:99999": "refused", "example.com:": "refused", "www.example.com:443": "refused", "example.org:443": "refused", "notexample.org:443": "refused",
		"strange.example:443": "refused", "10.0.0.6:443": "refused", "10.0.0.5:81": "refused", "[::1]:443": "refused", "127.0.0.1:443": "refused", "2130706433:443": "refused", "192.168.1.1:80": "refused",
		"evil.example.org:443": "private", "meta.example.org:80": "private", "cgn.example.org:443": "private", "mapped.example.org:443": "private", "nat.example.org:443": "private",
		"lan.example.org:443": "private", "zero.example.org:443": "private", "ula.example.org:443": "private", "127.1.example.org:443": "unknown", "x.0x7f.example.org:443": "unknown", "gone.example.org:443": "unknown",
	} {
		host, port, err := net.SplitHostPort(target)
		if err != nil {
			t.Fatal(err)
		}
		got := "refused"
		if private, ok := g.allowed(host, port); ok {
			_, err := g.guard(private).Addresses(t.Context(), strings.TrimSuffix(strings.ToLower(host), "."))
			_, isPrivate := errors.AsType[*peer.PrivateError](err)
			switch {
			case isPrivate:
				got = "private"
			case err != nil:
				got = "unknown"
			default:
				got = ""
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	for _, host := range []string{"127.1", "0x7f.1", "2130706433", "0177.0.0.01"} {
		if _, err := g.guard(false).Addresses(t.Context(), host); err == nil {
			t.Errorf("%s was taken for a name", host)
		}
	}
}

// allowing lets agents reach one server by its address.
func allowing(address string) setting {
	return func(c *Config, _ *SessionConfig) { c.Hosts = []string{strings.TrimPrefix(address, "http://")} }
}

func TestX5ProxyReachesOnlyTheList(t *testing.T) {
	t.Parallel()
	good, bad := server(t), server(t)
	r := newRig(t, say("", ""), allowing(good.URL))
	proxy, _ := url.Parse(r.ProxyURL())
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}
	get := func(address string) (int, string) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if status, body := get(good.URL + "/x?y=1"); status != http.StatusOK || !strings.Contains(body, `"path":"/x?y=1"`) || strings.Contains(body, "Proxy-Auth") || strings.Contains(body, r.key) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(bad.URL); status != http.StatusForbidden || !strings.Contains(body, "--egress-hosts") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(strings.Replace(good.URL, "http:", "https:", 1)); status != 0 || strings.Contains(body, "Forbidden") { // the tunnel works, but there is no TLS
		t.Errorf("%d %s", status, body)
	}
	proxy.User = url.UserPassword("lineshaft", "wrong")
	if status, _ := get(good.URL); status != http.StatusProxyAuthRequired {
		t.Errorf("with a wrong key: %d", status)
	}
}

// connect asks for a tunnel.
func connect(t *testing.T, r *rig, target string) (net.Conn, *bufio.Reader, string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.base.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Bearer %s\r\n\r\n", target, target, r.key); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	status, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return conn, in, strings.TrimSpace(status)
}

func TestX5Tunnel(t *testing.T) {
	t.Parallel()
	good := server(t)
	r := newRig(t, say("", ""), allowing(good.URL))
	conn, in, status := connect(t, r, good.Listener.Addr().String())
	if status != "HTTP/1.1 200 Connection established" {
		t.Fatal(status)
	}
	_, _ = in.ReadString('\n')
	if _, err := io.WriteString(conn, "GET /through HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(in); !strings.Contains(string(got), `"path":"/through"`) {
		t.Errorf("through the tunnel: %q", got)
	}
	for target, want := range map[string]string{"127.0.0.1:1": "403", "nonsense": "400", "[::1]:22": "403"} {
		if _, _, status := connect(t, r, target); !strings.Contains(status, want) {
			t.Errorf("%s: %s", target, status)
		}
	}
}

// TestX5TunnelEndsWithTheSession, although nobody says anything in it.
func TestX5TunnelEndsWithTheSession(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	r := newRig(t, say("", ""), allowing(l.Addr().String()))
	_, in, status := connect(t, r, l.Addr().String())
	if !strings.Contains(status, "200") {
		t.Fatal(status)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	r.Close()
	if _, err := io.ReadAll(far); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	if rest, _ := io.ReadAll(in); string(rest) != "\r\n" {
		t.Errorf("the agent got %q", rest)
	}
}

// TestS7NameIsResolvedOnce: a name server that answers differently the second time
// does not get round the check.
func TestS7NameIsResolvedOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	g := New(Config{Hosts: []string{"example.com"}, Resolve: func(context.Context, string) ([]netip.Addr, error) {
		asked++
		if asked > 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing must really be dialled
	_, err := g.dial(ctx, "example.com", "443", false)
	if asked != 1 || err == nil || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("asked %d times: %v", asked, err)
	}
	if _, err := g.dial(ctx, "example.com", "443", false); err == nil || !strings.Contains(err.Error(), "private network") {
		t.Errorf("the second answer: %v", err)
	}
}
