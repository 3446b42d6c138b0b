package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/peer"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// unmatchedRoute is the route of requests that fit no pattern, in logs and metrics.
const unmatchedRoute = "unmatched"

// ServeHTTP is the outermost layer: it names the request, survives a panic below,
// and writes one wide log line at the end.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w}
	info := &request{id: peer.RequestID(r), begun: s.Now(), path: r.URL.EscapedPath(), remote: s.remoteAddr(r), rec: rec}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, info))
	rec.Header().Set("X-Request-ID", info.id)
	rec.Header().Set("X-Content-Type-Options", "nosniff")
	s.trace(rec, r, info)
	goesOn := false
	defer func() {
		if !goesOn {
			s.conclude(rec, r, info, recover())
		}
	}()
	if s.cors(rec, r) {
		return
	}
	if !clean(r.URL.EscapedPath()) {
		s.problems.Write(rec, r, lineshaft.Invalid("", "the path has an empty or dotted segment; is an id missing?"))
		return
	}
	s.mux.ServeHTTP(rec, r)
	if rec.source != nil {
		goesOn = s.stream(rec, r, info)
	}
}

// conclude ends a request, with the fault that it panicked with.
func (s *server) conclude(rec *recorder, r *http.Request, info *request, fault any) {
	if fault != nil {
		s.recovered(rec, r, fault)
	}
	rec.release()
	rec.pause()
	if info.release != nil {
		info.release()
	}
	s.finish(rec, r, info)
}

// clean says whether the mux would take the path as it is, instead of redirecting
// to a shorter one.
func clean(escaped string) bool {
	want := path.Clean(escaped)
	if strings.HasSuffix(escaped, "/") && want != "/" {
		want += "/"
	}
	return escaped == want
}

func (s *server) recovered(w *recorder, r *http.Request, fault any) {
	s.Logger.ErrorContext(r.Context(), "panic in a handler",
		"route", routeOf(r), "fault", fmt.Sprint(fault), "stack", string(debug.Stack()), "trace_id", infoFrom(r.Context()).traceID)
	if w.status != 0 {
		w.abort() // half an answer must not look like a whole one
		return
	}
	s.problems.Write(w, r, fmt.Errorf("panic: %v", fault))
}

// finish writes the log line and the metrics of a request. Paths and queries stay
// out of both: they may hold tokens (S-2).
func (s *server) finish(w *recorder, r *http.Request, info *request) {
	took := s.Now().Sub(info.begun)
	status := cmp.Or(w.status, http.StatusOK)
	method := r.Method
	if !slices.Contains(probed(), method) && method != http.MethodOptions {
		method = "OTHER"
	}
	info.endSpan(method, routeOf(r), status)
	s.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("method", method), slog.String("route", routeOf(r)), slog.Int("status", status),
		slog.Duration("duration", took), slog.Int64("bytes", w.bytes), slog.String("caller", info.caller.Principal.UID),
		slog.String("remote_addr", info.remote), slog.String("request_id", info.id), slog.String("trace_id", info.traceID))
	if s.Observe != nil {
		s.Observe(Observation{Route: routeOf(r), Method: method, Status: status, Took: took})
	}
}

// routeOf is the pattern that matched, without its method.
func routeOf(r *http.Request) string {
	_, route, found := strings.Cut(r.Pattern, " ")
	if !found {
		route = r.Pattern
	}
	if route == "" || route == "/" {
		return unmatchedRoute
	}
	return route
}

func probed() []string {
	return []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	}
}

// unmatched answers what no pattern took: 405 if another method would fit, else 404.
func (s *server) unmatched(w http.ResponseWriter, r *http.Request) {
	if s.patternOf(r) != "" {
		s.beside.ServeHTTP(w, r)
		return
	}
	var allowed []string
	for _, method := range probed() {
		probe := *r
		probe.Method = method
		if s.patternOf(&probe) != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		s.problems.Write(w, r, &lineshaft.Error{
			Code: lineshaft.CodeNotFound, Message: "there is nothing at this path; " + Prefix + "/docs lists all paths",
		})
		return
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	s.problems.Write(w, r, &lineshaft.Error{
		Code: lineshaft.CodeMethodNotAllowed, Message: "this path takes " + list,
	})
}

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

// trace begins the span of a request. Nobody is authenticated yet: a stranger's
// traceparent must not decide what is kept, so it is only linked to. Once the caller is
// known, continueTrace begins again in the caller's trace.
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

// continueTrace continues the trace of a caller that has proved who it is. An agent
// continues that of its run, whatever it says: it must not put runs and their spans
// into someone else's trace. The span that was begun before is dropped: a span that
// does not end is never sent.
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

// pieceBytes is how much of an answer a reader must take within writeTimeout.
const pieceBytes = 256 << 10

// recorder remembers what was answered, for the log, and keeps the connection's
// deadlines in order.
type recorder struct {
	http.ResponseWriter
	status  int
	bytes   int64
	aborted bool
	// work takes the processor for a long answer, and rest gives it back. An answer without
	// work has none to take, and one without rest does not have it now.
	work func() (rest func())
	rest func()
	// source is a stream that the handlers leave to be sent.
	source *source
	// until is when the whole answer must have been taken; zero is any time.
	until time.Time
}

// deadline is when the next piece must have been taken.
func (w *recorder) deadline() time.Time {
	at := time.Now().Add(writeTimeout)
	if !w.until.IsZero() && w.until.Before(at) {
		return w.until
	}
	return at
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. It gives the reader writeTimeout for each
// piece: however long an answer is, a reader that stops reading is let go.
func (w *recorder) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	if w.pause() { // the reader may be slow, and others need not wait for it
		defer w.resume()
	}
	written := 0
	for piece := range slices.Chunk(p, pieceBytes) {
		_ = w.control().SetWriteDeadline(w.deadline())
		n, err := w.ResponseWriter.Write(piece)
		written += n
		w.bytes += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// resume takes the processor for the answer.
func (w *recorder) resume() { w.rest = w.work() }

// pause gives it back, if the answer has it.
func (w *recorder) pause() bool {
	if w.rest == nil {
		return false
	}
	w.rest()
	w.rest = nil
	return true
}

func (w *recorder) flush() error {
	_ = w.control().SetWriteDeadline(w.deadline())
	return w.control().Flush()
}

// control reaches the connection. Writers without one, as in tests, refuse
// deadlines; that is why their errors are dropped here.
func (w *recorder) control() *http.ResponseController {
	return http.NewResponseController(w.ResponseWriter)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// abort breaks the connection off, so that a reader of half an answer sees an
// error instead of an end.
func (w *recorder) abort() {
	w.aborted = true
	_ = w.control().SetWriteDeadline(time.Unix(1, 0))
}

// release takes the deadline off again: the connection may be kept for a request
// that is not ours.
func (w *recorder) release() {
	if !w.aborted {
		_ = w.control().SetWriteDeadline(time.Time{})
	}
}

// recorderOf finds the recorder below other wrappers.
func recorderOf(w http.ResponseWriter) *recorder {
	for {
		switch inner := w.(type) {
		case *recorder:
			return inner
		case interface{ Unwrap() http.ResponseWriter }:
			w = inner.Unwrap()
		default:
			return &recorder{ResponseWriter: w}
		}
	}
}
