package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/telemetry"
)

func TestI5LogFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format   string
		terminal bool
		json     bool
	}{{"auto", true, false}, {"auto", false, true}, {"json", true, true}, {"text", false, false}} {
		var out bytes.Buffer
		telemetry.NewLogger(&out, c.format, c.terminal, slog.LevelInfo).Info("hello", "run_id", "r1")
		if got := json.Valid(out.Bytes()); got != c.json || !strings.Contains(out.String(), "r1") {
			t.Errorf("format %s, terminal %v: %s", c.format, c.terminal, out.String())
		}
	}
}

func TestLogLevelIsHeld(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, "json", false, slog.LevelWarn)
	log.Info("quiet")
	log.Warn("loud")
	if text := out.String(); strings.Contains(text, "quiet") || !strings.Contains(text, "loud") {
		t.Errorf("log: %s", text)
	}
}

func TestI5MetricsCountRequestsAndExecutions(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics("1.2.3")
	m.ObserveRequest("/api/v1/agent/runs", "POST", 200, 3*time.Millisecond)
	m.ObserveRequest("/api/v1/agent/runs", "POST", 200, 4*time.Millisecond)
	m.ObserveExecution("SUCCEEDED")
	m.ObserveSetUp("warm", 90*time.Second)
	m.ObserveSetUp("cold", 0)
	m.ObserveCallback("delivered", 3*time.Millisecond)
	m.ObserveCallback("retried", time.Second)
	busy := 2.0
	m.Gauge("lineshaft_worker_running", "test", func() float64 { return busy })
	m.GaugeBy("lineshaft_ends", "test", "name", func() map[string]float64 { return map[string]float64{"a": busy, "b": 0} })
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`lineshaft_http_request_duration_seconds_count{method="POST",route="/api/v1/agent/runs",status="200"} 2`,
		`lineshaft_executions_total{outcome="SUCCEEDED"} 1`,
		`lineshaft_callbacks_total{outcome="delivered"} 1`,
		`lineshaft_environment_starts_total{start="warm"} 1`,
		`lineshaft_environment_saved_seconds_total 90`,
		`lineshaft_callback_duration_seconds_sum{outcome="retried"} 1`,
		`lineshaft_worker_running 2`,
		`lineshaft_ends{name="a"} 2`,
		`lineshaft_ends{name="b"} 0`,
		`lineshaft_build_info{version="1.2.3"} 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func TestMetricsOfTwoServersAreApart(t *testing.T) {
	t.Parallel()
	a, b := telemetry.NewMetrics("a"), telemetry.NewMetrics("b")
	a.ObserveExecution("FAILED")
	rec := httptest.NewRecorder()
	b.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if strings.Contains(rec.Body.String(), "FAILED") {
		t.Error("one server's counts show in the other's metrics")
	}
}
