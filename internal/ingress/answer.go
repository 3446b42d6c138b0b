package ingress

import (
	"context"
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/peer"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// accepted is the answer to a delivery that is durable; ids need no escaping.
func accepted(deliveryID string) problem.Fixed {
	return problem.Fixed{
		Status: http.StatusAccepted, Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(`{"delivery_id":"` + deliveryID + `"}`),
	}
}

// greeting answers a provider's handshake in its own way.
func greeting(a *signature.Answer) problem.Fixed {
	header := http.Header{}
	if a.ContentType != "" {
		header.Set("Content-Type", a.ContentType)
	}
	return problem.Fixed{Status: a.Status, Header: header, Body: a.Body}
}

// challenge answers a GET by which a provider asks whether we answer. Nothing in it is
// signed, so it is logged only within the budget of failures.
func (in *Ingress) challenge(r *http.Request, uid string, otherwise answer) answer {
	if r.Method != http.MethodGet || r.URL.RawQuery == "" {
		return otherwise
	}
	return in.settle(r.Context(), uid, otherwise, func(ctx context.Context, hook *trigger.Hook) (answer, error) {
		if hook.AuthMode != lineshaft.AuthSignature {
			return otherwise, nil
		}
		reply := signature.Challenge(hook.SignatureScheme, r.URL.Query())
		if reply == nil {
			return otherwise, nil
		}
		a := answer{outcome: "handshake", fixed: greeting(reply), delivery: lineshaft.Delivery{WebhookUID: hook.UID}}
		rejected := trigger.Rejected{Hook: hook, Source: peer.Addr(r, in.TrustedProxies), Handshake: true}
		rejected.Headers = keepHeaders(r.Header, func(string, string) bool { return false })
		rejected.Began, rejected.AnswerStatus = in.Now(), reply.Status
		return a, in.Control.Reject(ctx, rejected)
	})
}
