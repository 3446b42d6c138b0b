package control_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
)

// from is a request whose identity was found in some place.
func (w *works) from(source, identity, body string) trigger.Received {
	r := received(w.ready(), identity, body)
	r.IdentitySource = source
	return r
}

func hashOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

const (
	byHeader = "header X-Service-Delivery-Id"
	byBody   = "hash of the body"
)

// An id in a header that is the hash of a body to come does not speak for that body,
// nor the other way around, and two headers do not speak for each other (W-10).
func TestW10IdentitiesOfAnotherSourceAreOthers(t *testing.T) {
	t.Parallel()
	for name, guard := range map[string]bool{"plain": false, "replay guard": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWorks(t, factories.NewWebhook{ReplayGuard: guard}, func(w *works) {
				w.automation("all", "")
				first := map[string]string{}
				for i := range 3 { // each source again and again
					for j, source := range []string{byHeader, byBody, "header X-Own"} {
						body := opened
						if source != byBody {
							body = fmt.Sprintf(`{"of":%d}`, j)
						}
						receipt := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), w.from(source, hashOf(opened), body)))
						want := lineshaft.DeliveryDuplicate
						if i == 0 {
							want, first[source] = lineshaft.DeliveryAccepted, receipt.DeliveryID
						}
						if receipt.Delivery.Status != want || receipt.DeliveryID != first[source] || receipt.Delivery.Identity != hashOf(opened) || receipt.Delivery.IdentitySource != source {
							w.Errorf("%s, time %d: %+v", source, i, receipt)
						}
					}
				}
				receipt := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), w.from("header x-own", hashOf(opened), `{"of":2}`)))
				if receipt.DeliveryID != first["header X-Own"] {
					w.Errorf("a header in another case: %+v", receipt)
				}
				if n := len(w.runs()); n != 3 {
					w.Errorf("%d runs", n)
				}
			})
		})
	}
}

// Of many at once one of each source is accepted.
func TestW10SourcesRacing(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("all", "")
		w.ready()
		for round := range rounds(20) {
			body := fmt.Sprintf(`{"round":%d}`, round)
			requests := []trigger.Received{w.from(byHeader, hashOf(body), `{}`), w.from(byBody, hashOf(body), body)}
			var accepted [2]atomic.Int32
			together(8, func(i int) {
				receipt, err := w.s.Accept(w.Context(), requests[i%2])
				switch {
				case err != nil:
					w.Error(err)
				case receipt.Delivery.Status == lineshaft.DeliveryAccepted:
					accepted[i%2].Add(1)
				}
			})
			if accepted[0].Load() != 1 || accepted[1].Load() != 1 {
				w.Fatalf("round %d: %d and %d accepted", round, accepted[0].Load(), accepted[1].Load())
			}
		}
	})
}

// An identity outlives its row in the log and still means the same.
func TestW10IdentityOutlivesTheLog(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		first := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), w.from(byHeader, "id-1", opened)))
		w.write(func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.DeleteDeliveries(ctx, w.hook.UID, w.clock.now().Add(time.Hour), 0, 10)
			if n != 1 {
				w.Errorf("%d rows are gone", n)
			}
			return err
		})
		again := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), w.from(byHeader, "id-1", opened)))
		if again.Delivery.Status != lineshaft.DeliveryDuplicate || again.DeliveryID != first.DeliveryID {
			w.Errorf("%+v", again)
		}
	})
}
