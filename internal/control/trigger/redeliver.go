package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// identityRedelivery is the source of a redelivery's identity, which is its own id.
const identityRedelivery = "redelivery"

// redeliverTries bounds how often a redelivery begins again because its factory was
// changed.
const redeliverTries = 5

// errDryRun takes back what a dry run has done.
var errDryRun = errors.New("dry run")

// Redelivery asks for a stored delivery to be taken again.
type Redelivery struct {
	FactoryUID string
	WebhookUID string
	DeliveryID string
	DryRun     bool
}

// Redelivered is the result of Redeliver.
type Redelivered struct {
	// DeliveryID is the new delivery; after a dry run the old one.
	DeliveryID string
	Outcomes   []lineshaft.DeliveryOutcome
	Replayed   bool `json:"-"`
}

// Redeliver takes a stored delivery again, under a new id and with the current
// automations. Rate and identity do not count: someone asked for it. For the same
// reason a disabled webhook redelivers as well.
//
// A dry run does everything and takes it back: it shows the result that it would have,
// automations that do not match included, and has the old id.
func (s *Triggers) Redeliver(ctx context.Context, c lineshaft.Caller, req Redelivery, idem *base.Idempotency) (Redelivered, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return Redelivered{}, err
	}
	kept := Redelivered{Replayed: true}
	if replayed, err := s.Replay(ctx, c, idem, &kept); err != nil || replayed {
		return kept, err
	}
	if err := s.hasLog(ctx, c, req.FactoryUID, req.WebhookUID); err != nil {
		return Redelivered{}, err
	}
	old, err := s.Store.GetDelivery(ctx, req.WebhookUID, req.DeliveryID)
	if err != nil {
		return Redelivered{}, err
	}
	if err := redeliverable(old); err != nil {
		return Redelivered{}, err
	}
	body, err := s.Store.GetPayload(ctx, req.DeliveryID)
	if err != nil {
		return Redelivered{}, err
	}
	for range redeliverTries {
		result, err := s.redeliverOnce(ctx, c, req, old.Event, body, idem)
		if !errors.Is(err, ErrStale) {
			return result, err
		}
	}
	return Redelivered{}, lineshaft.Unavailable(nil, "the factory keeps changing; try again")
}

// redeliverable says why a delivery cannot be taken again.
func redeliverable(d *lineshaft.Delivery) error {
	switch {
	case d.Status == lineshaft.DeliveryDuplicate:
		return lineshaft.Conflict("delivery %s is a duplicate and has no payload of its own; redeliver the first one, %s", d.ID, d.DuplicateOf)
	case d.Status != lineshaft.DeliveryAccepted:
		return lineshaft.Conflict("delivery %s was refused (%s), so its payload was not kept; ask the sender to resend it", d.ID, d.Status)
	case slices.ContainsFunc(d.Outcomes, func(o lineshaft.DeliveryOutcome) bool { return o.Result == lineshaft.ResultHandshake }):
		return lineshaft.Conflict("delivery %s is a handshake of the provider, which starts nothing; redeliver another one", d.ID)
	}
	return nil
}

// redeliverOnce does it with the automations as they are now; ErrStale says that
// they were changed meanwhile.
func (s *Triggers) redeliverOnce(ctx context.Context, c lineshaft.Caller, req Redelivery, event string, body []byte, idem *base.Idempotency) (Redelivered, error) {
	h, err := s.LoadHook(ctx, req.FactoryUID, req.WebhookUID)
	if err != nil {
		return Redelivered{}, err
	}
	if !h.DeletedAt.IsZero() {
		return Redelivered{}, lineshaft.Conflict("webhook %q is deleted: its log can be read, but nothing can be delivered to it", h.Name)
	}
	ev := h.Evaluate(event, body)
	var result Redelivered
	var spans base.StartSpans
	traceParent := tracing.Parent(ctx)
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result = Redelivered{}
		replayed, err := s.Idempotently(ctx, tx, c, idem, &result, func() error {
			made, started, err := s.logRedelivery(ctx, tx, c, ev, req.DeliveryID, Received{Hook: h, Body: body, Event: event, TraceParent: traceParent})
			result.DeliveryID, result.Outcomes, spans = made.ID, made.Outcomes, started
			return err
		})
		result.Replayed = replayed
		if err == nil && req.DryRun && !replayed {
			return errDryRun
		}
		return err
	})
	spans.End(err)
	if errors.Is(err, errDryRun) {
		result.DeliveryID = req.DeliveryID
		result.Outcomes, err = h.foretell(ev, result.Outcomes)
	}
	return result, err
}

// logRedelivery is the transaction of a redelivery: revision, runs, log.
func (s *Triggers) logRedelivery(ctx context.Context, tx *store.Tx, c lineshaft.Caller, ev Evaluation, of string, r Received) (lineshaft.Delivery, base.StartSpans, error) {
	h := r.Hook
	revisions, err := tx.ShareFactories(ctx, []string{h.FactoryUID})
	if err = cmp.Or(err, tx.Await(ctx)); err != nil {
		return lineshaft.Delivery{}, nil, err
	}
	if revisions[h.FactoryUID] != h.revision {
		return lineshaft.Delivery{}, nil, ErrStale
	}
	r.IdentitySource, r.RemoteAddr = identityRedelivery, c.RemoteAddr
	made := s.newDelivery(r)
	made.Identity, made.RedeliveryOf, made.NotMatched = made.ID, of, ev.notMatched
	starts := s.newStarter(tx)
	if err := starts.lockAhead(ctx, []Evaluation{ev}); err != nil {
		return made, nil, err
	}
	if err := starts.forDelivery(ctx, h, ev, &made, r.TraceParent); err != nil {
		return made, nil, err
	}
	if err := starts.Flush(ctx); err != nil {
		return made, nil, err
	}
	if err := tx.InsertDeliveries(ctx, []store.NewDelivery{{Delivery: made, Body: r.Body}}); err != nil {
		return made, nil, err
	}
	return made, starts.Spans, s.Audit(ctx, tx, c, "delivery.redeliver", "delivery", made.ID, map[string]string{
		"factory_uid": h.FactoryUID, "webhook": h.UID, "redelivery_of": of,
	})
}

// foretell makes what a dry run did into what would be: runs that were taken back have
// no id, and automations that do not match are among the others, by name.
func (h *Hook) foretell(ev Evaluation, done []lineshaft.DeliveryOutcome) ([]lineshaft.DeliveryOutcome, error) {
	var outcomes []lineshaft.DeliveryOutcome
	for _, a := range h.Automations {
		at := slices.IndexFunc(done, func(o lineshaft.DeliveryOutcome) bool { return o.AutomationID == a.UID })
		if at >= 0 {
			outcome := done[at]
			if outcome.Result != lineshaft.ResultFollowedUp {
				outcome.RunID = ""
			}
			outcomes = append(outcomes, outcome)
			continue
		}
		enough := 1 // the first is shown
		failed, err := a.failures(h.Webhook, ev, &enough)
		if err != nil {
			return nil, err
		}
		outcome := lineshaft.DeliveryOutcome{AutomationID: a.UID, AutomationName: a.Name, Result: lineshaft.ResultFiltered}
		if len(failed) > 0 {
			outcome.Reason = tellCheck(failed[0].Check)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// tellCheck says in words why a check failed.
func tellCheck(check filter.Check) string {
	seen := "it is missing"
	if check.Seen != nil {
		seen = "it is " + lineshaft.Clip(string(check.Seen), 200)
	}
	wanted := map[string]string{"in": "must be one of", "not_in": "must not be one of", "exists": "must exist:", "object": "must be an object like"}[check.Operator]
	return strings.TrimSpace(fmt.Sprintf("%s %s %s; %s", check.Path, wanted, lineshaft.Clip(string(check.Expected), 200), seen))
}
