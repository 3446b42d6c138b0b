package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// unmatchedRoute is the route of requests that fit no pattern, in logs and metrics.
const unmatchedRoute = "unmatched"

// ServeHTTP is the outermost layer: it names the request, survives a panic below,
// and writes one wide log line at the end.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := s.Now()
	info := s.newRequest(r)
	info.begun = begun
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, info))
	rec := &recorder{ResponseWriter: w}
	info.rec = rec
	rec.Header().Set("X-Request-ID", info.id)
	rec.Header().Set("X-Content-Type-Options", "nosniff")
	s.trace(rec, r, info)
	defer func() {
		if fault := recover(); fault != nil {
			s.recovered(rec, r, fault)
		}
		rec.release()
		rec.pause()
		if info.release != nil {
			info.release()
		}
		s.finish(rec, r, info, begun)
	}()
	if s.cors(rec, r) {
		return
	}
	if !clean(r.URL.EscapedPath()) {
		s.problems.Write(rec, r, lineshaft.Invalid("", "the path has an empty or dotted segment; is an id missing?"))
		return
	}
	s.mux.ServeHTTP(rec, r)
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
func (s *server) finish(w *recorder, r *http.Request, info *request, begun time.Time) {
	took := s.Now().Sub(begun)
	status := w.status
	if status == 0 {
		status = http.StatusOK
	}
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
			Code: lineshaft.CodeNotFound, Message: "there is nothing at this path; " + Prefix + "/docs lists what there is",
		})
		return
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	s.problems.Write(w, r, &lineshaft.Error{
		Code: lineshaft.CodeMethodNotAllowed, Message: "this path takes " + list,
	})
}
