package web_test

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/ingress"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/web"
)

// open lets the pages of h send to its webhooks, as a server does.
func (h *hooked) open() {
	h.Helper()
	h.site = h.site.withDeps(func(d *web.Deps) {
		d.SendTest = ingress.New(ingress.Deps{Control: h.control, BaseURL: d.WebhookBaseURL, ErrorBase: d.BaseURL}).SendTest
	})
	h.signIn(h.key)
	if err := h.control.RefreshHooks(h.Context()); err != nil {
		h.Fatal(err)
	}
}

// typed is what the form of a test event has in it.
func (h *hooked) typed(at string) url.Values {
	h.Helper()
	text := h.shows(at, "Send test event", "{{id}}")
	area := regexp.MustCompile(`(?s)<textarea id="body"[^>]*>(.*?)</textarea>`).FindStringSubmatch(text)
	if area == nil {
		h.Fatal("no payload to edit")
	}
	form := url.Values{"body": {strings.NewReplacer("&#34;", `"`, "&lt;", "<", "&gt;", ">", "&#39;", "'", "&amp;", "&").Replace(area[1])}}
	if event := regexp.MustCompile(`name="event" value="([^"]*)"`).FindStringSubmatch(text); event != nil {
		form.Set("event", event[1])
	}
	return form
}

// A test event of every kind of webhook is accepted like a delivery of its sender, and starts
// what it would start.
func TestI2TestEventOfEverySender(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	kinds := []factories.NewWebhook{{Name: "t", AuthMode: lineshaft.AuthToken}}
	kinds = append(kinds, factories.NewWebhook{Name: "u", AuthMode: lineshaft.AuthURLToken, ReplayGuard: true})
	for _, scheme := range signature.Schemes() {
		secret := cmp.Or(signature.Generate(scheme.Name), strings.Repeat("ab", 16))
		n := factories.NewWebhook{Name: scheme.Name, AuthMode: lineshaft.AuthSignature, SignatureScheme: scheme.Name, Secret: &secret}
		if scheme.Name == "hmac" {
			n.HMAC = lineshaft.WebhookHMAC{Header: "X-Sig", Digest: "sha256", Encoding: "hex", Template: "{id}.{timestamp}.{body}"}
			n.HMAC.TimestampHeader, n.HMAC.IDHeader = "X-At", "X-No"
		}
		if scheme.Name != "discord" { // only Discord has the key
			kinds = append(kinds, n)
		}
	}
	for i, n := range kinds {
		factory := h.factory
		if i%15 == 0 { // a factory has a limit
			factory = h.site.factory("more " + n.Name).UID
		}
		h.factory = factory
		made, err := h.control.CreateWebhook(t.Context(), h.admin, factory, n)
		if err != nil {
			t.Fatal(n.Name, err)
		}
		h.hook, h.at = made, "/factories/"+factory+"/webhooks/"+made.UID
		h.automate("on "+n.Name, "")
		h.open()
		h.shows(h.at, h.at+"/test")
		form := h.typed(h.at + "/test")
		first := h.sends(h.at+"/test", form, http.StatusOK, "", "Sent, and answered with 202", "Started", "on "+n.Name)
		again := h.sends(h.at+"/test", form, http.StatusOK, "", "Started") // another one, not a duplicate
		if made.Secret != "" && strings.Contains(first+again, made.Secret) {
			t.Errorf("%s: the secret is on the page", n.Name)
		}
	}
}

func TestI2TestEventThatIsNotTaken(t *testing.T) {
	t.Parallel()
	secret := signature.Generate("github")
	h := newHooked(t, factories.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "github", Secret: &secret})
	h.automate("Only that", `{"action": ["opened"]}`)
	h.open()
	// An event like an earlier delivery has its payload and its event.
	form := url.Values{"body": {`{"action":"opened","id":"{{id}}"}`}, "event": {"issues"}}
	page := h.sends(h.at+"/test", form, http.StatusOK, "", "Started", "<dt>Event</dt><dd><bdi>issues</bdi>")
	like := regexp.MustCompile(`href="([^"]+/test\?like=[^"]+)"`).FindStringSubmatch(page)
	if like == nil {
		t.Fatal("no button for another like it")
	}
	h.shows(like[1], "opened", `value="issues"`)
	h.sends(h.at+"/test", url.Values{"body": {"{"}}, http.StatusBadRequest, "", "the webhook answered 400", "<textarea", ">{</textarea>")
	asked := access.AuditQuery{Limit: 10, Filter: lineshaft.AuditFilter{Action: "webhook.test"}}
	entries, err := h.control.ListAudit(t.Context(), h.admin, asked)
	if err != nil || len(entries.Entries) != 2 || entries.Entries[0].TargetID != h.hook.UID {
		t.Errorf("%+v, %v", entries, err)
	}
	off := factories.WebhookChange{Enabled: new(false)}
	if _, err := h.control.UpdateWebhook(t.Context(), h.admin, h.factory, h.hook.UID, off); err != nil {
		t.Fatal(err)
	}
	h.shows(h.at, "!"+h.at+"/test")
	h.sends(h.at+"/test", form, http.StatusConflict, "", "takes no deliveries now")
	h.as(lineshaft.RoleMember)
	if status, _, _ := h.post(h.at+"/test", form); status != http.StatusForbidden {
		t.Errorf("a member sends: %d", status)
	}
}
