package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// NewDelivery is a delivery to be logged. Body is stored if it is not nil.
type NewDelivery struct {
	lineshaft.Delivery

	Body []byte
}

// InsertDeliveries logs deliveries and stores their bodies, in few statements.
func (tx *Tx) InsertDeliveries(ctx context.Context, deliveries []NewDelivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	rows := inserts{into: "deliveries (id, webhook_uid, unsettled_uid, " + deliveryRest + ", headers)"}
	bodies := inserts{into: "delivery_payloads (delivery_id, body)"}
	for _, d := range deliveries {
		outcomes, err := encodeOutcomes(d.Outcomes)
		if err != nil {
			return err
		}
		logged, unsettled := d.WebhookUID, ""
		if tx.d.settlesLogs {
			logged, unsettled = "", d.WebhookUID
		}
		rows.row(d.ID, logged, unsettled, d.Status, d.Size, d.Identity, d.IdentitySource, d.RemoteAddr,
			d.DuplicateOf, d.RedeliveryOf, d.NotMatched, outcomes, d.Event, d.AnswerStatus, d.Took.Microseconds(), flag(d.Test), d.Headers)
		if d.Body != nil {
			bodies.row(d.ID, tx.d.pack(d.Body))
		}
	}
	if err := tx.sendRows(ctx, &rows); err != nil {
		return err
	}
	return tx.sendRows(ctx, &bodies)
}

// encodeOutcomes spares the many deliveries without outcomes an encoder.
func encodeOutcomes(outcomes []lineshaft.DeliveryOutcome) (string, error) {
	if len(outcomes) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(outcomes)
	if err != nil {
		return "", fmt.Errorf("encode outcomes: %w", err)
	}
	return string(text), nil
}

// Identity is a claim that a delivery is the first of its kind.
type Identity struct {
	Digest     string
	DeliveryID string
}

// ClaimIdentities stores the identities that are new and returns, for those that
// are not, the delivery that has them. Each digest may be given once, and a delivery that
// claims is a new one.
func (tx *Tx) ClaimIdentities(ctx context.Context, claims []Identity) (taken map[string]string, err error) {
	if len(claims) == 0 {
		return nil, nil
	}
	// In one order everywhere, so that two nodes with the same ones cannot wait for each other.
	claims = slices.SortedFunc(slices.Values(claims), func(a, b Identity) int { return strings.Compare(a.Digest, b.Digest) })
	rows := inserts{into: "delivery_identities (digest, delivery_id)", suffix: " ON CONFLICT (digest) DO NOTHING"}
	for _, c := range claims {
		rows.row(c.Digest, c.DeliveryID)
	}
	won, err := tx.insertNew(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("claim identities: %w", err)
	}
	if int(won) == len(claims) {
		return nil, nil
	}
	holders, err := tx.identityHolders(ctx, claims)
	if err != nil {
		return nil, err
	}
	// Some were forgotten just now, for their age: they are free after all.
	free := slices.DeleteFunc(slices.Clone(claims), func(c Identity) bool { return holders[c.Digest] != "" })
	for _, c := range claims {
		if holders[c.Digest] == c.DeliveryID {
			delete(holders, c.Digest)
		}
	}
	more, err := tx.ClaimIdentities(ctx, free)
	maps.Copy(holders, more)
	return holders, err
}

// identityHolders reads which delivery has each digest.
func (tx *Tx) identityHolders(ctx context.Context, claims []Identity) (map[string]string, error) {
	digests := make([]string, len(claims))
	for i, c := range claims {
		digests[i] = c.Digest
	}
	var args []any
	query := "SELECT digest, delivery_id FROM delivery_identities WHERE digest IN " + list(&args, digests)
	return pairs[string, string](ctx, tx.reader, "read identities", query, args)
}

// FreeIdentity takes back a claim of this transaction.
func (tx *Tx) FreeIdentity(ctx context.Context, claim Identity) error {
	_, err := tx.exec(ctx, "DELETE FROM delivery_identities WHERE digest = $1 AND delivery_id = $2", claim.Digest, claim.DeliveryID)
	return err
}

const (
	deliveryRest = "status, size, identity, identity_source, remote_addr, duplicate_of, redelivery_of, not_matched, outcomes, event, " +
		"answer_status, took, test"
	deliveryColumns = "id, " + webhookOfDelivery + ", " + deliveryRest
)

func scanDelivery(scan rowScan) (*lineshaft.Delivery, error) {
	d := &lineshaft.Delivery{}
	var took int64
	err := scan(&d.ID, &d.WebhookUID, &d.Status, &d.Size, &d.Identity, &d.IdentitySource, &d.RemoteAddr, &d.DuplicateOf, &d.RedeliveryOf,
		&d.NotMatched, toJSON(&d.Outcomes), &d.Event, &d.AnswerStatus, &took, toFlag(&d.Test))
	d.ReceivedAt, _ = id.Time(d.ID)
	d.Took = time.Duration(took) * time.Microsecond
	return d, err
}

// DeliveryHeaders reads the headers of the request that made a delivery.
func (r reader) DeliveryHeaders(ctx context.Context, deliveryID string) (headers string, err error) {
	_, err = r.look(ctx, "read headers", "SELECT headers FROM deliveries WHERE id = $1", []any{deliveryID}, &headers)
	return headers, err
}

// GetDelivery reads one delivery of a webhook.
func (r reader) GetDelivery(ctx context.Context, webhookUID, deliveryID string) (*lineshaft.Delivery, error) {
	return only(r.deliveries(ctx, "WHERE id = $1 AND "+webhookOfDelivery+" = $2", deliveryID, webhookUID)).orNotFound("delivery", deliveryID)
}

// FindDelivery reads a delivery whose webhook is not known.
func (r reader) FindDelivery(ctx context.Context, deliveryID string) (*lineshaft.Delivery, error) {
	return only(r.deliveries(ctx, "WHERE id = $1", deliveryID)).orNotFound("delivery", deliveryID)
}

// ListDeliveries reads a page of a webhook's log, newest first, from before an id on (""
// for the newest) down to another, and says whether there is more.
func (r reader) ListDeliveries(ctx context.Context, webhookUID, before, floor string, limit int) ([]lineshaft.Delivery, bool, error) {
	ids, err := r.loggedIDs(ctx, webhookUID, before, floor, "", limit+1)
	if err != nil {
		return nil, false, err
	}
	return r.pageDeliveriesByID(ctx, ids, limit)
}

// LastDeliveries reads the newest delivery of each webhook of factories that has one.
func (r reader) LastDeliveries(ctx context.Context, factoryUIDs ...string) ([]lineshaft.Delivery, error) {
	if len(factoryUIDs) == 0 {
		return nil, nil
	}
	newest, err := r.newestDeliveries(ctx, factoryUIDs, "")
	if err != nil || len(newest) == 0 {
		return nil, err
	}
	var args []any
	return r.deliveries(ctx, "WHERE id IN "+list(&args, slices.Sorted(maps.Values(newest))), args...)
}

func (r reader) deliveries(ctx context.Context, where string, args ...any) ([]lineshaft.Delivery, error) {
	return collect(ctx, r, "read deliveries", "SELECT "+deliveryColumns+" FROM deliveries "+where, args, scanDelivery)
}

// GetPayload reads the body of an accepted delivery.
func (r reader) GetPayload(ctx context.Context, deliveryID string) ([]byte, error) {
	var body []byte
	err := r.must(ctx, "payload of delivery", deliveryID, "SELECT body FROM delivery_payloads WHERE delivery_id = $1", []any{deliveryID}, &body)
	if err != nil {
		return nil, err
	}
	return unpack(body)
}

// Payload is an accepted delivery with its body.
type Payload struct {
	DeliveryID string
	Event      string
	// Handshake says that the delivery only asked whether we answer.
	Handshake bool
	Body      []byte
}

// EachPayload calls fn for the accepted deliveries of a webhook that have a body,
// newest first, from before an id on ("" for the newest), with one body in memory at
// a time. fn must not keep it.
func (r reader) EachPayload(ctx context.Context, webhookUID, before string, limit int, fn func(Payload) error) error {
	ids, err := r.loggedIDs(ctx, webhookUID, before, "",
		" AND status = 'accepted' AND EXISTS (SELECT 1 FROM delivery_payloads p WHERE p.delivery_id = deliveries.id)", limit)
	if err != nil || len(ids) == 0 {
		return err
	}
	var args []any
	err = r.each(ctx, `SELECT d.id, d.event, d.outcomes, p.body FROM deliveries d JOIN delivery_payloads p ON p.delivery_id = d.id
		WHERE d.id IN `+list(&args, ids)+" ORDER BY d.id DESC", args, func(scan rowScan) error {
		var p Payload
		var outcomes string
		if err := scan(&p.DeliveryID, &p.Event, &outcomes, &p.Body); err != nil {
			return fmt.Errorf("scan payload: %w", err)
		}
		var err error
		if p.Body, err = unpack(p.Body); err != nil {
			return err
		}
		p.Handshake = strings.Contains(outcomes, `"result":"`+string(lineshaft.ResultHandshake)+`"`)
		return fn(p)
	})
	if err != nil {
		return fmt.Errorf("read payloads: %w", err)
	}
	return nil
}
