package hooks

import (
	"net/http"
	"net/url"

	"github.com/lineshaft/lineshaft"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// ingressPath is where deliveries go, below the webhook base URL; the uid follows.
	ingressPath = "/webhooks/w/"
	// listedFactories is how many factories a page of webhooks goes through.
	listedFactories = 20
)

func (s pages) webhookRoutes() []page.Route {
	const all, one = "/factories/{factory}/webhooks", "/factories/{factory}/webhooks/{webhook}"
	return []page.Route{
		page.Get("/webhooks", see, page.Show("webhooks", s.webhooksPage)),
		page.Get("/webhooks/new", edit, s.chooseFactory),
		page.Get(all, see, s.webhooksOfFactory),
		page.Get(all+"/new", edit, page.ShowWith("webhooknew", s.newWebhookData, s.newWebhookPage)),
		page.Post(all, edit, page.With(s.newWebhookData, s.createWebhook)),
		page.Get(one, see, page.ShowWith("webhook", s.findLog, s.webhookPage)),
		page.Get(one+"/first", see, page.With(s.findHook, s.firstDelivery)),
		page.Get(one+"/edit", edit, page.ShowOf("webhookedit", s.findHook, editHookPage)),
		page.Post(one+"/edit", edit, page.With(s.findHook, s.editWebhook)),
		page.Post(one+"/enable", edit, page.With(s.findHook, s.switchWebhook(true, "Enabled. It accepts deliveries again."))),
		page.Post(one+"/disable", edit, page.With(s.findHook, s.switchWebhook(false, "Disabled. Senders get 404 from now on."))),
		page.Get(one+"/rotate", edit, page.ShowOf("webhookrotate", s.findHook, rotatePage)),
		page.Post(one+"/rotate", edit, page.With(s.findHook, s.rotateWebhook)),
		page.Get(one+"/test", edit, page.ShowWith("webhooktest", s.findHook, s.testPage)),
		page.Post(one+"/test", edit, page.With(s.findHook, s.sendTest)),
		page.Get(one+"/delete", edit, page.ShowWith("webhookdelete", s.findHook, s.deleteWebhookPage)),
		page.Post(one+"/delete", edit, page.With(s.findHook, s.deleteWebhook)),
	}
}

// hookView is a webhook as all of its pages show it.
type hookView struct {
	lineshaft.Webhook

	Factory *lineshaft.Factory
	Kind    WebhookKind
	// URL is where deliveries go; of a token in it there is only the place.
	URL string
	// At is the address of its page.
	At string
	// Gone says that it is deleted, and only its log is left.
	Gone bool
	// Unreachable says that its address leads to this machine or network only.
	Unreachable bool
}

// Editable says whether it is changed here, and not in a repository.
func (v hookView) Editable() bool { return v.Factory.Mode != lineshaft.ModeRepository && !v.Gone }

// Source is the repository that it is changed in.
func (v hookView) Source() string {
	if v.Factory.Repository == nil {
		return ""
	}
	return v.Factory.Repository.Source.URL
}

// page is a page of the webhook, with some steps to it.
func (v hookView) page(title string, crumbs page.Crumbs, data any) page.Page {
	return page.Page{Title: title, Section: "webhooks", Crumbs: crumbs, Data: data}
}

func factoryCrumbs(f *lineshaft.Factory) page.Crumbs {
	return page.Way("webhooks").To(f.Name, "/webhooks?factory="+f.UID)
}

// within are the crumbs of a page below the webhook's own.
func (v hookView) within() page.Crumbs { return factoryCrumbs(v.Factory).To(v.Name, v.At) }

// delivery is a delivery to the webhook.
func (v hookView) delivery(d lineshaft.Delivery) shownDelivery {
	return shownDelivery{Delivery: d, At: v.At + "/deliveries/" + d.ID, factory: v.Factory.UID}
}

func (s pages) hookView(f *lineshaft.Factory, w lineshaft.Webhook) hookView {
	v := hookView{
		Webhook: w, Factory: f, Kind: kindOf(w), Unreachable: unreachable(s.WebhookBaseURL), URL: s.WebhookBaseURL + ingressPath + w.UID, At: page.WebhookAddress(f.UID, w.UID),
	}
	if w.AuthMode == lineshaft.AuthURLToken {
		v.URL += "/{token}"
	}
	return v
}

// findHook reads the webhook that an address names.
func (s pages) findHook(r *page.Request) (hookView, error) {
	f, err := s.Control.GetFactory(r.Context(), r.Caller, r.PathValue("factory"))
	if err != nil {
		return hookView{}, err
	}
	w, err := s.Control.GetWebhook(r.Context(), r.Caller, f.UID, r.PathValue("webhook"))
	if err != nil {
		return hookView{}, err
	}
	return s.hookView(f, w), nil
}

// findLog is findHook that also finds what is left of deleted webhooks.
func (s pages) findLog(r *page.Request) (hookView, error) {
	v, err := s.findHook(r)
	if lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
		return v, err
	}
	f, factoryErr := s.Control.GetFactory(r.Context(), r.Caller, r.PathValue("factory"))
	if factoryErr != nil {
		return v, factoryErr
	}
	uid := r.PathValue("webhook")
	if _, listErr := s.Control.ListDeliveries(r.Context(), r.Caller, f.UID, uid, trigger.DeliveryQuery{Limit: 1}); listErr != nil {
		return v, err
	}
	v = s.hookView(f, lineshaft.Webhook{UID: uid, FactoryUID: f.UID, Name: "Deleted webhook"})
	v.Gone = true
	return v, nil
}

// listedHook is a row of the list.
type listedHook struct {
	hookView

	// Last is the newest delivery, if there is one.
	Last *shownDelivery
}

type hookGroup struct {
	Factory lineshaft.Factory
	Hooks   []listedHook
}

type webhooksData struct {
	page.Pager

	Groups []hookGroup
	// Several says that there is more than one factory to tell apart.
	Several   bool
	Chosen    string
	Factories []lineshaft.Factory
	New       string
	Count     int
}

func (s pages) webhooksPage(r *page.Request) (p page.Page, err error) {
	q := r.URL.Query()
	found, err := s.Control.ListFactories(r.Context(), r.Caller, controlfactories.FactoryQuery{Limit: listedFactories, Cursor: q.Get("cursor")})
	if err != nil {
		return p, err
	}
	data := webhooksData{Chosen: q.Get("factory"), Factories: found.Factories, New: "/webhooks/new"}
	data.Several = len(found.Factories) > 1 || found.Next != "" || q.Get("cursor") != ""
	shown := found.Factories
	if data.Chosen != "" {
		f, err := s.Control.GetFactory(r.Context(), r.Caller, data.Chosen)
		if err != nil {
			return p, err
		}
		shown, found.Next = []lineshaft.Factory{*f}, ""
		data.New = page.FactoryAddress(f.UID) + "/webhooks/new"
	}
	if data.Groups, err = s.hookGroups(r, shown); err != nil {
		return p, err
	}
	for _, group := range data.Groups {
		data.Count += len(group.Hooks)
	}
	data.Pager = r.Pager(found.Next)
	return page.Of("webhooks", data), nil
}

// hookGroups lists the webhooks of each factory, with the newest delivery of each.
func (s pages) hookGroups(r *page.Request, factories []lineshaft.Factory) ([]hookGroup, error) {
	hooks, err := s.Control.WebhooksOf(r.Context(), r.Caller, factories)
	if err != nil {
		return nil, err
	}
	last, err := s.Control.LastDeliveries(r.Context(), r.Caller, factories)
	groups := make([]hookGroup, len(factories))
	for i := range factories {
		f := &factories[i]
		groups[i].Factory = *f
		for _, hook := range hooks[f.UID] {
			row := listedHook{hookView: s.hookView(f, hook)}
			if d, ok := last[hook.UID]; ok {
				row.Last = new(row.delivery(d))
			}
			groups[i].Hooks = append(groups[i].Hooks, row)
		}
	}
	return groups, err
}

// webhooksOfFactory is where the address bar leads after a webhook was made.
func (s pages) webhooksOfFactory(r *page.Request) error {
	http.Redirect(r.W, r.Request, "/webhooks?factory="+url.QueryEscape(r.PathValue("factory")), http.StatusSeeOther)
	return nil
}

type webhookData struct {
	Hook      hookView
	Listeners []lineshaft.Automation
	// Script sends a delivery once the secret is put in.
	Script string
	// Event is what it sends, where senders name events.
	Event string
	Log   logData
}

func (s pages) webhookPage(r *page.Request, v hookView) (p page.Page, err error) {
	data := webhookData{Hook: v}
	if !v.Gone {
		if data.Listeners, err = s.Control.Listeners(r.Context(), r.Caller, v.Factory.UID, v.UID); err != nil {
			return p, err
		}
	}
	if v.Enabled {
		trial := webhookTrial{Webhook: v.Webhook, URL: s.WebhookBaseURL + ingressPath + v.UID}
		if data.Script, err = trial.Script(); err != nil {
			return p, err
		}
		data.Event = trial.Event()
	}
	data.Log, err = s.deliveryLog(r, v)
	return v.page(v.Name, factoryCrumbs(v.Factory), data), err
}

// hookKindName is how a sender of a webhook proves who it is, as the list of webhooks says it.
func hookKindName(w lineshaft.Webhook) string {
	kind := kindOf(w)
	if w.SignatureScheme != "" && !kind.Open() {
		return kind.Title + " signature"
	}
	return kind.Title
}
