package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestMAutomationsOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.check(t, scenario{method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: `{"name":"TOKEN","value":"a value of these tests"}`, status: 201})
	uid, hook := b.factory("f", "Hook 1")
	list := "/factory/" + uid + "/automations"
	const payload = `{"n":[1.0,12345678901234567890],"s":{"in":["é","<&>"],"exists":true},"deep":{"a":[null,false]}}`
	w := b.check(t, scenario{
		method: post, path: list, as: lineshaft.RoleManager, status: 201,
		body: `{"name":"Triage","prompt":"look","agent":"foreman","max_runs_per_hour":9,"concurrency":{"key":"k-{{payload.n}}","policy":"skip"},
			"config":{"model_id":"m","worker_host":"box","timeout_minutes":5,"mcp_servers":{"t":{"url":"https://t.example","headers":{"A":"literal","B":"{{TOKEN}}"}}}},
			"triggers":[{"provider":"webhook","event":"received","filter":{"webhook_ids":["` + hook + `"],"payload": ` + payload + ` }},
			{"provider":"webhook","event":"received","filter":{"webhooks":["Hook 1"],"payload":null}}]}`,
		has: []string{
			`"factory_uid":"` + uid + `"`, `"enabled":true`, `"agent":"foreman"`, `"max_runs_per_hour":9`, `"concurrency":{"key":"k-{{payload.n}}","policy":"skip"}`,
			`"payload":` + payload, `"filter":{"webhooks":["Hook 1"]}`, `"worker_host":"box"`, `"A":"***"`, `"B":"{{TOKEN}}"`,
		},
		not: []string{"literal", `"schedule"`},
	})
	made := decode[Automation](t, w)
	path := list + "/" + made.UID
	read := b.check(t, scenario{method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{`"payload":` + payload}})
	again := b.check(t, scenario{method: get, path: path, as: lineshaft.RoleViewer, status: 200})
	if read.Body.String() != again.Body.String() {
		t.Error("two reads differ")
	}
	b.play(t, []scenario{
		{name: "taken", method: post, path: list, as: lineshaft.RoleManager, body: strings.ReplaceAll(minimal, "HOOK", hook), status: 201},
		{name: "taken", method: post, path: list, as: lineshaft.RoleManager, body: strings.ReplaceAll(minimal, "HOOK", hook), status: 409, code: "conflict", has: []string{"another automation named"}, not: []string{`"retryable":true`}},
		{name: "rename to a taken one", method: patch, path: path, as: lineshaft.RoleManager, body: `{"name":"small"}`, status: 409, code: "conflict"},
		{name: "list", method: get, path: list, as: lineshaft.RoleViewer, status: 200, has: []string{`"name":"Triage"`, `"name":"small"`, `"has_next_page":false`}},
		{name: "page", method: get, path: list + "?limit=1", as: lineshaft.RoleViewer, status: 200, has: []string{`"name":"Triage"`, `"next_cursor":`}, not: []string{`"name":"small"`}},
		{name: "bad limit", method: get, path: list + "?limit=501", as: lineshaft.RoleViewer, status: 400, code: "invalid_request"},
		{name: "bad cursor", method: get, path: list + "?cursor=x", as: lineshaft.RoleViewer, status: 400, code: "invalid_request"},
		{name: "disable", method: patch, path: path, as: lineshaft.RoleManager, body: `{"enabled":false}`, status: 200, has: []string{`"enabled":false`, `"name":"Triage"`, `"model_id":"m"`, payload[:8]}},
		{name: "config", method: patch, path: path, as: lineshaft.RoleManager, body: `{"config":{"base_prompt":"b"}}`, status: 200, has: []string{`"config":{"base_prompt":"b"}`, `"concurrency":{"key":"k-`}, not: []string{"model_id"}},
		{name: "rule", method: patch, path: path, as: lineshaft.RoleManager, body: `{"concurrency":{"key":"x"}}`, status: 200, has: []string{`"concurrency":{"key":"x"}`}},
		{name: "no rule", method: patch, path: path, as: lineshaft.RoleManager, body: `{"concurrency":{"key":""},"agent":"","max_runs_per_hour":0}`, status: 200, has: []string{`"agent":""`, `"max_runs_per_hour":0`}, not: []string{`"concurrency"`}},
		{name: "rule in config", method: patch, path: path, as: lineshaft.RoleManager, body: `{"config":{"concurrency":{"key":"y"}}}`, status: 200, has: []string{`"concurrency":{"key":"y"}`, `"config":{}`}},
		{name: "rename", method: patch, path: path, as: lineshaft.RoleManager, body: `{"name":"Triage 2"}`, status: 200, has: []string{`"name":"Triage 2"`}},
		{name: "delete", method: del, path: path, as: lineshaft.RoleManager, status: 204},
		{name: "gone", method: get, path: path, as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
		{name: "gone", method: patch, path: path, as: lineshaft.RoleManager, body: `{}`, status: 404, code: "resource_not_found"},
		{name: "no factory", method: get, path: "/factory/" + exampleFactoryUID + "/automations", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
	})
}

const minimal = `{"name":"small","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhook_ids":["HOOK"]}}]}`

func TestMBadAutomationBodies(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid, hook := b.factory("f", "hook")
	_, foreign := b.factory("other", "their hook")
	with := func(old, replacement string) string {
		if !strings.Contains(minimal, old) {
			t.Fatalf("%q is not there to replace", old)
		}
		return strings.ReplaceAll(strings.Replace(minimal, old, replacement, 1), "HOOK", hook)
	}
	filter := func(payload string) string { return with(`["HOOK"]`, `["HOOK"],"payload":`+payload) }
	var list []scenario
	for name, test := range map[string]struct {
		body   string
		status int
		field  string
	}{
		"no name":           {with(`"name":"small",`, ``), 400, "name: "},
		"name with a slash": {with(`small`, `a/b`), 400, "name: "},
		"no prompt":         {with(`"prompt":"p",`, ``), 400, "prompt: "},
		"blank prompt":      {with(`"prompt":"p"`, `"prompt":" "`), 400, "prompt: "},
		"no triggers":       {with(`[{"provider":"webhook","event":"received","filter":{"webhook_ids":["HOOK"]}}]`, `[]`), 400, "triggers: "},
		"21 triggers":       {with(`"triggers":[`, `"triggers":[`+strings.Repeat(`{"provider":"webhook","event":"received"},`, 20)), 400, "triggers: "},
		"no filter":         {with(`,"filter":{"webhook_ids":["HOOK"]}`, ``), 400, "triggers[0].filter: "},
		"no event":          {with(`"event":"received",`, ``), 400, "triggers[0].event: "},
		"other provider":    {with(`"provider":"webhook"`, `"provider":"pigeon"`), 400, "triggers[0].provider: "},
		"schedule":          {with(`"filter":`, `"schedule":"@daily","filter":`), 400, "triggers[0].schedule: "},
		"no schedule":       {with(`"webhook","event":"received","filter":{"webhook_ids":["HOOK"]}`, `"schedule","event":"cron_fired"`), 400, "triggers[0].schedule: "},
		"bad cron":          {with(`"webhook","event":"received","filter":{"webhook_ids":["HOOK"]}`, `"schedule","event":"cron_fired","schedule":"@never"`), 400, "triggers[0].schedule.cron: "},
		"bad zone":          {with(`"webhook","event":"received","filter":{"webhook_ids":["HOOK"]}`, `"schedule","event":"cron_fired","schedule":{"cron":"@daily","timezone":"Berlin"}`), 400, "triggers[0].schedule.timezone: "},
		"bad overlap":       {with(`"webhook","event":"received","filter":{"webhook_ids":["HOOK"]}`, `"schedule","event":"cron_fired","schedule":{"cron":"@daily","overlap":"x"}`), 400, "triggers[0].schedule.overlap: "},
		"foreign webhook":   {with(`HOOK`, foreign), 400, "triggers[0].filter.webhook_ids[0]: "},
		"unknown name":      {with(`"webhook_ids":["HOOK"]`, `"webhooks":["their hook"]`), 400, "triggers[0].filter.webhooks[0]: "},
		"no agent":          {with(`"prompt":"p"`, `"prompt":"p","agent":"nobody"`), 400, "agent: "},
		"brake":             {with(`"prompt":"p"`, `"prompt":"p","max_runs_per_hour":100001`), 400, "max_runs_per_hour: "},
		"policy":            {with(`"prompt":"p"`, `"prompt":"p","concurrency":{"key":"k","policy":"maybe"}`), 400, "concurrency.policy: "},
		"template":          {with(`"prompt":"p"`, `"prompt":"p","concurrency":{"key":"{{secret.x}}"}`), 400, "concurrency.key: "},
		"two rules":         {with(`"prompt":"p"`, `"prompt":"p","concurrency":{"key":"k"},"config":{"concurrency":{"key":"l"}}`), 400, "config.concurrency: "},
		"config":            {with(`"prompt":"p"`, `"prompt":"p","config":{"timeout_minutes":0}`), 400, "config.timeout_minutes: "},
		"not offered":       {with(`"prompt":"p"`, `"prompt":"p","config":{"experimental":{"a":1}}`), 422, "config.experimental: "},
		"no environment":    {with(`"prompt":"p"`, `"prompt":"p","config":{"environment_id":"e"}`), 400, "config.environment_id: "},
		"hidden value":      {with(`"prompt":"p"`, `"prompt":"p","config":{"mcp_servers":{"t":{"command":"c","env":{"A":"***"}}}}`), 400, "config.mcp_servers.t.env.A: "},
		"filter: array":     {filter(`[]`), 400, "triggers[0].filter.payload: "},
		"filter: scalar":    {filter(`{"a":{"b":5}}`), 400, "triggers[0].filter.payload.a.b: "},
		"filter: object":    {filter(`{"a":[{}]}`), 400, "triggers[0].filter.payload.a"},
		"filter: empty":     {filter(`{"a":{}}`), 400, "triggers[0].filter.payload.a: "},
		"filter: mixed":     {filter(`{"a":{"in":["x"],"b":["y"]}}`), 400, "triggers[0].filter.payload.a: "},
		"filter: both":      {filter(`{"a":{"in":[1],"not_in":[1.0]}}`), 400, "triggers[0].filter.payload.a"},
		"filter: never":     {filter(`{"a":{"in":["x"],"exists":false}}`), 400, "triggers[0].filter.payload.a"},
		"filter: exists":    {filter(`{"a":{"exists":"yes"}}`), 400, "triggers[0].filter.payload.a.exists: "},
		"filter: in":        {filter(`{"a":{"in":"x"}}`), 400, "triggers[0].filter.payload.a.in: "},
		"filter: 33 values": {filter(`{"a":[` + strings.Repeat("1,", 32) + `1]}`), 400, "triggers[0].filter.payload.a: "},
		"filter: 65 leaves": {filter(`{` + leaves(65) + `}`), 400, "triggers[0].filter.payload.k64: "},
		"filter: 11 deep":   {filter(strings.Repeat(`{"a":`, 11) + `[1]` + strings.Repeat(`}`, 11)), 400, "triggers[0].filter.payload.a.a"},
	} {
		code := lineshaft.Code("invalid_request")
		if test.status == 422 {
			code = "operation_not_supported"
		}
		list = append(list, scenario{
			name: name, method: post, path: "/factory/" + uid + "/automations", as: lineshaft.RoleManager, body: test.body,
			status: test.status, code: code, has: []string{`"detail":"` + test.field},
		})
	}
	b.play(t, list)
	b.check(t, scenario{method: get, path: "/factory/" + uid + "/automations", as: lineshaft.RoleViewer, status: 200, has: []string{`"automations":[]`}})
	for i, payload := range []string{`{}`, `{"a":[` + strings.Repeat("1,", 31) + `1]}`, `{` + leaves(64) + `}`, strings.Repeat(`{"a":`, 10) + `[1]` + strings.Repeat(`}`, 10), `{"a":[]}`} {
		body := strings.Replace(filter(payload), "small", fmt.Sprint("edge ", i), 1)
		b.check(t, scenario{name: "at the edge", method: post, path: "/factory/" + uid + "/automations", as: lineshaft.RoleManager, body: body, status: 201})
	}
}

func leaves(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"k%d":[1]`, i))
	}
	return strings.Join(list, ",")
}

// A prompt of 1 MiB is allowed, so the body must be able to hold it.
func TestMLargestPrompt(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid, hook := b.factory("f", "hook")
	body := strings.ReplaceAll(strings.Replace(minimal, `"prompt":"p"`, `"prompt":"`+strings.Repeat("x", lineshaft.MaxPromptBytes)+`"`, 1), "HOOK", hook)
	made := decode[Automation](t, b.check(t, scenario{method: post, path: "/factory/" + uid + "/automations", as: lineshaft.RoleManager, body: body, status: 201}))
	if len(made.Prompt) != lineshaft.MaxPromptBytes {
		t.Errorf("%d bytes came back", len(made.Prompt))
	}
	b.check(t, scenario{
		method: patch, path: "/factory/" + uid + "/automations/" + made.UID, as: lineshaft.RoleManager,
		body: `{"prompt":"` + strings.Repeat("y", lineshaft.MaxPromptBytes+1) + `"}`, status: 400, code: "invalid_request",
	})
}

// Answers about an automation say what of it has no effect, as plans do.
func TestF2AutomationsSayWhatHasNoEffect(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid, _ := b.factory("f", "hook")
	list := "/factory/" + uid + "/automations"
	const silent = "nothing here receives events of Microsoft Teams: the trigger is kept and never fires"
	w := b.check(t, scenario{
		method: post, path: list, as: lineshaft.RoleManager, status: 201,
		body: `{"name":"a","prompt":"p","config":{"mcp_servers":{"t":{"warp_id":"x"}}},"triggers":[{"provider":"run","event":"finished"},
			{"provider":"teams","event":"app_mention","filter":{"team_ids":["t"],"channel_ids":["c"]}}]}`,
		has: []string{`"notices":["triggers[1]: ` + silent + `","config.mcp_servers.t.warp_id: has no effect on this server`},
	})
	path := list + "/" + decode[Automation](t, w).UID
	b.play(t, []scenario{
		{name: "get", method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{"triggers[1]: " + silent}},
		{name: "list", method: get, path: list, as: lineshaft.RoleViewer, status: 200, not: []string{"notices"}},
		{
			name: "another", method: patch, path: path, as: lineshaft.RoleManager, status: 200, not: []string{silent},
			body: `{"config":{},"triggers":[{"provider":"slack","event":"app_mention","filter":{"channels":["#ops"]}}]}`,
			has:  []string{`"notices":["triggers[0].filter.channels: \"#ops\" is a name, and Slack sends ids`},
		},
		{
			name: "nothing sends to it", method: patch, path: path, as: lineshaft.RoleManager, status: 200,
			body: `{"triggers":[{"provider":"github","event":"push"}]}`,
			has:  []string{`"notices":["triggers[0]: the factory has no webhook that takes events of github`},
		},
		{
			name: "GitHub's webhook", method: post, path: "/factory/" + uid + "/webhooks", as: lineshaft.RoleManager, status: 201,
			body: `{"name":"gh","auth_mode":"signature","signature_scheme":"github"}`,
		},
		{name: "now something does", method: get, path: path, as: lineshaft.RoleViewer, status: 200, not: []string{"notices"}},
		{
			name: "sound", method: patch, path: path, as: lineshaft.RoleManager, status: 200, not: []string{"notices"},
			body: `{"triggers":[{"provider":"run","event":"finished"}]}`,
		},
	})
}
