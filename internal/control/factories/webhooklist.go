package factories

import (
	"context"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Listeners reads the automations of a factory that listen to a webhook, by name:
// those that fall silent without it.
func (s *Factories) Listeners(ctx context.Context, c lineshaft.Caller, factoryUID, webhookUID string) ([]lineshaft.Automation, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	w, err := s.GetWebhook(ctx, c, factoryUID, webhookUID)
	if err != nil {
		return nil, err
	}
	found, err := s.Store.ListAutomations(ctx, factoryUID)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(a lineshaft.Automation) bool {
		return !slices.ContainsFunc(a.Triggers, func(t lineshaft.Trigger) bool { return trigger.Listens(t, w) })
	})
	slices.SortFunc(found, func(a, b lineshaft.Automation) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// reached are the uids of those factories that the caller's key reaches.
func reached(c lineshaft.Caller, factories []lineshaft.Factory) []string {
	var uids []string
	for _, f := range factories {
		if c.MaySeeFactory(f.UID) {
			uids = append(uids, f.UID)
		}
	}
	return uids
}

// WebhooksOf reads the webhooks of the factories that the caller's key reaches, by
// factory and in the order of their names.
func (s *Factories) WebhooksOf(ctx context.Context, c lineshaft.Caller, factories []lineshaft.Factory) (map[string][]lineshaft.Webhook, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	stored, err := s.Store.WebhooksOf(ctx, reached(c, factories)...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(stored, func(a, b store.Webhook) int { return strings.Compare(a.Name, b.Name) })
	found := map[string][]lineshaft.Webhook{}
	for i := range stored {
		found[stored[i].FactoryUID] = append(found[stored[i].FactoryUID], s.told(&stored[i]))
	}
	return found, nil
}

// LastDeliveries reads the newest delivery of each webhook of the factories that the
// caller's key reaches, by webhook; those without one are left out.
func (s *Factories) LastDeliveries(ctx context.Context, c lineshaft.Caller, factories []lineshaft.Factory) (map[string]lineshaft.Delivery, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	found, err := s.Store.LastDeliveries(ctx, reached(c, factories)...)
	last := make(map[string]lineshaft.Delivery, len(found))
	for _, d := range found {
		last[d.WebhookUID] = d
	}
	return last, err
}
