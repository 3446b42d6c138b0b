package tracing

import (
	"context"
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// Header is how a trace is passed on over HTTP, and Variable how to a process.
const (
	Header   = "Traceparent"
	Variable = "TRACEPARENT"
)

// The parts of a traceparent: version, trace, span, flags.
const (
	versionSize = 2
	traceSize   = 32
	spanSize    = 16
	flagsSize   = 2
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
	trace, span := sc.TraceID(), sc.SpanID()
	out := make([]byte, 0, versionSize+traceSize+spanSize+flagsSize+3)
	out = append(out, "00-"...)
	out = hex.AppendEncode(out, trace[:])
	out = append(out, '-')
	out = hex.AppendEncode(out, span[:])
	if sc.IsSampled() {
		return string(append(out, "-01"...))
	}
	return string(append(out, "-00"...))
}

// parse reads a traceparent strictly: small letters, no zero ids, nothing more for
// version 00, and not version ff. The propagator of OpenTelemetry would do, but it refuses
// flags that it does not know, 03 of the second level among them, which a reader has to ignore.
func parse(traceparent string) (trace.SpanContext, bool) {
	var none trace.SpanContext
	const whole = versionSize + 1 + traceSize + 1 + spanSize + 1 + flagsSize
	if len(traceparent) < whole || len(traceparent) > 256 {
		return none, false
	}
	version, rest := traceparent[:versionSize], traceparent[whole:]
	if rest != "" && (version == "00" || rest[0] != '-') || version == "ff" {
		return none, false
	}
	for i, c := range []byte(traceparent[:whole]) {
		dash := i == versionSize || i == versionSize+1+traceSize || i == whole-flagsSize-1
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdef", rune(c)) {
			return none, false
		}
	}
	var config trace.SpanContextConfig
	at := versionSize + 1
	_, errTrace := hex.Decode(config.TraceID[:], []byte(traceparent[at:at+traceSize]))
	at += traceSize + 1
	_, errSpan := hex.Decode(config.SpanID[:], []byte(traceparent[at:at+spanSize]))
	flags, errFlags := hex.DecodeString(traceparent[whole-flagsSize : whole])
	if errTrace != nil || errSpan != nil || errFlags != nil {
		return none, false
	}
	config.TraceFlags = trace.TraceFlags(flags[0]) & trace.FlagsSampled
	config.Remote = true
	sc := trace.NewSpanContext(config)
	return sc, sc.IsValid()
}
