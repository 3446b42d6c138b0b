package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// trace begins the span of a request. Nobody is authenticated yet: whoever sends a
// traceparent must not decide what is kept, so that it is only linked to. Once the
// caller is known, continueTrace begins anew in the caller's trace.
func (s *server) trace(w http.ResponseWriter, r *http.Request, info *request) {
	given := tracing.Sane(r.Header.Get(tracing.Header))
	info.quiet = quiet(r.URL.Path, given)
	switch {
	case s.Tracer.On() && !info.quiet:
		s.beginSpan(w, r, info, tracing.Options{Link: given})
		return
	case given != "":
		info.traceID = tracing.TraceIDOf(given)
	default:
		info.traceID = randomHex(16)
	}
	if s.Tracer.On() || given != "" {
		w.Header().Set(tracing.Header, "00-"+info.traceID+"-"+randomHex(8)+"-00") // no span of ours
	}
	*r = *r.WithContext(problem.WithTrace(r.Context(), info.traceID))
}

// quiet says that a request gets no span of its own: those that machines send every
// few seconds, unless they are a part of something.
func quiet(path, given string) bool {
	return !strings.HasPrefix(path, Prefix+"/") || given == "" && strings.HasPrefix(path, Prefix+workerwire.Prefix)
}

// continueTrace goes on with the trace of a caller that has proved who it is. An agent
// goes on in that of its run, whatever it says: it must not put runs and their spans
// into the trace of somebody else. The span that was begun before is dropped: what does
// not end is never sent.
func (s *server) continueTrace(w http.ResponseWriter, r *http.Request, info *request) {
	given := tracing.Sane(r.Header.Get(tracing.Header))
	own := info.caller.TraceParent
	if given == "" || info.caller.Role == lineshaft.RoleRun && tracing.TraceIDOf(given) != tracing.TraceIDOf(own) {
		given = own
	}
	if given == "" || info.quiet {
		return
	}
	*r = *r.WithContext(tracing.WithParent(r.Context(), given))
	if s.Tracer.On() {
		s.beginSpan(w, r, info, tracing.Options{})
	}
}

func (s *server) beginSpan(w http.ResponseWriter, r *http.Request, info *request, o tracing.Options) {
	o.Kind, o.At = tracing.Server, info.begun
	ctx, span := s.Tracer.Start(r.Context(), "request", o)
	info.span, info.traceID = span, span.TraceID()
	w.Header().Set(tracing.Header, span.Parent())
	*r = *r.WithContext(problem.WithTrace(ctx, info.traceID))
}

// endSpan names the span by the route's pattern: paths and queries may hold tokens.
func (info *request) endSpan(method, route string, status int) {
	span := info.span
	if !span.On() {
		return
	}
	span.Name(method + " " + route)
	span.String("http.request.method", method)
	span.String("http.route", route)
	span.Int("http.response.status_code", status)
	span.String("lineshaft.caller.id", info.caller.Principal.UID)
	if status >= http.StatusInternalServerError {
		span.Failed(strconv.Itoa(status))
	}
	span.End(nil)
}
