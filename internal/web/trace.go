package web

import (
	"net/http"

	"github.com/lineshaft/lineshaft/internal/tracing"
)

// trace begins the span of a request that changes something, named by its pattern.
// Pages that are only read make none: they ask for themselves again and again.
func (s *server) trace(w http.ResponseWriter, r *http.Request) (end func(error)) {
	if !s.Tracer.On() || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return func(error) {}
	}
	ctx, span := s.Tracer.Start(r.Context(), r.Pattern, tracing.Options{Kind: tracing.Server})
	span.String("http.request.method", r.Method)
	span.String("http.route", r.Pattern)
	w.Header().Set(tracing.Header, span.Parent())
	*r = *r.WithContext(ctx)
	return span.End
}
