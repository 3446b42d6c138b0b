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
