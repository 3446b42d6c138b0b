package telemetry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
)

// exportTime is what one request to the collector may take, unless the environment says.
const exportTime = 10 * time.Second

// retryPolicy tries again what the protocol says may be tried again, for a short time:
// spans that wait for a collector take the place of newer ones.
const retryPolicy = `{"methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 4, "initialBackoff": "1s", "maxBackoff": "5s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS"]}}]}`

// overGRPC sends spans by OTLP over gRPC, to one collector. The variables mean what they
// mean for HTTP.
type overGRPC struct {
	conn    *grpc.ClientConn
	headers metadata.MD
	timeout time.Duration
	options []grpc.CallOption
}

// newGRPC makes a client for the collector at a URL, whose path does not count. It
// connects when there is something to send.
func newGRPC(endpoint string) (*overGRPC, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, errors.New("the address of the collector is not a URL")
	}
	headers, err := otlpHeaders()
	if err != nil {
		return nil, err
	}
	security, port := insecure.NewCredentials(), "80"
	if u.Scheme == "https" {
		port = "443"
		if security, err = otlpTLS(); err != nil {
			return nil, err
		}
	}
	if u.Port() != "" {
		port = u.Port()
	}
	client := &overGRPC{headers: headers, timeout: exportTime}
	if text := otlpVariable("TIMEOUT"); text != "" {
		milliseconds, err := strconv.Atoi(text)
		if err != nil || milliseconds <= 0 {
			return nil, errors.New("OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds, such as 10000")
		}
		client.timeout = time.Duration(milliseconds) * time.Millisecond
	}
	if otlpVariable("COMPRESSION") == "gzip" {
		client.options = append(client.options, grpc.UseCompressor(gzip.Name))
	}
	target := "dns:///" + net.JoinHostPort(u.Hostname(), port)
	client.conn, err = grpc.NewClient(target, grpc.WithTransportCredentials(security), grpc.WithDefaultServiceConfig(retryPolicy))
	return client, err
}

// otlpVariable is a variable of the exporter; the one for traces counts first.
func otlpVariable(name string) string {
	if value := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
		return value
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_" + name)
}

// otlpHeaders reads the credentials for the collector, which no error repeats.
func otlpHeaders() (metadata.MD, error) {
	headers := metadata.MD{}
	for pair := range strings.SplitSeq(otlpVariable("HEADERS"), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is not a list such as Authorization=Bearer%20KEY,X-Team=a; percent-encode its values")
		}
		headers.Append(name, value)
	}
	return headers, nil
}

// otlpTLS is how the collector proves itself and, where it asks, we to it.
func otlpTLS() (credentials.TransportCredentials, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := otlpVariable("CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE has no certificate in PEM form")
		}
	}
	certificate, key := otlpVariable("CLIENT_CERTIFICATE"), otlpVariable("CLIENT_KEY")
	if certificate != "" && key != "" {
		own, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return credentials.NewTLS(config), nil
}

// Start implements otlptrace.Client.
func (o *overGRPC) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (o *overGRPC) Stop(context.Context) error { return o.conn.Close() }

// UploadTraces implements otlptrace.Client.
func (o *overGRPC) UploadTraces(ctx context.Context, list []*spans.ResourceSpans) error {
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(ctx, o.headers), o.timeout)
	defer cancel()
	request := &collector.ExportTraceServiceRequest{ResourceSpans: list}
	answer, err := collector.NewTraceServiceClient(o.conn).Export(ctx, request, o.options...)
	if refused := answer.GetPartialSuccess().GetRejectedSpans(); err == nil && refused > 0 {
		return fmt.Errorf("the collector refused %d spans", refused)
	}
	return err
}
