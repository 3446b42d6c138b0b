package store_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func newWebhook(s *store.Store, factoryUID, name string) store.Webhook {
	uid, at := s.NewID()
	return store.Webhook{
		Webhook: lineshaft.Webhook{
			UID: uid, FactoryUID: factoryUID, Name: name, AuthMode: lineshaft.AuthSignature, SignatureScheme: "hmac", SecretName: "A_SECRET",
			OwnsSecret: true, DeliveryIDHeader: "X-Id", Enabled: true, NeedsSecret: true, RateLimit: 60, MaxBodyBytes: 1000, ReplayGuard: true,
			HMAC: lineshaft.WebhookHMAC{Header: "X-Sig", Template: "{body}"}, CreatedAt: at, UpdatedAt: at,
		},
		Credential: "sealed", OldCredential: "sealed before", OldUntil: at.Add(time.Hour),
	}
}

func putWebhook(t *testing.T, s *store.Store, w store.Webhook) store.Webhook {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutWebhook(ctx, w) })
	return w
}

func wantWebhook(t *testing.T, s *store.Store, want store.Webhook) {
	t.Helper()
	got, err := s.GetWebhook(t.Context(), want.FactoryUID, want.UID)
	must(t, err)
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("webhook\n%+v, want\n%+v", *got, want)
	}
}

// names lists webhooks for comparing.
func names(hooks []store.Webhook) string {
	var all []string
	for _, w := range hooks {
		all = append(all, w.Name)
	}
	return strings.Join(all, " ")
}

func TestW1WebhookRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := putWebhook(t, s, newWebhook(s, rowID(s), "ci"))
		wantWebhook(t, s, w)
		changed := w
		changed.SecretName, changed.OwnsSecret, changed.DeliveryIDHeader, changed.Enabled, changed.NeedsSecret = "B", false, "", false, false
		changed.RateLimit, changed.MaxBodyBytes, changed.ReplayGuard, changed.HMAC = 0, 1, false, lineshaft.WebhookHMAC{}
		changed.Credential, changed.OldCredential, changed.OldUntil = "new", "", time.Time{}
		changed.UpdatedAt, changed.AuthMode, changed.SignatureScheme = w.UpdatedAt.Add(time.Minute), lineshaft.AuthToken, ""
		putWebhook(t, s, changed)
		wantWebhook(t, s, changed)
		other := changed // these stay
		other.Name, other.CreatedAt = "x", w.CreatedAt.Add(time.Minute)
		putWebhook(t, s, other)
		wantWebhook(t, s, changed)
		for _, at := range [][2]string{{w.FactoryUID, "missing"}, {"other", w.UID}} {
			_, err := s.GetWebhook(t.Context(), at[0], at[1])
			wantCode(t, err, lineshaft.CodeNotFound)
		}
	})
}

// A name is that of one live webhook in its factory, and free after its deletion.
func TestW1NameIsUniqueAmongLiveWebhooks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory := rowID(s)
		for range 3 { // any number of deleted ones
			w := putWebhook(t, s, newWebhook(s, factory, "ci"))
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return tx.PutWebhook(ctx, newWebhook(s, factory, "ci"))
			})
			wantCode(t, err, lineshaft.CodeConflict)
			w.DeletedAt = w.UpdatedAt.Add(time.Second)
			putWebhook(t, s, w)
			wantWebhook(t, s, w)
		}
		putWebhook(t, s, newWebhook(s, factory, "ci"))
		putWebhook(t, s, newWebhook(s, factory, "a"))
		putWebhook(t, s, newWebhook(s, rowID(s), "ci"))
		live, err := s.ListWebhooks(t.Context(), factory)
		must(t, err)
		if names(live) != "a ci" {
			t.Errorf("live webhooks: %s", names(live))
		}
	})
}

// Of two nodes that make a webhook of one name, one gets it.
func TestW1NameRace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory := rowID(s)
		won := make(chan bool, 20)
		must(t, inParallel(cap(won), func(int) error {
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return tx.PutWebhook(ctx, newWebhook(s, factory, "ci"))
			})
			won <- err == nil
			if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
				return nil
			}
			return err
		}))
		close(won)
		var winners int
		for w := range won {
			if w {
				winners++
			}
		}
		if winners != 1 {
			t.Errorf("%d winners", winners)
		}
	})
}

func TestW3WebhooksWithSecret(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first, second := rowID(s), rowID(s)
		for _, at := range [][3]string{{second, "a", "ONE"}, {first, "c", "ONE"}, {first, "b", "ONE"}, {first, "d", "TWO"}, {first, "gone", "ONE"}} {
			w := newWebhook(s, at[0], at[1])
			w.SecretName = at[2]
			if w.Name == "gone" {
				w.DeletedAt = w.CreatedAt
			}
			putWebhook(t, s, w)
		}
		for secret, want := range map[string]string{"ONE": "b c a", "TWO": "d", "NONE": ""} {
			if got, err := s.WebhooksWithSecret(t.Context(), secret); err != nil || names(got) != want {
				t.Errorf("webhooks with %s: %s, %v; want %s", secret, names(got), err, want)
			}
		}
	})
}

// Credentials that were sealed again do not undo a rotation that came between.
func TestS1CredentialsAreReplacedOnlyUnchanged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := putWebhook(t, s, newWebhook(s, rowID(s), "ci"))
		set := func(was store.Webhook, credential, old string) {
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SetCredentials(ctx, was, credential, old) })
		}
		set(w, "again", "before again")
		stale := w
		w.Credential, w.OldCredential = "again", "before again"
		wantWebhook(t, s, w)
		set(stale, "lost", "lost")
		wantWebhook(t, s, w)
		half := w
		half.OldCredential = "another"
		set(half, "lost", "lost")
		half = w
		half.Credential = "another"
		set(half, "lost", "lost")
		wantWebhook(t, s, w)
	})
}

func TestS1CredentialsPage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var live, deleted, all []string
		for i := range 8 {
			w := newWebhook(s, rowID(s), "ci")
			if i%3 == 0 {
				w.DeletedAt = w.CreatedAt
				deleted = append(deleted, w.UID)
			} else {
				live = append(live, w.UID)
			}
			all = append(all, putWebhook(t, s, w).UID)
		}
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.ListCredentials(t.Context(), after, 2)
			must(t, err)
			for _, w := range page {
				got = append(got, w.UID)
				if w.Credential != "sealed" || w.OldCredential != "sealed before" {
					t.Errorf("credentials %q and %q", w.Credential, w.OldCredential)
				}
			}
			if len(page) < 2 {
				break
			}
		}
		if !slices.Equal(got, live) {
			t.Errorf("live %v, want %v", got, live)
		}
		var seen, gone []string
		for after := ""; ; {
			some, dead, err := s.WebhookUIDs(t.Context(), after, 3)
			must(t, err)
			if len(some)+len(dead) == 0 {
				break
			}
			seen, gone = append(seen, some...), append(gone, dead...)
			after = slices.Max(append(some, dead...))
		}
		if !slices.Equal(seen, live) || !slices.Equal(gone, deleted) || len(all) != len(seen)+len(gone) {
			t.Errorf("uids %v and deleted %v, want %v and %v", seen, gone, live, deleted)
		}
	})
}
