package ingress

import (
	"errors"
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

// challenge answers a GET by which a provider asks whether we are there. Nothing in
// it is signed, so it is logged within the budget of failures only.
func (in *Ingress) challenge(r *http.Request, uid string) (answer, bool) {
	if r.Method != http.MethodGet || r.URL.RawQuery == "" {
		return answer{}, false
	}
	hook := in.Control.Hook(r.Context(), uid)
	if hook == nil || hook.AuthMode != lineshaft.AuthSignature {
		return answer{}, false
	}
	reply := signature.Challenge(hook.SignatureScheme, r.URL.Query())
	if reply == nil {
		return answer{}, false
	}
	a := answer{outcome: "handshake", fixed: greeting(reply), delivery: lineshaft.Delivery{WebhookUID: hook.UID}}
	err := in.Control.Reject(r.Context(), trigger.Rejected{Hook: hook, Source: peer.Addr(r, in.TrustedProxies), Handshake: true})
	if err != nil && !errors.Is(err, trigger.ErrStale) {
		a = in.failed(a.delivery, err)
	}
	return a, true
}
