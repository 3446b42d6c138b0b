package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

var (
	fieldName  = regexp.MustCompile(`<input[^>]* name="([^"]+)"[^>]*>`)
	fieldValue = regexp.MustCompile(` value="([^"]*)"`)
	textArea   = regexp.MustCompile(`(?s)<textarea[^>]* name="([^"]+)"[^>]*>(.*?)</textarea>`)
	choice     = regexp.MustCompile(`(?s)<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>`)
	chosen     = regexp.MustCompile(`<option(?: value="([^"]*)")?[^>]* selected`)
	editor     = regexp.MustCompile(`(?s)<form class="editor".*?</form>`)
)

// sent is the form of an editor as a browser would send it.
func sent(t *testing.T, page string) url.Values {
	t.Helper()
	plain := strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+", "&amp;", "&")
	page, form := editor.FindString(page), url.Values{}
	if page == "" {
		t.Fatal("the page has no editor")
	}
	for _, field := range fieldName.FindAllStringSubmatch(page, -1) {
		if strings.Contains(field[0], `type="checkbox"`) && !strings.Contains(field[0], " checked") {
			continue
		}
		value := ""
		if found := fieldValue.FindStringSubmatch(field[0]); found != nil {
			value = found[1]
		}
		form.Add(field[1], plain.Replace(value))
	}
	for _, area := range textArea.FindAllStringSubmatch(page, -1) {
		form.Add(area[1], strings.ReplaceAll(plain.Replace(area[2]), "\n", "\r\n"))
	}
	for _, list := range choice.FindAllStringSubmatch(page, -1) {
		value := ""
		if found := chosen.FindStringSubmatch(list[2]); found != nil {
			value = found[1]
		}
		form.Add(list[1], plain.Replace(value))
	}
	return form
}

// Opening an automation and saving it changes nothing of it.
func TestI2SavingTheEditorUnchangedChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleAdmin)
	hub, err := s.control.CreateWebhook(t.Context(), s.admin, s.factory, factories.NewWebhook{Name: "hub", AuthMode: lineshaft.AuthSignature, SignatureScheme: "github"})
	if err != nil {
		t.Fatal(err)
	}
	minutes := 20
	for name, n := range map[string]lineshaft.Automation{
		"by name": {Prompt: "one\ntwo\n\"three\" <b>&amp;", Enabled: true, Triggers: []lineshaft.Trigger{
			{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{Webhooks: []string{"issues"}, Payload: json.RawMessage(`{"a":["x: y","#",1.50],"b":{"not_in":[null,"null"]}}`)}},
		}},
		"by uid": {Prompt: "p", Triggers: []lineshaft.Trigger{
			{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{WebhookIDs: []string{s.hook.UID}}},
		}},
		"of each kind": {Prompt: "p", Title: "#{{payload.n}} <b>", Enabled: true, MaxRunsPerHour: 7, Agent: "foreman", Triggers: []lineshaft.Trigger{
			{Provider: "github", Event: "pull_request_*", Filter: lineshaft.TriggerFilter{Webhooks: []string{hub.Name}, Sets: map[string]*lineshaft.Choice{"labels": {In: []string{"bug"}, NotIn: []string{"wip"}}}}},
			{Provider: "gitlab", Event: "merge_request", Filter: lineshaft.TriggerFilter{Sets: map[string]*lineshaft.Choice{"repos": {In: []string{"acme/*"}}}}},
			{Provider: "schedule", Event: "cron_fired", Schedule: &lineshaft.Timing{Cron: "0 9 * * 1-5", Timezone: "Europe/Berlin", Overlap: "skip"}},
			{Provider: "run", Event: "finished", Filter: lineshaft.TriggerFilter{Sets: map[string]*lineshaft.Choice{"states": {In: []string{"FAILED"}}}}},
			{Provider: "jira", Event: "issue_created"},
		}},
		"with a model": {Prompt: "p", Triggers: []lineshaft.Trigger{{Provider: "run", Event: "finished"}}, Config: lineshaft.AgentConfig{ModelID: "m"}},
		"set up": {Prompt: "p", Enabled: true, Triggers: []lineshaft.Trigger{{Provider: "run", Event: "finished"}}, Config: lineshaft.AgentConfig{
			WorkerHost: "mac", TimeoutMinutes: &minutes, MaxAttempts: &minutes, Budget: &lineshaft.Budget{MaxTokens: 5},
			Harness: &lineshaft.HarnessConfig{Type: "codex", ModelID: "h"}, Concurrency: &lineshaft.Concurrency{Key: "k", Policy: lineshaft.PolicySkip},
		}},
	} {
		n.Name = name
		made, err := s.control.CreateAutomation(t.Context(), s.admin, s.factory, n)
		if err != nil {
			t.Fatal(name, err)
		}
		before, err := s.control.ExportDefinition(t.Context(), s.admin, s.factory)
		if err != nil {
			t.Fatal(err)
		}
		at := s.at() + "/" + made.UID
		status, to, page := s.post(at, sent(t, s.shows(at+"/edit")))
		if status != http.StatusOK || to != at {
			t.Errorf("%s: %d at %s\n%s", name, status, to, page)
			continue
		}
		after, err := s.control.ExportDefinition(t.Context(), s.admin, s.factory)
		if err != nil || !reflect.DeepEqual(after, before) {
			t.Errorf("%s was changed, %v:\n%s\nbefore:\n%s", name, err, after.Files["automations/"+name+"/automation.md"], before.Files["automations/"+name+"/automation.md"])
		}
	}
}

// The budget of each run is edited in dollars and tokens, and what limits nothing is no budget.
func TestI2TheBudgetOfRunsIsEdited(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleAdmin)
	made := must(s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{
		Name: "dear", Prompt: "p", Enabled: true, Triggers: []lineshaft.Trigger{{Provider: "run", Event: "finished"}},
		Config: lineshaft.AgentConfig{Budget: &lineshaft.Budget{MaxCostMicros: 1_234_567}},
	}))
	at := s.at() + "/" + made.UID
	save := func(cost, tokens string) (status int, page string) {
		t.Helper()
		form := sent(t, s.shows(at+"/edit", `name="max_cost"`, `name="max_tokens"`))
		form.Set("max_cost", cost)
		form.Set("max_tokens", tokens)
		status, _, page = s.post(at, form)
		return status, page
	}
	if form := sent(t, s.shows(at+"/edit")); form.Get("max_cost") != "1.234567" || form.Get("max_tokens") != "" {
		t.Errorf("the form has %v", form)
	}
	for _, one := range []struct {
		cost, tokens string
		want         *lineshaft.Budget
		shown        string
	}{
		{"$2.50", "100000", &lineshaft.Budget{MaxCostMicros: 2_500_000, MaxTokens: 100_000}, "$2.50 or 100,000 tokens"},
		{"", "7", &lineshaft.Budget{MaxTokens: 7}, "7 tokens"},
		{"", "", nil, "!Budget of a run"},
	} {
		if status, page := save(one.cost, one.tokens); status != http.StatusOK {
			t.Errorf("%q and %q: %d\n%s", one.cost, one.tokens, status, page)
		}
		if got := must(s.control.GetAutomation(t.Context(), s.admin, s.factory, made.UID)); !reflect.DeepEqual(got.Config.Budget, one.want) {
			t.Errorf("%q and %q: %+v", one.cost, one.tokens, got.Config.Budget)
		}
		s.shows(at, one.shown)
	}
	if status, page := save("2.50", "7"); status != http.StatusOK {
		t.Errorf("%d\n%s", status, page)
	}
	older := sent(t, s.shows(at+"/edit")) // from a page of an earlier version
	older.Del("max_cost")
	older.Del("max_tokens")
	older.Set("prompt", "another")
	status, _, page := s.post(at, older)
	got := must(s.control.GetAutomation(t.Context(), s.admin, s.factory, made.UID))
	if want := (lineshaft.Budget{MaxCostMicros: 2_500_000, MaxTokens: 7}); status != http.StatusOK || got.Prompt != "another" || got.Config.Budget == nil || *got.Config.Budget != want {
		t.Errorf("a form without a budget: %d, %q, %+v\n%s", status, got.Prompt, got.Config.Budget, page)
	}
	older.Set("name", "")
	if _, _, page := s.post(at, older); !strings.Contains(page, `value="2.5"`) || !strings.Contains(page, `value="7"`) {
		t.Errorf("such a form comes back without the budget:\n%s", page)
	}
	for _, wrong := range [][2]string{{"cheap", ""}, {"-1", ""}, {"", "1.5"}} {
		if status, page := save(wrong[0], wrong[1]); status != http.StatusBadRequest || !strings.Contains(page, `aria-invalid="true"`) {
			t.Errorf("%v: %d", wrong, status)
		}
	}
}

// The editor changes the title of runs, and the page shows it and what has no effect.
func TestW17TheTitleIsEdited(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleAdmin)
	made, err := s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{
		Name: "titled", Prompt: "p", Title: "Old", Triggers: []lineshaft.Trigger{{Provider: "factory", Event: "work_item_stage_changed"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := s.at() + "/" + made.UID
	form := sent(t, s.shows(at+"/edit"))
	if form.Get("title") != "Old" {
		t.Errorf("the form has %q", form.Get("title"))
	}
	form.Set("title", " Issue {{payload.n}} ")
	status, to, page := s.post(at, form)
	if status != http.StatusOK || to != at || !strings.Contains(page, "Issue {{payload.n}}") || !strings.Contains(page, "never fires") {
		t.Errorf("%d at %s\n%s", status, to, page)
	}
	if now, err := s.control.GetAutomation(t.Context(), s.admin, s.factory, made.UID); err != nil || now.Title != "Issue {{payload.n}}" {
		t.Errorf("%v %v", now, err)
	}
}

// Whatever a form holds is answered, and never with an error of the server.
func TestI2AnyFormIsAnswered(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	many := url.Values{}
	for range 50 {
		many.Add("trigger", "0")
	}
	for name, form := range map[string]url.Values{
		"empty":      {},
		"many":       many,
		"odd index":  {"trigger": {"<b>"}, "t<b>.provider": {"webhook"}},
		"no kind":    {"trigger": {"0"}, "t0.provider": {"nonsense"}, "t0.event": {"x"}},
		"odd do":     {"do": {"explode:now"}, "trigger": {"0"}},
		"huge index": {"do": {"remove:99999999999999999999"}},
		"not UTF-8":  {"name": {"\xff"}, "prompt": {"\x00"}, "trigger": {"0"}, "t0.provider": {"webhook"}, "t0.event": {"received"}, "t0.webhook": {"issues"}, "t0.filter": {"\xff: [1]"}},
	} {
		for _, path := range []string{s.at(), s.at() + "/draft"} {
			if status, _, page := s.post(path, form); status >= http.StatusInternalServerError || strings.Contains(page, "<b>.provider") {
				t.Errorf("%s to %s: %d", name, path, status)
			}
		}
	}
	list, err := s.control.ListAutomations(t.Context(), s.admin, s.factory, 5, "")
	if err != nil || len(list.Items) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if status, _, _ := s.post(s.at()+"/draft", url.Values{"uid": {"01890000-0000-7000-8000-000000000000"}}); status != http.StatusNotFound {
		t.Errorf("the draft of an automation that is not there: %d", status)
	}
}

// The pages of a webhook lead to an editor that has it ticked and can be saved, however
// the address names it.
func TestI2EditorBeginsWithTheWebhook(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	if _, err := s.control.CreateWebhook(t.Context(), s.admin, s.factory, factories.NewWebhook{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{s.hook.UID, s.hook.Name} {
		page := s.shows(s.at() + "/new?webhook=" + ref)
		form := sent(t, page)
		if got := form["t0.webhook"]; len(got) != 1 || got[0] != "issues" || strings.Contains(page, "(gone)") {
			t.Errorf("?webhook=%s ticks %q", ref, got)
		}
		form.Set("name", "by "+ref)
		form.Set("prompt", "Label it.")
		if status, at, text := s.post(s.at(), form); status != http.StatusOK || at == s.at() {
			t.Errorf("?webhook=%s: %d at %s\n%s", ref, status, at, text)
		}
	}
	page := s.shows("/factories/" + s.factory + "/webhooks/" + s.hook.UID)
	if !strings.Contains(page, "by issues") {
		t.Error("the automation does not listen to the webhook")
	}
}
