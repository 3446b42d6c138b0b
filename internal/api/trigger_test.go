package api

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// triggered is an automation with one trigger.
func triggered(name, trigger string) string {
	return `{"name":"` + name + `","prompt":"p","triggers":[` + trigger + `]}`
}

func TestF6TriggersOnTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid, hook := b.factory("f", "hook")
	list := "/factory/" + uid + "/automations"
	all := `{"provider":"github","event":"pull_request_*","filter":{"authors":{"not_in":["x"]},"base_branches":["main"],"branches":["*"],"labels":{"in":["a"],"not_in":["b"]},"pr_numbers":[7],"repos":["acme/web"]}}`
	dormant := `{"provider":"teams","event":"app_mention","filter":{"channel_ids":["19:x@thread.tacv2"],"team_ids":["t"]}}`
	chain := `{"provider":"run","event":"finished","filter":{"agents":["foreman"],"automations":["a"],"factories":["` + uid + `"],"states":["SUCCEEDED"]}}`
	b.play(t, []scenario{
		{name: "forge", method: post, path: list, as: lineshaft.RoleManager, status: 201, body: triggered("forge", all), has: []string{all}},
		{
			name: "push", method: post, path: list, as: lineshaft.RoleManager, status: 201,
			body: triggered("push", `{"provider":"github","event":"push","filter":{"paths":{"in":["a/**"]},"branches":null}}`), has: []string{`"filter":{"paths":["a/**"]}`},
		},
		{
			name: "checks", method: post, path: list, as: lineshaft.RoleManager, status: 201,
			body: triggered("checks", `{"provider":"github","event":"check_suite_completed","filter":{"conclusions":["failure"]}}`), has: []string{`"conclusions":["failure"]`},
		},
		{name: "chain", method: post, path: list, as: lineshaft.RoleManager, status: 201, body: triggered("chain", chain), has: []string{chain}},
		{
			name: "slack", method: post, path: list, as: lineshaft.RoleManager, status: 201,
			body: triggered("slack", `{"provider":"slack","event":"app_mention","filter":{"channels":["#ops"],"keywords":{"not_in":["x"]}}}`), has: []string{`"filter":{"channels":["#ops"],"keywords":{"not_in":["x"]}}`},
		},
		{
			name: "nothing imposed", method: post, path: list, as: lineshaft.RoleManager, status: 201,
			body: triggered("nothing", `{"provider":"github","event":"push","filter":{"repos":[],"branches":null,"paths":{},"authors":{"in":[]}}}`), has: []string{`{"provider":"github","event":"push"}`},
		},
		{
			name: "webhook ids", method: post, path: list, as: lineshaft.RoleManager, status: 201,
			body: triggered("ids", `{"provider":"webhook","event":"received","filter":{"webhook_ids":{"in":["`+hook+`"]}}}`), has: []string{`"filter":{"webhook_ids":["` + hook + `"]}`},
		},
		{name: "dormant", method: post, path: list, as: lineshaft.RoleManager, status: 201, body: triggered("dormant", dormant), has: []string{dormant}},
		{name: "list", method: get, path: list, as: lineshaft.RoleViewer, status: 200, has: []string{all, chain}},
	})
	var refused []scenario
	for name, tc := range map[string]struct{ trigger, field string }{
		"text":           {`{"provider":"github","event":"push","filter":{"repos":"acme/web"}}`, "triggers[0].filter.repos: "},
		"number":         {`{"provider":"github","event":"push","filter":{"repos":[1]}}`, "triggers[0].filter.repos: "},
		"other key":      {`{"provider":"github","event":"push","filter":{"repos":{"any":["a/b"]}}}`, "triggers[0].filter.repos: "},
		"unknown set":    {`{"provider":"github","event":"push","filter":{"repo":["a/b"]}}`, "triggers[0].filter.repo: push of github has no such key"},
		"unknown, empty": {`{"provider":"github","event":"push","filter":{"paylaod":{}}}`, "triggers[0].filter.paylaod: "},
		"of slack":       {`{"provider":"slack","event":"app_mention","filter":{"channel":["x"]}}`, "triggers[0].filter.channel: "},
		"slack's event":  {`{"provider":"slack","event":"mention"}`, "triggers[0].event: "},
		"of teams":       {`{"provider":"teams","event":"app_mention","filter":{"team_ids":["t"]}}`, "needs channel_ids"},
		"alias twice":    {`{"provider":"github","event":"pull_request_opened","filter":{"baseBranches":["a"],"base_branches":["b"]}}`, "triggers[0].filter.baseBranches: "},
		"same in both":   {`{"provider":"linear","event":"issue_created","filter":{"labels":{"in":["Bug"],"not_in":["bug"]}}}`, "triggers[0].filter.labels: "},
		"text number":    {`{"provider":"github","event":"pull_request_opened","filter":{"pr_numbers":["7"]}}`, "triggers[0].filter.pr_numbers: "},
		"not these ids":  {`{"provider":"webhook","event":"received","filter":{"webhook_ids":{"not_in":["x"]}}}`, "triggers[0].filter.webhook_ids: "},
		"event":          {`{"provider":"github","event":"pushed"}`, "triggers[0].event: "},
		"wrong set":      {`{"provider":"github","event":"push","filter":{"agents":["a"]}}`, "triggers[0].filter.agents: "},
		"state":          {`{"provider":"run","event":"finished","filter":{"states":["QUEUED"]}}`, "triggers[0].filter.states: "},
		"event of runs":  {`{"provider":"run","event":"ended"}`, "triggers[0].event: "},
	} {
		refused = append(refused, scenario{
			name: name, method: post, path: list, as: lineshaft.RoleManager, body: triggered("no", tc.trigger), status: 400, code: "invalid_request", has: []string{tc.field},
		})
	}
	b.play(t, refused)
}

// The catalogue answers with the events of a provider and the keys of their filters.
func TestF6TriggerEventsAreListed(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := "/factory/automations/events/"
	for _, provider := range lineshaft.Providers() {
		answer := decode[ListTriggerEventsResponse](t, b.check(t, scenario{name: provider, method: get, path: path + provider, as: lineshaft.RoleViewer, status: 200}))
		if answer.Provider != provider || len(answer.Events) == 0 {
			t.Errorf("%s: %+v", provider, answer)
		}
		for _, e := range answer.Events {
			if len(e.FilterFields) != len(e.FieldSpecs) {
				t.Errorf("%s %s: %+v", provider, e.Event, e)
			}
		}
	}
	b.play(t, []scenario{
		{
			name: "slack", method: get, path: path + "slack", as: lineshaft.RoleViewer, status: 200,
			has: []string{`{"event":"reaction_added","filter_fields":["channel_ids","channels","user_ids","users","emojis","keywords","item_user_ids","itemUsers"],"filter_field_specs":[{"name":"channel_ids"`, `"alias_of":"channel_ids"`},
		},
		{name: "numbers", method: get, path: path + "github", as: lineshaft.RoleViewer, status: 200, has: []string{`"type":"integer"`, `"match":"pattern"`, "GitHub does not send the files"}},
		{name: "unknown", method: get, path: path + "svn", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found", has: []string{"linear"}},
		{name: "no key", method: get, path: path + "github", status: 401, code: "authentication_required"},
	})
}

func TestW16ForgeTestFilter(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid, _ := b.factory("f", "hook")
	try := func(name, body string, status int, has ...string) scenario {
		s := scenario{name: name, method: post, path: "/factory/" + uid + "/test-filter", as: lineshaft.RoleViewer, body: body, status: status, has: has}
		if status == 400 {
			s.code = "invalid_request"
		}
		return s
	}
	trigger := `"provider":"github","event":"issue_opened","filter":{"labels":["bug"]}`
	b.play(t, []scenario{
		try("match", `{`+trigger+`,"payload_event":"issues","payload":{"action":"opened","issue":{"labels":[{"name":"bug"}]}}}`, 200,
			`"would_trigger":true`, `{"path":"event","operator":"in","expected":["issue_opened"],"seen":"issue_opened","passed":true}`, `"path":"labels"`),
		try("no match", `{`+trigger+`,"payload_event":"issues","payload":{"action":"opened"}}`, 200, `"would_trigger":false`, `{"path":"labels","operator":"in","expected":["bug"],"passed":false}`),
		try("no header", `{`+trigger+`,"payload":{}}`, 400, "payload_event: "),
		try("bad set", `{`+strings.Replace(trigger, `["bug"]`, `7`, 1)+`,"payload_event":"issues","payload":{}}`, 400, "filter.labels: "),
		try("bad event", `{`+strings.Replace(trigger, "opened", "opend", 1)+`,"payload_event":"issues","payload":{}}`, 400, "event: ", "issue_opened"),
		try("set without a forge", `{"filter":{"labels":["bug"]},"payload":{}}`, 400, "filter.labels: "),
	})
}
