package hooks

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) startRoutes() []page.Route {
	return []page.Route{
		page.Get("/start", edit, page.ShowOf("start", s.startData, startPage)),
		page.Post("/start", edit, page.With(s.startData, s.startAll)),
	}
}

// startData is the form that makes all that a webhook needs to start a run.
type startData struct {
	// Factories are those that can be edited here; none chosen makes a new one.
	Factories []lineshaft.Factory
	Kinds     []WebhookKind

	Factory, Name, Kind, Prompt string
}

// commonKinds are what people ask for first.
var commonKinds = []string{"github", "gitlab", "token", "slack", "linear", "sentry", "stripe", "pagerduty"}

// commonFirst puts the kinds that most people look for before the others.
func commonFirst(kinds []WebhookKind) []WebhookKind {
	place := func(k WebhookKind) int {
		if at := slices.Index(commonKinds, k.Name); at >= 0 {
			return at
		}
		return len(commonKinds)
	}
	slices.SortStableFunc(kinds, func(a, b WebhookKind) int { return place(a) - place(b) })
	return kinds
}

func startPage(data startData) page.Page {
	return page.Below("webhooks", "Start runs from a webhook", data)
}

func (s pages) startData(r *page.Request) (startData, error) {
	found, err := s.Control.ListFactories(r.Context(), r.Caller, factories.FactoryQuery{Limit: mostFactories})
	data := startData{Kinds: commonFirst(WebhookKinds()), Kind: "github", Name: "My first factory", Prompt: "Read event-payload.json and say in a few lines what happened.\n\n```sh\nhead -c 2000 event-payload.json\n```\n"}
	for _, f := range found.Factories {
		if f.Mode != lineshaft.ModeRepository {
			data.Factories = append(data.Factories, f)
		}
	}
	return data, err
}

// startAll makes a factory, a webhook and an automation that listens to it. Everything that can
// be checked is checked before the first of them is made.
func (s pages) startAll(r *page.Request, data startData) error {
	data.Factory, data.Name, data.Kind, data.Prompt = r.Text("factory"), r.Text("name"), r.Text("kind"), r.PostFormValue("prompt")
	kind, err := kindNamed(data.Kind)
	if err != nil {
		return err
	}
	if strings.TrimSpace(data.Prompt) == "" {
		return r.Again("start", startPage(data), lineshaft.Invalid("prompt", "say what the agent should do with a delivery"))
	}
	f, err := s.startFactory(r, data)
	if err != nil {
		return r.Again("start", startPage(data), err)
	}
	name, err := s.freeName(r, f.UID, kind)
	if err != nil {
		return err
	}
	made, err := s.Control.CreateWebhook(r.Context(), r.Caller, f.UID, factories.NewWebhook{Name: name, AuthMode: kind.AuthMode, SignatureScheme: kind.Scheme})
	if err != nil {
		return r.Again("start", startPage(data), err)
	}
	_, err = s.Control.CreateAutomation(r.Context(), r.Caller, f.UID, lineshaft.Automation{
		Name: "on-" + made.Webhook.Name, Prompt: data.Prompt, Enabled: true,
		Triggers: []lineshaft.Trigger{{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{WebhookIDs: []string{made.Webhook.UID}}}},
	})
	if err != nil {
		return err
	}
	return s.showIssued(r, issued{IssuedWebhook: made, Factory: f, New: true, Listens: true})
}

func (s pages) startFactory(r *page.Request, data startData) (*lineshaft.Factory, error) {
	if data.Factory != "" {
		return s.Control.GetFactory(r.Context(), r.Caller, data.Factory)
	}
	return s.Control.CreateFactory(r.Context(), r.Caller, factories.NewFactory{Name: data.Name})
}

// unreachable says that an address leads to this machine or this network only: services
// outside cannot send to it.
func unreachable(address string) bool {
	at, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := at.Hostname()
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified())
}
