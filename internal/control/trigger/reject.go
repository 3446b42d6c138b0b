package trigger

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Budgets of failed authentication, per minute (W-6).
const (
	failuresPerSource  = 30
	failuresPerWebhook = 300
	// largePerWebhook bounds what is logged of too large bodies of known senders.
	largePerWebhook = 60
)

// rejectTime bounds how long a refused sender keeps us waiting for the database.
const rejectTime = 10 * time.Second

// why is the outcome of a delivery that came to no automation.
func why(reason string) []lineshaft.DeliveryOutcome {
	if reason == "" {
		return nil
	}
	return []lineshaft.DeliveryOutcome{{Result: lineshaft.ResultError, Reason: reason}}
}

// Rejected is a request that was refused before it was accepted as a delivery.
type Rejected struct {
	Hook   *Hook
	Status lineshaft.DeliveryStatus
	// Reason is for readers of the log; it has nothing of what was sent.
	Reason string
	// Size is how much of the body is known to have been sent.
	Size   int64
	Source netip.Addr
	// Authentic says that the sender is known: it is not a failed authentication, but
	// must not flood the log either.
	Authentic bool
	// Handshake says that it is not a failure but an unsigned question of a provider.
	// Anyone can send it, so it has the same budget.
	Handshake bool
	Exchange
}

// Reject logs a refused request while the budget of failures lasts. Past it nothing
// is written: the error then says how long to wait.
func (s *Triggers) Reject(ctx context.Context, r Rejected) error {
	windows := failureWindows(r.Hook, r.Source)
	if r.Authentic {
		windows = []store.Rate{{Name: "large/" + r.Hook.UID, Limit: largePerWebhook, Window: time.Minute}}
	}
	for _, w := range windows {
		if wait := s.blocked.wait(w.Name, s.Store.Now()); wait > 0 {
			if err := s.checkCurrent(ctx, r.Hook); err != nil {
				return err
			}
			return tooManyFailures(wait)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, rejectTime)
	defer cancel()
	var wait time.Duration
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		wait = 0
		revisions, err := tx.ShareFactories(ctx, []string{r.Hook.FactoryUID})
		if err = cmp.Or(err, tx.Await(ctx)); err != nil {
			return err
		}
		if revisions[r.Hook.FactoryUID] != r.Hook.revision {
			return ErrStale
		}
		if wait, err = tx.HitRates(ctx, windows...); err != nil || wait > 0 {
			return err
		}
		d := s.newDelivery(Received{Hook: r.Hook, RemoteAddr: addrText(r.Source), Exchange: r.Exchange})
		d.Status, d.Size = r.Status, r.Size
		d.Outcomes = why(r.Reason)
		if r.Handshake {
			d.Status, d.Outcomes = lineshaft.DeliveryAccepted, []lineshaft.DeliveryOutcome{{Result: lineshaft.ResultHandshake}}
		}
		return tx.InsertDeliveries(ctx, []store.NewDelivery{{Delivery: d}})
	})
	if err != nil {
		return err
	}
	if wait > 0 {
		s.blockFull(ctx, windows)
		return tooManyFailures(wait)
	}
	return nil
}

// blockFull remembers which of the windows are full: a full one of a single source must
// not block the whole webhook.
func (s *Triggers) blockFull(ctx context.Context, windows []store.Rate) {
	for _, w := range windows {
		if wait, err := s.Store.RateWait(ctx, w); err == nil && wait > 0 {
			s.blocked.block(w.Name, s.Store.Now(), wait)
		}
	}
}

func tooManyFailures(wait time.Duration) error {
	return lineshaft.RateLimited(wait, "too many requests to this webhook failed authentication; check the secret, then try again after the time in Retry-After")
}

// failureWindows are the budgets of a webhook: of one source, and of all together.
func failureWindows(h *Hook, source netip.Addr) []store.Rate {
	return []store.Rate{
		{Name: "failures/" + h.UID, Limit: failuresPerWebhook, Window: time.Minute},
		{Name: "failures/" + h.UID + "/" + sourceKey(source), Limit: failuresPerSource, Window: time.Minute},
	}
}

// sourceKey treats all addresses that one sender is given as one: a /64 of IPv6.
func sourceKey(source netip.Addr) string {
	if !source.Is6() {
		return addrText(source)
	}
	prefix, err := source.WithZone("").Prefix(64)
	if err != nil {
		return addrText(source)
	}
	return prefix.String()
}

func addrText(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}
