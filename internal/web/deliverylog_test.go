package web_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// another makes a second webhook like h, in a factory of its own if it has a name.
func (h *hooked) another(factory, name string) *hooked {
	h.Helper()
	other := &hooked{site: h.site, factory: h.factory}
	if factory != "" {
		other.factory = h.site.factory(factory).UID
	}
	made, err := h.control.CreateWebhook(h.Context(), h.admin, other.factory, factories.NewWebhook{Name: name})
	if err != nil {
		h.Fatal(err)
	}
	other.hook, other.at = made, "/factories/"+other.factory+"/webhooks/"+made.UID
	return other
}

// refuse logs a delivery that nobody could prove to have sent.
func (h *hooked) refuse(reason string) { h.refuseAs(lineshaft.DeliveryRejectedAuth, reason) }

func (h *hooked) refuseAs(status lineshaft.DeliveryStatus, reason string) {
	h.Helper()
	hook := h.control.Hook(h.Context(), h.hook.UID)
	rejected := trigger.Rejected{Status: status, Reason: reason, Hook: hook, Source: netip.MustParseAddr("192.0.2.9")}
	if err := h.control.Reject(h.Context(), rejected); err != nil {
		h.Fatal(err)
	}
}

func TestI2DeliveriesOfAllWebhooks(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	far := h.another("Far away", "builds")
	h.automate("Triage", "")
	far.automate("Picky", `{"action": ["opened"]}`)
	h.shows("/deliveries", "No deliveries yet") // its refusals need the hooks to be known
	started, missed := h.deliver("one", `{"action":"closed"}`), far.deliver("two", `{"action":"closed"}`)
	h.deliver("one", `{"action":"closed"}`)
	far.refuse("no signature")
	run := h.lastRun()
	atStarted, atMissed := h.at+"/deliveries/"+started, far.at+"/deliveries/"+missed
	text := h.shows("/deliveries", atStarted, atMissed, "Started", "Not matched", "Duplicate", "Rejected (auth)", "no signature",
		"/runs/"+run.ID, "<bdi>builds</bdi>",
		"<bdi>issues</bdi>", "Far away", `href="/deliveries?only=unmatched"`, `aria-current="page">`, `hx-get="/deliveries?after=`)
	if strings.Index(text, atMissed) > strings.Index(text, atStarted) {
		t.Error("older ones come first")
	}
	h.shows("/deliveries?only=started", atStarted, "!"+atMissed, "!no signature", "!hx-get=\"/deliveries?after")
	h.shows("/deliveries?only=unmatched", atMissed, "!"+atStarted, "!no signature")
	h.shows("/deliveries?only=refused", "no signature", "!"+atStarted, "!"+atMissed)
	h.shows("/deliveries?only=duplicate", "nothing new to start", "!"+atStarted, "!"+atMissed)
	h.shows("/deliveries?q=BUILDS", atMissed, "no signature", "!"+atStarted)
	h.shows("/deliveries?only=failed", "No matching deliveries")
	h.shows("/deliveries?factory="+far.factory, atMissed, "no signature", "!"+atStarted, "&amp;only=started",
		`name="factory" value="`+far.factory)
	if status, _, _ := h.get("/deliveries?only=else"); status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown list is %d", status)
	}
	if status, _, _ := h.get("/deliveries?factory=nobody"); status != http.StatusNotFound {
		t.Errorf("an unknown factory is %d", status)
	}
	// An open page gets what came since its newest.
	asked := map[string]string{"Hx-Request": "true"}
	status, _, fresh := h.do(http.MethodGet, "/deliveries?after="+url.QueryEscape(missed), nil, asked)
	whole := strings.Contains(fresh, atMissed) || strings.Contains(fresh, "<html")
	if status != http.StatusOK || whole || !strings.Contains(fresh, "nothing new to start") || !strings.Contains(fresh, "no signature") {
		t.Errorf("%d %s", status, fresh)
	}
	// A key that sees one factory sees its deliveries only, and may not ask for others.
	h.as(lineshaft.RoleViewer, far.factory)
	h.shows("/deliveries", atMissed, "no signature", "!"+atStarted, "!Triage")
	h.shows("/deliveries?only=refused", "no signature", "!"+atMissed)
	if status, _, _ := h.get("/deliveries?factory=" + h.factory); status != http.StatusNotFound {
		t.Errorf("a foreign factory is %d", status)
	}
}

// There is a list for each reason of a refusal, in the log of one webhook and of all.
func TestI2RefusedDeliveriesByReason(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	h.deliver("one", `{}`)
	h.refuse("the token is wrong")
	h.refuseAs(lineshaft.DeliveryRejectedJSON, "this is no JSON")
	h.refuseAs(lineshaft.DeliveryRejectedSize, "this is too much")
	all := []string{"the token is wrong", "this is no JSON", "this is too much"}
	for _, at := range []string{"/deliveries", h.at} {
		h.shows(at, "!aria-label=\"Reason\"")
		h.shows(at+"?only=refused", append(all, `aria-label="Reason"`, `href="`+at+`?only=refused" aria-current="page">Rejected`, `aria-current="page">All rejected`)...)
		for i, kind := range []string{"auth", "json", "size"} {
			want := []string{`href="` + at + `?only=refused-` + kind + `" aria-current="page"`, `aria-current="page">Rejected`, all[i]}
			for _, other := range all {
				if other != all[i] {
					want = append(want, "!"+other)
				}
			}
			h.shows(at+"?only=refused-"+kind, want...)
		}
		if status, _, _ := h.get(at + "?only=refused-else"); status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
			t.Errorf("an unknown reason is %d", status)
		}
	}
}

// A page of the log continues where it ended, over all webhooks.
func TestI2DeliveriesGoOnWhereAPageEnded(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{RateLimit: new(0)})
	far := h.another("", "builds")
	var ids []string
	for i := range 30 {
		ids = append(ids, []*hooked{h, far}[i%2].deliver("n"+strings.Repeat("x", i), `{}`))
	}
	text := h.shows("/deliveries", ids[29], ids[5], "!"+ids[4]+"</code>", "Older")
	_, rest, _ := strings.Cut(text, `<nav class="pager"`)
	_, rest, _ = strings.Cut(rest, `href="`)
	next, _, _ := strings.Cut(rest, `"`)
	h.shows(strings.ReplaceAll(next, "&amp;", "&"), ids[4], ids[0], "!"+ids[5]+"</code>", "Newest")
}

// The page of a delivery says what its sender got.
func TestI2DeliveryShowsOurAnswer(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	first := h.deliver("same", `{"a":1}`)
	h.deliver("same", `{"a":1}`)
	h.refuse("no token")
	answer := `202 Accepted {&#34;delivery_id&#34;:&#34;` + first + `&#34;}`
	h.shows(h.at+"/deliveries/"+first, "Our answer", answer)
	found, err := h.control.ListDeliveries(t.Context(), h.admin, h.factory, h.hook.UID, trigger.DeliveryQuery{Limit: 10})
	if err != nil || len(found.Items) != 3 {
		t.Fatal(found.Items, err)
	}
	for _, d := range found.Items {
		switch d.Status {
		case lineshaft.DeliveryDuplicate:
			h.shows(h.at+"/deliveries/"+d.ID, answer)
		case lineshaft.DeliveryRejectedAuth:
			h.shows(h.at+"/deliveries/"+d.ID, "401 Unauthorized")
		default:
			wanted := trigger.Redelivery{FactoryUID: h.factory, WebhookUID: h.hook.UID, DeliveryID: d.ID}
			again, err := h.control.Redeliver(t.Context(), h.admin, wanted, nil)
			if err != nil {
				t.Fatal(err)
			}
			h.shows(h.at+"/deliveries/"+again.DeliveryID, "Redelivery of", "!Our answer")
		}
	}
}
