package mcpserver

import (
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft"
)

// Webhook is a webhook as the tools show it: without its address, which may hold the
// secret of its senders.
type Webhook struct {
	UID             string `json:"uid"`
	Name            string `json:"name"`
	AuthMode        string `json:"auth_mode"`
	SignatureScheme string `json:"signature_scheme,omitempty"`
	Enabled         bool   `json:"enabled"`
	NeedsSecret     bool   `json:"needs_secret" doc:"The provider's secret is still to come; until then every delivery is refused."`
}

type listWebhooksOut struct {
	FactoryUID string    `json:"factory_uid"`
	Webhooks   []Webhook `json:"webhooks"`
}

func (s *Server) listWebhooks(ctx context.Context, c *call, in FactoryRef) (listWebhooksOut, string, error) {
	uid, err := s.factoryUID(ctx, c, in.Factory)
	if err != nil {
		return listWebhooksOut{}, "", err
	}
	found, err := s.Control.ListWebhooks(ctx, c.Caller, uid)
	if err != nil {
		return listWebhooksOut{}, "", err
	}
	out := listWebhooksOut{FactoryUID: uid, Webhooks: []Webhook{}}
	var list []string
	for i := range found {
		w := showWebhook(&found[i])
		out.Webhooks = append(out.Webhooks, w)
		line := fmt.Sprintf("%s (uid %s), %s", quoted(w.Name), w.UID, w.AuthMode)
		if w.SignatureScheme != "" {
			line += " " + w.SignatureScheme
		}
		if !w.Enabled {
			line += ", disabled"
		}
		if w.NeedsSecret {
			line += ", needs the provider's secret"
		}
		list = append(list, line)
	}
	return out, lines("The factory has no webhooks.", list, ""), nil
}

func showWebhook(w *lineshaft.Webhook) Webhook {
	return Webhook{
		UID: w.UID, Name: w.Name, AuthMode: string(w.AuthMode), SignatureScheme: w.SignatureScheme, Enabled: w.Enabled, NeedsSecret: w.NeedsSecret,
	}
}

// WebhookRef are the arguments that name a webhook.
type WebhookRef struct {
	FactoryRef
	Webhook string `json:"webhook" minLength:"1" maxLength:"200" doc:"The uid or name of a webhook of the factory; list_webhooks has them."`
}

// webhookUID finds the webhook that a reference means, and its factory. What is no
// name is taken for a uid: the log of a deleted webhook can still be read.
func (s *Server) webhookUID(ctx context.Context, c *call, ref WebhookRef) (factoryUID, uid string, err error) {
	if factoryUID, err = s.factoryUID(ctx, c, ref.Factory); err != nil {
		return "", "", err
	}
	found, err := s.Control.ListWebhooks(ctx, c.Caller, factoryUID)
	if err != nil {
		return "", "", err
	}
	for i := range found {
		if found[i].Name == ref.Webhook {
			return factoryUID, found[i].UID, nil
		}
	}
	return factoryUID, ref.Webhook, nil
}
