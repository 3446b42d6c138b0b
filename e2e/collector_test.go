package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collectorKey is what the collector asks for; it reaches programs by the environment.
const collectorKey = "collector-key-5f2c9a"

// collector is an OTLP receiver (HTTP with protobuf) of the official types.
type collector struct {
	t      *testing.T
	server *httptest.Server
	// stuck, while it is not nil, keeps every answer back until it is closed.
	stuck chan struct{}

	mu    sync.Mutex
	spans []collected
	raw   bytes.Buffer
	calls int
}

// collected is a span with the name of the program that sent it.
type collected struct {
	*tracepb.Span
	service string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	return c
}

// ServeHTTP takes spans as a collector does.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	if c.stuck != nil {
		select {
		case <-c.stuck:
		case <-r.Context().Done():
		}
	}
	switch {
	case r.URL.Path != "/v1/traces" || r.Method != http.MethodPost:
		http.Error(w, "not here", http.StatusNotFound)
		return
	case r.Header.Get("X-Collector-Key") != collectorKey:
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = plain
	}
	raw, err := io.ReadAll(body)
	var request collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(raw, &request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.keep(raw, &request)
	answer, err := proto.Marshal(&collectorpb.ExportTraceServiceResponse{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

func (c *collector) keep(raw []byte, request *collectorpb.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(raw)
	for _, resource := range request.GetResourceSpans() {
		service := ""
		for _, kv := range resource.GetResource().GetAttributes() {
			if kv.GetKey() == "service.name" {
				service = kv.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans = append(c.spans, collected{span, service})
			}
		}
	}
}

// env is what makes a program send its spans here, each within a moment.
func (c *collector) env() []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.server.URL, "OTEL_EXPORTER_OTLP_HEADERS=X-Collector-Key=" + collectorKey, "OTEL_BSP_SCHEDULE_DELAY=100",
	}
}

// trace gives the spans of one trace.
func (c *collector) trace(id string) []collected {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []collected
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == id {
			found = append(found, s)
		}
	}
	return found
}

// await waits until a trace has so many spans of a name.
func (c *collector) await(trace, name string, n int) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("%d spans %q of trace %s", n, name, trace), func() bool {
		return len(named(c.trace(trace), name)) >= n
	})
}

// requests is how many requests came.
func (c *collector) requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// mustNotHold looks for texts in every byte that was sent.
func (c *collector) mustNotHold(texts map[string]string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw.Len() == 0 {
		c.t.Error("nothing was sent")
	}
	for what, text := range texts {
		if text == "" || bytes.Contains(c.raw.Bytes(), []byte(text)) {
			c.t.Errorf("%s is empty or in the spans", what)
		}
	}
}

// named are the spans of a name.
func named(spans []collected, name string) (found []collected) {
	for _, s := range spans {
		if s.GetName() == name {
			found = append(found, s)
		}
	}
	return found
}

// attribute is the text or number of an attribute of a span.
func (s collected) attribute(key string) string {
	for _, kv := range s.GetAttributes() {
		if kv.GetKey() != key {
			continue
		}
		if text := kv.GetValue().GetStringValue(); text != "" {
			return text
		}
		return fmt.Sprint(kv.GetValue().GetIntValue())
	}
	return ""
}

// below says how a span hangs below others, nearest first, up to what is not there.
func below(spans []collected, s collected) (path []string) {
	for parent := s.GetParentSpanId(); len(parent) > 0; {
		at := slices.IndexFunc(spans, func(p collected) bool { return bytes.Equal(p.GetSpanId(), parent) })
		if at < 0 {
			return append(path, "("+hex.EncodeToString(parent)+")")
		}
		path, parent = append(path, spans[at].GetName()), spans[at].GetParentSpanId()
	}
	return path
}

// picture draws a trace, for people who read why a test failed.
func picture(spans []collected) string {
	var lines []string
	for _, s := range spans {
		lines = append(lines, fmt.Sprintf("%s [%s] < %s", s.GetName(), s.service, strings.Join(below(spans, s), " < ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
