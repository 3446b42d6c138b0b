package control_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// fail is a request with a wrong credential.
func (w *works) fail(h *trigger.Hook, from string) error {
	w.Helper()
	return w.s.Reject(w.Context(), trigger.Rejected{Hook: h, Status: lineshaft.DeliveryRejectedAuth, Size: 3, Source: netip.MustParseAddr(from)})
}

func TestW6FailuresOfOneSource(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{RateLimit: new(60)}, func(w *works) {
		h, began := w.ready(), time.Now()
		for range 30 {
			wantCode(w, w.fail(h, "192.0.2.1"), "")
		}
		wait := limited(w, w.fail(h, "192.0.2.1"))
		if wait > time.Minute || wait < time.Minute-time.Since(began)-time.Second { // since the first
			w.Errorf("wait %s", wait)
		}
		if limited(w, w.fail(h, "192.0.2.1")) > wait {
			w.Error("trying again makes the wait longer")
		}
		if n := len(w.log()); n != 30 {
			w.Errorf("%d rows: past the budget nothing is written", n)
		}
		row := w.log()[0]
		if row.Status != lineshaft.DeliveryRejectedAuth || row.Size != 3 || row.RemoteAddr != "192.0.2.1" || row.Identity != "" || len(row.Outcomes) != 0 {
			w.Errorf("%+v", row)
		}
		// Another source, and a valid sender from the same one, are not shut out.
		wantCode(w, w.fail(h, "192.0.2.2"), "")
		if d := w.deliver("1", `{}`); d.Status != lineshaft.DeliveryAccepted {
			w.Errorf("%+v", d)
		}
		w.pass(wait)
		wantCode(w, w.fail(h, "192.0.2.1"), "")
	})
}

func TestW6FailuresOfAWebhook(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		h := w.ready()
		for i := range 300 {
			wantCode(w, w.fail(h, fmt.Sprintf("192.0.2.%d", i%100)), "")
		}
		wait := limited(w, w.fail(h, "198.51.100.1"))
		if n := len(w.log()); n != 300 {
			w.Errorf("%d rows", n)
		}
		w.deliver("1", `{}`)
		w.pass(wait)
		wantCode(w, w.fail(h, "198.51.100.1"), "")
	})
}

// All addresses that a sender is given count as one; the log has the real one.
func TestW6SourcesOfIPv6(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		h := w.ready()
		for i := range 30 {
			wantCode(w, w.fail(h, fmt.Sprintf("2001:db8:0:1::%x", i+1)), "")
		}
		limited(w, w.fail(h, "2001:db8:0:1:ffff:ffff:ffff:ffff"))
		wantCode(w, w.fail(h, "2001:db8:0:2::1"), "")
		if row := w.log()[29]; row.RemoteAddr != "2001:db8:0:1::1e" {
			w.Errorf("%+v", row)
		}
		wantCode(w, w.s.Reject(w.Context(), trigger.Rejected{Hook: h, Status: lineshaft.DeliveryRejectedSize}), "")
		if rows := w.log(); rows[len(rows)-1].RemoteAddr != "" || rows[len(rows)-1].Status != lineshaft.DeliveryRejectedSize {
			w.Errorf("%+v", rows[len(rows)-1])
		}
	})
}

// An unsigned handshake is logged within the same budget.
func TestW9UnsignedHandshakes(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		h := w.ready()
		ask := trigger.Rejected{Hook: h, Source: netip.MustParseAddr("192.0.2.1"), Handshake: true}
		for range 30 {
			wantCode(w, w.s.Reject(w.Context(), ask), "")
		}
		limited(w, w.s.Reject(w.Context(), ask))
		row := w.log()[0]
		if row.Status != lineshaft.DeliveryAccepted || len(row.Outcomes) != 1 || row.Outcomes[0].Result != lineshaft.ResultHandshake {
			w.Errorf("%+v", row)
		}
		_, err := w.s.Redeliver(w.Context(), w.admin, w.again(row.ID, false), nil)
		wantConflict(w, err, "handshake")
		detail := must[trigger.DeliveryDetail](w.bench)(w.s.GetDelivery(w.Context(), w.admin, w.factory, w.hook.UID, row.ID, true))
		if detail.Payload != nil || detail.Missed != nil {
			w.Errorf("%+v", detail)
		}
	})
}

func TestW6FailuresOnManyNodes(t *testing.T) {
	t.Parallel()
	w := newWorks(t, storetest.Postgres(t), factories.NewWebhook{})
	nodes := []*works{w, w.node()}
	hooks := []*trigger.Hook{nodes[0].ready(), nodes[1].ready()}
	errs := make([]error, 100)
	together(len(errs), func(i int) { errs[i] = nodes[i%2].fail(hooks[i%2], "192.0.2.1") })
	logged := 0
	for _, err := range errs {
		if err == nil {
			logged++
		} else {
			limited(t, err)
		}
	}
	if logged != 30 || len(w.log()) != 30 {
		t.Errorf("%d logged, %d rows", logged, len(w.log()))
	}
}
