package hooks

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// mostFactories is how many factories a webhook can be made in by choosing from a
// list; for more, the page of a factory leads there.
const mostFactories = 200

// chooseFactory is where a webhook begins that has no factory yet.
func (s pages) chooseFactory(r *page.Request) error {
	found, err := s.Control.ListFactories(r.Context(), r.Caller, factories.FactoryQuery{Limit: mostFactories})
	if err != nil {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(found.Factories), func(f lineshaft.Factory) bool { return f.Mode == lineshaft.ModeRepository })
	if len(open) == 1 && len(found.Factories) == 1 {
		http.Redirect(r.W, r.Request, page.FactoryAddress(open[0].UID)+"/webhooks/new", http.StatusSeeOther)
		return nil
	}
	return r.Render("webhookfactory", page.Below("webhooks", "New webhook", struct {
		Open []lineshaft.Factory
		All  int
	}{open, len(found.Factories)}))
}

type newWebhookData struct {
	Factory *lineshaft.Factory
	// Open are the kinds that any sender can use, Providers those of one each.
	Open      []WebhookKind
	Providers []WebhookKind
	Form      *hookForm
	// Kept are the names of secrets that people manage, if the reader may see them.
	Kept []string
	// Same is the webhook that has the name already.
	Same *hookView
}

func (d newWebhookData) At() string {
	return page.FactoryAddress(d.Factory.UID) + "/webhooks"
}

// hookForm is what was filled in. It never holds a secret.
type hookForm struct {
	Kind WebhookKind
	// From says where the secret comes from: make, own, kept or later.
	From       string
	Name       string
	SecretName string
	Options    hookOptions
}

// newWebhookPage is the first step, where it comes from, and with a kind the second.
func (s pages) newWebhookPage(r *page.Request, data newWebhookData) (p page.Page, err error) {
	if name := r.URL.Query().Get("kind"); name != "" {
		kind, err := kindNamed(name)
		if err != nil {
			return p, err
		}
		data.Form = &hookForm{Kind: kind, From: "make", Options: defaultOptions()}
		if kind.Issued {
			data.Form.From = "later"
		}
		if kind.SecretFirst {
			data.Form.From = "own"
		}
		if data.Form.Name, err = s.freeName(r, data.Factory.UID, kind); err != nil {
			return p, err
		}
	}
	return newWebhookView(data), nil
}

func newWebhookView(data newWebhookData) page.Page {
	return hookView{}.page("New webhook", factoryCrumbs(data.Factory), data)
}

func (s pages) newWebhookData(r *page.Request) (newWebhookData, error) {
	f, err := s.Control.GetFactory(r.Context(), r.Caller, r.PathValue("factory"))
	data := newWebhookData{Factory: f}
	for _, kind := range commonFirst(WebhookKinds()) {
		if kind.Open() {
			data.Open = append(data.Open, kind)
		} else {
			data.Providers = append(data.Providers, kind)
		}
	}
	if err != nil || !r.Caller.Role.May(lineshaft.PermissionSecrets) || len(r.Caller.FactoryUIDs) > 0 {
		return data, err
	}
	kept, err := s.Control.ListSecrets(r.Context(), r.Caller, lineshaft.SecretManaged, mostFactories, "")
	for _, secret := range kept.Items {
		data.Kept = append(data.Kept, secret.Name)
	}
	return data, err
}

func kindNamed(name string) (WebhookKind, error) {
	for _, kind := range WebhookKinds() {
		if kind.Name == name {
			return kind, nil
		}
	}
	return WebhookKind{}, lineshaft.NotFound("kind of webhook", name)
}

// freeName suggests a name that the factory does not have yet.
func (s pages) freeName(r *page.Request, factoryUID string, kind WebhookKind) (string, error) {
	hooks, err := s.Control.ListWebhooks(r.Context(), r.Caller, factoryUID)
	base := strings.ReplaceAll(kind.Name, "_", "-")
	name := base
	for n := 2; slices.ContainsFunc(hooks, func(w lineshaft.Webhook) bool { return w.Name == name }); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name, err
}

// createWebhook makes it and shows, this once, what the sender must know.
func (s pages) createWebhook(r *page.Request, data newWebhookData) error {
	kind, err := kindNamed(r.PostFormValue("kind"))
	if err != nil {
		return err
	}
	data.Form = &hookForm{
		Kind: kind, From: r.PostFormValue("from"), Name: r.Text("name"),
		SecretName: r.Text("secret_name"), Options: readOptions(r),
	}
	wanted, err := s.wantedWebhook(r, data.Form)
	if err != nil {
		return r.Again("webhooknew", newWebhookView(data), err)
	}
	made, err := s.Control.CreateWebhook(r.Context(), r.Caller, data.Factory.UID, wanted)
	if err != nil {
		data.Same = s.sameName(r, data)
		return r.Again("webhooknew", newWebhookView(data), err)
	}
	return s.showIssued(r, issued{IssuedWebhook: made, Factory: data.Factory, Given: wanted.Secret, New: true})
}

// sameName is the webhook that already has the name of a new one. Anyone who reloads the page
// that showed the secret sends the form again, and should find what was made.
func (s pages) sameName(r *page.Request, data newWebhookData) *hookView {
	hooks, err := s.Control.ListWebhooks(r.Context(), r.Caller, data.Factory.UID)
	if err != nil {
		return nil // the refusal alone says enough
	}
	for _, w := range hooks {
		if w.Name == data.Form.Name {
			return new(s.hookView(data.Factory, w))
		}
	}
	return nil
}

// wantedWebhook turns a filled-in form into what is asked for.
func (s pages) wantedWebhook(r *page.Request, form *hookForm) (factories.NewWebhook, error) {
	wanted := factories.NewWebhook{Name: form.Name, AuthMode: form.Kind.AuthMode, SignatureScheme: form.Kind.Scheme}
	change, err := form.Options.change(form.Kind.Scheme)
	if err != nil {
		return wanted, err
	}
	wanted.DeliveryIDHeader, wanted.ReplayGuard = *change.DeliveryIDHeader, *change.ReplayGuard
	wanted.RateLimit, wanted.MaxBodyBytes = change.RateLimit, change.MaxBodyBytes
	if change.HMAC != nil {
		wanted.HMAC = *change.HMAC
	}
	switch form.From {
	case "own":
		wanted.Secret, err = ownSecret(r, "paste the secret, or choose where else it comes from")
	case "kept":
		if form.SecretName == "" {
			return wanted, lineshaft.Invalid("secret_name", "name the secret, or choose where else it comes from")
		}
		if _, err := s.Control.GetSecret(r.Context(), r.Caller, form.SecretName); lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			return wanted, lineshaft.Invalid("secret_name", "there is no secret %s; create it first, on the Secrets page or with `lineshaft secret create`", form.SecretName)
		} else if err != nil {
			return wanted, err
		}
		wanted.SecretName = form.SecretName
	}
	return wanted, err
}
