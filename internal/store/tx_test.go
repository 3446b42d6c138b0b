package store_test

import (
	"context"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// Work that hides a failed statement does not become durable, on either engine.
func TestD2HiddenFailureIsNotCommitted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.EnsureSetting(ctx, "half", "done"); err != nil {
				return err
			}
			_, _ = tx.Exec(ctx, "INSERT INTO settings (name, value) VALUES ('half', 'again')")
			return nil
		})
		if err == nil {
			t.Fatal("no error")
		}
		wantSetting(t, s, "half", "fresh")
	})
}

// wantSetting stores a setting that must not have been there.
func wantSetting(t *testing.T, s *store.Store, name, value string) {
	t.Helper()
	var got string
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		got, err = tx.EnsureSetting(ctx, name, value)
		return err
	})
	if got != value {
		t.Fatalf("setting %s is %q: it was there", name, got)
	}
}

func TestD2PanicIsUndone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.EnsureSetting(ctx, "half", "done"); err != nil {
				return err
			}
			panic("boom")
		})
		wantCode(t, err, "internal_error")
		wantSetting(t, s, "half", "fresh")
	})
}

// Wake-ups come after the work is durable, and not at all when it is not.
func TestWakeOnlyWhatIsDurable(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		woken := make(chan []string, 10)
		s, err := store.Open(t.Context(), store.Options{Database: database, Wake: func(topics []string) { woken <- topics }})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		err = s.Write(t.Context(), func(_ context.Context, tx *store.Tx) error {
			tx.Wake("never")
			return errUndo
		})
		if err == nil {
			t.Fatal("no error")
		}
		write(t, s, func(_ context.Context, tx *store.Tx) error {
			tx.Wake("a")
			tx.Wake("b")
			if len(woken) > 0 {
				t.Error("woken too early")
			}
			return nil
		})
		if topics := <-woken; len(topics) != 2 || topics[0] != "a" || topics[1] != "b" {
			t.Fatalf("woke %v", topics)
		}
	})
}
