// Package telemetry sets up logging and metrics. Other packages are given a
// *slog.Logger and small functions to count with; they do not import this one.
package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewLogger returns a logger: text for people on a terminal, JSON lines otherwise.
func NewLogger(w io.Writer, format string, terminal bool, level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format == "text" || format != "json" && terminal {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}

// Metrics are the server's counters.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	states   *prometheus.CounterVec
	setUps   *prometheus.CounterVec
	saved    prometheus.Counter
	hooks    *prometheus.HistogramVec
	// callbacks counts attempts, callbackTime measures them.
	callbacks    *prometheus.CounterVec
	callbackTime *prometheus.HistogramVec
}

// NewMetrics returns metrics in a registry of their own.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lineshaft_http_request_duration_seconds", Help: "Time to answer requests, by route pattern.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}, []string{"route", "method", "status"}),
		states: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lineshaft_executions_total", Help: "Executions that ended on this node's worker, by outcome.",
		}, []string{"outcome"}),
		setUps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lineshaft_environment_starts_total",
			Help: "Environments that this node's worker made ready: warm, newer (warm from an older commit, with the set-up on top) or cold.",
		}, []string{"start"}),
		saved: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lineshaft_environment_saved_seconds_total",
			Help: "Time of set-up that prepared environments have saved on this node's worker.",
		}),
		hooks: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lineshaft_delivery_duration_seconds", Help: "Time to answer requests to webhooks, by result.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5},
		}, []string{"outcome", "status"}),
		callbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lineshaft_callbacks_total", Help: "Attempts of callbacks by this node, by outcome: delivered, retried (failed, and tried again later) or failed.",
		}, []string{"outcome"}),
		callbackTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lineshaft_callback_duration_seconds", Help: "Time that requests to endpoints took, by outcome.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}, []string{"outcome"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "lineshaft_build_info", Help: "Always 1; the label is the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.states, m.setUps, m.saved, m.hooks, m.callbacks, m.callbackTime, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Gauge adds a value that is asked for when metrics are read.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// GaugeBy adds values that are asked for when metrics are read, each with its own value
// of a label.
func (m *Metrics) GaugeBy(name, help, label string, read func() map[string]float64) {
	m.registry.MustRegister(gaugeBy{prometheus.NewDesc(name, help, []string{label}, nil), read})
}

// gaugeBy collects a gauge whose labels may change.
type gaugeBy struct {
	desc *prometheus.Desc
	read func() map[string]float64
}

// Describe implements prometheus.Collector.
func (g gaugeBy) Describe(to chan<- *prometheus.Desc) { to <- g.desc }

// Collect implements prometheus.Collector.
func (g gaugeBy) Collect(to chan<- prometheus.Metric) {
	for label, value := range g.read() {
		to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, label)
	}
}

// ObserveRequest counts an answered request.
func (m *Metrics) ObserveRequest(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

// ObserveDelivery counts an answered request to a webhook.
func (m *Metrics) ObserveDelivery(outcome string, status int, took time.Duration) {
	m.hooks.WithLabelValues(outcome, strconv.Itoa(status)).Observe(took.Seconds())
}

// ObserveCallback counts an attempt of a callback.
func (m *Metrics) ObserveCallback(outcome string, took time.Duration) {
	m.callbacks.WithLabelValues(outcome).Inc()
	m.callbackTime.WithLabelValues(outcome).Observe(took.Seconds())
}

// ObserveExecution counts an ended execution.
func (m *Metrics) ObserveExecution(outcome string) { m.states.WithLabelValues(outcome).Inc() }

// ObserveSetUp counts an environment that was made ready, and what was saved by it.
func (m *Metrics) ObserveSetUp(start string, saved time.Duration) {
	m.setUps.WithLabelValues(start).Inc()
	m.saved.Add(saved.Seconds())
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
