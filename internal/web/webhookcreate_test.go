package web_test

import (
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/hooks"
)

// copied are the texts with a copy button, by label.
func copied(text string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`<pre tabindex="0" aria-label="([^"]*)">([^<]*)</pre>`).FindAllStringSubmatch(text, -1) {
		found[m[1]] = html.UnescapeString(m[2])
	}
	return found
}

func TestW3EveryKindIsMadeThroughTheForm(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	to := "/factories/" + h.factory + "/webhooks"
	_, _, cards := h.get(to + "/new")
	for i, kind := range hooks.WebhookKinds() {
		h.wants("cards", cards, `href="?kind=`+kind.Name+`"`)
		if i%18 == 17 { // a factory has at most 20
			f, err := h.control.CreateFactory(t.Context(), h.admin, factories.NewFactory{Name: "more"})
			if err != nil {
				t.Fatal(err)
			}
			to = "/factories/" + f.UID + "/webhooks"
		}
		_, _, form := h.get(to + "/new?kind=" + kind.Name)
		h.wants(kind.Name, form, `name="kind" value="`+kind.Name+`"`, kind.Title)
		from := "make"
		if kind.Issued {
			from = "later"
			h.lacks(kind.Name, form, "Generate one")
		}
		h.wants(kind.Name, form, `value="`+from+`"`)
		status, _, text := h.post(to, url.Values{"kind": {kind.Name}, "name": {"w " + kind.Name}, "from": {from}, "hmac_header": {"X-Sig"}})
		if status != http.StatusOK {
			t.Errorf("%s: %d\n%s", kind.Name, status, text)
			continue
		}
		shown := copied(text)
		if kind.Issued {
			h.wants(kind.Name, text, "Almost there", "Enter the secret")
			h.lacks(kind.Name, text, "Waiting for the first delivery", `aria-label="secret"`)
			continue
		}
		h.wants(kind.Name, text, "Waiting for the first delivery", "shown only once")
		if !strings.HasPrefix(shown["URL"], "https://hooks.example/webhooks/w/") || !strings.Contains(shown["test command"], "curl") {
			t.Errorf("%s: %q", kind.Name, shown)
		}
		if kind.AuthMode != lineshaft.AuthURLToken && (shown["secret"] == "" || !strings.Contains(shown["test command"], shown["secret"])) {
			t.Errorf("%s: the command has another secret: %q", kind.Name, shown)
		}
		if kind.AuthMode == lineshaft.AuthURLToken && !strings.Contains(shown["test command"], shown["URL"]) {
			t.Errorf("%s: the command has another URL: %q", kind.Name, shown)
		}
	}
	if status, _, _ := h.get(to + "/new?kind=nothing"); status != http.StatusNotFound {
		t.Errorf("an unknown kind: %d", status)
	}
}

// The secret is in the answer to the POST, uncompressed and not to be kept, and
// nowhere after.
func TestS5SecretIsShownOnce(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	to := "/factories/" + h.factory + "/webhooks"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+to, strings.NewReader(url.Values{"kind": {"token"}, "name": {"ci"}, "from": {"make"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := h.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Content-Encoding") != "" || len(res.Cookies()) != 0 {
		t.Errorf("headers %v", res.Header)
	}
	_, _, text := h.post(to, url.Values{"kind": {"token"}, "name": {"other"}, "from": {"make"}})
	secret := copied(text)["secret"]
	if len(secret) != 43 {
		t.Fatalf("secret %q", secret)
	}
	hooks, err := h.control.ListWebhooks(t.Context(), h.admin, h.factory)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range hooks {
		at := to + "/" + w.UID
		for _, path := range []string{"/webhooks", at, at + "/rotate", at + "/edit", at + "/delete", at + "/first", to + "/new?kind=token"} {
			_, _, text := h.get(path)
			h.lacks(path, text, secret)
		}
	}
}

func TestW4SecretFromElsewhere(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	to := "/factories/" + h.factory + "/webhooks"
	const own = "an-own-secret-of-enough-length"
	_, _, text := h.post(to, url.Values{"kind": {"github"}, "name": {"own"}, "from": {"own"}, "secret": {" " + own + "\n"}})
	h.wants("own", text, "PASTE THE SECRET HERE", "Put the secret in first")
	h.lacks("own", text, own, "shown only once")
	_, err := h.control.CreateSecret(t.Context(), h.admin, lineshaft.Secret{Name: "SHARED"}, own)
	if err != nil {
		t.Fatal(err)
	}
	_, _, form := h.get(to + "/new?kind=github")
	h.wants("form", form, `<option value="SHARED">`)
	h.lacks("form", form, `<option value="ISSUES_WEBHOOK_SECRET">`)
	_, _, text = h.post(to, url.Values{"kind": {"github"}, "name": {"kept"}, "from": {"kept"}, "secret_name": {"SHARED"}})
	h.wants("kept", text, "is ready", "PASTE THE SECRET HERE")
	hooks, err := h.control.ListWebhooks(t.Context(), h.admin, h.factory)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range hooks {
		if w.Name == "kept" && (w.SecretName != "SHARED" || w.OwnsSecret || !w.Enabled) {
			t.Errorf("webhook %+v", w)
		}
	}
}

// What is wrong with a form is said beside its field, what was filled in stays, and
// the secret does not.
func TestI2WebhookFormComesBack(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	to := "/factories/" + h.factory + "/webhooks"
	for name, tc := range map[string]struct {
		status int
		form   url.Values
		say    string
	}{
		"name":        {400, url.Values{"kind": {"token"}, "name": {"<b>no</b>"}, "from": {"make"}}, "file name"},
		"taken":       {409, url.Values{"kind": {"token"}, "name": {"issues"}, "from": {"make"}}, "has a webhook"},
		"short":       {400, url.Values{"kind": {"token"}, "name": {"x"}, "from": {"own"}, "secret": {"tooshortsecret"}}, "it needs at least"},
		"no secret":   {400, url.Values{"kind": {"token"}, "name": {"x"}, "from": {"own"}}, "paste the secret"},
		"no name":     {400, url.Values{"kind": {"github"}, "name": {"x"}, "from": {"kept"}}, "name the secret"},
		"unknown":     {400, url.Values{"kind": {"github"}, "name": {"x"}, "from": {"kept"}, "secret_name": {"NOBODY"}}, "no secret NOBODY"},
		"rate":        {400, url.Values{"kind": {"token"}, "name": {"x"}, "rate_limit": {"<i>"}}, "whole number"},
		"hmac header": {400, url.Values{"kind": {"hmac"}, "name": {"x"}, "from": {"make"}}, "name the header"},
		"kind":        {404, url.Values{"kind": {"nothing"}, "name": {"x"}}, "nothing"},
	} {
		status, _, text := h.post(to, tc.form)
		if status != tc.status {
			t.Errorf("%s: %d, want %d", name, status, tc.status)
		}
		h.wants(name, text, tc.say)
		h.lacks(name, text, "tooshortsecret", "<b>no</b>", "<i>")
		if tc.status != 404 {
			h.wants(name, text, `value="`+html.EscapeString(tc.form.Get("name"))+`"`)
		}
	}
	hooks, err := h.control.ListWebhooks(t.Context(), h.admin, h.factory)
	if err != nil || len(hooks) != 1 {
		t.Errorf("%d webhooks, %v", len(hooks), err)
	}
}

func TestI2SuggestedNameIsFree(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{Name: "url-token", AuthMode: lineshaft.AuthURLToken})
	_, _, text := h.get("/factories/" + h.factory + "/webhooks/new?kind=url_token")
	h.wants("form", text, `value="url-token-2"`)
}

// The page that waits shows what came: refused ones, then the first accepted.
func TestI2WaitForTheFirstDelivery(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	_, _, text := h.get(h.at + "/first")
	h.wants("at first", text, "Waiting for the first delivery", `hx-trigger="every 1s"`)
	if err := h.control.RefreshHooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	hook := h.control.Hook(t.Context(), h.hook.UID)
	if err := h.control.Reject(t.Context(), trigger.Rejected{Hook: hook, Status: lineshaft.DeliveryRejectedAuth, Source: netip.MustParseAddr("192.0.2.7"), Reason: "the token is <wrong>"}); err != nil {
		t.Fatal(err)
	}
	_, _, text = h.get(h.at + "/first")
	h.wants("after a refusal", text, "rejected (auth): the token is &lt;wrong&gt;", `hx-trigger="every 1s"`)
	first := h.deliver("1", "{}")
	_, _, text = h.get(h.at + "/first")
	h.wants("after one", text, "First delivery arrived", h.at+"/deliveries/"+first)
	h.lacks("after one", text, "hx-trigger")
	_, _, text = h.get(h.at + "/first?after=" + first)
	h.wants("after a rotation", text, "Waiting for the first delivery")
}

// W-5: the page with the secret that is loaded again sends the form again, and shows
// what exists.
func TestW5WebhookMadeTwiceLeadsToTheFirst(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	status, _, text := h.post("/factories/"+h.factory+"/webhooks", url.Values{"kind": {"token"}, "name": {"issues"}, "from": {"make"}})
	if status != http.StatusConflict {
		t.Errorf("status %d", status)
	}
	h.wants("form", text, "already exists", `href="`+h.at+`"`, `href="`+h.at+`/rotate"`)
}

// W-3: what GitHub and GitLab would send names its event, and the page says which.
func TestW3TestCommandsOfForgesNameTheirEvent(t *testing.T) {
	t.Parallel()
	for scheme, event := range map[string]string{"github": "X-GitHub-Event: push", "gitlab": "X-Gitlab-Event: Push Hook"} {
		h := newHooked(t, factories.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: scheme})
		_, name, _ := strings.Cut(event, ": ")
		_, _, text := h.get(h.at)
		h.wants(scheme, text, event, "<code>"+name+"</code>", "acme/shop")
	}
}
