// Package tracing is how the other rooms make spans. It knows the OpenTelemetry
// API alone: who collects spans, and whether anybody does, is decided in telemetry.
//
// A nil Tracer is tracing switched off: nothing is allocated, no context is changed,
// and a caller's own trace is passed on as it came. Attributes are set one by one by
// name, so that none is built for nobody. They hold ids, names, counts and states;
// prompts, payloads, addresses with their queries and texts of errors stay out (S-2).
package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/lineshaft/lineshaft"
)

// Kind says which side of a call a span is.
type Kind = trace.SpanKind

// The kinds in use; the zero Kind is work within a process.
const (
	Server   = trace.SpanKindServer
	Client   = trace.SpanKindClient
	Consumer = trace.SpanKindConsumer
	Producer = trace.SpanKindProducer
)

// Tracer makes spans. Nil makes none.
type Tracer struct{ to trace.Tracer }

// New returns a Tracer that makes spans with to; nil when to is nil.
func New(to trace.Tracer) *Tracer {
	if to == nil {
		return nil
	}
	return &Tracer{to: to}
}

// On says whether spans are made.
func (t *Tracer) On() bool { return t != nil }

// Options of a span. The zero value is work within a process that begins now.
type Options struct {
	Kind Kind
	// At is when it began; zero is now.
	At time.Time
	// Link is the traceparent of something that it has to do with without being a part
	// of it; empty is nothing.
	Link string
}

// Start begins a span below the one of ctx, and returns a context with it. A span
// that is not ended is never heard of: that is how work is taken back whose
// transaction was.
func (t *Tracer) Start(ctx context.Context, name string, o Options) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	options := make([]trace.SpanStartOption, 0, 3)
	options = append(options, trace.WithSpanKind(o.Kind))
	if !o.At.IsZero() {
		options = append(options, trace.WithTimestamp(o.At))
	}
	if linked, ok := parse(o.Link); ok {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: linked}))
	}
	ctx, span := t.to.Start(ctx, name, options...) //nolint:spancheck // whoever gets it ends it
	return ctx, Span{of: span}                     //nolint:spancheck // as above
}

// Span is something that takes time. The zero value is none, and does nothing.
type Span struct{ of trace.Span }

// On says that somebody listens: worth asking before a text is put together.
func (s Span) On() bool { return s.of != nil }

// Name renames the span: what it is may be known only later.
func (s Span) Name(name string) {
	if s.of != nil {
		s.of.SetName(name)
	}
}

// String sets an attribute. Empty values are left out.
func (s Span) String(key, value string) {
	if s.of != nil && value != "" {
		s.of.SetAttributes(attribute.String(key, value))
	}
}

// Int sets an attribute.
func (s Span) Int(key string, value int) {
	if s.of != nil {
		s.of.SetAttributes(attribute.Int(key, value))
	}
}

// Bool sets an attribute.
func (s Span) Bool(key string, value bool) {
	if s.of != nil {
		s.of.SetAttributes(attribute.Bool(key, value))
	}
}

// Link says that the span has to do with another trace.
func (s Span) Link(traceparent string) {
	if s.of == nil {
		return
	}
	if linked, ok := parse(traceparent); ok {
		s.of.AddLink(trace.Link{SpanContext: linked})
	}
}

// Failed marks the span with the code of what went wrong. Codes come from a list of
// ours; the text of an error may quote anything.
func (s Span) Failed(code string) {
	if s.of != nil {
		s.of.SetAttributes(attribute.String("error.type", code))
		s.of.SetStatus(codes.Error, code)
	}
}

// End ends the span, as failed if err is not nil.
func (s Span) End(err error) { s.EndAt(err, time.Time{}) }

// EndAt is End at another time than now.
func (s Span) EndAt(err error, at time.Time) {
	if s.of == nil {
		return
	}
	if err != nil {
		s.Failed(string(lineshaft.CodeOf(err)))
	}
	if at.IsZero() {
		s.of.End()
		return
	}
	s.of.End(trace.WithTimestamp(at))
}

// Parent is the traceparent of what is below the span; empty for none.
func (s Span) Parent() string {
	if s.of == nil {
		return ""
	}
	return format(s.of.SpanContext())
}

// TraceID is the id of the span's trace; empty for none.
func (s Span) TraceID() string {
	if s.of == nil {
		return ""
	}
	return s.of.SpanContext().TraceID().String()
}
