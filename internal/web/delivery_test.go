package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

func TestW11DeliveryPageTellsWhatCameOfIt(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	triage := h.automate("Triage", "")
	picky := h.automate("Picky", `{"action": ["opened"]}`)
	delivery := h.deliver("first-of-all", `{"action":"closed","n":[1,{}]}`)
	at := h.at + "/deliveries/" + delivery
	runs, err := h.control.ListRuns(t.Context(), h.admin, lineshaft.RunQuery{Limit: 5})
	if err != nil || len(runs.Runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs.Runs), err)
	}
	_, _, text := h.get(at)
	h.wants("page", text, "Started", "first-of-all", "header X-Id", "192.0.2.7", delivery, "/runs/"+runs.Runs[0].ID, "Queued",
		"/automations/"+triage.UID, "/automations/"+picky.UID, "payload.action", "must be one of", "[&#34;opened&#34;]", "&#34;closed&#34;",
		`  <span class="key">&#34;action&#34;</span>: <span class="string">&#34;closed&#34;</span>,`+"\n", at+"/redeliver", at+"/payload", `hx-trigger="every 2s"`)
	// What a row opens to has the same, and outcomes stay current until the runs have ended.
	_, _, peek := h.get(at + "/peek")
	h.wants("peek", peek, "Triage", "Picky", "&#34;action&#34;", at)
	h.lacks("peek", peek, "<html")
	if _, err := h.control.Cancel(t.Context(), h.admin, runs.Runs[0].ID, false, nil); err != nil {
		t.Fatal(err)
	}
	_, _, outcomes := h.get(at + "/outcomes")
	h.wants("outcomes", outcomes, "Cancelled")
	h.lacks("outcomes", outcomes, "hx-trigger", "<html")
	for _, path := range []string{h.at + "/deliveries/nothing", h.at + "/deliveries/nothing/peek", h.at + "/deliveries/nothing/payload"} {
		if status, _, _ := h.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestW11RefusedAndDuplicateDeliveries(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	first := h.deliver("same", `{"a":1}`)
	h.deliver("same", `{"a":1}`)
	hook := h.control.Hook(t.Context(), h.hook.UID)
	for _, rejected := range []trigger.Rejected{
		{Status: lineshaft.DeliveryRejectedAuth, Reason: "a token in the wrong place"},
		{Status: lineshaft.DeliveryRejectedSize},
		{Status: lineshaft.DeliveryRejectedJSON},
	} {
		rejected.Hook, rejected.Size, rejected.Source = hook, 7, netip.MustParseAddr("192.0.2.9")
		if err := h.control.Reject(t.Context(), rejected); err != nil {
			t.Fatal(err)
		}
	}
	_, _, text := h.get(h.at)
	h.wants("log", text, "Duplicate", "nothing new to start", "Not listened to", "Rejected (auth)", "Rejected (too large)", "Rejected (invalid JSON)", first+"</code>", "a token in the wrong place", "too large", "no automation listens")
	found, err := h.control.ListDeliveries(t.Context(), h.admin, h.factory, h.hook.UID, trigger.DeliveryQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found.Items {
		at := h.at + "/deliveries/" + d.ID
		_, _, text := h.get(at)
		switch d.Status {
		case lineshaft.DeliveryDuplicate:
			h.wants("duplicate", text, h.at+"/deliveries/"+first, "no payload of its own")
		case lineshaft.DeliveryAccepted:
			continue
		default:
			h.wants("refused", text, "Payloads of rejected deliveries are not kept")
			h.lacks("refused", text, "failed to start", "Failed to start")
		}
		h.lacks(string(d.Status), text, at+"/redeliver", at+"/payload")
		for path, want := range map[string]int{"/payload": http.StatusNotFound, "/redeliver": http.StatusConflict} {
			if status, _, _ := h.get(at + path); status != want {
				t.Errorf("%s %s: %d", d.Status, path, status)
			}
		}
		if status, _, _ := h.post(at+"/redeliver", nil); status != http.StatusConflict {
			t.Errorf("redeliver %s: %d", d.Status, status)
		}
	}
}

// A payload is text, whatever it looks like: bounded on the page, whole in the
// download, and nothing a browser runs.
func TestX7PayloadIsText(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	long := strings.Repeat("x", 200<<10)
	evil := `{"a":"</pre><script>alert(1)</script><img src=x onerror=alert(2)>","b":"\u202e` + "\u202egnp.exe" + ` \u001b[31m","{}":"` + long + `"}`
	at := h.at + "/deliveries/" + h.deliver("<b>id</b>", evil)
	_, _, text := h.get(at)
	h.wants("page", text, "&lt;/pre&gt;&lt;script&gt;alert(1)", "&lt;b&gt;id&lt;/b&gt;", "This is the beginning")
	h.lacks("page", text, "<script>alert", "<img src=x", "<b>id</b>")
	if len(text) > 100<<10 {
		t.Errorf("the page has %d bytes", len(text))
	}
	_, _, peek := h.get(at + "/peek")
	h.lacks("peek", peek, "<script>alert", "<img src=x")
	if len(peek) > 10<<10 {
		t.Errorf("the peek has %d bytes", len(peek))
	}
	_, _, log := h.get(h.at)
	h.lacks("log", log, "<b>id</b>")
	res, err := h.browser.Get(h.url + at + "/payload")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != evil {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	head := res.Header
	if !strings.HasPrefix(head.Get("Content-Disposition"), "attachment") || head.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(head.Get("Content-Security-Policy"), "sandbox") || head.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", head)
	}
}

func TestH8DeliveriesArePagedAndLive(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	fresh := func(after string) (int, string, http.Header) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+h.at+"/deliveries?after="+after, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Hx-Request", "true")
		res, err := h.browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body), res.Header
	}
	if status, _, _ := fresh(""); status != http.StatusNoContent {
		t.Errorf("nothing yet: %d", status)
	}
	var ids []string
	for i := range 30 {
		ids = append(ids, h.deliver(fmt.Sprint("id", i), "{}"))
	}
	_, _, first := h.get(h.at)
	row := regexp.MustCompile(`<details class="delivery"`)
	next := regexp.MustCompile(`href="([^"]+cursor=[^"]+)"`).FindStringSubmatch(first)
	if n := len(row.FindAllString(first, -1)); n != 25 || next == nil {
		t.Fatalf("%d rows, next %v", n, next)
	}
	h.wants("first page", first, "after="+ids[29])
	_, _, second := h.get(next[1])
	if n := len(row.FindAllString(second, -1)); n != 5 {
		t.Errorf("%d rows on the second page", n)
	}
	h.lacks("second page", second, "every 2s")
	status, text, _ := fresh(ids[27])
	if n := len(row.FindAllString(text, -1)); status != http.StatusOK || n != 2 {
		t.Errorf("%d: %d new rows", status, n)
	}
	h.wants("new rows", text, ids[28], "after="+ids[29])
	if status, text, _ := fresh(ids[29]); status != http.StatusNoContent || text != "" {
		t.Errorf("nothing new: %d %q", status, text)
	}
	for _, after := range []string{"", ids[0]} { // the first of all, and more than fit
		if _, text, head := fresh(after); head.Get("Hx-Refresh") != "true" || text != "" {
			t.Errorf("after %q: %v", after, head)
		}
	}
	if _, at, _ := h.get(h.at + "/deliveries"); at != h.at {
		t.Errorf("without htmx one gets to %s", at)
	}
	if status, _, _ := h.get(h.at + "?cursor=garbage"); status != http.StatusBadRequest {
		t.Errorf("garbage: %d", status)
	}
}

func TestW15RedeliverTellsAndDoes(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	first := h.deliver("1", `{"action":"closed"}`)
	h.automate("Triage", "")
	h.automate("Picky", `{"action": ["opened"]}`)
	at := h.at + "/deliveries/" + first
	count := func() int {
		runs, err := h.control.ListRuns(t.Context(), h.admin, lineshaft.RunQuery{Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		return len(runs.Runs)
	}
	_, _, text := h.get(at + "/redeliver")
	h.wants("dry run", text, "Would start 1 run", "would start", "Triage", "Picky", "not matched", "payload.action")
	if n := count(); n != 0 {
		t.Errorf("looking started %d runs", n)
	}
	_, second, text := h.post(at+"/redeliver", nil)
	h.wants("after", text, "Delivered again", "Redelivery of", `href="`+at+`"`)
	if n := count(); n != 1 || second == at {
		t.Errorf("%d runs, at %s", n, second)
	}
	// The chain leads back and forth.
	_, third, text := h.post(second+"/redeliver", nil)
	h.wants("chain", text, `href="`+second+`"`, `href="`+at+`"`)
	_, _, text = h.get(second)
	h.wants("middle", text, "Redelivered as", `href="`+third+`"`, "Redelivery of", `href="`+at+`"`)
	_, _, text = h.get(at)
	h.wants("origin", text, "Redelivered as", `href="`+second+`"`)
	h.lacks("origin", text, "Redelivery of")
}

func TestW9HandshakeIsNoDeliveryToRepeat(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "github"})
	if err := h.control.RefreshHooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	receipt, err := h.control.Accept(t.Context(), trigger.Received{Hook: h.control.Hook(t.Context(), h.hook.UID), Body: []byte(`{"zen":"x"}`), Identity: "p", Handshake: true, Event: "ping"})
	if err != nil {
		t.Fatal(err)
	}
	at := h.at + "/deliveries/" + receipt.DeliveryID
	_, _, text := h.get(at)
	h.wants("page", text, "handshake", "ping")
	h.lacks("page", text, at+"/redeliver")
	_, _, text = h.get(h.at + "/first")
	h.wants("wait", text, "handshake arrived", "The webhook works")
}

// W-5 over the page: at once, with an overlap, and what people manage themselves.
func TestW5RotateThroughThePage(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	_, _, text := h.post(h.at+"/rotate", url.Values{"from": {"make"}, "overlap_seconds": {"3600"}})
	fresh := copied(text)["secret"]
	h.wants("rotated", text, "New secret of", "The old secret works as well; it ends")
	if len(fresh) != 43 || fresh == h.hook.Secret || h.now().OldSecretUntil.IsZero() {
		t.Errorf("secret %q", fresh)
	}
	_, _, text = h.get(h.at)
	h.wants("page", text, "Old secret")
	h.lacks("page", text, fresh)
	status, _, text := h.post(h.at+"/rotate", url.Values{"from": {"make"}, "overlap_seconds": {"60"}})
	if status != http.StatusConflict {
		t.Errorf("a second overlap: %d", status)
	}
	h.wants("second overlap", text, "rotate without overlap")
	_, _, text = h.post(h.at+"/rotate", url.Values{"from": {"own"}, "secret": {"my-own-secret-that-is-long"}})
	h.wants("own", text, "The new secret is in effect")
	h.lacks("own", text, "my-own-secret")
	for name, form := range map[string]url.Values{
		"overlap": {"overlap_seconds": {"999999999"}}, "no number": {"overlap_seconds": {"soon"}}, "negative": {"overlap_seconds": {"-1"}},
		"empty": {"from": {"own"}}, "short": {"from": {"own"}, "secret": {"shortsecret"}},
	} {
		status, _, text := h.post(h.at+"/rotate", form)
		if status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
		h.lacks(name, text, "shortsecret")
	}
	if _, err := h.control.CreateSecret(t.Context(), h.admin, lineshaft.Secret{Name: "SHARED"}, "a-shared-secret-of-enough-length"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.control.UpdateWebhook(t.Context(), h.admin, h.factory, h.hook.UID, factories.WebhookChange{SecretName: new("SHARED")}); err != nil {
		t.Fatal(err)
	}
	_, _, text = h.get(h.at + "/rotate")
	h.wants("managed", text, "This is a managed secret", "lineshaft secret update SHARED --team")
	h.lacks("managed", text, `name="secret"`)
	if status, _, text := h.post(h.at+"/rotate", url.Values{"from": {"make"}}); status != http.StatusConflict || !strings.Contains(text, "lineshaft secret update SHARED") {
		t.Errorf("forged: %d\n%s", status, text)
	}
}

func TestW4FinishSetUp(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "stripe"})
	_, _, text := h.get(h.at)
	h.wants("page", text, "Secret missing", "Enter the secret", "It accepts them once its secret is entered")
	h.lacks("page", text, h.at+"/enable", "PASTE THE SECRET HERE")
	_, _, text = h.get(h.at + "/rotate")
	h.wants("form", text, "Finish set-up", "Save and enable", "Stripe then reveals")
	h.lacks("form", text, "Generate one", "The old secret")
	if status, _, _ := h.post(h.at+"/rotate", url.Values{"from": {"make"}}); status != http.StatusBadRequest || h.now().Enabled {
		t.Errorf("without a secret: %d", status)
	}
	_, _, text = h.post(h.at+"/rotate", url.Values{"from": {"own"}, "secret": {"whsec_of_stripe"}})
	h.wants("done", text, "The secret is stored", "Waiting for the first delivery", "PASTE THE SECRET HERE")
	h.lacks("done", text, "whsec_of_stripe")
	if w := h.now(); !w.Enabled || w.NeedsSecret {
		t.Errorf("webhook %+v", w)
	}
}

// The page of a run that a delivery started offers to redeliver, which works, and no rerun,
// which does not; once its webhook was deleted it offers neither.
func TestR13RunOfADeliveryIsRedelivered(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	h.automate("Triage", "")
	delivery := h.deliver("one", `{"a":1}`)
	runs, err := h.control.ListRuns(t.Context(), h.admin, lineshaft.RunQuery{Limit: 5})
	if err != nil || len(runs.Runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs.Runs), err)
	}
	run, redeliver := "/runs/"+runs.Runs[0].ID, h.at+"/deliveries/"+delivery+"/redeliver"
	_, _, text := h.get(run)
	h.lacks("live run", text, redeliver, run+"/rerun")
	if _, err := h.control.Cancel(t.Context(), h.admin, runs.Runs[0].ID, false, nil); err != nil {
		t.Fatal(err)
	}
	_, _, text = h.get(run)
	h.wants("ended run", text, redeliver)
	h.lacks("ended run", text, run+"/rerun")
	if status, _, _ := h.get(redeliver); status != http.StatusOK {
		t.Errorf("redeliver: %d", status)
	}
	h.as(lineshaft.RoleViewer)
	h.shows(run, "!cannot be run again", "!"+redeliver)
	h.as(lineshaft.RoleMember)
	h.shows(run, "It cannot be run again: a delivery started it, and only managers redeliver", "!"+redeliver)
	h.signIn(h.key)
	if err := h.control.DeleteWebhook(t.Context(), h.admin, h.factory, h.hook.UID); err != nil {
		t.Fatal(err)
	}
	_, _, text = h.get(run)
	if status, _, _ := h.get(redeliver); status == http.StatusOK != strings.Contains(text, redeliver) {
		t.Errorf("the page offers what answers %d", status)
	}
	h.wants("run of a deleted webhook", text, "It cannot be run again: its delivery is no longer kept, or its webhook was deleted")
}
