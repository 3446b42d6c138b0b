package cli

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const (
	factoryOne    = "01980f10-2233-7445-9667-8899aabbccdd"
	factoryTwo    = "01980f10-2233-7445-9667-8899aabbccee"
	automationOne = "01980f11-3344-7556-8778-99aabbccddee"
	automationTwo = "01980f11-3344-7556-8778-99aabbccddff"
	hookUID       = "q0Vt3Yb9rXw2KfLsN8dPzA7uJhE"

	shopFactory = `{"uid":"` + factoryOne + `","name":"Web shop","alias":"shop","description":"Looks \u001b[31mafter\nit","mode":"managed","foreman_agent":"foreman",` +
		`"revision":4,"paused":false,"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-02T03:59:00.000000Z"}`
	idleFactory = `{"uid":"` + factoryTwo + `","name":"Idle","alias":null,"description":null,"mode":"managed","foreman_agent":"foreman",` +
		`"revision":1,"paused":true,"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-01T04:00:00.000000Z"}`
	triageAutomation = `{"uid":"` + automationOne + `","factory_uid":"` + factoryOne + `","name":"triage","prompt":"Label the issue.\n","enabled":true,"agent":"",` +
		`"triggers":[{"provider":"webhook","event":"received","filter":{"webhooks":["issues"],"payload":{"n":[1.0,12345678901234567890],"t":["<b>"]}}},` +
		`{"provider":"webhook","event":"received","filter":{"webhook_ids":["w-1"],"webhooks":["issues"]}}],"config":{"name":"x","model_id":"m-1"},` +
		`"concurrency":{"key":"issue-{{payload.n}}","policy":"followup"},"max_runs_per_hour":30,"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-02T03:00:00.000000Z"}`
	deployAutomation = `{"uid":"` + automationTwo + `","factory_uid":"` + factoryOne + `","name":"deploy","prompt":"Deploy","enabled":false,"agent":"builder",` +
		`"triggers":[{"provider":"webhook","event":"received","filter":{"webhook_ids":["` + hookUID + `"],"webhooks":["left"],"payload":{"n":[1.0]}}}],"config":{"model_id":"m-2","secrets":[{"name":"OLD"}]},"max_runs_per_hour":0,"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-01T04:00:00.000000Z"}`
)

// factories adds two factories, the first with two automations; both lists come in
// pages of one.
func (s *stage) factories() {
	s.mux.HandleFunc("GET /api/v1/factory", func(w http.ResponseWriter, r *http.Request) {
		page := `{"factories":[` + shopFactory + `],"page_info":{"has_next_page":true,"next_cursor":"more"}}`
		if r.URL.Query().Get("cursor") == "more" {
			page = `{"factories":[` + idleFactory + `],"page_info":{"has_next_page":false}}`
		}
		_, _ = io.WriteString(w, page)
	})
	s.answer("POST /api/v1/factory", 201, shopFactory)
	s.answer("GET /api/v1/factory/"+factoryOne, 200, shopFactory)
	s.answer("PATCH /api/v1/factory/"+factoryOne, 200, strings.Replace(shopFactory, `"paused":false`, `"paused":true`, 1))
	s.answer("DELETE /api/v1/factory/{uid}", 204, ``)
	list := "/api/v1/factory/" + factoryOne + "/automations"
	s.mux.HandleFunc("GET "+list, func(w http.ResponseWriter, r *http.Request) {
		page := `{"automations":[` + deployAutomation + `],"page_info":{"has_next_page":true,"next_cursor":"more"}}`
		if r.URL.Query().Get("cursor") == "more" {
			page = `{"automations":[` + triageAutomation + `],"page_info":{"has_next_page":false}}`
		}
		_, _ = io.WriteString(w, page)
	})
	s.answer("GET /api/v1/factory/"+factoryOne+"/webhooks", 200, `{"webhooks":[{"uid":"`+hookUID+`","name":"issues"},{"uid":"u-2","name":"w"}],"page_info":{"has_next_page":false}}`)
	s.answer("POST "+list, 201, triageAutomation)
	s.answer("GET "+list+"/"+automationOne, 200, triageAutomation)
	s.answer("GET "+list+"/"+automationTwo, 200, deployAutomation)
	s.answer("PATCH "+list+"/{uid}", 200, triageAutomation)
	s.answer("DELETE "+list+"/{uid}", 204, ``)
}

// last is what the server got last, as method and path.
func (s *stage) last(t *testing.T) request {
	t.Helper()
	all := s.requests()
	if len(all) == 0 {
		t.Fatal("nothing was sent")
	}
	return all[len(all)-1]
}

// TestI1FactoryIsFound by uid, alias or name; the only one needs no name.
func TestI1FactoryIsFound(t *testing.T) {
	t.Parallel()
	twins := strings.Replace(strings.Replace(idleFactory, `"Idle"`, `"Web Shop"`, 1), factoryTwo, "01980f10-2233-7445-9667-8899aabbccff", 1)
	for _, tc := range []struct {
		name, list string
		args       []string
		code       int
		want       string // the factory, or a part of the message
		hint       string
	}{
		{"uid", "", []string{"--factory", factoryTwo}, 0, factoryTwo, ""},
		{"alias in another case", shopFactory + "," + idleFactory, []string{"--factory", "sHOP"}, 0, factoryOne, ""},
		{"name in another case", shopFactory + "," + idleFactory, []string{"--factory", "IDLE"}, 0, factoryTwo, ""},
		{"the only one", idleFactory, nil, 0, factoryTwo, ""},
		{"one of two", shopFactory + "," + idleFactory, nil, shell.ExitUsage, "there is more than one factory", factoryTwo + " Idle"},
		{"none at all", "", nil, shell.ExitNotFound, "there is no factory yet", "lineshaft factory create NAME"},
		{"unknown", shopFactory, []string{"--factory", "sho"}, shell.ExitNotFound, `no factory has the name or alias "sho"`, "lineshaft factory list"},
		{"two of one name", shopFactory + "," + twins, []string{"--factory", "web shop"}, shell.ExitUsage, `2 factories are called "web shop"`, factoryOne + " Web shop (alias shop)"},
		{"an alias and a name", strings.Replace(idleFactory, `"Idle"`, `"Shop"`, 1) + "," + shopFactory, []string{"--factory", "shop"}, 0, factoryOne, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.answer("GET /api/v1/factory", 200, `{"factories":[`+tc.list+`],"page_info":{"has_next_page":false}}`)
			s.answer("GET /api/v1/factory/{uid}/automations", 200, `{"automations":[],"page_info":{"has_next_page":false}}`)
			r := s.run(t.Context(), append([]string{"automation", "list"}, tc.args...)...)
			if r.code != tc.code {
				t.Fatalf("%+v", r)
			}
			if tc.code == 0 {
				if got := s.last(t).path; got != "/api/v1/factory/"+tc.want+"/automations" {
					t.Errorf("asked for %s", got)
				}
				return
			}
			if !strings.Contains(r.err, tc.want) || !strings.Contains(r.err, tc.hint) {
				t.Errorf("said %q", r.err)
			}
		})
	}
}

func TestI1ManyFactoriesAreNotAllNamed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("GET /api/v1/factory", 200, `{"factories":[`+strings.Repeat(shopFactory+",", 24)+idleFactory+`],"page_info":{"has_next_page":false}}`)
	r := s.run(t.Context(), "factory", "get")
	if !strings.Contains(r.err, "Say which: lineshaft factory get UID, alias or name.") || strings.Contains(r.err, "--factory") {
		t.Errorf("%+v", r)
	}
	if r.code != shell.ExitUsage || strings.Count(r.err, factoryOne) != 10 || !strings.Contains(r.err, "and 15 more") {
		t.Errorf("%+v", r)
	}
}

// TestI1FactoryBodies: what the commands send.
func TestI1FactoryBodies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args         []string
		method, body string
	}{
		{[]string{"factory", "create", "N"}, "POST", `{"name":"N"}`},
		{[]string{"factory", "create", "N", "--alias", "a", "--description", "d"}, "POST", `{"name":"N","alias":"a","description":"d"}`},
		{[]string{"factory", "update", factoryOne, "--name", "M", "--alias", ""}, "PATCH", `{"name":"M","alias":""}`},
		{[]string{"factory", "update", factoryOne, "--description", "d", "--pause"}, "PATCH", `{"description":"d","paused":true}`},
		{[]string{"factory", "update", factoryOne, "--resume"}, "PATCH", `{"paused":false}`},
		{[]string{"factory", "delete", factoryOne}, "DELETE", ``},
	} {
		s := newStage(t).library()
		r := s.run(t.Context(), tc.args...)
		if last := s.last(t); r.code != 0 || last.method != tc.method || last.body != tc.body {
			t.Errorf("%v: sent %s %s, %+v", tc.args, last.method, last.body, r)
		}
	}
}

func TestI1FactorySearchIsSent(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	if r := s.run(t.Context(), "factory", "list", "--search", "a b"); r.code != 0 || !strings.Contains(s.requests()[0].query, "search=a+b") {
		t.Errorf("%+v %s", r, s.requests()[0].query)
	}
}

func TestI1FactoryAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mux.HandleFunc("POST /api/v1/factory", problem(409, "conflict", `alias: another factory has the alias "shop"`))
	s.mux.HandleFunc("PATCH /api/v1/factory/{uid}", problem(403, "not_authorized", "the role does not include it"))
	s.answer("GET /api/v1/factory/"+factoryTwo+"/automations", 200, `{"automations":[],"page_info":{"has_next_page":false}}`)
	s.answer("GET /api/v1/factory", 200, `{"factories":[],"page_info":{"has_next_page":false}}`)
	for _, tc := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"factory", "create", "x", "--alias", "shop"}, shell.ExitFailed, []string{"another factory has the alias"}},
		{[]string{"factory", "update", factoryOne, "--pause"}, shell.ExitDenied, []string{"does not include it", "--role ROLE"}},
		{[]string{"factory", "get", factoryOne}, shell.ExitNotFound, []string{"lineshaft factory list"}},
		{[]string{"factory", "delete", factoryOne, "nobody"}, shell.ExitNotFound, []string{factoryOne + ": no such thing", `nobody: no factory has the name or alias "nobody"`}},
		{[]string{"factory", "list"}, 0, []string{"no factories; create one: lineshaft factory create NAME"}},
		{[]string{"automation", "list", "--factory", factoryTwo}, 0, []string{"no automations; create one"}},
		{[]string{"automation", "get", "x", "--factory", factoryTwo}, shell.ExitNotFound, []string{`no automation named "x"`, "lineshaft automation list"}},
		{[]string{"automation", "get", automationOne, "--factory", factoryTwo}, shell.ExitNotFound, []string{"lineshaft automation list"}},
	} {
		r := s.run(t.Context(), tc.args...)
		if r.code != tc.code || slices.ContainsFunc(tc.says, func(text string) bool { return !strings.Contains(r.err, text) }) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
}

func TestI1MistakesOfFactories(t *testing.T) {
	t.Parallel()
	for _, tc := range []mistake{
		{"no name", "factory create", "needs a name for the factory", "lineshaft factory create NAME"},
		{"two names", "factory create a b", `does not know what to do with "b"`, "lineshaft factory create NAME"},
		{"nothing to change", "factory update shop", "there is nothing to change", "--pause"},
		{"both", "factory update shop --pause --resume", "cannot be used together", "one of them"},
		{"delete what", "factory delete", "needs a factory", "lineshaft factory delete FACTORY..."},
		{"no such command", "factory lsit", `"lsit" is not a command of lineshaft factory`, "Did you mean `lineshaft factory list`?"},
		{"no automation", "automation enable", "needs an automation by name or uid", "AUTOMATION..."},
		{"automation without name", "automation create --prompt x --webhook w", "needs a name for the automation", "lineshaft automation create NAME"},
		{"no prompt", "automation create a --webhook w", "needs one prompt", "--prompt-file FILE"},
		{"two prompts", "automation create a --webhook w --prompt x --prompt-file y", "needs one prompt", "not both"},
		{"no webhook", "automation create a --prompt x", "needs a webhook to listen to", "--webhook NAME"},
		{"policy alone", "automation create a --prompt x --webhook w --concurrency-policy skip", "there is no key", "--concurrency-key KEY"},
		{"no such policy", "automation create a --prompt x --webhook w --concurrency-key k --concurrency-policy skp", `--concurrency-policy "skp" is not known`, "Did you mean skip?"},
		{"negative brake", "automation update a --max-runs-per-hour -1", "--max-runs-per-hour -1 is negative", "0 means no limit"},
		{"no change", "automation update a", "there is nothing to change", "--filter"},
		{"two new prompts", "automation update a --prompt x --prompt-file y", "has one prompt", "not both"},
		{"bad new filter", "automation update a --filter {", "--filter is not JSON", "quotes around"},
		{"bad filter", "automation create a --prompt x --webhook w --filter {action:", "--filter is not JSON", "quotes around"},
		{"no filter file", "automation create a --prompt x --webhook w --filter @none.json", "none.json", "Check its name"},
		{"no prompt file", "automation create a --prompt-file none.md --webhook w", "none.md", "Check its name"},
		{"empty input", "automation create a --prompt-file - --webhook w", "standard input is empty", "Pipe the text in"},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}
