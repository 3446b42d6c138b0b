package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/lineshaft/lineshaft/client"
)

// webhookRefs are the names and uids of the webhooks that a factory has.
type webhookRefs struct{ names, uids map[string]bool }

func webhooksOf(ctx context.Context, c *client.Client, factoryUID string) (webhookRefs, error) {
	there := webhookRefs{map[string]bool{}, map[string]bool{}}
	list, err := c.Webhooks.List(ctx, factoryUID)
	for i := range list {
		there.names[list[i].Name], there.uids[list[i].UID] = true, true
	}
	return there, err
}

// name makes a filter listen to the webhooks that were given, each by its name or uid.
func (there webhookRefs) name(filter *client.TriggerFilter, refs []string) error {
	filter.Webhooks, filter.WebhookIDs = nil, nil
	for _, ref := range refs {
		switch {
		case there.names[ref]:
			filter.Webhooks = append(filter.Webhooks, ref)
		case there.uids[ref]:
			filter.WebhookIDs = append(filter.WebhookIDs, ref)
		default:
			return &hintError{
				code: exitNotFound, message: fmt.Sprintf("the factory has no webhook %q", ref),
				hint: "`lineshaft webhook list` shows them; `lineshaft webhook create` makes one.",
			}
		}
	}
	return nil
}

// listensTo are the webhooks of an automation, each once, and marked if it is gone.
func (there webhookRefs) listensTo(a client.Automation) []string {
	var list []string
	add := func(refs []string, known map[string]bool) {
		for _, ref := range refs {
			if !known[ref] {
				ref += " (gone)"
			}
			if !slices.Contains(list, ref) {
				list = append(list, ref)
			}
		}
	}
	for _, t := range a.Triggers {
		add(t.Filter.Webhooks, there.names)
		add(t.Filter.WebhookIDs, there.uids)
	}
	return list
}
