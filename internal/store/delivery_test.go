package store_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// newDelivery is an accepted delivery that is not stored yet.
func newDelivery(s *store.Store, webhookUID string) store.NewDelivery {
	deliveryID, at := s.NewID()
	return store.NewDelivery{Body: []byte("{}"), Delivery: lineshaft.Delivery{
		ID: deliveryID, WebhookUID: webhookUID, Status: lineshaft.DeliveryAccepted, Size: 2, ReceivedAt: at, Identity: "i-" + deliveryID,
		IdentitySource: "header", RemoteAddr: "192.0.2.1", Outcomes: []lineshaft.DeliveryOutcome{},
	}}
}

func insertDeliveries(t *testing.T, s *store.Store, deliveries ...store.NewDelivery) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertDeliveries(ctx, deliveries) })
}

// logOf reads a webhook's whole log in pages.
func logOf(t *testing.T, s *store.Store, webhookUID string, limit int) []lineshaft.Delivery {
	t.Helper()
	var all []lineshaft.Delivery
	for before := ""; ; before = all[len(all)-1].ID {
		page, _, err := s.ListDeliveries(t.Context(), webhookUID, before, "", limit)
		must(t, err)
		all = append(all, page...)
		if len(page) < limit {
			return all
		}
	}
}

// W-18: a long body is packed on SQLite, and read as it came on both engines.
func TestW18LongBodiesAreReadAsTheyCame(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		long := newDelivery(s, rowID(s))
		long.Body = []byte(`{"text":"` + strings.Repeat("The press stops again. ", 100) + `"}`)
		insertDeliveries(t, s, long)
		stored := storetest.Count(t, database, "SELECT octet_length(body) FROM delivery_payloads")
		if packed := stored < len(long.Body)/2; packed != (s.Engine() == "sqlite") {
			t.Errorf("got %d bytes stored of %d", stored, len(long.Body))
		}
		got, err := s.GetPayload(t.Context(), long.ID)
		must(t, err)
		if !bytes.Equal(got, long.Body) {
			t.Errorf("got %q, want %q", got, long.Body)
		}
		must(t, s.EachPayload(t.Context(), long.WebhookUID, "", 10, func(p store.Payload) error {
			got = slices.Clone(p.Body)
			return nil
		}))
		if !bytes.Equal(got, long.Body) {
			t.Errorf("in the list: got %q, want %q", got, long.Body)
		}
	})
}

func TestW11DeliveryRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		webhook := rowID(s)
		full := newDelivery(s, webhook)
		full.Size, full.NotMatched = 1<<40, 3
		full.DuplicateOf, full.RedeliveryOf, full.RemoteAddr = "first", "old", "2001:db8::1"
		full.Outcomes = []lineshaft.DeliveryOutcome{
			{Result: lineshaft.ResultHandshake},
			{AutomationID: "a", AutomationName: "A <&>", Result: lineshaft.ResultStarted, RunID: "r"},
			{AutomationID: "b", AutomationName: "B", Result: lineshaft.ResultError, Reason: "\u0000 ü 修"},
		}
		all := []store.NewDelivery{full}
		for _, status := range []lineshaft.DeliveryStatus{
			lineshaft.DeliveryDuplicate, lineshaft.DeliveryRejectedAuth, lineshaft.DeliveryRejectedJSON, lineshaft.DeliveryRejectedSize,
		} {
			d := newDelivery(s, webhook)
			d.Status, d.Body = status, nil
			all = append(all, d)
		}
		insertDeliveries(t, s, all...)
		insertDeliveries(t, s) // none does no harm
		for _, d := range all {
			got, err := s.GetDelivery(t.Context(), webhook, d.ID)
			must(t, err)
			found, err := s.FindDelivery(t.Context(), d.ID)
			must(t, err)
			if !reflect.DeepEqual(*got, d.Delivery) || !reflect.DeepEqual(found, got) {
				t.Errorf("delivery\n%+v and\n%+v, want\n%+v", got, found, d.Delivery)
			}
			body, err := s.GetPayload(t.Context(), d.ID)
			if d.Body == nil {
				wantCode(t, err, lineshaft.CodeNotFound)
			} else if err != nil || !bytes.Equal(body, d.Body) {
				t.Errorf("body %q, %v", body, err)
			}
		}
		_, err := s.GetDelivery(t.Context(), "other", full.ID)
		wantCode(t, err, lineshaft.CodeNotFound)
		_, err = s.FindDelivery(t.Context(), "missing")
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}

// A body is kept byte for byte, whatever it holds.
func TestW13BodyIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		for name, body := range map[string][]byte{
			"every byte": every, "empty": {}, "a zero": {0}, "largest": bytes.Repeat(every, lineshaft.MaxWebhookBytes/256), "quote": []byte(`'"\x00\`),
		} {
			d := newDelivery(s, "w")
			d.Body = body
			insertDeliveries(t, s, d)
			if got, err := s.GetPayload(t.Context(), d.ID); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%s: read %d bytes, %v; not those %d that were stored", name, len(got), err, len(body))
			}
		}
	})
}

// A log is read newest first, in pages of any size, without gap or repetition, and
// holds its own webhook's deliveries only.
func TestW11LogPages(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		webhook, other := rowID(s), rowID(s)
		var want []string
		var batch []store.NewDelivery
		for i := range 23 {
			d := newDelivery(s, webhook)
			want = append(want, d.ID)
			batch = append(batch, d)
			if i%3 == 0 {
				batch = append(batch, newDelivery(s, other))
			}
		}
		slices.Reverse(want)
		slices.Reverse(batch) // the order of arrival is in the id
		insertDeliveries(t, s, batch...)
		for _, limit := range []int{1, 2, 5, 22, 23, 24} {
			var got []string
			for _, d := range logOf(t, s, webhook, limit) {
				got = append(got, d.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("pages of %d have %v, want %v", limit, got, want)
			}
		}
		insertDeliveries(t, s, newDelivery(s, webhook)) // one that comes meanwhile does not shift the next page
		page, _, err := s.ListDeliveries(t.Context(), webhook, want[4], "", 5)
		must(t, err)
		for i, d := range page {
			if d.ID != want[5+i] {
				t.Errorf("place %d of the second page is %s", i, d.ID)
			}
		}
	})
}

// claimAll claims in a transaction of its own and says how often its work ran.
func claimAll(ctx context.Context, s *store.Store, claims []store.Identity) (taken map[string]string, ran int, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		ran++
		taken, err = tx.ClaimIdentities(ctx, claims)
		return err
	})
	return taken, ran, err
}

// Of many claims of one identity, on any number of nodes, one wins, and all others
// learn the same winner (W-7, W-14).
func TestW14OneClaimWins(t *testing.T) {
	t.Parallel()
	eachNodes(t, func(t *testing.T, nodes [2]*store.Store) {
		const senders = 200
		answers := make([]map[string]string, senders)
		ids := make([]string, senders)
		must(t, inParallel(senders, func(i int) (err error) {
			ids[i] = rowID(nodes[i%2])
			answers[i], _, err = claimAll(t.Context(), nodes[i%2], []store.Identity{{Digest: "same", DeliveryID: ids[i]}, {Digest: ids[i], DeliveryID: ids[i]}})
			return err
		}))
		var winner string
		for i, taken := range answers {
			if len(taken) == 0 {
				if winner != "" {
					t.Fatalf("%s and %s won", winner, ids[i])
				}
				winner = ids[i]
			}
		}
		for i, taken := range answers {
			if want := map[string]string{"same": winner}; ids[i] != winner && !reflect.DeepEqual(taken, want) {
				t.Errorf("claim %d learned %v, want %v", i, taken, want)
			}
		}
	})
}

// Batches of two nodes with the same identities in opposite order do not wait for
// each other: PostgreSQL would end one of them, and its work would run again.
func TestW14BatchesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	a, b, _ := twoNodes(t)
	nodes := [2]*store.Store{a, b}
	for round := range 30 {
		var lost atomic.Int64
		must(t, inParallel(4, func(i int) error {
			deliveryID := rowID(nodes[i%2])
			claims := make([]store.Identity, 100)
			for n := range claims {
				claims[n] = store.Identity{Digest: fmt.Sprint(round, "-", n), DeliveryID: deliveryID}
			}
			if i%2 == 1 {
				slices.Reverse(claims)
			}
			given := slices.Clone(claims)
			taken, ran, err := claimAll(t.Context(), nodes[i%2], claims)
			lost.Add(int64(len(taken)))
			if ran != 1 {
				t.Errorf("round %d: the work ran %d times", round, ran)
			}
			if !slices.Equal(given, claims) {
				t.Errorf("round %d: the caller's claims were moved", round)
			}
			return err
		}))
		if lost.Load() != 300 {
			t.Errorf("round %d: %d claims lost, want all but 100 of 400", round, lost.Load())
		}
	}
}

// Only its own delivery takes a claim back.
func TestW14FreeIdentity(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		mine, other := store.Identity{Digest: "d", DeliveryID: rowID(s)}, store.Identity{Digest: "d", DeliveryID: rowID(s)}
		if taken, _, err := claimAll(t.Context(), s, []store.Identity{mine}); err != nil || len(taken) != 0 {
			t.Fatalf("taken %v, %v", taken, err)
		}
		free := func(claim store.Identity) {
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.FreeIdentity(ctx, claim) })
		}
		free(other)
		want := map[string]string{"d": mine.DeliveryID}
		if taken, _, err := claimAll(t.Context(), s, []store.Identity{other}); err != nil || !reflect.DeepEqual(taken, want) {
			t.Errorf("taken %v, %v", taken, err)
		}
		free(mine)
		if taken, _, err := claimAll(t.Context(), s, []store.Identity{other}); err != nil || len(taken) != 0 {
			t.Errorf("taken %v, %v", taken, err)
		}
		if taken, _, err := claimAll(t.Context(), s, nil); err != nil || len(taken) != 0 { // none does no harm
			t.Errorf("taken %v, %v", taken, err)
		}
	})
}

// A delivery that waits for another node's claim gets it if that node takes it back or
// fails, and learns the holder if not.
func TestW14ClaimWaitsForTheOther(t *testing.T) {
	t.Parallel()
	a, b, waits := twoNodes(t)
	for name, gone := range map[string]bool{"kept": false, "taken back": true} {
		first, later := store.Identity{Digest: name, DeliveryID: rowID(a)}, store.Identity{Digest: name, DeliveryID: rowID(b)}
		checkLock(t, a, waits, lockCase{
			first: func(ctx context.Context, tx *store.Tx) error {
				if _, err := tx.ClaimIdentities(ctx, []store.Identity{first}); err != nil || !gone {
					return err
				}
				return tx.FreeIdentity(ctx, first)
			},
			second: func(ctx context.Context) error {
				taken, _, err := claimAll(ctx, b, []store.Identity{later})
				if (len(taken) == 0) != gone || !gone && taken[name] != first.DeliveryID {
					t.Errorf("%s: taken %v", name, taken)
				}
				return err
			},
			waits: true,
		})
	}
}

// An identity that another node forgets between the two looks at it is claimed.
func TestW10ForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	a, b, _ := twoNodes(t)
	old := []store.Identity{{Digest: "x", DeliveryID: "old"}, {Digest: "y", DeliveryID: "old"}}
	_, _, err := claimAll(t.Context(), a, old)
	must(t, err)
	var taken map[string]string
	write(t, a, func(ctx context.Context, tx *store.Tx) (err error) {
		forgot := false
		tx.Record().Before = func(query string) {
			if query[:6] == "SELECT" && !forgot {
				forgot = true
				must(t, b.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.FreeIdentity(ctx, old[1]) }))
			}
		}
		taken, err = tx.ClaimIdentities(ctx, []store.Identity{{Digest: "z", DeliveryID: "new"}, {Digest: "y", DeliveryID: "new"}, {Digest: "x", DeliveryID: "new"}})
		return err
	})
	if want := map[string]string{"x": "old"}; !reflect.DeepEqual(taken, want) {
		t.Errorf("taken %v, want %v", taken, want)
	}
	stored := texts(t, a.DB(), "SELECT digest, delivery_id FROM delivery_identities ORDER BY digest")
	if want := [][]string{{"x", "old"}, {"y", "new"}, {"z", "new"}}; !reflect.DeepEqual(stored, want) {
		t.Errorf("stored %v, want %v", stored, want)
	}
}

// The cost of a batch of deliveries does not depend on how many there are.
func TestW7StatementsOfABatchAreConstant(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		held := store.Identity{Digest: "held", DeliveryID: rowID(s)}
		_, _, err := claimAll(t.Context(), s, []store.Identity{held})
		must(t, err)
		factory := insertFactory(t, s, "")
		accept := func(n int) (statements int) {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				recorder := tx.Record()
				var deliveries []store.NewDelivery
				claims := []store.Identity{{Digest: "held", DeliveryID: "x"}}
				for range n {
					d := newDelivery(s, "w")
					deliveries, claims = append(deliveries, d), append(claims, store.Identity{Digest: d.ID, DeliveryID: d.ID})
				}
				if _, err := tx.ShareFactories(ctx, slices.Repeat([]string{factory.UID}, n)); err != nil {
					return err
				}
				if _, err := tx.ClaimIdentities(ctx, claims); err != nil {
					return err
				}
				err := tx.InsertDeliveries(ctx, deliveries)
				statements = len(recorder.Take())
				return err
			})
			return statements
		}
		if one, many := accept(1), accept(250); one > 6 || many > 3*8+2 { // statements have a power of two of rows
			t.Errorf("one delivery takes %d statements, 250 take %d", one, many)
		}
	})
}
