package ingress_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/ingress"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// blocked is a control plane whose webhooks have all had their deliveries for now.
type blocked struct {
	ingress.Plane
	accepted int
}

func (b *blocked) CheckRate(context.Context, *trigger.Hook) error {
	return lineshaft.RateLimited(time.Minute, "too many")
}

func (b *blocked) Accept(ctx context.Context, r trigger.Received) (trigger.Receipt, error) {
	b.accepted++
	return b.Plane.Accept(ctx, r)
}

// H-14: the body of a delivery that the rate refuses is not even parsed, and one of a stranger
// does not get as far as the rate.
func TestH14RateComesBeforeTheBody(t *testing.T) {
	t.Parallel()
	var plane *blocked
	g := newGate(t, storetest.SQLite(t), func(d *ingress.Deps) {
		plane = &blocked{Plane: d.Control}
		d.Control = plane
	})
	w := g.hook(factories.NewWebhook{Name: "busy"})
	body := `{"not": JSON`
	a := g.send(sending{path: path(w.UID), header: http.Header{"Authorization": {"Bearer " + w.Secret}}, body: body})
	g.wants("an authentic sender", a, http.StatusTooManyRequests)
	a = g.send(sending{path: path(w.UID), header: http.Header{"Authorization": {"Bearer wrong"}}, body: body})
	g.wants("a stranger", a, http.StatusUnauthorized)
	if plane.accepted != 0 {
		t.Errorf("%d deliveries came to Accept, want none", plane.accepted)
	}
}
