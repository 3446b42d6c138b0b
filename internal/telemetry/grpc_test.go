package telemetry

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/lineshaft/lineshaft/internal/tracing"
)

// grpcCollector keeps what it is sent.
type grpcCollector struct {
	collector.UnimplementedTraceServiceServer

	mu      sync.Mutex
	names   []string
	keys    []string
	refuses int64
}

func (g *grpcCollector) Export(ctx context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	sent, _ := metadata.FromIncomingContext(ctx)
	g.keys = append(g.keys, sent.Get("x-key")...)
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				g.names = append(g.names, span.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: g.refuses}}, nil
}

// serve starts it and returns its host and port.
func (g *grpcCollector) serve(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	collector.RegisterTraceServiceServer(server, g)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// sendOne makes one span and stops, and returns what the log says.
func sendOne(t *testing.T, endpoint string) string {
	t.Helper()
	log, said := quietLogger()
	traces, err := NewTraces(t.Context(), TraceConfig{Endpoint: endpoint, Sample: 1, Service: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	_, span := traces.Tracer().Start(t.Context(), "work", tracing.Options{})
	span.End(nil)
	if err := traces.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	return said.String()
}

// I-5: OTLP over gRPC, with credentials of the environment that the log does not have.
func TestI5SpansGoOverGRPC(t *testing.T) {
	for name, set := range map[string]map[string]string{
		"for all signals": {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_HEADERS": "X-Key=se%20same, X-Other = b"},
		"for traces alone": {
			"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "X-Key=se%20same",
		},
		"compressed": {
			"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_HEADERS": "X-Key=se%20same", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range set {
				t.Setenv(key, value)
			}
			g := &grpcCollector{}
			said := sendOne(t, "http://"+g.serve(t))
			g.mu.Lock()
			defer g.mu.Unlock()
			if strings.Join(g.names, " ") != "work" || strings.Join(g.keys, "|") != "se same" {
				t.Errorf("spans %v with keys %v\n%s", g.names, g.keys, said)
			}
			if strings.Contains(said, "same") || !strings.Contains(said, "protocol=grpc") {
				t.Errorf("the log says %s", said)
			}
		})
	}
}

// The collector proves itself by the certificate of the environment, or gets nothing.
func TestI5GRPCWithTLS(t *testing.T) {
	pages := httptest.NewTLSServer(http.NotFoundHandler())
	defer pages.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pages.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "500") // less than a stop waits
	for _, known := range []bool{true, false} {
		if !known {
			file = ""
		}
		t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", file)
		g := &grpcCollector{}
		own := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: pages.TLS.Certificates, NextProtos: []string{"h2"}}
		said := sendOne(t, "https://"+g.serve(t, grpc.Creds(credentials.NewTLS(own)))+"/ignored")
		g.mu.Lock()
		if (len(g.names) == 1) != known || strings.Contains(said, "does not take spans") == known {
			t.Errorf("known %v: spans %v\n%s", known, g.names, said)
		}
		g.mu.Unlock()
	}
}

func TestI5GRPCCollectorThatRefuses(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	g := &grpcCollector{refuses: 1}
	if said := sendOne(t, "http://"+g.serve(t)); !strings.Contains(said, "the collector refused 1 spans") {
		t.Errorf("the log says %s", said)
	}
}

// Settings that cannot be followed are refused at the start, and no credential is quoted.
func TestI5WrongSettingsOfTheExporter(t *testing.T) {
	for name, tc := range map[string]struct {
		set  map[string]string
		want string
	}{
		"protocol":    {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "thrift"}, "use http/protobuf (collectors take it on port 4318)"},
		"headers":     {map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "sesame"}, "OTEL_EXPORTER_OTLP_HEADERS is not a list"},
		"escapes":     {map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "k=sesame%"}, "percent-encode"},
		"timeout":     {map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, "milliseconds"},
		"certificate": {map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": "/none"}, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		"own key pair": {
			map[string]string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "/none", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "/none"}, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
			for key, value := range tc.set {
				t.Setenv(key, value)
			}
			log, _ := quietLogger()
			_, err := NewTraces(t.Context(), TraceConfig{Endpoint: "https://127.0.0.1:4317", Sample: 1, Service: "test", Logger: log})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("%v", err)
			}
		})
	}
}

// The other form of OTLP over HTTP is the exporter's own.
func TestI5SpansGoAsJSON(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	kinds := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		kinds <- r.Header.Get("Content-Type")
	}))
	defer server.Close()
	sendOne(t, server.URL)
	if kind := <-kinds; kind != "application/json" {
		t.Errorf("sent as %s", kind)
	}
}
