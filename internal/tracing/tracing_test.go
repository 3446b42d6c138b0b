package tracing_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/tracing/tracingtest"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
	parent  = "00-" + traceID + "-" + spanID + "-01"
)

// Only what W3C Trace Context allows is taken; of later versions what 00 knows.
func TestH10SaneTraceparents(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		parent:                                                  parent,
		"00-" + traceID + "-" + spanID + "-00":                  "00-" + traceID + "-" + spanID + "-00",
		"00-" + traceID + "-" + spanID + "-ff":                  parent, // unknown flags are dropped
		"cc-" + traceID + "-" + spanID + "-01-extra":            parent,
		"cc-" + traceID + "-" + spanID + "-01":                  parent,
		"cc-" + traceID + "-" + spanID + "-01extra":             "",
		parent + "-extra":                                       "",
		"ff-" + traceID + "-" + spanID + "-01":                  "",
		"0-" + traceID + "-" + spanID + "-01":                   "",
		"00-" + strings.Repeat("0", 32) + "-" + spanID + "-01":  "",
		"00-" + traceID + "-0000000000000000-01":                "",
		"00-" + strings.ToUpper(traceID) + "-" + spanID + "-01": "",
		"00-" + traceID[1:] + "-" + spanID + "-01":              "",
		"00-" + traceID + "-" + spanID:                          "",
		"00-" + traceID + "-" + spanID + "-0g":                  "",
		"00-xbf92f3577b34da6a3ce929d0e0e4736-" + spanID + "-01": "",
		"00_" + traceID + "_" + spanID + "_01":                  "",
		"":                                                      "", "garbage": "", "é" + parent[2:]: "", "\x00" + parent: "",
		"cc-" + traceID + "-" + spanID + "-01-" + strings.Repeat("x", 1<<20): "",
		" " + parent: "", parent + "\n": "",
	} {
		if got := tracing.Sane(given); got != want {
			t.Errorf("%.80q: %q, not %q", given, got, want)
		}
		if got, wantID := tracing.TraceIDOf(given), traceID; want == "" && got != "" || want != "" && got != wantID {
			t.Errorf("%.80q: trace %q", given, got)
		}
	}
}

func FuzzSane(f *testing.F) {
	f.Add(parent)
	f.Add("cc-" + traceID + "-" + spanID + "-01-extra")
	f.Fuzz(func(t *testing.T, given string) {
		sane := tracing.Sane(given)
		if sane != "" && (len(sane) != len(parent) || tracing.Sane(sane) != sane) {
			t.Errorf("%q became %q", given, sane)
		}
	})
}

// Tracing that is off costs nothing, and passes on what came.
//
//nolint:paralleltest // it counts the allocations of the whole program
func TestI5OffCostsNothing(t *testing.T) {
	var off *tracing.Tracer
	ctx := tracing.WithParent(t.Context(), parent)
	failure := errors.New("failure")
	if n := testing.AllocsPerRun(100, func() {
		below, span := off.Start(ctx, "name", tracing.Options{Kind: tracing.Server, At: time.Time{}, Link: parent})
		span.String("key", "value")
		span.Int("key", 1)
		span.Bool("key", true)
		span.Link(parent)
		span.Failed("code")
		span.End(failure)
		if below != ctx || span.On() || off.On() {
			t.Error("something was made")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := tracing.Parent(ctx); got != parent || tracing.TraceID(ctx) != traceID {
		t.Errorf("%q goes on", got)
	}
	if got := tracing.Parent(t.Context()); got != "" || tracing.TraceID(t.Context()) != "" {
		t.Errorf("%q came from nowhere", got)
	}
	if ctx := tracing.WithParent(t.Context(), "garbage"); ctx != t.Context() {
		t.Error("garbage changed the context")
	}
	if tracing.New(nil).On() {
		t.Error("no tracer is on")
	}
}

func TestI5SpansBelowAParent(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.New()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ctx, span := tracer.Start(tracing.WithParent(t.Context(), parent), "outer", tracing.Options{Kind: tracing.Server, At: at})
	_, inner := tracer.Start(ctx, "inner", tracing.Options{Link: "00-" + strings.Repeat("a", 32) + "-" + spanID + "-01"})
	_, forgotten := tracer.Start(ctx, "forgotten", tracing.Options{})
	forgotten.String("key", "value")
	inner.End(&lineshaft.Error{Code: lineshaft.CodeConflict, Message: "what may hold anything"})
	span.String("empty", "")
	span.Int("number", 7)
	span.Name("renamed")
	span.EndAt(nil, at.Add(time.Second))
	list := spans.All()
	if len(list) != 2 {
		t.Fatalf("%d spans", len(list))
	}
	in, out := list[0], list[1]
	if out.TraceID() != traceID || out.ParentID() != spanID || in.ParentID() != out.SpanID() || out.Name() != "renamed" || out.Attribute("number") != "7" || len(out.Attributes()) != 1 {
		t.Errorf("outer %+v", out)
	}
	if !out.StartTime().Equal(at) || out.EndTime().Sub(at) != time.Second || span.Parent() != "00-"+traceID+"-"+out.SpanID()+"-01" || span.TraceID() != traceID {
		t.Errorf("from %s to %s", out.StartTime(), out.EndTime())
	}
	if in.Status().Code != codes.Error || in.Status().Description != string(lineshaft.CodeConflict) || len(in.Links()) != 1 || len(in.Events()) != 0 {
		t.Errorf("inner %+v", in.Status())
	}
}

// What is not kept stays so below: the flag goes on with the traceparent.
func TestI5UnsampledGoesOnUnsampled(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.Unsampled()
	ctx, span := tracer.Start(t.Context(), "outer", tracing.Options{})
	if got := tracing.Parent(ctx); !strings.HasSuffix(got, "-00") || got != span.Parent() {
		t.Errorf("%q goes on", got)
	}
	all, _ := tracingtest.New()
	_, below := all.Start(tracing.WithParent(context.Background(), tracing.Parent(ctx)), "inner", tracing.Options{})
	below.End(nil)
	span.End(nil)
	if n := len(spans.All()); n != 0 {
		t.Errorf("%d spans", n)
	}
	if got := tracing.Parent(tracing.Detached(ctx)); got != "" {
		t.Errorf("detached, but below %q", got)
	}
}
