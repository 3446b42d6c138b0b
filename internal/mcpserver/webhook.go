package mcpserver

import (
	"context"
	"fmt"
	"strings"

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
	out := listWebhooksOut{uid, showAll(found, showWebhook)}
	return out, lines("The factory has no webhooks.", out.Webhooks, webhookWords, ""), err
}

func webhookWords(w *Webhook) string {
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
	return line
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

// Automation is an automation as the tools show it.
type Automation struct {
	UID      string              `json:"uid"`
	Name     string              `json:"name"`
	Enabled  bool                `json:"enabled"`
	Agent    string              `json:"agent,omitempty" doc:"The name of its agent; absent for the foreman."`
	Triggers []AutomationTrigger `json:"triggers"`
	Prompt   string              `json:"prompt" doc:"The beginning of its agent's task."`
}

// AutomationTrigger is what starts an automation.
type AutomationTrigger struct {
	Provider string `json:"provider"`
	Event    string `json:"event"`
}

type (
	listAutomationsIn struct {
		FactoryRef
		Limit  int    `json:"limit,omitempty" default:"50" minimum:"1" maximum:"100"`
		Cursor string `json:"cursor,omitempty" maxLength:"4096" doc:"next_cursor of the page before."`
	}
	listAutomationsOut struct {
		FactoryUID  string       `json:"factory_uid"`
		Automations []Automation `json:"automations"`
		Paging
	}
)

func (s *Server) listAutomations(ctx context.Context, c *call, in listAutomationsIn) (listAutomationsOut, string, error) {
	uid, err := s.factoryUID(ctx, c, in.Factory)
	if err != nil {
		return listAutomationsOut{}, "", err
	}
	automations, paging, text, err := showPage(showAutomation, automationWords, "The factory has no automations.")(
		s.Control.ListAutomations(ctx, c.Caller, uid, in.Limit, in.Cursor))
	return listAutomationsOut{uid, automations, paging}, text, err
}

func showAutomation(a *lineshaft.Automation) Automation {
	out := Automation{UID: a.UID, Name: a.Name, Enabled: a.Enabled, Agent: a.Agent, Triggers: []AutomationTrigger{}, Prompt: shorten(a.Prompt, 1<<10)}
	for i := range a.Triggers {
		out.Triggers = append(out.Triggers, AutomationTrigger{a.Triggers[i].Provider, a.Triggers[i].Event})
	}
	return out
}

func automationWords(a *Automation) string {
	var on []string
	for _, t := range a.Triggers {
		on = append(on, t.Provider+"/"+t.Event)
	}
	line := fmt.Sprintf("%s (uid %s), on %s", quoted(a.Name), a.UID, strings.Join(on, ", "))
	if a.Agent != "" {
		line += ", agent " + quoted(a.Agent)
	}
	if !a.Enabled {
		line += ", disabled"
	}
	return line
}
