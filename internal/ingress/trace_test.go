package ingress_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/ingress"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/tracing/tracingtest"
)

const (
	senderTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	senderSpan   = "00f067aa0ba902b7"
	senderParent = "00-" + senderTrace + "-" + senderSpan + "-01"
)

// A sender whose token is good continues its trace, and so do the runs; another one is
// only linked to. Neither path nor token is in a span.
func TestI5DeliveriesGoOnInTheTraceOfTheirSender(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		tracer, spans := tracingtest.New()
		g := newGate(t, database, func(d *ingress.Deps) { d.Tracer = tracer })
		hook := g.hook(factories.NewWebhook{})
		header := http.Header{"Traceparent": {senderParent}}
		good := g.send(sending{path: "/webhooks/w/" + hook.UID, token: hook.Secret, body: `{"text": "marker"}`, header: header})
		bad := g.send(sending{path: "/webhooks/w/" + hook.UID, token: "marker-of-a-token", body: `{}`, header: header})
		gone := g.send(sending{path: "/webhooks/w/marker", body: `{}`, header: header})
		list := spans.Named("webhook delivery")
		if good.status != http.StatusAccepted || bad.status != http.StatusUnauthorized || gone.status != http.StatusNotFound || len(list) != 3 || len(spans.All()) != 3 {
			t.Fatalf("%d, %d, %d; %d spans", good.status, bad.status, gone.status, len(list))
		}
		first := list[0]
		if first.TraceID() != senderTrace || first.ParentID() != senderSpan || len(first.Links()) != 0 || good.header.Get("Traceparent") != "00-"+senderTrace+"-"+first.SpanID()+"-01" {
			t.Errorf("%v below %s, answered %q", first.SpanContext(), first.ParentID(), good.header.Get("Traceparent"))
		}
		if first.Attribute("lineshaft.webhook.id") != hook.UID || first.Attribute("lineshaft.delivery.id") == "" || first.Attribute("lineshaft.delivery.outcome") != "accepted" {
			t.Errorf("%v", first.Attributes())
		}
		for _, span := range list[1:] {
			if span.TraceID() == senderTrace || len(span.Links()) != 1 || span.Links()[0].SpanContext.TraceID().String() != senderTrace {
				t.Errorf("a stranger's span is in trace %s with %d links", span.TraceID(), len(span.Links()))
			}
		}
		for _, span := range list {
			for _, kv := range span.Attributes() {
				if strings.Contains(kv.Value.String(), "marker") || strings.Contains(kv.Value.String(), hook.Secret) {
					t.Errorf("%s is %s", kv.Key, kv.Value.String())
				}
			}
		}
		runs := g.started()
		if len(runs) != 1 || tracing.TraceIDOf(runs[0].TraceParent) != senderTrace {
			t.Errorf("%d runs", len(runs))
		}
		if !strings.Contains(g.log.String(), `"trace_id":"`+senderTrace+`"`) {
			t.Error("no line of the log names the trace")
		}
	})
}

// With tracing off a sender's trace still continues to the run, and nothing is answered
// about it.
func TestI5OffPassesTheSendersTraceOn(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		hook := g.hook(factories.NewWebhook{})
		a := g.send(sending{path: "/webhooks/w/" + hook.UID, token: hook.Secret, body: `{}`, header: http.Header{"Traceparent": {senderParent}}})
		runs := g.started()
		if len(runs) != 1 || runs[0].TraceParent != senderParent || a.header.Get("Traceparent") != "" {
			g.Errorf("%d runs, answered %q", len(runs), a.header.Get("Traceparent"))
		}
	})
}
