package ingress

import (
	"context"
	"net/http"
	"strconv"

	"github.com/lineshaft/lineshaft/internal/tracing"
)

// spanDelivery is the name of a request to a webhook. Its path is in no span: it may
// hold a token (S-2).
const spanDelivery = "webhook delivery"

// trace begins the span of a request. A stranger's traceparent is only linked to.
func (q *request) trace() {
	if !q.in.Tracer.On() {
		return
	}
	_, q.span = q.in.Tracer.Start(q.r.Context(), spanDelivery, tracing.Options{
		Kind: tracing.Consumer, At: q.began, Link: tracing.Sane(q.r.Header.Get(tracing.Header)),
	})
}

// continueTrace continues the trace of a sender whose token or signature is good. The
// span that was begun before is dropped: a span that does not end is never sent.
func (q *request) continueTrace(ctx context.Context) context.Context {
	if given := tracing.Sane(q.r.Header.Get(tracing.Header)); given != "" {
		ctx = tracing.WithParent(ctx, given)
		ctx, q.span = q.in.Tracer.Start(ctx, spanDelivery, tracing.Options{Kind: tracing.Consumer, At: q.began})
		return ctx
	}
	return tracing.WithParent(ctx, q.span.Parent())
}

func (a answer) endSpan() {
	a.span.String("lineshaft.delivery.outcome", a.outcome)
	a.span.String("lineshaft.webhook.id", a.delivery.WebhookUID)
	a.span.String("lineshaft.delivery.id", a.delivery.ID)
	a.span.Int("http.response.status_code", a.fixed.Status)
	a.span.Int("lineshaft.delivery.size", int(a.delivery.Size))
	if a.fixed.Status >= http.StatusInternalServerError {
		a.span.Failed(strconv.Itoa(a.fixed.Status))
	}
	a.span.End(nil)
}
