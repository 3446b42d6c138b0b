package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	controltrigger "github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/git"
	"github.com/lineshaft/lineshaft/internal/web"
)

// hooked is a site with a factory, a person signed in, and a webhook.
type hooked struct {
	*site
	factory string
	hook    factories.IssuedWebhook
	at      string
}

func newHooked(t *testing.T, n factories.NewWebhook) *hooked {
	t.Helper()
	s := newSite(t)
	s.signIn(s.key)
	h := &hooked{site: s}
	f, err := s.control.CreateFactory(t.Context(), s.admin, factories.NewFactory{Name: "works"})
	if err != nil {
		t.Fatal(err)
	}
	h.factory = f.UID
	if n.Name == "" {
		n.Name = "issues"
	}
	if h.hook, err = s.control.CreateWebhook(t.Context(), s.admin, f.UID, n); err != nil {
		t.Fatal(err)
	}
	h.at = "/factories/" + f.UID + "/webhooks/" + h.hook.UID
	return h
}

// automate adds an automation that listens to the webhook.
func (h *hooked) automate(name, filter string) *lineshaft.Automation {
	h.Helper()
	trigger := lineshaft.Trigger{
		Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived,
		Filter: lineshaft.TriggerFilter{WebhookIDs: []string{h.hook.UID}, Payload: []byte(filter)},
	}
	a, err := h.control.CreateAutomation(h.Context(), h.admin, h.factory, lineshaft.Automation{Name: name, Prompt: "do it", Enabled: true, Triggers: []lineshaft.Trigger{trigger}})
	if err != nil {
		h.Fatal(err)
	}
	return a
}

// deliver lets the webhook take a body, as the ingress does, and returns the id.
func (h *hooked) deliver(identity, body string) string {
	h.Helper()
	if err := h.control.RefreshHooks(h.Context()); err != nil {
		h.Fatal(err)
	}
	receipt, err := h.control.Accept(h.Context(), controltrigger.Received{
		Hook: h.control.Hook(h.Context(), h.hook.UID), Body: []byte(body), Identity: identity, IdentitySource: "header X-Id", RemoteAddr: "192.0.2.7",
	})
	if err != nil {
		h.Fatal(err)
	}
	return receipt.DeliveryID
}

func (h *hooked) wants(what, text string, parts ...string) {
	h.Helper()
	if _, inner, framed := strings.Cut(text, "<main"); framed { // the frame is the same everywhere
		text = inner
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			h.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func (h *hooked) lacks(what, text string, parts ...string) {
	h.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			h.Errorf("%s has %q:\n%s", what, part, text)
		}
	}
}

func (h *hooked) now() lineshaft.Webhook {
	h.Helper()
	w, err := h.control.GetWebhook(h.Context(), h.admin, h.factory, h.hook.UID)
	if err != nil {
		h.Fatal(err)
	}
	return w
}

func TestI2WebhookListTellsTheState(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	for _, n := range []factories.NewWebhook{
		{Name: "pay", AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe"},
		{Name: "off", AuthMode: lineshaft.AuthURLToken, Enabled: new(false)},
	} {
		if _, err := h.control.CreateWebhook(t.Context(), h.admin, h.factory, n); err != nil {
			t.Fatal(err)
		}
	}
	h.deliver("1", "{}")
	_, _, text := h.get("/webhooks")
	h.wants("list", text, "issues", "Bearer token", "Stripe signature", "Secret missing", "Disabled", "Token in the URL", "Not listened to", "no delivery yet", "New webhook")
	h.lacks("list of one factory", text, "All factories")
	other, err := h.control.CreateFactory(t.Context(), h.admin, factories.NewFactory{Name: "<b>other</b>"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, text = h.get("/webhooks")
	h.wants("list of two", text, "All factories", "works", "&lt;b&gt;other&lt;/b&gt;")
	_, _, text = h.get("/webhooks?factory=" + other.UID)
	h.lacks("list of the other", text, "Stripe signature")
	if status, _, _ := h.get("/webhooks?factory=nobody"); status != http.StatusNotFound {
		t.Errorf("unknown factory: %d", status)
	}
	if _, at, _ := h.get("/factories/" + h.factory + "/webhooks"); at != "/webhooks?factory="+h.factory {
		t.Errorf("the collection leads to %s", at)
	}
}

func TestI2WebhookListIsPaged(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	for i := range 24 {
		f, err := h.control.CreateFactory(t.Context(), h.admin, factories.NewFactory{Name: "f" + strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.control.CreateWebhook(t.Context(), h.admin, f.UID, factories.NewWebhook{Name: "hook" + strconv.Itoa(i) + "x"}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, first := h.get("/webhooks")
	next := regexp.MustCompile(`href="(/webhooks\?cursor=[^"]+)"`).FindStringSubmatch(first)
	if next == nil {
		t.Fatal("no way to the next page")
	}
	_, _, second := h.get(strings.ReplaceAll(next[1], "&amp;", "&"))
	rows := regexp.MustCompile(`<bdi>(hook\d+x|issues)</bdi>`)
	if a, b := len(rows.FindAllString(first, -1)), len(rows.FindAllString(second, -1)); a != 20 || b != 5 {
		t.Errorf("pages of %d and %d", a, b)
	}
}

func TestI2NoFactoryNoWebhook(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	h := &hooked{site: s}
	for _, path := range []string{"/webhooks", "/webhooks/new"} {
		_, _, text := s.get(path)
		h.wants(path, text, "Create a factory first", "/factories/new", "lineshaft factory create")
	}
	f, err := s.control.CreateFactory(t.Context(), s.admin, factories.NewFactory{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, text := s.get("/webhooks")
	h.wants("list", text, "No webhooks yet", "lineshaft webhook create")
	if _, at, _ := s.get("/webhooks/new"); at != "/factories/"+f.UID+"/webhooks/new" {
		t.Errorf("with one factory there is nothing to choose: %s", at)
	}
	if _, err := s.control.CreateFactory(t.Context(), s.admin, factories.NewFactory{Name: "two"}); err != nil {
		t.Fatal(err)
	}
	_, at, text := s.get("/webhooks/new")
	h.wants("choice at "+at, text, "Which factory", "one", "two")
	h.as(lineshaft.RoleViewer)
	_, _, text = s.get("/webhooks")
	h.wants("list of a viewer", text, "role manager can create one")
	h.lacks("list of a viewer", text, "New webhook", "/webhooks/new")
}

func TestI2WebhookPageTellsWhatItIs(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{AuthMode: lineshaft.AuthURLToken, DeliveryIDHeader: "X-Own", ReplayGuard: true, RateLimit: new(0)})
	a := h.automate("Triage", "")
	status, _, text := h.get(h.at)
	if status != http.StatusOK {
		t.Fatal(status)
	}
	h.wants("page", text, "https://hooks.example/webhooks/w/"+h.hook.UID+"/{token}", "X-Own", "Replay guard", "any number per minute",
		"/factories/"+h.factory+"/automations/"+a.UID, "No deliveries yet", "ISSUES_WEBHOOK_SECRET", "PASTE THE SECRET HERE")
	h.lacks("page", text, h.hook.Secret)
	for _, path := range []string{"/factories/" + h.factory + "/webhooks/nobody", "/factories/nobody/webhooks/" + h.hook.UID} {
		if status, _, _ := h.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// Every route of webhooks and deliveries asks for its permission: anyone who has none
// gets 403 for each change, and sees no button for it.
func TestS3WebhookRoutesByRole(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	h.automate("Triage", "")
	delivery := h.deliver("1", `{"a": 1}`)
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember} {
		h.as(role)
		for _, path := range []string{h.at, h.at + "/deliveries/" + delivery, "/webhooks"} {
			status, _, text := h.get(path)
			if status != http.StatusOK {
				t.Errorf("%s: %s: %d", role, path, status)
			}
			h.lacks(path, text, "/rotate", "/delete", "/disable", "/edit", "/redeliver", "New webhook", "New automation")
		}
		for _, r := range web.Routes() {
			if r.Needs != lineshaft.PermissionFactoriesManage || !strings.Contains(r.Pattern, "webhook") {
				continue
			}
			method, path, _ := strings.Cut(r.Pattern, " ")
			path = strings.NewReplacer("{factory}", h.factory, "{webhook}", h.hook.UID, "{delivery}", delivery).Replace(path)
			if status, _, _ := h.do(method, path, url.Values{"kind": {"token"}, "name": {"x"}}, nil); status != http.StatusForbidden {
				t.Errorf("%s: %s: %d, want 403", role, r.Pattern, status)
			}
		}
	}
	if w := h.now(); !w.Enabled || w.UpdatedAt != h.hook.UpdatedAt {
		t.Errorf("it was changed: %+v", w)
	}
	h.as(lineshaft.RoleManager)
	_, _, text := h.get(h.at)
	h.wants("page of a manager", text, "/rotate", "/delete", "/disable", "/edit")
}

func TestW5SwitchOffAndOn(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	_, at, text := h.post(h.at+"/disable", nil)
	h.wants("after disable at "+at, text, "Disabled. Senders get 404", "Enable</button>")
	if h.now().Enabled {
		t.Error("it is enabled")
	}
	_, _, text = h.post(h.at+"/enable", nil)
	h.wants("after enable", text, "accepts deliveries again", "Disable</button>")
	waiting, err := h.control.CreateWebhook(t.Context(), h.admin, h.factory, factories.NewWebhook{Name: "pay", AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe"})
	if err != nil {
		t.Fatal(err)
	}
	if status, _, text := h.post("/factories/"+h.factory+"/webhooks/"+waiting.UID+"/enable", nil); status != http.StatusConflict {
		t.Errorf("without its secret: %d\n%s", status, text)
	}
}

func TestW5DeleteNamesWhatFallsSilent(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	h.automate("Triage", "")
	h.automate("Notify", "")
	delivery := h.deliver("1", `{"a": 1}`)
	_, _, text := h.get(h.at + "/delete")
	h.wants("question", text, "2 automations get no more deliveries from it", "Triage", "Notify")
	_, at, text := h.post(h.at+"/delete", nil)
	h.wants("after at "+at, text, "is deleted")
	// The log can still be read, and nothing be done with it.
	_, _, text = h.get(h.at)
	h.wants("page", text, "This webhook is deleted", "2 started")
	h.lacks("page", text, "/rotate", "hx-trigger=\"every")
	status, _, text := h.get(h.at + "/deliveries/" + delivery)
	if status != http.StatusOK {
		t.Errorf("delivery: %d", status)
	}
	h.lacks("delivery", text, "/redeliver")
	for _, path := range []string{"/delete", "/rotate", "/enable", "/edit"} {
		if status, _, _ := h.post(h.at+path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestI2WebhookSettings(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "hmac", HMAC: lineshaft.WebhookHMAC{Header: "X-Sig"}})
	_, _, text := h.get(h.at + "/edit")
	h.wants("form", text, `value="X-Sig"`, `value="60"`, `value="262144"`)
	form := url.Values{"hmac_header": {"X-Other"}, "rate_limit": {"5"}, "max_body_bytes": {"1000"}, "delivery_id_header": {"X-Id"}, "replay_guard": {"1"}}
	_, at, _ := h.post(h.at+"/edit", form)
	if w := h.now(); at != h.at || w.HMAC.Header != "X-Other" || w.RateLimit != 5 || w.MaxBodyBytes != 1000 || w.DeliveryIDHeader != "X-Id" || !w.ReplayGuard {
		t.Errorf("at %s: %+v", at, w)
	}
	for field, value := range map[string]string{"rate_limit": "many", "max_body_bytes": "99999999", "hmac_header": "not a header", "hmac_template": "{nobody}", "delivery_id_header": "Cookie"} {
		wrong := url.Values{"hmac_header": {"X-Sig"}, "rate_limit": {"5"}, "max_body_bytes": {"1000"}}
		wrong.Set(field, value)
		status, _, text := h.post(h.at+"/edit", wrong)
		if status != http.StatusBadRequest {
			t.Errorf("%s: %d", field, status)
		}
		h.wants(field, text, `value="`+value+`"`, `aria-invalid="true"`)
	}
}

// F-5: what follows a repository has no buttons, and a forged request gets 409.
func TestF5WebhookOfARepository(t *testing.T) {
	t.Parallel()
	client, err := git.New(git.Config{Cache: t.TempDir(), AllowFile: true})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(cfg *base.Config) { cfg.Git = client })
	s.signIn(s.key)
	h := &hooked{site: s}
	f, err := s.control.CreateFactory(t.Context(), s.admin, factories.NewFactory{Name: "works"})
	if err != nil {
		t.Fatal(err)
	}
	h.factory = f.UID
	if h.hook, err = s.control.CreateWebhook(t.Context(), s.admin, f.UID, factories.NewWebhook{Name: "issues"}); err != nil {
		t.Fatal(err)
	}
	h.at = "/factories/" + f.UID + "/webhooks/" + h.hook.UID
	const source = "https://git.example/owner/repo.git"
	if _, err := s.control.UpdateFactory(t.Context(), s.admin, f.UID, factories.FactoryChange{Repository: &lineshaft.GitSource{URL: source, Branch: "main"}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{h.at, h.at + "/rotate", h.at + "/delete", h.at + "/edit", "/factories/" + f.UID + "/webhooks/new"} {
		_, _, text := s.get(path)
		h.wants(path, text, "follows a repository", `href="`+source+`"`)
		h.lacks(path, text, `href="`+h.at+`/rotate"`, `href="`+h.at+`/delete"`, "<form method=\"post\" class=")
	}
	for path, form := range map[string]url.Values{
		h.at + "/rotate": {"from": {"make"}}, h.at + "/disable": nil, h.at + "/delete": nil,
		h.at + "/edit": {"rate_limit": {"1"}}, "/factories/" + f.UID + "/webhooks": {"kind": {"token"}, "name": {"x"}, "from": {"make"}},
	} {
		status, _, text := s.post(path, form)
		if status != http.StatusConflict {
			t.Errorf("%s: %d", path, status)
		}
		h.wants(path, text, source)
	}
	_, _, text := s.get("/webhooks/new")
	h.wants("choice", text, "Every factory follows a repository")
}
