package api

import (
	"net/http"
	"slices"
	"strings"
)

// preflightLife is how long, in seconds, a browser may remember an answer.
const preflightLife = "7200"

// cors lets pages of the allowed origins call the API, with a key alone: cookies are
// never allowed, so a page can do no more than its key (S-4). It reports whether
// it has answered a preflight.
func (s *server) cors(w http.ResponseWriter, r *http.Request) bool {
	if len(s.CORSOrigins) == 0 || !strings.HasPrefix(r.URL.Path, Prefix+"/") {
		return false
	}
	header := w.Header()
	header.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(s.CORSOrigins, origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		header.Set("Access-Control-Expose-Headers", exposedHeaders)
		return false
	}
	header.Set("Access-Control-Allow-Methods", strings.Join(probed(), ", "))
	header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Traceparent, X-Request-ID")
	header.Set("Access-Control-Max-Age", preflightLife)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// exposedHeaders are what a page may read of an answer, beside what it always may.
const exposedHeaders = "X-Request-ID, Traceparent, Idempotent-Replayed, Retry-After, Retry-After-Ms, X-Should-Retry, " +
	"RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Deprecation, Sunset"
