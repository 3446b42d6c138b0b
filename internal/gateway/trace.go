package gateway

import (
	"context"
	"net/http"
	"strconv"

	"github.com/lineshaft/lineshaft/internal/tracing"
)

// trace begins the span of a request to a model. It is below what the agent says, as
// long as that is in the run's own trace, and else below the turn. The endpoint is
// told nothing of it.
func (s *Session) trace(ctx context.Context, given string, c *call) (context.Context, tracing.Span) {
	tracer := s.gateway.config.Tracer
	if !tracer.On() || !c.metered() {
		return ctx, tracing.Span{}
	}
	parent := ""
	if s.config.TraceParent != nil {
		parent = s.config.TraceParent()
	}
	if id := tracing.TraceIDOf(given); id != "" && id == tracing.TraceIDOf(parent) {
		parent = given
	}
	ctx, span := tracer.Start(tracing.WithParent(ctx, parent), "model call", tracing.Options{Kind: tracing.Client})
	span.String("gen_ai.provider.name", string(c.protocol))
	span.String("gen_ai.request.model", c.choice.Model)
	span.String("lineshaft.model.endpoint", c.choice.Endpoint.Name)
	span.Bool("lineshaft.model.stream", c.stream)
	return ctx, span
}

// endSpan says what the request came to.
func endSpan(span tracing.Span, m *meter) {
	if !span.On() {
		return
	}
	span.Int("gen_ai.usage.input_tokens", int(m.counted.Input))
	span.Int("gen_ai.usage.output_tokens", int(m.counted.Output))
	switch {
	case m.status >= http.StatusBadRequest:
		span.Int("http.response.status_code", m.status)
		span.Failed(strconv.Itoa(m.status))
	case m.status == 0:
		span.Failed("no answer")
	case m.cut && !m.usage.final: // some agents hang up as soon as they have everything
		span.Failed("cut off")
	default:
		span.Int("http.response.status_code", m.status)
	}
	span.End(nil)
}
