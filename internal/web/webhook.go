package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/lineshaft/lineshaft"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

const (
	// ingressPath is where deliveries go, below the webhook base URL; the uid follows.
	ingressPath = "/webhooks/w/"
	// listedFactories is how many factories a page of webhooks goes through.
	listedFactories = 20
)

func (s *server) webhookRoutes() []route {
	const one = " /factories/{factory}/webhooks/{webhook}"
	see, edit := lineshaft.PermissionFactoriesRead, lineshaft.PermissionFactoriesManage
	return []route{
		{"GET /webhooks", see, s.webhooksPage},
		{"GET /webhooks/new", edit, s.chooseFactory},
		{"GET /factories/{factory}/webhooks", see, s.webhooksOfFactory},
		{"GET /factories/{factory}/webhooks/new", edit, s.newWebhookPage},
		{"POST /factories/{factory}/webhooks", edit, s.createWebhook},
		{"GET" + one, see, s.webhookPage},
		{"GET" + one + "/first", see, s.firstDelivery},
		{"GET" + one + "/edit", edit, s.editWebhookPage},
		{"POST" + one + "/edit", edit, s.editWebhook},
		{"POST" + one + "/enable", edit, s.switchWebhook(true)},
		{"POST" + one + "/disable", edit, s.switchWebhook(false)},
		{"GET" + one + "/rotate", edit, s.rotatePage},
		{"POST" + one + "/rotate", edit, s.rotateWebhook},
		{"GET" + one + "/delete", edit, s.deleteWebhookPage},
		{"POST" + one + "/delete", edit, s.deleteWebhook},
	}
}

// hookView is a webhook as all of its pages show it.
type hookView struct {
	lineshaft.Webhook

	Factory *lineshaft.Factory
	Kind    webhookKind
	// URL is where deliveries go; of a token in it there is only the place.
	URL string
	// At is the address of its page.
	At string
	// Gone says that it is deleted, and only its log is left.
	Gone bool
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

func (v hookView) crumbs() []crumb {
	return []crumb{{"Webhooks", "/webhooks"}, {v.Factory.Name, "/webhooks?factory=" + v.Factory.UID}}
}

// within are the crumbs of a page below the webhook's own.
func (v hookView) within() []crumb { return append(v.crumbs(), crumb{v.Name, v.At}) }

func (s *server) hookView(f *lineshaft.Factory, w lineshaft.Webhook) hookView {
	v := hookView{Webhook: w, Factory: f, Kind: kindOf(w), URL: s.WebhookBaseURL + ingressPath + w.UID}
	v.At = "/factories/" + url.PathEscape(f.UID) + "/webhooks/" + url.PathEscape(w.UID)
	if w.AuthMode == lineshaft.AuthURLToken {
		v.URL += "/{token}"
	}
	return v
}

// findHook reads the webhook that an address names.
func (s *server) findHook(r *http.Request, c lineshaft.Caller) (hookView, error) {
	f, err := s.Control.GetFactory(r.Context(), c, r.PathValue("factory"))
	if err != nil {
		return hookView{}, err
	}
	w, err := s.Control.GetWebhook(r.Context(), c, f.UID, r.PathValue("webhook"))
	if err != nil {
		return hookView{}, err
	}
	return s.hookView(f, w), nil
}

// findLog is findHook for what is left of deleted webhooks, too.
func (s *server) findLog(r *http.Request, c lineshaft.Caller) (hookView, error) {
	v, err := s.findHook(r, c)
	if lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
		return v, err
	}
	f, factoryErr := s.Control.GetFactory(r.Context(), c, r.PathValue("factory"))
	if factoryErr != nil {
		return v, factoryErr
	}
	uid := r.PathValue("webhook")
	if _, listErr := s.Control.ListDeliveries(r.Context(), c, f.UID, uid, trigger.DeliveryQuery{Limit: 1}); listErr != nil {
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
	Groups []hookGroup
	// Several says that there is more than one factory to tell apart.
	Several   bool
	Chosen    string
	Factories []lineshaft.Factory
	New       string
	Next      string
	First     string
	Count     int
}

func (s *server) webhooksPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	q := r.URL.Query()
	found, err := s.Control.ListFactories(r.Context(), c, controlfactories.FactoryQuery{Limit: listedFactories, Cursor: q.Get("cursor")})
	if err != nil {
		return err
	}
	data := webhooksData{Chosen: q.Get("factory"), Factories: found.Factories, New: "/webhooks/new"}
	data.Several = len(found.Factories) > 1 || found.Next != "" || q.Get("cursor") != ""
	shown := found.Factories
	if data.Chosen != "" {
		f, err := s.Control.GetFactory(r.Context(), c, data.Chosen)
		if err != nil {
			return err
		}
		shown, found.Next = []lineshaft.Factory{*f}, ""
		data.New = "/factories/" + url.PathEscape(f.UID) + "/webhooks/new"
	}
	if data.Groups, err = s.hookGroups(r.Context(), c, shown); err != nil {
		return err
	}
	for _, group := range data.Groups {
		data.Count += len(group.Hooks)
	}
	if found.Next != "" {
		data.Next = "/webhooks?cursor=" + url.QueryEscape(found.Next)
	}
	if q.Get("cursor") != "" {
		data.First = "/webhooks"
	}
	return s.render(w, r, c, "webhooks", page{Title: "Webhooks", Section: "webhooks", Data: data})
}

// hookGroups lists the webhooks of each factory, with the newest delivery of each.
func (s *server) hookGroups(ctx context.Context, c lineshaft.Caller, factories []lineshaft.Factory) ([]hookGroup, error) {
	hooks, err := s.Control.WebhooksOf(ctx, c, factories)
	if err != nil {
		return nil, err
	}
	last, err := s.Control.LastDeliveries(ctx, c, factories)
	if err != nil {
		return nil, err
	}
	groups := make([]hookGroup, len(factories))
	for i := range factories {
		f := &factories[i]
		groups[i].Factory = *f
		for _, hook := range hooks[f.UID] {
			row := listedHook{hookView: s.hookView(f, hook)}
			if d, ok := last[hook.UID]; ok {
				row.Last = &shownDelivery{Delivery: d, At: row.At + "/deliveries/" + d.ID}
			}
			groups[i].Hooks = append(groups[i].Hooks, row)
		}
	}
	return groups, nil
}

// webhooksOfFactory is where the address bar leads after a webhook was made.
func (s *server) webhooksOfFactory(w http.ResponseWriter, r *http.Request, _ lineshaft.Caller) error {
	http.Redirect(w, r, "/webhooks?factory="+url.QueryEscape(r.PathValue("factory")), http.StatusSeeOther)
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

func (s *server) webhookPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findLog(r, c)
	if err != nil {
		return err
	}
	data := webhookData{Hook: v}
	if !v.Gone {
		if data.Listeners, err = s.Control.Listeners(r.Context(), c, v.Factory.UID, v.UID); err != nil {
			return err
		}
	}
	if v.Enabled {
		trial := webhookTrial{Webhook: v.Webhook, URL: s.WebhookBaseURL + ingressPath + v.UID}
		if data.Script, err = trial.Script(); err != nil {
			return err
		}
		data.Event = trial.Event()
	}
	if data.Log, err = s.deliveryLog(r, c, v); err != nil {
		return err
	}
	return s.render(w, r, c, "webhook", page{Title: v.Name, Section: "webhooks", Crumbs: v.crumbs(), Data: data})
}

// hookKindName is how a sender of a webhook proves who it is, as the list of webhooks says it.
func hookKindName(w lineshaft.Webhook) string {
	kind := kindOf(w)
	if w.SignatureScheme != "" && !kind.Open() {
		return kind.Title + " signature"
	}
	return kind.Title
}

// webAddress says whether an address can be opened in a browser.
func webAddress(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}
