package store_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestAuditNewestFirst(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		before := time.Now().Add(-time.Second)
		entry := lineshaft.AuditEntry{
			Actor: lineshaft.Principal{UID: "u1", Type: lineshaft.User, DisplayName: "Ada"}, KeyID: "k", TargetType: "run", TargetID: "r",
			RemoteAddr: "127.0.0.1", RequestID: "q", Detail: map[string]string{"why": "it's \"time\""},
		}
		for i := range 5 {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				entry.Action = fmt.Sprintf("action%d", i)
				return tx.Audit(ctx, entry)
			})
		}
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if err := tx.Audit(ctx, entry); err != nil {
				return err
			}
			return errUndo // with its change
		})
		if err == nil {
			t.Fatal("no error")
		}
		var cursor string
		var actions []string
		for page := 0; ; page++ {
			entries, err := s.ListAudit(t.Context(), lineshaft.AuditFilter{}, cursor, 2)
			must(t, err)
			if len(entries) == 0 {
				break
			}
			for _, e := range entries {
				actions, cursor = append(actions, e.Action), e.ID
				if e.Time.Before(before) || e.Time.After(time.Now().Add(time.Second)) {
					t.Errorf("time %v", e.Time)
				}
				want := entry
				want.ID, want.Time, want.Action = e.ID, e.Time, e.Action
				if !reflect.DeepEqual(e, want) {
					t.Errorf("entry %+v, want %+v", e, want)
				}
			}
		}
		if fmt.Sprint(actions) != "[action4 action3 action2 action1 action0]" {
			t.Errorf("actions %v", actions)
		}
	})
}
