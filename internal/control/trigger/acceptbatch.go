package trigger

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// maxAcceptBatch bounds the weight of the deliveries in one transaction.
const maxAcceptBatch = 128

// weight is a delivery's part of a batch: its runs, those with a concurrency key one by
// one, and its bytes. Nobody should wait long for the writer.
func (a *acceptance) weight() int {
	w := 1 + len(a.Body)/(16<<10)
	for _, automation := range a.Matched {
		if w++; automation.config.Concurrency != nil {
			w += 3
		}
	}
	return w
}

// acceptUnit does a batch in one transaction. If that fails although the database
// answers, one of them is to blame: each is then tried alone.
func (s *Triggers) acceptUnit(ctx context.Context, take func() []*acceptance) {
	var spans base.StartSpans
	careful := false
	accept := func(ctx context.Context, tx *store.Tx) (err error) {
		batch := take()
		for _, a := range batch {
			a.delivery, a.verdict, a.alone = lineshaft.Delivery{}, nil, false
		}
		if len(batch) == 0 {
			return nil
		}
		spans, err = s.acceptAll(ctx, tx, batch, careful)
		return err
	}
	err := s.Store.Write(ctx, accept)
	if errors.Is(err, ErrStale) {
		careful = true
		err = s.Store.Write(ctx, accept)
	}
	spans.End(err)
	batch := take()
	blame := len(batch) > 1 && base.OneIsToBlame(ctx, err)
	for _, a := range batch {
		switch {
		case blame || err == nil && a.alone:
			a.counted = err == nil
			s.acceptUnit(ctx, func() []*acceptance { return []*acceptance{a} })
		case err != nil:
			a.err = err
		case a.verdict != nil:
			a.err = a.verdict
		default:
			a.receipt = Receipt{DeliveryID: a.delivery.ID, Delivery: a.delivery}
			if a.delivery.DuplicateOf != "" {
				a.receipt.DeliveryID = a.delivery.DuplicateOf
			}
		}
	}
}

// acceptAll is the transaction: revisions, rates, identities, runs, log. Copies of webhooks
// are nearly always current, so identities are claimed before that is known: if one is not,
// the error is ErrStale, and all is done again with care.
func (s *Triggers) acceptAll(ctx context.Context, tx *store.Tx, batch []*acceptance, careful bool) (base.StartSpans, error) {
	// In one order everywhere, so that two batches cannot wait for each other's windows.
	batch = slices.Clone(batch)
	slices.SortStableFunc(batch, func(a, b *acceptance) int { return strings.Compare(a.Hook.UID, b.Hook.UID) })
	uids := make([]string, len(batch))
	for i, a := range batch {
		uids[i] = a.Hook.FactoryUID
	}
	revisions, err := tx.ShareFactories(ctx, uids)
	if err != nil {
		return nil, err
	}
	all := batch
	if careful {
		if batch, err = current(ctx, tx, batch, revisions); err != nil {
			return nil, err
		}
	}
	open, err := s.admit(ctx, tx, batch)
	if err != nil {
		return nil, err
	}
	if open, err = s.claimIdentities(ctx, tx, open); err != nil {
		return nil, err
	}
	if !careful {
		if found, err := current(ctx, tx, all, revisions); err != nil || len(found) < len(all) {
			return nil, cmp.Or(err, ErrStale)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	starts := s.newStarter(tx)
	if err := starts.lockAhead(ctx, evaluationsOf(open)); err != nil {
		return nil, err
	}
	rows := make([]store.NewDelivery, 0, len(open))
	for _, a := range open {
		row := store.NewDelivery{}
		if a.delivery.Status == lineshaft.DeliveryAccepted {
			row.Body = a.Body
			a.delivery.NotMatched = a.notMatched
			if err := starts.forDelivery(ctx, a.Hook, a.Evaluation, &a.delivery, a.TraceParent); err != nil {
				return nil, err
			}
			if a.Handshake {
				a.delivery.Outcomes = []lineshaft.DeliveryOutcome{{Result: lineshaft.ResultHandshake}}
			}
		}
		row.Delivery = a.delivery
		rows = append(rows, row)
	}
	if err := starts.Flush(ctx); err != nil {
		return nil, err
	}
	if err := notePushes(ctx, tx, open); err != nil {
		return nil, err
	}
	return starts.Spans, tx.InsertDeliveries(ctx, rows)
}

// evaluationsOf are those of the deliveries that start something.
func evaluationsOf(open []*acceptance) []Evaluation {
	var all []Evaluation
	for _, a := range open {
		if a.delivery.Status == lineshaft.DeliveryAccepted && len(a.Matched) > 0 {
			all = append(all, a.Evaluation)
		}
	}
	return all
}

// current is those of a batch whose copies of the webhooks are current. The others have a
// verdict.
func current(ctx context.Context, tx *store.Tx, batch []*acceptance, revisions map[string]int64) (found []*acceptance, err error) {
	if err := tx.Await(ctx); err != nil {
		return nil, err
	}
	for _, a := range batch {
		if revisions[a.Hook.FactoryUID] == a.Hook.revision {
			found = append(found, a)
		} else {
			a.verdict = ErrStale
		}
	}
	return found, nil
}

// admit counts deliveries in the rates of their webhooks and makes the rows of those that
// there is room for. The others have a verdict. Deliveries of one webhook are adjacent, and
// counted in few statements for all of them.
func (s *Triggers) admit(ctx context.Context, tx *store.Tx, batch []*acceptance) (open []*acceptance, err error) {
	for i := 0; i < len(batch); {
		hook, first, hits := batch[i].Hook, i, 0
		for ; i < len(batch) && batch[i].Hook.UID == hook.UID; i++ {
			if hook.RateLimit > 0 && !batch[i].counted {
				hits++
			}
		}
		var wait time.Duration
		if hits > 0 {
			hits, wait, err = tx.HitRate(ctx, store.Rate{Name: hook.rateName, Limit: hook.RateLimit, Window: time.Minute}, hits)
			if err != nil {
				return nil, err
			}
		}
		for _, a := range batch[first:i] {
			if hook.RateLimit > 0 && !a.counted {
				if hits--; hits < 0 {
					a.verdict = rateLimited(hook, wait)
					continue
				}
			}
			a.delivery = s.newDelivery(a.Received)
			open = append(open, a)
		}
	}
	return open, nil
}

// newDelivery makes the row of a request; its id carries the time of receipt.
func (s *Triggers) newDelivery(r Received) lineshaft.Delivery {
	deliveryID, at := s.Store.NewID()
	d := lineshaft.Delivery{
		ID: deliveryID, WebhookUID: r.Hook.UID, Status: lineshaft.DeliveryAccepted, Size: int64(len(r.Body)), ReceivedAt: at,
		Identity: r.Identity, IdentitySource: r.IdentitySource, RemoteAddr: r.RemoteAddr, Event: r.Event,
		Headers: r.Headers, AnswerStatus: r.AnswerStatus, Test: r.Test,
	}
	if !r.Began.IsZero() {
		d.Took = max(at.Sub(r.Began), time.Microsecond)
	}
	if r.InvalidJSON {
		d.Status, d.Outcomes = lineshaft.DeliveryRejectedJSON, why(r.Reason)
	}
	return d
}

// claimIdentities decides which delivery is the first of its identity; the others
// become its duplicates. It returns those to log now.
func (s *Triggers) claimIdentities(ctx context.Context, tx *store.Tx, open []*acceptance) ([]*acceptance, error) {
	owners := map[string]*acceptance{}
	var claims []store.Identity
	var kept []*acceptance
	for _, a := range open {
		rival := a.rival(owners)
		switch {
		case rival == nil:
			for _, d := range a.digests {
				owners[d] = a
				claims = append(claims, store.Identity{Digest: d, DeliveryID: a.delivery.ID})
			}
		case rival.digests[0] != a.digests[0] || !strings.EqualFold(rival.IdentitySource, a.IdentitySource):
			// The same body under another id, or the same id from elsewhere, in one batch:
			// whether the first of them counts is not known yet.
			a.alone = true
			continue
		}
		kept = append(kept, a)
	}
	if len(claims) == 0 {
		return kept, nil
	}
	taken, err := tx.ClaimIdentities(ctx, claims)
	if err != nil {
		return nil, err
	}
	if err := claimBySource(ctx, tx, kept, owners, taken); err != nil {
		return nil, err
	}
	for _, a := range kept {
		if err := a.settle(ctx, tx, owners, taken); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(kept, func(a *acceptance) bool { return a.alone }), nil
}

// rival is another delivery of the batch with the same identity or body.
func (a *acceptance) rival(owners map[string]*acceptance) *acceptance {
	for _, d := range a.digests {
		if owners[d] != nil {
			return owners[d]
		}
	}
	return nil
}

// settle makes a delivery a duplicate if its identity was not its own to claim.
func (a *acceptance) settle(ctx context.Context, tx *store.Tx, owners map[string]*acceptance, taken map[string]string) error {
	if len(a.digests) == 0 {
		return nil
	}
	if first := owners[a.digests[0]]; first != a {
		// If the first is a duplicate only for its body, this one may be new.
		a.alone = first.delivery.DuplicateOf != "" && taken[a.digests[0]] == ""
		a.duplicate(first.delivery)
		return nil
	}
	holder := ""
	for _, d := range a.claimed {
		if holder == "" {
			holder = taken[d]
		}
	}
	if holder == "" {
		return nil
	}
	for _, d := range a.claimed { // what it won must not speak for a delivery that was not accepted
		if taken[d] == "" {
			if err := tx.FreeIdentity(ctx, store.Identity{Digest: d, DeliveryID: a.delivery.ID}); err != nil {
				return err
			}
		}
	}
	a.duplicate(lineshaft.Delivery{ID: holder})
	return nil
}

// claimBySource claims identities that are held by a delivery whose identity was found
// elsewhere, such as in a header instead of the body, together with their source: such a
// delivery is another one. The first of an identity is stored without its source, as
// older nodes store it and look for it. All are claimed in one statement: two batches
// that claimed theirs one by one could wait for each other.
func claimBySource(ctx context.Context, tx *store.Tx, kept []*acceptance, owners map[string]*acceptance, taken map[string]string) error {
	var claims []store.Identity
	for _, a := range kept {
		a.claimed = a.digests
		if len(a.digests) == 0 || owners[a.digests[0]] != a || taken[a.digests[0]] == "" {
			continue
		}
		first, err := tx.GetDelivery(ctx, a.Hook.UID, taken[a.digests[0]])
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound || err == nil && strings.EqualFold(first.IdentitySource, a.IdentitySource) {
			continue // one that is no longer in the log counts as the same
		}
		if err != nil {
			return err
		}
		own := digest(a.Hook.UID, "id", a.Identity, strings.ToLower(a.IdentitySource))
		a.claimed = append([]string{own}, a.digests[1:]...)
		claims = append(claims, store.Identity{Digest: own, DeliveryID: a.delivery.ID})
	}
	held, err := tx.ClaimIdentities(ctx, claims)
	maps.Copy(taken, held)
	return err
}

func (a *acceptance) duplicate(of lineshaft.Delivery) {
	a.delivery.Status, a.delivery.DuplicateOf = lineshaft.DeliveryDuplicate, of.ID
	if of.DuplicateOf != "" {
		a.delivery.DuplicateOf = of.DuplicateOf
	}
}

// AcceptTogether accepts deliveries in one transaction, in this order.
func (s *Triggers) AcceptTogether(ctx context.Context, list ...Received) ([]Receipt, []error) {
	var batch []*acceptance
	for _, r := range list {
		batch = append(batch, newAcceptance(r))
	}
	s.acceptUnit(ctx, func() []*acceptance { return batch })
	receipts, errs := make([]Receipt, len(list)), make([]error, len(list))
	for i, a := range batch {
		receipts[i], errs[i] = a.receipt, a.err
	}
	return receipts, errs
}

// Weight is how much of a batch a delivery takes up.
func (r Received) Weight() int { return newAcceptance(r).weight() }
