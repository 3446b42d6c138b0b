// Package tracingtest keeps the spans of tests, instead of sending them.
package tracingtest

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lineshaft/lineshaft/internal/tracing"
)

// Spans are those that have ended, in that order.
type Spans struct{ recorder *tracetest.SpanRecorder }

// New returns a Tracer and what it makes.
func New() (*tracing.Tracer, Spans) { return Sampled(sdk.ParentBased(sdk.AlwaysSample())) }

// Unsampled returns a Tracer that keeps nothing, unless a parent says so.
func Unsampled() (*tracing.Tracer, Spans) { return Sampled(sdk.ParentBased(sdk.NeverSample())) }

// Sampled returns a Tracer with a sampler.
func Sampled(sampler sdk.Sampler) (*tracing.Tracer, Spans) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder), sdk.WithSampler(sampler))
	return tracing.New(provider.Tracer("test")), Spans{recorder}
}

// All lists them.
func (s Spans) All() []Span {
	ended := s.recorder.Ended()
	list := make([]Span, len(ended))
	for i, span := range ended {
		list[i] = Span{span}
	}
	return list
}

// Named lists those of a name.
func (s Spans) Named(name string) []Span {
	return slices.DeleteFunc(s.All(), func(span Span) bool { return span.Name() != name })
}

// Span is one that has ended.
type Span struct{ sdk.ReadOnlySpan }

// TraceID is the id of its trace.
func (s Span) TraceID() string { return s.SpanContext().TraceID().String() }

// SpanID is its own id.
func (s Span) SpanID() string { return s.SpanContext().SpanID().String() }

// ParentID is the id of the span above it; zeros for none.
func (s Span) ParentID() string { return s.Parent().SpanID().String() }

// Attribute is the text of an attribute; empty for none.
func (s Span) Attribute(key string) string {
	for _, kv := range s.Attributes() {
		if kv.Key == attribute.Key(key) {
			return kv.Value.String()
		}
	}
	return ""
}
