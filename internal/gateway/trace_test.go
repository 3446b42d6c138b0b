package gateway

import (
	"testing"

	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/tracing/tracingtest"
)

// TestI5SpanSaysWhatAModelCallCameTo: an agent that hangs up once it has the usage, which
// comes last, has read everything.
func TestI5SpanSaysWhatAModelCallCameTo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		m              meter
		status, reason string
	}{
		"answered":             {meter{status: 200, usage: scanner{final: true}}, "200", ""},
		"hung up at the end":   {meter{status: 200, cut: true, usage: scanner{final: true}}, "200", ""},
		"hung up in between":   {meter{status: 200, cut: true}, "", "cut off"},
		"refused":              {meter{status: 429}, "429", "429"},
		"refused and hung up":  {meter{status: 500, cut: true}, "500", "500"},
		"nobody answered":      {meter{}, "", "no answer"},
		"nobody, and hung up":  {meter{cut: true}, "", "no answer"},
		"without the last one": {meter{status: 200}, "200", ""},
	} {
		tracer, spans := tracingtest.New()
		_, span := tracer.Start(t.Context(), "model call", tracing.Options{})
		endSpan(span, &test.m)
		got := spans.Named("model call")
		if len(got) != 1 || got[0].Attribute("http.response.status_code") != test.status || got[0].Attribute("error.type") != test.reason {
			t.Errorf("%s: %d spans, status %q, reason %q", name, len(got), got[0].Attribute("http.response.status_code"), got[0].Attribute("error.type"))
		}
	}
}
