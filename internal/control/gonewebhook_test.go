package control_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	controltrigger "github.com/lineshaft/lineshaft/internal/control/trigger"
)

func TestI2AttentionForGoneWebhooks(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "")
		hook := b.listener(f.UID, "hook")
		b.automate(f.UID, "triage", hook)
		look := func() []overview.Attention {
			if err := b.s.RefreshHooks(b.Context()); err != nil {
				b.Fatal(err)
			}
			return b.attention(b.admin)[overview.AttentionSilent]
		}
		if got := look(); len(got) != 0 {
			b.Errorf("before: %+v", got)
		}
		if err := b.s.DeleteWebhook(b.Context(), b.admin, f.UID, hook); err != nil {
			b.Fatal(err)
		}
		if got := look(); len(got) != 1 || got[0].Name != "triage" || got[0].FactoryUID != f.UID || got[0].Count != 1 {
			b.Errorf("after: %+v", got)
		}
		elsewhere := b.admin
		elsewhere.FactoryUIDs = []string{b.factory("other", "").UID}
		if got := b.attention(elsewhere)[overview.AttentionSilent]; len(got) != 0 {
			b.Errorf("a key of another factory is told: %+v", got)
		}
	})
}

func TestGoneWebhooksByNameAndUID(t *testing.T) {
	t.Parallel()
	hooks := []lineshaft.Webhook{{UID: "1", Name: "a"}}
	trigger := lineshaft.Trigger{Provider: lineshaft.ProviderWebhook, Filter: lineshaft.TriggerFilter{Webhooks: []string{"a", "b"}, WebhookIDs: []string{"1", "2"}}}
	if got := controltrigger.GoneWebhooks(trigger, hooks); len(got) != 2 || got[0] != "b" || got[1] != "2" {
		t.Errorf("%q", got)
	}
	trigger.Provider = lineshaft.ProviderRun
	if got := controltrigger.GoneWebhooks(trigger, hooks); got != nil {
		t.Errorf("of a trigger without webhooks: %q", got)
	}
}
