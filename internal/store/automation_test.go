package store_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func newAutomation(s *store.Store, factoryUID, name string) lineshaft.Automation {
	uid, at := s.NewID()
	return lineshaft.Automation{
		UID: uid, FactoryUID: factoryUID, Name: name, Prompt: "p", Enabled: true, Agent: "reviewer", MaxRunsPerHour: 7, CreatedAt: at, UpdatedAt: at,
		Config: lineshaft.AgentConfig{ModelID: "m"},
		Triggers: []lineshaft.Trigger{
			{Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived, Filter: lineshaft.TriggerFilter{
				WebhookIDs: []string{"w"}, Payload: json.RawMessage(`{"action":{"equals":12345678901234567890.10}}`),
			}},
			{Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived, Filter: lineshaft.TriggerFilter{Webhooks: []string{"ci"}}},
		},
	}
}

func putAutomation(t *testing.T, s *store.Store, a lineshaft.Automation) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutAutomation(ctx, a) })
}

func wantAutomations(t *testing.T, s *store.Store, factoryUID string, want ...lineshaft.Automation) {
	t.Helper()
	got, err := s.ListAutomations(t.Context(), factoryUID)
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("automations\n%+v, want\n%+v", got, want)
	}
	for _, a := range want {
		one, err := s.GetAutomation(t.Context(), factoryUID, a.UID)
		must(t, err)
		if !reflect.DeepEqual(*one, a) {
			t.Errorf("automation\n%+v, want\n%+v", *one, a)
		}
	}
}

// Numbers of a payload filter survive digit by digit.
func TestF2AutomationRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory := rowID(s)
		b, a := newAutomation(s, factory, "b"), newAutomation(s, factory, "a")
		putAutomation(t, s, b)
		putAutomation(t, s, a)
		wantAutomations(t, s, factory, a, b)
		b.Name, b.Prompt, b.Enabled, b.Agent, b.Triggers, b.MaxRunsPerHour = "0", "q", false, "", b.Triggers[1:], 0
		b.Config, b.UpdatedAt = lineshaft.AgentConfig{Name: "x"}, b.UpdatedAt.Add(time.Hour)
		putAutomation(t, s, b)
		wantAutomations(t, s, factory, b, a)
		moved := b // neither its making nor its factory changes
		moved.FactoryUID, moved.CreatedAt = "elsewhere", b.CreatedAt.Add(time.Hour)
		putAutomation(t, s, moved)
		wantAutomations(t, s, factory, b, a)
		wantAutomations(t, s, "elsewhere")
	})
}

func TestF2AutomationNames(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory, other := rowID(s), rowID(s)
		a, b := newAutomation(s, factory, "a"), newAutomation(s, factory, "b")
		putAutomation(t, s, a)
		putAutomation(t, s, b)
		putAutomation(t, s, newAutomation(s, other, "a"))
		renamed := b
		renamed.Name = "a"
		for _, taken := range []lineshaft.Automation{newAutomation(s, factory, "a"), renamed} {
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.PutAutomation(ctx, taken) })
			wantCode(t, err, lineshaft.CodeConflict)
		}
		drop := func(factoryUID, uid string) error {
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAutomation(ctx, factoryUID, uid) })
		}
		wantCode(t, drop(other, a.UID), lineshaft.CodeNotFound) // of another factory
		_, err := s.GetAutomation(t.Context(), other, a.UID)
		wantCode(t, err, lineshaft.CodeNotFound)
		must(t, drop(factory, a.UID))
		wantCode(t, drop(factory, a.UID), lineshaft.CodeNotFound)
		_, err = s.GetAutomation(t.Context(), factory, a.UID)
		wantCode(t, err, lineshaft.CodeNotFound)
		putAutomation(t, s, renamed)
		wantAutomations(t, s, factory, renamed)
	})
}
