package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/internal/peer"
)

// serveProxy is the HTTP proxy for the hosts of the allow-list.
func (s *Session) serveProxy(w http.ResponseWriter, r *http.Request) {
	if !same(proxyKey(r), s.key) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="lineshaft"`)
		http.Error(w, "the proxy's address in HTTPS_PROXY holds the key of this execution; use it as it is", http.StatusProxyAuthRequired)
		return
	}
	if bad := s.join(r.Context()); bad != nil {
		http.Error(w, bad.message, bad.status)
		return
	}
	host, port := r.URL.Hostname(), r.URL.Port()
	if r.Method == http.MethodConnect {
		var err error
		if host, port, err = net.SplitHostPort(r.Host); err != nil {
			http.Error(w, "CONNECT needs a host and a port", http.StatusBadRequest)
			return
		}
	} else if port == "" {
		port = "80"
	}
	private, ok := s.gateway.allowed(host, port)
	if !ok || r.Method != http.MethodConnect && r.URL.Scheme != "http" {
		http.Error(w, fmt.Sprintf("this worker does not let agents reach %.200s:%.10s; the operator can add it to --egress-hosts", host, port), http.StatusForbidden)
		return
	}
	dial := func(ctx context.Context) (net.Conn, error) { return s.gateway.dial(ctx, host, port, private) }
	if r.Method == http.MethodConnect {
		s.tunnel(w, r, dial)
		return
	}
	s.passPlain(w, r, dial)
}

func proxyKey(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	if strings.EqualFold(scheme, "bearer") {
		return value
	}
	plain, err := base64.StdEncoding.DecodeString(value)
	if err != nil || !strings.EqualFold(scheme, "basic") {
		return ""
	}
	_, key, _ := strings.Cut(string(plain), ":")
	return key
}

func (s *Session) refuseDial(w http.ResponseWriter, err error) {
	if private, ok := errors.AsType[*peer.PrivateError](err); ok {
		http.Error(w, private.Error()+"; the operator can allow it by its address", http.StatusForbidden)
		return
	}
	http.Error(w, "the host cannot be reached from the worker", http.StatusBadGateway)
}

// tunnel joins the agent with the host until one of them, or the session, ends.
func (s *Session) tunnel(w http.ResponseWriter, r *http.Request, dial func(context.Context) (net.Conn, error)) {
	far, err := dial(r.Context())
	if err != nil {
		s.refuseDial(w, err)
		return
	}
	defer func() { _ = far.Close() }() // closed twice at the worst
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot be a tunnel", http.StatusInternalServerError)
		return
	}
	defer func() { _ = near.Close() }() // closed twice at the worst
	stop := context.AfterFunc(r.Context(), func() { _ = errors.Join(near.Close(), far.Close()) })
	defer stop()
	if err := near.SetDeadline(time.Time{}); err != nil {
		return
	}
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	join := func(to net.Conn, from io.Reader) {
		_, _ = io.Copy(to, from) // a tunnel ends as its ends do
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
			return
		}
		_ = to.Close()
	}
	both.Go(func() { join(far, buffered.Reader) })
	both.Go(func() { join(near, far) })
	both.Wait()
}

// passPlain passes on a request without encryption. The connection is for it alone.
func (s *Session) passPlain(w http.ResponseWriter, r *http.Request, dial func(context.Context) (net.Conn, error)) {
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true, DisableCompression: true,
	}
	proxy := httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.Out.Header.Del("Proxy-Authorization") },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      s.server.ErrorLog,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { s.refuseDial(w, err) },
	}
	proxy.ServeHTTP(w, r)
}

// guard is the way to addresses that someone else has named.
func (g *Gateway) guard(private bool) peer.Guard {
	return peer.Guard{AllowPrivate: private, Resolve: g.config.Resolve}
}

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
