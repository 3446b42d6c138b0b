package tracing

import (
	"context"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// Header is how a trace is passed on over HTTP, and Variable how to a process.
const (
	Header   = "Traceparent"
	Variable = "TRACEPARENT"
)

// WithParent returns a context whose spans are below a traceparent from elsewhere:
// a header, a row, a variable. One that is empty or not sane changes nothing.
func WithParent(ctx context.Context, traceparent string) context.Context {
	sc, ok := parse(traceparent)
	if !ok {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// Detached returns a context that is below nothing: what begins in it is a trace of
// its own.
func Detached(ctx context.Context) context.Context {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return trace.ContextWithSpanContext(ctx, trace.SpanContext{})
}

// Parent is the traceparent of what is done in ctx, to be stored or sent; empty when
// there is no trace.
func Parent(ctx context.Context) string { return format(trace.SpanContextFromContext(ctx)) }

// TraceID is the id of the trace that ctx is in; empty for none.
func TraceID(ctx context.Context) string {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.HasTraceID() {
		return ""
	}
	return sc.TraceID().String()
}

// Sane returns a traceparent if it is one by W3C Trace Context, and else nothing. Of
// later versions it keeps what version 00 knows.
func Sane(traceparent string) string {
	sc, ok := parse(traceparent)
	if !ok {
		return ""
	}
	return format(sc)
}

// TraceIDOf is the trace id in a traceparent; empty when it is not sane.
func TraceIDOf(traceparent string) string {
	sc, ok := parse(traceparent)
	if !ok {
		return ""
	}
	return sc.TraceID().String()
}

// format writes version 00.
func format(sc trace.SpanContext) string {
	if !sc.IsValid() {
		return ""
	}
	return "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + (sc.TraceFlags() & trace.FlagsSampled).String()
}

// parse reads a traceparent strictly: small letters, no zero ids, nothing more for version
// 00, and not version ff. The propagator of OpenTelemetry would do, but it refuses flags
// that it does not know, which a reader has to ignore.
func parse(traceparent string) (sc trace.SpanContext, ok bool) {
	version, rest, _ := strings.Cut(traceparent, "-")
	parts := strings.SplitN(rest, "-", 4) // trace, span, flags and what a later version adds
	if !isByte(version) || version == "ff" || len(parts) < 3 || !isByte(parts[2]) || len(parts) > 3 && version == "00" || len(traceparent) > 256 {
		return sc, false
	}
	traceID, errTrace := trace.TraceIDFromHex(parts[0])
	spanID, errSpan := trace.SpanIDFromHex(parts[1])
	flags, errFlags := strconv.ParseUint(parts[2], 16, 8)
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(flags) & trace.FlagsSampled, Remote: true,
	}), errTrace == nil && errSpan == nil && errFlags == nil
}

// isByte says whether a text is two small hexadecimal digits.
func isByte(text string) bool { return len(text) == 2 && strings.Trim(text, "0123456789abcdef") == "" }
