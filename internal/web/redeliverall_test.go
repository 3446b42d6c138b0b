package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// ticked is what the form of a redelivery of many sends.
func (h *hooked) ticked(page string) url.Values {
	h.Helper()
	form := url.Values{}
	for _, name := range []string{"once", "back"} {
		found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
		if found == nil {
			h.Fatalf("no %s in\n%s", name, content(page))
		}
		form.Set(name, strings.ReplaceAll(found[1], "&amp;", "&"))
	}
	for _, found := range regexp.MustCompile(`name="delivery" value="([^"]*)" checked`).FindAllStringSubmatch(page, -1) {
		form.Add("delivery", found[1])
	}
	return form
}

// After a filter was fixed, all that it missed is delivered again, once.
func TestI2RedeliverAllThatMatch(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	far := h.another("Far away", "builds")
	triage := h.automate("Triage", `{"action": ["opened"]}`)
	first := h.deliver("one", `{"action":"closed"}`)
	h.deliver("two", `{"action":"closed","n":2}`)
	h.deliver("three", `{"action":"opened"}`) // starts
	other := far.deliver("four", `{"action":"closed"}`)
	h.refuse("no token")
	if h.lastRun().Title == "" || h.runs() != 1 {
		t.Fatal("not one run to begin with")
	}
	// Nothing would start: the page says so, and looking changes nothing.
	at := h.at + "?only=unmatched"
	link := regexp.MustCompile(`href="(/deliveries/redeliver[^"]*)"`).FindStringSubmatch(h.shows(at, "Redeliver all that match"))
	ask := strings.ReplaceAll(link[1], "&amp;", "&")
	h.shows(ask, "Redeliver 2 deliveries?", first, "would start nothing", "Triage", "!"+other, "!no token")
	triage.Triggers[0].Filter.Payload = []byte(`{"action": ["closed"]}`)
	fixed := factories.AutomationChange{Triggers: triage.Triggers}
	if _, err := h.control.UpdateAutomation(t.Context(), h.admin, h.factory, triage.UID, fixed); err != nil {
		t.Fatal(err)
	}
	page := h.shows(ask, "Redeliver 2 deliveries?", "would start 1 run", `<td class="num">2<span class="unit"> would start</span></td>`)
	if h.runs() != 1 {
		t.Fatalf("looking has made %d runs", h.runs())
	}
	form := h.ticked(page)
	if len(form["delivery"]) != 2 || form.Get("back") != at {
		t.Fatalf("%v", form)
	}
	h.sends("/deliveries/redeliver", form, http.StatusOK, at, "Redelivered 2 deliveries, which started 2 runs.")
	h.sends("/deliveries/redeliver", form, http.StatusOK, at, "Redelivered 2 deliveries") // the same form again
	if h.runs() != 3 {
		t.Errorf("%d runs, want 3", h.runs())
	}
	h.shows(ask, "Nothing to redeliver", "redelivered already")
	// Over all webhooks there is one left.
	page = h.shows("/deliveries/redeliver?only=unmatched", "Redeliver 1 delivery?", "It runs through", other,
		"2 others were redelivered already", "No automation listens")
	h.sends("/deliveries/redeliver", h.ticked(page), http.StatusOK, "/deliveries?only=unmatched", "which started 0 runs.")
}

// runs counts all runs.
func (s *site) runs() int {
	s.Helper()
	list, err := s.control.ListRuns(s.Context(), s.admin, lineshaft.RunQuery{Limit: 100})
	if err != nil {
		s.Fatal(err)
	}
	return len(list.Runs)
}

func TestH14RedeliverAllIsBounded(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{RateLimit: new(0)})
	var ids []string
	for i := range 55 {
		ids = append(ids, h.deliver("n"+strconv.Itoa(i), `{}`))
	}
	page := h.shows("/deliveries/redeliver", "Redeliver 50 deliveries?", "There may be more", ids[54], ids[5], "!"+ids[4])
	form := h.ticked(page)
	for range 2 {
		form.Add("delivery", form.Get("delivery"))
	}
	h.sends("/deliveries/redeliver", form, http.StatusBadRequest, "", "Choose 1 to 50 deliveries")
	for name, wrong := range map[string]url.Values{
		"none": {}, "no delivery": {"delivery": {"a/b"}}, "elsewhere": {"delivery": {"a/b/c"}, "back": {"https://evil.example/"}},
	} {
		if status, _, _ := h.post("/deliveries/redeliver", wrong); status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
	// What is gone meanwhile does not hold up the rest.
	mixed := url.Values{"delivery": {form.Get("delivery"), h.factory + "/" + h.hook.UID + "/gone"}}
	h.sends("/deliveries/redeliver", mixed, http.StatusOK, "/deliveries", "Redelivered 1 delivery", "1 could not be")
	// A key that sees another factory redelivers nothing here.
	other := h.another("Far away", "builds")
	h.as(lineshaft.RoleManager, other.factory)
	one := url.Values{"delivery": {form.Get("delivery")}}
	h.sends("/deliveries/redeliver", one, http.StatusOK, "/deliveries", "Redelivered 0 deliveries", "1 could not be")
	h.shows("/deliveries/redeliver", "Nothing to redeliver", "!"+ids[54])
}
