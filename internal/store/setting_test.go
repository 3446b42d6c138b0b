package store_test

import (
	"context"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestSettingsAreReplacedOnlyFromWhatTheyWere(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		want := func(value string) {
			t.Helper()
			if got, err := s.GetSetting(t.Context(), "a"); err != nil || got != value {
				t.Errorf("setting is %q, %v; want %q", got, err, value)
			}
		}
		want("")
		wantSetting(t, s, "a", "first")
		want("first")
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.ReplaceSetting(ctx, "a", "other", "second") })
		want("first")
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.ReplaceSetting(ctx, "a", "first", "second") })
		want("second")
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.ReplaceSetting(ctx, "b", "", "made") })
		if got, err := s.GetSetting(t.Context(), "b"); err != nil || got != "" {
			t.Errorf("a setting that was not there is %q, %v", got, err)
		}
	})
}
