package store_test

import (
	"context"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// Making a key for someone does not rename them; a rename does.
func TestRenamePrincipal(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		owner := lineshaft.Principal{UID: "automation_1", Type: lineshaft.ServiceAccount, DisplayName: "first"}
		other := lineshaft.Principal{UID: "automation_2", Type: lineshaft.ServiceAccount, DisplayName: "other"}
		_, at := s.NewID()
		putKey(t, s, lineshaft.APIKey{ID: "k1", Name: "n", Role: lineshaft.RoleViewer, Owner: owner, CreatedAt: at}, "ls_one")
		putKey(t, s, lineshaft.APIKey{ID: "k2", Name: "n", Role: lineshaft.RoleViewer, Owner: other, CreatedAt: at}, "ls_two")
		shown := func(key string) string {
			t.Helper()
			k, err := s.FindAPIKey(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			return k.Owner.DisplayName
		}
		owner.DisplayName = "second"
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutPrincipal(ctx, owner, at) })
		if got := shown("ls_one"); got != "first" {
			t.Errorf("putting it again made it %q", got)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.RenamePrincipal(ctx, owner) })
		if one, two := shown("ls_one"), shown("ls_two"); one != "second" || two != "other" {
			t.Errorf("%q and %q", one, two)
		}
	})
}
