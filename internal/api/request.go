package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
)

// request is what the middleware learned about a request. The handlers and the
// log line at the end read it; only the request's own goroutine touches it.
type request struct {
	id      string
	traceID string
	// path is the escaped path, for problems shown to the caller; it is never logged.
	path   string
	remote string
	caller lineshaft.Caller
	source lineshaft.Source
	// idempotency is nil when the client gave no key.
	idempotency *control.Idempotency
}

type requestKey struct{}

// infoFrom returns what is known about the request; outside of one, nothing.
func infoFrom(ctx context.Context) *request {
	if info, ok := ctx.Value(requestKey{}).(*request); ok {
		return info
	}
	return &request{}
}

func (s *server) newRequest(r *http.Request) *request {
	traceID, ok := parseTraceparent(r.Header.Get("Traceparent"))
	if !ok {
		traceID = randomHex(16)
	}
	id := r.Header.Get("X-Request-ID")
	if !saneRequestID(id) {
		id = rand.Text()
	}
	return &request{id: id, traceID: traceID, path: r.URL.EscapedPath(), remote: s.remoteAddr(r)}
}

// saneRequestID limits what we echo and log of a stranger's id (H-10).
func saneRequestID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		if !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// parseTraceparent takes the trace id out of a W3C traceparent header.
func parseTraceparent(header string) (traceID string, ok bool) {
	parts := strings.Split(header, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || len(parts[2]) != 16 || len(parts[3]) != 2 {
		return "", false
	}
	if parts[0] == "00" && len(parts) != 4 {
		return "", false
	}
	for _, part := range parts[:4] {
		if part != strings.ToLower(part) || !isHex(part) {
			return "", false
		}
	}
	if len(parts[1]) != 32 || strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return "", false
	}
	return parts[1], true
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, says its documentation
	return hex.EncodeToString(b)
}

// remoteAddr is the address of the client: the peer, or, while the peer is a
// trusted proxy, the last address before it in X-Forwarded-For.
func (s *server) remoteAddr(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	addr := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && s.trusts(addr); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr.String()
}

func (s *server) trusts(addr netip.Addr) bool {
	for _, prefix := range s.TrustedProxies {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// sourceOf says where a run that this request starts comes from.
func sourceOf(header http.Header, caller lineshaft.Caller) lineshaft.Source {
	if caller.Role == lineshaft.RoleRun {
		return lineshaft.SourceOrchestration
	}
	switch strings.ToLower(header.Get("X-Lineshaft-Client")) {
	case "cli":
		return lineshaft.SourceCLI
	case "web":
		return lineshaft.SourceWebApp
	}
	return lineshaft.SourceAPI
}
