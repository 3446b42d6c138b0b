package control_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// The title of a run is the automation's own, filled in from the payload: what is missing
// leaves its place empty, and it is data that is cleaned and never given to the agent.
func TestW17TitleFromPayload(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"Issue #{{payload.issue.number}}: {{ payload.issue.title }}": "Issue #7: Fix it now",
		"{{payload.issue.labels}}{{payload.nothing}}":                "titled",
		"before {{payload.nothing}} after":                           "before after",
		"{{payload.long}}":                                           strings.Repeat("ü", lineshaft.MaxTitleRunes-1) + "…",
		"":                                                           "titled",
	} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			eachWorks(t, factories.NewWebhook{}, func(w *works) {
				w.automation("titled", "", func(n *lineshaft.Automation) { n.Title = template })
				d := w.deliver("", `{"issue": {"number": 7, "title": "Fix\u0000 it\u202e\n now", "labels": ["x"]}, "long": "`+strings.Repeat("ü", 900)+`"}`)
				run := w.run(d.Outcomes[0].RunID)
				if run.Title != want {
					w.Errorf("title %q, want %q", run.Title, want)
				}
				if strings.Contains(run.Prompt, "Fix") || strings.Contains(run.Prompt, "#7") {
					w.Errorf("prompt %q", run.Prompt)
				}
			})
		})
	}
}

func TestW17TitleIsChecked(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		n := lineshaft.Automation{Name: "a", Prompt: "p", Enabled: true, Triggers: []lineshaft.Trigger{w.trigger("")}}
		for _, bad := range []string{strings.Repeat("x", 201), "{{issue.number}}", "{{payload.", "{{payload.}}", "a\x00b"} {
			n.Title = bad
			_, err := w.s.CreateAutomation(w.Context(), w.admin, w.factory, n)
			wantCode(w, err, lineshaft.CodeInvalidRequest)
		}
		n.Title = "{{payload.x}}"
		made := must[*lineshaft.Automation](w.bench)(w.s.CreateAutomation(w.Context(), w.admin, w.factory, n))
		title := "another"
		must[*lineshaft.Automation](w.bench)(w.s.UpdateAutomation(w.Context(), w.admin, w.factory, made.UID, factories.AutomationChange{Title: &title}))
		if got := must[*lineshaft.Automation](w.bench)(w.s.GetAutomation(w.Context(), w.admin, w.factory, made.UID)); got.Title != title {
			w.Errorf("%+v", got)
		}
	})
}

// Without a title of its own an automation takes the provider's usual words.
func TestW17TitleOfProviders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ provider, body, want string }{
		{"github", `{"issue":{"number":7,"title":"Fix it"}}`, "#7 Fix it"},
		{"github", `{"pull_request":{"number":8,"title":"Fixed"}}`, "#8 Fixed"},
		{"github", `{"ref":"refs/heads/main","head_commit":{"message":"Subject\n\nBody"}}`, "main Subject"},
		{"github", `{"zen":"x"}`, "a name"},
		{"gitlab", `{"object_kind":"merge_request","object_attributes":{"iid":3,"title":"Merge"}}`, "!3 Merge"},
		{"gitlab", `{"object_kind":"issue","object_attributes":{"iid":4,"title":"Issue"}}`, "#4 Issue"},
		{"gitlab", `{"object_kind":"note","object_attributes":{"note":"x"},"merge_request":{"iid":5,"title":"Noted"}}`, "!5 Noted"},
		{"gitlab", `{"object_kind":"push","ref":"refs/tags/v1","commits":[{"message":"old"},{"message":"new\nmore"}]}`, "v1 new"},
		{"linear", `{"type":"Issue","data":{"identifier":"ENG-1","title":"Do"}}`, "ENG-1 Do"},
		{"linear", `{"type":"AgentSessionEvent","agentSession":{"id":"s","issue":{"identifier":"ENG-3","title":"Doing"}}}`, "ENG-3 Doing"},
		{"linear", `{"type":"Comment","data":{"id":"c","issue":{"identifier":"ENG-2","title":"Did"}}}`, "ENG-2 Did"},
		{"slack", `{"event":{"text":"one two three four five six seven eight nine ten eleven twelve thirteen"}}`, "one two three four five six seven eight nine ten eleven twelve…"},
		{"stripe", `{"id":"evt_1","type":"invoice.paid"}`, "invoice.paid evt_1"},
		{"pagerduty", `{"event":{"id":"e","event_type":"incident.triggered","data":{"id":"P1"}}}`, "incident.triggered P1"},
		{"sentry", `{"action":"created","data":{"issue":{"id":"9","shortId":"WEB-9"}}}`, "created WEB-9"},
		{"jira", `{"issue":{"key":"OPS-1","fields":{"summary":"Sum"}}}`, "OPS-1 Sum"},
		{"bitbucket", `{"pullrequest":{"id":2,"title":"Pull"}}`, "#2 Pull"},
		{"vercel", `{"id":"d","type":"deployment.created"}`, "deployment.created d"},
		{"", `{"issue":{"number":7,"title":"Fix it"}}`, "a name"},
		{"github", `[1]`, "a name"},
		{"gitlab", `null`, "a name"},
	} {
		if got := control.TitleOf(lineshaft.Automation{Name: "a name"}, test.provider, test.body); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.provider, test.body, got, test.want)
		}
	}
}
