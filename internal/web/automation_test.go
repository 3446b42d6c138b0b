package web_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// shop is a factory with a webhook.
type shop struct {
	*site
	factory string
	hook    lineshaft.Webhook
}

func newShop(t *testing.T, role lineshaft.Role) *shop {
	t.Helper()
	s := newSite(t).signedIn(role)
	f := s.factory("Shop")
	hook, err := s.control.CreateWebhook(t.Context(), s.admin, f.UID, factories.NewWebhook{Name: "issues"})
	if err != nil {
		t.Fatal(err)
	}
	return &shop{s, f.UID, hook.Webhook}
}

// deliver has the webhook accept a body and returns the delivery's id.
func (s *shop) deliver(body string) string {
	s.Helper()
	receipt, err := s.control.Accept(s.Context(), trigger.Received{
		Hook: s.control.Hook(s.Context(), s.hook.UID), Body: []byte(body), Identity: body, IdentitySource: "hash of the body", RemoteAddr: "192.0.2.1",
	})
	if err != nil {
		s.Fatal(err)
	}
	return receipt.DeliveryID
}

// typed is the form of an automation that listens to the webhook.
func typed(filter string) url.Values {
	return url.Values{
		"name": {"triage"}, "prompt": {"Label it."}, "enabled": {"true"}, "trigger": {"0"},
		"t0.provider": {"webhook"}, "t0.event": {"received"}, "t0.webhook": {"issues"}, "t0.filter": {filter},
	}
}

func (s *shop) at() string { return "/factories/" + s.factory + "/automations" }

// ask asks about a form that is not saved, as htmx does.
func (s *shop) ask(do string, form url.Values) string {
	s.Helper()
	form.Set("do", do)
	status, _, part := s.do(http.MethodPost, s.at()+"/draft", form, map[string]string{"Hx-Request": "true"})
	if status != http.StatusOK || strings.Contains(part, "<html") {
		s.Fatalf("%s: %d\n%s", do, status, part)
	}
	return part
}

func TestI2AutomationIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	s.shows("/automations", "No automations yet", "lineshaft automation create")
	if _, at, _ := s.get("/automations/new"); at != s.at()+"/new" {
		t.Errorf("with one factory one has to choose: %s", at)
	}
	s.shows(s.at()+"/new", "Create automation", "value=\"issues\" checked", "event-payload.json")
	form := typed("action: opened")
	form.Set("concurrency_key", "issue-{{payload.issue.number}}")
	form.Set("concurrency_policy", "followup")
	form.Set("max_runs_per_hour", "many")
	for _, wrong := range []string{"write a whole number", "line 1, column 1"} {
		status, _, page := s.post(s.at(), form)
		if status != http.StatusBadRequest || !strings.Contains(page, wrong) || !strings.Contains(page, "action: opened") {
			t.Errorf("%d without %q", status, wrong)
		}
		form.Set("max_runs_per_hour", "30")
	}
	form.Set("t0.filter", "action: [opened]\r\n# "+hostile)
	_, at, page := s.post(s.at(), form)
	for _, text := range []string{"The automation is created", "Webhook issues gets a delivery", "is opened", "30 runs an hour", "issue-{{payload.issue.number}}", "meanwhile: send it to the other run as a follow-up"} {
		if !strings.Contains(page, text) {
			t.Errorf("%s lacks %q", at, text)
		}
	}
	s.shows("/automations", "triage", "is opened", "never ran", ">Disable<")
	s.shows(at+"/edit", "action:\n  - opened", "value=\"30\"", "selected>Send it to the other run as a follow-up")
	form.Set("name", "label")
	form.Set("concurrency_key", "")
	form.Set("max_runs_per_hour", "")
	if _, _, page := s.post(at, form); !strings.Contains(page, "The automation is changed") || strings.Contains(page, "issue-{{") || strings.Contains(page, "runs an hour") {
		t.Errorf("changed:\n%s", page)
	}
	if _, to, page := s.post(at+"/enable", url.Values{"enabled": {"false"}, "from": {"list"}}); to != "/automations" || !strings.Contains(page, "label is disabled") {
		t.Errorf("disabled: at %s", to)
	}
	s.shows(at+"/delete", "Webhook issues gets a delivery", "Its runs stay")
	if _, to, _ := s.post(at+"/delete", nil); to != "/automations" {
		t.Errorf("deleted: at %s", to)
	}
	if status, _, _ := s.get(at); status != http.StatusNotFound {
		t.Errorf("a deleted automation: %d", status)
	}
}

// The list shows how the newest ten runs of each automation ended, the newest last.
func TestI2AutomationsShowTheirLastRuns(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleViewer)
	trigger := lineshaft.Trigger{Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived, Filter: lineshaft.TriggerFilter{Webhooks: []string{"issues"}}}
	made := must(s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{
		Name: "triage", Prompt: "p", Enabled: true, Triggers: []lineshaft.Trigger{trigger},
	}))
	ends := []lineshaft.RunState{lineshaft.Errored, lineshaft.Failed, lineshaft.Failed}
	for n := range factories.MaxLastRuns + 1 {
		s.deliver(fmt.Sprint(n))
		if n < 3 {
			s.finish(lineshaft.TurnResult{State: ends[n]})
		} else if n < factories.MaxLastRuns {
			s.finish(lineshaft.TurnResult{State: lineshaft.Succeeded})
		}
	}
	s.shows("/automations", `href="/runs?creator=automation_`+made.UID+`" title="Last 10 runs: 2 failed, 7 succeeded, 1 queued"`,
		`<i class="badge failed"></i><i class="badge failed"></i><i class="badge succeeded"></i>`, `succeeded"></i><i class="badge queued"></i></a>`, `!badge error`)
}

func TestW15FilterIsJudgedWhileTyped(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	for _, c := range []struct {
		filter string
		say    []string
	}{
		{"action: opened", []string{"Line 1, column 1:", "without an array around it", "[&#34;opened&#34;]"}},
		{"action: [opened]\nissue:\n  number: 7", []string{"Line 3, column 3:"}},
		{"action: [opened, reopened]\nissue: {labels: {name: {not_in: [wontfix]}}, pull_request: {exists: false}}", []string{
			"<bdi>action</bdi></code> <bdi>is opened or reopened", "issue.labels.name</bdi></code> <bdi>is not wontfix", "issue.pull_request</bdi></code> <bdi>is missing",
		}},
		{`{"issue": {"number": [9007199254740993, null, ""]}}`, []string{`is 9007199254740993, null or &#34;&#34;`}},
		{"action: {notIn: [closed]}", []string{"action.notIn", "write not_in"}},
		{"", []string{"Webhook issues gets a delivery", "whatever it says"}},
		{hostile, []string{"callout bad"}},
		{strings.Repeat("[", 2000), []string{"callout bad"}},
	} {
		part := s.ask("check:0", typed(c.filter))
		for _, text := range c.say {
			if !strings.Contains(part, text) {
				t.Errorf("%.60q: no %q in\n%s", c.filter, text, part)
			}
		}
		if strings.Contains(part, "<script>") || strings.Contains(part, "<img") {
			t.Errorf("%q is HTML", c.filter)
		}
	}
	github := url.Values{"trigger": {"4"}, "t4.provider": {"github"}, "t4.event": {"issue_opend"}}
	if part := s.ask("check:0", github); !strings.Contains(part, "issue_opend") || !strings.Contains(part, "issue_opened") {
		t.Errorf("a wrong event:\n%s", part)
	}
	github.Set("t4.event", "issue_opened")
	github.Set("t4.filter", "label: [bug]")
	if part := s.ask("check:0", github); !strings.Contains(part, "did you mean labels?") {
		t.Errorf("a wrong key:\n%s", part)
	}
	cron := url.Values{"trigger": {"0"}, "t0.provider": {"schedule"}, "t0.event": {"cron_fired"}, "t0.cron": {"0 9 * * *"}, "t0.timezone": {"Europe/Berlin"}}
	if part := s.ask("check:0", cron); strings.Count(part, "09:00 CE") != 5 {
		t.Errorf("the next times:\n%s", part)
	}
	cron.Set("t0.timezone", "Europe/Berlim")
	if part := s.ask("check:0", cron); !strings.Contains(part, "Europe/Berlin") {
		t.Errorf("a wrong zone:\n%s", part)
	}
	if status, _, _ := s.post(s.at()+"/draft", url.Values{"do": {"check:7"}}); status != http.StatusBadRequest {
		t.Errorf("no such trigger: %d", status)
	}
}

func TestI2TriggersAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	form := typed("action: [opened]")
	for provider, text := range map[string]string{"webhook": "Payload filter", "github": "issue_opened", "gitlab": "merge_request", "schedule": "Time zone", "run": "<legend>End of a run"} {
		part := s.ask("add:"+provider, form)
		if !strings.Contains(part, text) || !strings.Contains(part, `name="t1.provider" value="`+provider) || !strings.Contains(part, "action: [opened]") {
			t.Errorf("add %s:\n%s", provider, part)
		}
	}
	form["trigger"] = []string{"0", "3"}
	form.Set("t3.provider", "run")
	form.Set("t3.event", "finished")
	form.Set("t3.filter", "states: [FAILED]")
	if part := s.ask("remove:0", form); strings.Contains(part, "action: [opened]") || !strings.Contains(part, `name="t0.provider" value="run"`) || !strings.Contains(part, "states: [FAILED]") {
		t.Errorf("remove the first:\n%s", part)
	}
	// Without scripts the answer is the whole page, with all that was typed.
	form.Set("do", "add:schedule")
	if status, _, page := s.post(s.at()+"/draft", form); status != http.StatusOK || !strings.Contains(page, "<html") || !strings.Contains(page, "Label it.") || !strings.Contains(page, "t2.cron") {
		t.Errorf("without scripts: %d", status)
	}
	// Webhooks that are gone are shown, so that they can be taken out.
	form = typed("")
	form["t0.webhook"] = []string{"issues", "id:whk_gone"}
	if part := s.ask("remove:9", form); !strings.Contains(part, "whk_gone") || !strings.Contains(part, "(gone)") {
		t.Error("a webhook that is gone is not shown")
	}
	if status, _, page := s.post(s.at(), form); status != http.StatusBadRequest || !strings.Contains(page, "is not a webhook of this factory") {
		t.Errorf("saved with a webhook that is gone: %d", status)
	}
}

func TestW16DraftIsTriedAndCounted(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	opened := s.deliver(`{"action": "opened", "n": 1}`)
	closed := s.deliver(`{"action": "closed", "text": "<script>alert(1)</script>"}`)
	s.shows(s.at()+"/new", opened, closed)
	form := typed("action: [opened]\ntext: {exists: false}")
	form.Set("delivery", opened)
	for _, text := range []string{"Would trigger", "pass", "<bdi>action</bdi>", "is one of", "[&#34;opened&#34;]", "&#34;opened&#34;", ">missing<"} {
		if part := s.ask("try", form); !strings.Contains(part, text) || strings.Contains(part, "Would not") {
			t.Errorf("no %q in\n%s", text, part)
		}
	}
	form.Set("delivery", closed)
	part := s.ask("try", form)
	for _, text := range []string{"Would not trigger", "fail", "&#34;closed&#34;", "&lt;script&gt;"} {
		if !strings.Contains(part, text) {
			t.Errorf("no %q in\n%s", text, part)
		}
	}
	form.Set("body", `{"action": "opened"}`) // what is pasted counts instead
	if part := s.ask("try", form); !strings.Contains(part, "Would trigger") {
		t.Error(part)
	}
	for body, say := range map[string]string{"{": "a filter cannot be evaluated", " ": "Choose a stored delivery"} {
		form.Set("body", body)
		form.Set("delivery", "")
		if part := s.ask("try", form); !strings.Contains(part, say) || strings.Contains(part, "Would") {
			t.Errorf("%q:\n%s", body, part)
		}
	}
	count := func(filter string) string {
		return strings.NewReplacer("<b>", "", "</b>", "").Replace(s.ask("backtest", typed(filter)))
	}
	if part := count("action: [opened]"); !strings.Contains(part, "Of the last 2 stored deliveries, 1 would have started a run. 0 start one") {
		t.Error(part)
	}
	if part := count("action: opened"); !strings.Contains(part, "has a mistake") {
		t.Error(part)
	}
	// Once saved, everyone who sees it can try it, and it is counted next to what is saved.
	_, at, _ := s.post(s.at(), typed("action: [opened]"))
	s.shows(at+"?delivery="+closed, "Would not trigger", "&#34;closed&#34;")
	form = typed("")
	form.Set("uid", at[strings.LastIndex(at, "/")+1:])
	if part := s.ask("backtest", form); !strings.Contains(strings.NewReplacer("<b>", "", "</b>", "").Replace(part), "2 would have started a run. 1 starts one") {
		t.Error(part)
	}
}

func TestI2FieldsOfADeliveryGoIntoTheFilter(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	if part := s.ask("fields:0", typed("")); !strings.Contains(part, "No delivery is stored yet") {
		t.Errorf("no delivery:\n%s", part)
	}
	s.deliver(`{"action": "opened", "in": 1, "issue": {"number": 7, "labels": [{"name": "<b>bug</b>"}, {"name": "x"}], "body": "` + strings.Repeat("long ", 50) + `"}}`)
	part := s.ask("fields:0", typed(""))
	for _, text := range []string{`value="use:0:[&#34;issue&#34;,&#34;labels&#34;,&#34;name&#34;]"`, "<bdi>issue.labels.name</bdi>", "&lt;b&gt;bug", "<bdi>action</bdi>"} {
		if !strings.Contains(part, text) {
			t.Errorf("no %q in\n%s", text, part)
		}
	}
	if strings.Contains(part, "<bdi>in</bdi>") || strings.Contains(part, "<b>bug") {
		t.Errorf("an operator is offered as a field, or a value is HTML:\n%s", part)
	}
	filter := regexp.MustCompile(`(?s)<textarea id="t0.filter"[^>]*>(.*?)</textarea>`)
	use := func(form url.Values, path string) (text, part string) {
		part = s.ask("use:0:"+path, form)
		if found := filter.FindStringSubmatch(part); found != nil {
			text = html.UnescapeString(found[1])
		}
		return text, part
	}
	form := typed("action: [opened]")
	for _, path := range []string{`["issue","labels","name"]`, `["issue","number"]`, `["issue","body"]`} {
		text, part := use(form, path)
		if !strings.Contains(part, "<bdi>issue.labels.name</bdi>") {
			t.Errorf("the others are not offered again:\n%s", part)
		}
		form.Set("t0.filter", text)
	}
	form.Set("body", `{"action": "opened", "issue": {"number": 7, "labels": [{"name": "<b>bug</b>"}], "body": "x"}}`)
	if part := s.ask("try", form); !strings.Contains(part, "Would trigger") || strings.Count(part, `<tr class="pass">`) != 5 {
		t.Errorf("%s\nmakes\n%s", form.Get("t0.filter"), part)
	}
	// A second value of a field is another that fits.
	form.Set("body", `{"action": "closed"}`)
	if text, _ := use(form, `["action"]`); !strings.Contains(text, "opened") || !strings.Contains(text, "closed") {
		t.Errorf("two values of action: %s", text)
	}
	for text, want := range map[string]string{"action: {not_in: [x]}": "already asks something else of action. Change that in the text.", "action: opened": "Fix the mistake in the filter first"} {
		form.Set("t0.filter", text)
		if kept, part := use(form, `["action"]`); kept != text || !strings.Contains(part, want) {
			t.Errorf("%s became %s:\n%s", text, kept, part)
		}
	}
	form.Set("body", "[1]")
	if part := s.ask("fields:0", form); !strings.Contains(part, "not a JSON object") {
		t.Errorf("no object:\n%s", part)
	}
	s.deliver(`{"long": "` + strings.Repeat("x", 1<<20) + `"}`)
	if part := s.ask("fields:0", typed("")); !strings.Contains(part, "larger than 1 MB") {
		t.Errorf("a payload of a megabyte:\n%.2000s", part)
	}
	if status, _, _ := s.post(s.at()+"/draft", url.Values{"do": {"use:3:[]"}}); status != http.StatusBadRequest {
		t.Errorf("no such trigger: %d", status)
	}
}

func TestI2AutomationsOfSeveralFactories(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	other := s.site.factory("Docs").UID
	timed := lineshaft.Automation{Prompt: "x", Enabled: true, Triggers: []lineshaft.Trigger{{Provider: "schedule", Event: "cron_fired", Schedule: &lineshaft.Timing{Cron: "@daily"}}}}
	for i := range 30 {
		timed.Name = fmt.Sprintf("a%02d", i)
		for _, f := range []string{s.factory, other} {
			if _, err := s.control.CreateAutomation(t.Context(), s.admin, f, timed); err != nil {
				t.Fatal(err)
			}
		}
	}
	page := s.shows("/automations", "All factories", "Docs", "rel=\"next\"", "Every day at 00:00, UTC")
	if n := strings.Count(page, "class=\"main\""); n != 25 {
		t.Errorf("%d rows", n)
	}
	page = s.shows("/automations?factory="+other, "a24")
	if strings.Contains(page, s.factory+"/automations") {
		t.Error("the list of a factory has another one's")
	}
	next := page[strings.Index(page, "/automations?cursor="):]
	next = strings.ReplaceAll(next[:strings.Index(next, `"`)], "&amp;", "&")
	if page = s.shows(next, "a29", "Docs"); strings.Contains(page, ">a24<") || !strings.Contains(page, "/automations?factory="+other+"\"") {
		t.Error("the second page is not the next one")
	}
	s.shows("/automations/new", "Which factory", "Docs", "Shop")
}

func TestS3ViewersLookAtAutomations(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleViewer)
	delivery := s.deliver(`{"action": "opened"}`)
	a, err := s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{Name: "triage", Prompt: hostile, Enabled: true, Triggers: []lineshaft.Trigger{
		{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{Webhooks: []string{"issues"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	at := s.at() + "/" + a.UID
	page := s.shows(at+"?delivery="+delivery, "Would trigger", "&lt;script&gt;")
	for _, text := range []string{">Disable<", "/edit\"", "Delete automation"} {
		if strings.Contains(page, text) {
			t.Errorf("a viewer sees %q", text)
		}
	}
	for _, path := range []string{at, at + "/enable", at + "/delete"} {
		if status, _, _ := s.post(path, typed("")); status != http.StatusForbidden {
			t.Errorf("POST %s: %d", path, status)
		}
	}
	if status, _, _ := s.get(at + "/edit"); status != http.StatusForbidden {
		t.Errorf("edit: %d", status)
	}
}
