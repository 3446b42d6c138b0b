package api

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
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

// healthResponse is the body of /healthz and /readyz.
type healthResponse struct {
	Status string       `json:"status"`
	Parts  []healthPart `json:"parts,omitempty"`
}

type healthPart struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
}

func (s *server) serveHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, healthResponse{Status: "ok"})
}

// serveReady says whether the server can do its work, and which part cannot.
func (s *server) serveReady(w http.ResponseWriter, r *http.Request) error {
	out, status := healthResponse{Status: "ok"}, http.StatusOK
	for _, part := range s.Control.Ready(r.Context()) {
		if part.Problem != "" {
			out.Parts = append(out.Parts, healthPart{part.Name, part.Problem})
		}
		switch {
		case part.Problem != "" && !part.Serves:
			out.Status, status = "unavailable", http.StatusServiceUnavailable
		case part.Problem != "" && status == http.StatusOK:
			out.Status = "degraded"
		}
	}
	return writeJSON(w, status, out)
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // nobody is left to receive an error
	return nil
}

func (s *server) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	if s.Metrics == nil {
		return &lineshaft.Error{Code: lineshaft.CodeNotFound, Message: "this server does not show metrics here"}
	}
	if s.MetricsKey != "" {
		key, ok := bearer(r.Header)
		if !ok || subtle.ConstantTimeCompare([]byte(key), []byte(s.MetricsKey)) != 1 {
			return &lineshaft.Error{Code: lineshaft.CodeAuthenticationRequired}
		}
	}
	s.Metrics.ServeHTTP(w, r)
	return nil
}

func (s *server) serveErrorPage(w http.ResponseWriter, r *http.Request) error {
	pages, err := s.errorPages()
	if err != nil {
		return err
	}
	pages.ServeHTTP(w, r)
	return nil
}

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

func callerOf(ctx context.Context) lineshaft.Caller { return infoFrom(ctx).caller }

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, says its documentation
	return hex.EncodeToString(b)
}

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
