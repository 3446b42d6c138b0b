package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lineshaft/lineshaft/internal/tracing"
)

func quietLogger() (*slog.Logger, *bytes.Buffer) {
	var out bytes.Buffer
	return slog.New(slog.NewTextHandler(&out, nil)), &out
}

// Tracing is off until somebody names a collector, and the settings count before the
// standard variables.
func TestI5WhereSpansGo(t *testing.T) {
	for name, tc := range map[string]struct {
		env      map[string]string
		endpoint string
		want     string
		refused  string
	}{
		"nobody asks":              {},
		"the setting":              {endpoint: "http://127.0.0.1:4318", want: "http://127.0.0.1:4318/v1/traces"},
		"with a slash":             {endpoint: "http://127.0.0.1:4318/", want: "http://127.0.0.1:4318/v1/traces"},
		"below a path":             {endpoint: "https://c.example.com/otlp", want: "https://c.example.com/otlp/v1/traces"},
		"whole":                    {endpoint: "https://c.example.com/v1/traces", want: "https://c.example.com/v1/traces"},
		"the base variable":        {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1"}, want: "http://c:1/v1/traces"},
		"the one for traces":       {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:2/mine", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1"}, want: "http://c:2/mine"},
		"the setting is first":     {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:2/mine"}, endpoint: "http://c:3", want: "http://c:3/v1/traces"},
		"over gRPC":                {env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, endpoint: "http://c:4317/x", want: "http://c:4317"},
		"switched off":             {env: map[string]string{"OTEL_SDK_DISABLED": "true"}, endpoint: "http://c:3"},
		"no traces":                {env: map[string]string{"OTEL_TRACES_EXPORTER": "none"}, endpoint: "http://c:3"},
		"no URL":                   {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"}, refused: "OTEL_EXPORTER_OTLP_ENDPOINT is not the address"},
		"a password is not quoted": {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "sesame"}, refused: "such as http://127.0.0.1:4318"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			got, err := TraceConfig{Endpoint: tc.endpoint}.endpoint()
			if got != tc.want || (err == nil) != (tc.refused == "") || err != nil && (!strings.Contains(err.Error(), tc.refused) || strings.Contains(err.Error(), "sesame")) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestI5OffIsNil(t *testing.T) {
	t.Parallel()
	log, _ := quietLogger()
	traces, err := NewTraces(t.Context(), TraceConfig{Sample: 1, Service: "test", Logger: log})
	if err != nil || traces != nil || traces.Tracer().On() || traces.Stop(t.Context()) != nil {
		t.Errorf("%v, %v", traces, err)
	}
}

// Spans reach the collector at the stop, with the headers of the environment.
func TestI5StopSendsWhatIsLeft(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Key=sesame")
	var calls atomic.Int32
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" && r.Header.Get("X-Key") == "sesame" {
			calls.Add(1)
		}
	}))
	defer collector.Close()
	log, said := quietLogger()
	traces, err := NewTraces(t.Context(), TraceConfig{Endpoint: collector.URL, Sample: 1, Service: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	_, span := traces.Tracer().Start(t.Context(), "work", tracing.Options{})
	span.End(nil)
	if err := traces.Stop(t.Context()); err != nil || calls.Load() != 1 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	if strings.Contains(said.String(), "sesame") {
		t.Errorf("the log has a credential: %s", said)
	}
}

// A sampler of the settings keeps what a parent kept, and none of the new ones here.
func TestI5SampleIsForNewTraces(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer collector.Close()
	log, _ := quietLogger()
	traces, err := NewTraces(t.Context(), TraceConfig{Endpoint: collector.URL, Sample: 0, Service: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	_, span := traces.Tracer().Start(t.Context(), "new", tracing.Options{})
	span.End(nil)
	if !strings.HasSuffix(span.Parent(), "-00") {
		t.Errorf("kept: %s", span.Parent())
	}
	_, below := traces.Tracer().Start(tracing.WithParent(t.Context(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), "below", tracing.Options{})
	if !strings.HasSuffix(below.Parent(), "-01") {
		t.Errorf("not kept: %s", below.Parent())
	}
	if err := traces.Stop(t.Context()); err != nil || calls.Load() != 0 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}

// A collector that does not answer holds up a stop for a moment only.
func TestI5StopDoesNotWaitForACollector(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	defer collector.Close()
	defer close(hold)
	log, _ := quietLogger()
	traces, err := NewTraces(t.Context(), TraceConfig{Endpoint: collector.URL, Sample: 1, Service: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 { // more than the queue takes
		_, span := traces.Tracer().Start(t.Context(), "work", tracing.Options{})
		span.End(nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := traces.Stop(ctx); err != nil || time.Since(begun) > 20*time.Second {
		t.Errorf("%s, %v", time.Since(begun), err)
	}
}

type brokenExporter struct {
	sdk.SpanExporter
	err error
}

func (b *brokenExporter) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return b.err }

// An outage is told once, and its end with what was lost.
func TestI5OneWarningForAnOutage(t *testing.T) {
	t.Parallel()
	log, said := quietLogger()
	broken := &brokenExporter{err: errors.New("refused " + strings.Repeat("x", 1000))}
	q := &quietExporter{SpanExporter: broken, log: log, to: "http://c/v1/traces"}
	spans := tracetest.SpanStubs{{Name: "a"}, {Name: "b"}}.Snapshots()
	export := func(err error) {
		broken.err = err
		if err := q.ExportSpans(t.Context(), spans); err != nil {
			t.Errorf("the SDK would print %v", err)
		}
	}
	export(nil)
	for range 100 {
		export(errors.New("refused " + strings.Repeat("x", 1000)))
	}
	export(nil)
	export(nil)
	for range 3 {
		q.trouble(errors.New("odd"))
	}
	text := said.String()
	if strings.Count(text, "does not take spans") != 1 || strings.Count(text, "takes spans again") != 1 || !strings.Contains(text, "lost=200") || strings.Count(text, "tracing has trouble") != 1 {
		t.Errorf("said:\n%s", text)
	}
	if len(text) > 2000 {
		t.Error("an error was told at length")
	}
}
