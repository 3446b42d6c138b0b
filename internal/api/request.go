package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/peer"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// request is what the middleware learned about a request. The handlers and the
// log line at the end read it; only the request's own goroutine touches it.
type request struct {
	id    string
	begun time.Time
	// traceID is the trace's, or made up so that the log can be searched for it.
	traceID string
	span    tracing.Span
	// quiet says that the request gets no span.
	quiet bool
	// path is the escaped path, for problems shown to the caller; it is never logged.
	path   string
	remote string
	caller lineshaft.Caller
	source lineshaft.Source
	// files is the folder of an archive that came as the body; nil for none.
	files definition.Files
	// rec is where the answer goes.
	rec *recorder
	// release ends the turn of a long answer; nil without one.
	release func()
	// idempotency is nil when the client gave no key.
	idempotency *base.Idempotency
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
	return &request{id: peer.RequestID(r), path: r.URL.EscapedPath(), remote: s.remoteAddr(r)}
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, says its documentation
	return hex.EncodeToString(b)
}

// remoteAddr is the address of the client as text.
func (s *server) remoteAddr(r *http.Request) string {
	if addr := peer.Addr(r, s.TrustedProxies); addr.IsValid() {
		return addr.String()
	}
	return r.RemoteAddr
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
