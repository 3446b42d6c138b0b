package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// TraceConfig says where spans go. The standard OTEL_ variables hold where it is
// silent; credentials for the collector come from OTEL_EXPORTER_OTLP_HEADERS alone.
type TraceConfig struct {
	// Endpoint is the base address of a collector (OTLP); empty leaves it to
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and OTEL_EXPORTER_OTLP_ENDPOINT.
	Endpoint string
	// Sample is the share of new traces that are kept; 1 leaves it to OTEL_TRACES_SAMPLER.
	Sample float64
	// Service names this program, unless OTEL_SERVICE_NAME does.
	Service string
	Version string
	Logger  *slog.Logger
}

// tracesPath is where collectors take spans, below their base address.
const tracesPath = "/v1/traces"

// flushTime is what the last spans get at the end; less if the stop leaves less.
const flushTime = 2 * time.Second

// maxAttribute bounds the text of an attribute, unless the environment does.
const maxAttribute = 512

// Traces collects spans and sends them, in the background.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   *tracing.Tracer
}

// NewTraces sets tracing up. When nobody has named a collector it returns nil, and a
// nil Traces makes no spans.
func NewTraces(ctx context.Context, c TraceConfig) (*Traces, error) {
	endpoint, err := c.endpoint()
	if err != nil || endpoint == "" {
		return nil, err
	}
	exporter, err := newExporter(ctx, endpoint)
	if err != nil {
		return nil, fmt.Errorf("set up tracing: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", c.Service), attribute.String("service.version", c.Version)),
		resource.WithFromEnv()) // last, so that it counts
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("set up tracing: %w; check OTEL_RESOURCE_ATTRIBUTES", err)
	}
	limits := sdk.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxAttribute
	}
	quiet := &quietExporter{SpanExporter: exporter, log: c.Logger, to: shown(endpoint)}
	// What is left to say comes from within the SDK, and would go to standard error.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(quiet.trouble))
	options := []sdk.TracerProviderOption{sdk.WithBatcher(quiet), sdk.WithResource(about), sdk.WithRawSpanLimits(limits)}
	if c.Sample < 1 {
		options = append(options, sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(c.Sample))))
	}
	provider := sdk.NewTracerProvider(options...)
	c.Logger.InfoContext(ctx, "tracing is on", "collector", shown(endpoint), "protocol", cmp.Or(otlpVariable("PROTOCOL"), "http/protobuf"))
	return &Traces{provider: provider, tracer: tracing.New(provider.Tracer("github.com/lineshaft/lineshaft"))}, nil
}

// newExporter sends spans in the way that the environment asks for.
func newExporter(ctx context.Context, endpoint string) (sdk.SpanExporter, error) {
	switch protocol := otlpVariable("PROTOCOL"); protocol {
	case "grpc":
		client, err := newGRPC(endpoint)
		if err != nil {
			return nil, err
		}
		return otlptrace.New(ctx, client)
	case "", "http/protobuf", "http/json":
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			// Short: spans that wait for a collector take the place of newer ones.
			Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: 10 * time.Second,
		}))
	default:
		const use = "use http/protobuf (collectors take it on port 4318), http/json or grpc (port 4317)"
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %.20q; %s", protocol, use)
	}
}

// Tracer is for the other rooms; nil when tracing is off.
func (t *Traces) Tracer() *tracing.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Stop sends what is left, for as long as ctx and a little patience allow. What a
// collector does not take by then is lost, which is no failure of the stop.
func (t *Traces) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the log has it if the collector is away
	return nil
}

// endpoint is where spans go; empty for nowhere.
func (c TraceConfig) endpoint() (string, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return "", nil
	}
	for _, source := range []struct {
		name, value string
		base        bool
	}{
		{"--otlp-endpoint", c.Endpoint, true},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), true},
	} {
		if source.value == "" {
			continue
		}
		u, err := url.Parse(source.value)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "", fmt.Errorf("%s is not the address of a collector; write a whole URL, such as http://127.0.0.1:4318", source.name)
		}
		if otlpVariable("PROTOCOL") == "grpc" {
			return u.Scheme + "://" + u.Host, nil // the method is named by the protocol
		}
		if source.base && !strings.HasSuffix(u.Path, tracesPath) {
			u = u.JoinPath(tracesPath)
		}
		return u.String(), nil
	}
	return "", nil
}

// shown is an address without what may be a credential.
func shown(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// quietExporter says once that the collector is away, and once that it is back.
type quietExporter struct {
	sdk.SpanExporter
	log *slog.Logger
	to  string

	mu   sync.Mutex
	lost int // spans since the collector went away; zero while it is there
	told bool
}

// ExportSpans implements sdk.SpanExporter. It fails never: the SDK would print it.
func (q *quietExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := q.SpanExporter.ExportSpans(ctx, spans)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case err != nil && q.lost == 0:
		q.log.WarnContext(ctx, "the trace collector does not take spans", "collector", q.to, "err", clipped(err),
			"fix", "start it, or check the address and OTEL_EXPORTER_OTLP_HEADERS; nothing else depends on it, and this is logged once")
		q.lost = len(spans)
	case err != nil:
		q.lost += len(spans)
	case q.lost > 0:
		q.log.InfoContext(ctx, "the trace collector takes spans again", "collector", q.to, "lost", q.lost)
		q.lost = 0
	}
	return nil
}

// trouble is whatever else the SDK has to say; the first is enough.
func (q *quietExporter) trouble(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.told {
		q.told = true
		q.log.Warn("tracing has trouble", "err", clipped(err), "fix", "check the collector; this is logged once")
	}
}

// clipped is the text of an error, in part: collectors answer at length.
func clipped(err error) string { return lineshaft.CutBytes(err.Error(), 300) }
