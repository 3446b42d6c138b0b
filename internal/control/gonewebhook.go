package control

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// GoneWebhooks are the webhooks that a trigger names and that are not among those of its
// factory any more, as it names them.
func GoneWebhooks(t lineshaft.Trigger, hooks []lineshaft.Webhook) []string {
	if !t.Delivered() {
		return nil
	}
	var gone []string
	for _, name := range t.Filter.Webhooks {
		if !slices.ContainsFunc(hooks, func(w lineshaft.Webhook) bool { return w.Name == name }) {
			gone = append(gone, name)
		}
	}
	for _, uid := range t.Filter.WebhookIDs {
		if !slices.ContainsFunc(hooks, func(w lineshaft.Webhook) bool { return w.UID == uid }) {
			gone = append(gone, uid)
		}
	}
	return gone
}

// silentIn are the enabled automations of a factory that listen to a webhook that is gone.
func silentIn(c *factoryCopy, webhooks []store.Webhook) []Attention {
	hooks := make([]lineshaft.Webhook, len(webhooks))
	for i, w := range webhooks {
		hooks[i] = w.Webhook
	}
	var found []Attention
	for _, a := range c.automations {
		var gone []string
		for _, t := range a.Triggers {
			gone = append(gone, GoneWebhooks(t, hooks)...)
		}
		if len(gone) > 0 && a.Enabled {
			found = append(found, Attention{
				Kind: AttentionSilent, ID: a.UID, Name: a.Name, FactoryUID: c.factory.UID, FactoryName: c.factory.Name, Reason: strings.Join(gone, ", "), Count: len(gone),
			})
		}
	}
	return found
}

func silentOf(parts map[string]*factoryCopy) *[]Attention {
	var all []Attention
	for _, part := range parts {
		all = append(all, part.silent...)
	}
	slices.SortFunc(all, func(a, b Attention) int {
		return cmp.Or(strings.Compare(a.FactoryName, b.FactoryName), strings.Compare(a.Name, b.Name))
	})
	return &all
}

// findSilent reads the copies of webhooks, so that it costs no query.
func (s *Service) findSilent(_ context.Context, c lineshaft.Caller, _ *Overview) ([]Attention, error) {
	all := s.hooks.silent.Load()
	if all == nil {
		return nil, nil
	}
	var found []Attention
	for _, a := range *all {
		if c.MaySeeFactory(a.FactoryUID) && len(found) <= attentionEach {
			found = append(found, a)
		}
	}
	return few(found), nil
}
