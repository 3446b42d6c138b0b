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
	uid, _ := b.factory("f", "hook")
	list := "/factory/" + uid + "/automations"
	all := `{"provider":"github","event":"pull_request_*","filter":{"repos":["acme/web"],"labels":{"in":["a"],"not_in":["b"]},"authors":{"not_in":["x"]},"branches":["*"],"base_branches":["main"]}}`
	chain := `{"provider":"run","event":"finished","filter":{"agents":["foreman"],"automations":["a"],"states":["SUCCEEDED"],"factories":["` + uid + `"]}}`
	b.play(t, []scenario{
		{name: "forge", method: post, path: list, as: lineshaft.RoleManager, status: 201, body: triggered("forge", all), has: []string{all}},
		{
			name: "push", method: post, path: list, as: lineshaft.RoleManager, status: 201,
			body: triggered("push", `{"provider":"github","event":"push","filter":{"paths":{"in":["a/**"]},"labels":null}}`), has: []string{`"filter":{"paths":["a/**"]}`},
		},
		{
			name: "checks", method: post, path: list, as: lineshaft.RoleManager, status: 201,
			body: triggered("checks", `{"provider":"github","event":"check_suite_completed","filter":{"conclusions":["failure"]}}`), has: []string{`"conclusions":["failure"]`},
		},
		{name: "chain", method: post, path: list, as: lineshaft.RoleManager, status: 201, body: triggered("chain", chain), has: []string{chain}},
		{name: "dormant", method: post, path: list, as: lineshaft.RoleManager, status: 201, body: triggered("dormant", `{"provider":"slack","event":"app_mention","filter":{"channels":["x"]}}`), has: []string{`"provider":"slack"`}},
		{name: "list", method: get, path: list, as: lineshaft.RoleViewer, status: 200, has: []string{all, chain}},
	})
	var refused []scenario
	for name, tc := range map[string]struct{ trigger, field string }{
		"text":          {`{"provider":"github","event":"push","filter":{"repos":"acme/web"}}`, "triggers[0].filter.repos: "},
		"number":        {`{"provider":"github","event":"push","filter":{"repos":[1]}}`, "triggers[0].filter.repos: "},
		"other key":     {`{"provider":"github","event":"push","filter":{"repos":{"any":["a/b"]}}}`, "triggers[0].filter.repos: "},
		"empty":         {`{"provider":"github","event":"push","filter":{"repos":[]}}`, "triggers[0].filter.repos: "},
		"unknown set":   {`{"provider":"github","event":"push","filter":{"repo":["a/b"]}}`, `has no \"repo\"`},
		"event":         {`{"provider":"github","event":"pushed"}`, "triggers[0].event: "},
		"wrong set":     {`{"provider":"github","event":"push","filter":{"agents":["a"]}}`, "triggers[0].filter.agents: "},
		"state":         {`{"provider":"run","event":"finished","filter":{"states":["QUEUED"]}}`, "triggers[0].filter.states: "},
		"event of runs": {`{"provider":"run","event":"ended"}`, "triggers[0].event: "},
	} {
		refused = append(refused, scenario{
			name: name, method: post, path: list, as: lineshaft.RoleManager, body: triggered("no", tc.trigger), status: 400, code: "invalid_request", has: []string{tc.field},
		})
	}
	b.play(t, refused)
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
