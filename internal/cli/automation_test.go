package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// TestI1AutomationBodies: what `automation create` makes of its flags.
func TestI1AutomationBodies(t *testing.T) {
	t.Parallel()
	const hook = hookUID
	for _, tc := range []struct {
		name  string
		flags []string
		stdin string
		body  string
	}{
		{
			"least",
			[]string{"--prompt", "p", "--webhook", "issues"},
			"",
			`{"name":"a","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhooks":["issues"]}}]}`,
		},
		{
			"by name and uid",
			[]string{"--prompt", "p", "--webhook", "issues", "--webhook", hook, "--disabled", "--agent", "builder"},
			"",
			`{"name":"a","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhook_ids":["` + hook + `"],"webhooks":["issues"]}}],"enabled":false,"agent":"builder"}`,
		},
		{
			"filter",
			[]string{"--prompt", "p", "--webhook", "w", "--filter", `{"n": [1.0, 12345678901234567890]}`},
			"",
			`{"name":"a","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"payload":{"n":[1.0,12345678901234567890]},"webhooks":["w"]}}]}`,
		},
		{
			"files",
			[]string{"--prompt-file", file(t, "p.md", "from a file\n"), "--webhook", "w", "--filter", "@" + file(t, "f.json", "{\"a\":\n[true]}\n")},
			"",
			`{"name":"a","prompt":"from a file\n","triggers":[{"provider":"webhook","event":"received","filter":{"payload":{"a":[true]},"webhooks":["w"]}}]}`,
		},
		{
			"standard input and brakes",
			[]string{"--prompt-file", "-", "--webhook", "w", "--concurrency-key", "k-{{payload.id}}", "--concurrency-policy", "skip", "--max-runs-per-hour", "5"},
			"piped",
			`{"name":"a","prompt":"piped","triggers":[{"provider":"webhook","event":"received","filter":{"webhooks":["w"]}}],"concurrency":{"key":"k-{{payload.id}}","policy":"skip"},"max_runs_per_hour":5}`,
		},
		{
			"title",
			[]string{"--prompt", "p", "--webhook", "w", "--title", "#{{payload.n}}"},
			"",
			`{"name":"a","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhooks":["w"]}}],"title":"#{{payload.n}}"}`,
		},
		{
			"secrets",
			[]string{"--prompt", "p", "--webhook", "w", "--secret", "ONE", "--secret", "TWO"},
			"",
			`{"name":"a","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhooks":["w"]}}],"config":{"secrets":[{"name":"ONE"},{"name":"TWO"}]}}`,
		},
		{
			"other triggers",
			[]string{"--prompt", "p", "--trigger", "github/pull_request_opened", "--trigger", `{"provider":"github","event":"push","filter":{"branches":["main"]}}`},
			"",
			`{"name":"a","prompt":"p","triggers":[{"provider":"github","event":"pull_request_opened","filter":{}},{"provider":"github","event":"push","filter":{"branches":{"in":["main"]}}}]}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t).library()
			s.deps.Stdin = strings.NewReader(tc.stdin)
			r := s.run(t.Context(), append([]string{"automation", "create", "--factory", factoryOne, "a"}, tc.flags...)...)
			last := s.last(t)
			if r.code != 0 || r.out != automationOne+"\n" || last.method != "POST" || last.body != tc.body {
				t.Errorf("%+v sent\n%s, want\n%s", r, last.body, tc.body)
			}
		})
	}
}

// TestI1AutomationChanges: what `automation update` makes of its flags and of what
// the automation is now. deploy also listens to a webhook that is gone.
func TestI1AutomationChanges(t *testing.T) {
	t.Parallel()
	const left = `"webhook_ids":["` + hookUID + `"],"webhooks":["left"]`
	for _, tc := range []struct {
		name  string
		flags []string
		body  string
	}{
		{"name and prompt", []string{"--name", "b", "--prompt", "p"}, `{"name":"b","prompt":"p"}`},
		{"prompt file", []string{"--prompt-file", file(t, "p.md", "from a file\n")}, `{"prompt":"from a file\n"}`},
		{"title", []string{"--title", "#{{payload.n}}"}, `{"title":"#{{payload.n}}"}`},
		{"no title", []string{"--title", ""}, `{"title":""}`},
		{"foreman, no brake", []string{"--agent", "", "--max-runs-per-hour", "0"}, `{"agent":"","max_runs_per_hour":0}`},
		{"filter", []string{"--filter", `{"n": [2.0]}`}, `{"triggers":[{"provider":"webhook","event":"received","filter":{"payload":{"n":[2.0]},` + left + `}}]}`},
		{"no filter", []string{"--filter", ""}, `{"triggers":[{"provider":"webhook","event":"received","filter":{` + left + `}}]}`},
		{"webhooks", []string{"--webhook", "issues", "--webhook", "u-2"}, `{"triggers":[{"provider":"webhook","event":"received","filter":{"payload":{"n":[1.0]},"webhook_ids":["u-2"],"webhooks":["issues"]}}]}`},
		{"key", []string{"--concurrency-key", "k"}, `{"concurrency":{"key":"k"}}`},
		{"key and policy", []string{"--concurrency-key", "k", "--concurrency-policy", "skip"}, `{"concurrency":{"key":"k","policy":"skip"}}`},
		{"no key", []string{"--concurrency-key", ""}, `{"concurrency":{"key":""}}`},
		{"secrets", []string{"--secret", "ONE", "--secret", "TWO"}, `{"config":{"model_id":"m-2","secrets":[{"name":"ONE"},{"name":"TWO"}]}}`},
		{"no secrets", []string{"--secret", ""}, `{"config":{"model_id":"m-2"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t).library()
			r := s.run(t.Context(), append([]string{"automation", "update", "deploy", "--factory", "shop", "-o", "json"}, tc.flags...)...)
			last := s.last(t)
			if r.code != 0 || !strings.Contains(r.out, `"triage"`) || last.method != "PATCH" || last.body != tc.body || !strings.HasSuffix(last.path, "/automations/"+automationTwo) {
				t.Errorf("%+v sent\n%s, want\n%s", r, last.body, tc.body)
			}
		})
	}
	s := newStage(t).library()
	r := s.run(t.Context(), "automation", "update", "triage", "--factory", "shop", "--concurrency-policy", "queue")
	if got := s.requests()[len(s.requests())-2]; r.code != 0 || got.body != `{"concurrency":{"key":"issue-{{payload.n}}","policy":"queue"}}` || !strings.Contains(r.out, "w-1 (gone)") {
		t.Errorf("%+v sent %s", r, got.body)
	}
}

func TestI1AutomationsThatCannotBeChanged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"update", "triage", "--filter", "{}"}, shell.ExitUsage, "has 2 triggers"},
		{[]string{"update", "deploy", "--webhook", "nobody"}, shell.ExitNotFound, `no webhook "nobody"`},
		{[]string{"update", "nobody", "--name", "x"}, shell.ExitNotFound, `no automation named "nobody"`},
		{[]string{"update", "deploy", "--concurrency-policy", "skip"}, shell.ExitUsage, "there is no key"},
		{[]string{"create", "x", "--prompt", "p", "--webhook", "nobody"}, shell.ExitNotFound, `no webhook "nobody"`},
	} {
		s := newStage(t).library()
		r := s.run(t.Context(), append([]string{"automation", "--factory", "shop"}, tc.args...)...)
		if r.code != tc.code || !strings.Contains(r.err, tc.says) {
			t.Errorf("%v: %+v", tc.args, r)
		}
		if last := s.last(t); last.method != "GET" {
			t.Errorf("%v: sent %s %s", tc.args, last.method, last.body)
		}
	}
}

func TestI1AutomationSwitches(t *testing.T) {
	t.Parallel()
	for verb, body := range map[string]string{"enable": `{"enabled":true}`, "disable": `{"enabled":false}`} {
		s := newStage(t).library()
		r := s.run(t.Context(), "automation", verb, "triage", "--factory", "shop")
		last := s.last(t)
		if r.code != 0 || r.out != verb+"d triage\n" || last.method != "PATCH" || last.body != body || !strings.HasSuffix(last.path, "/automations/"+automationOne) {
			t.Errorf("%s: %+v %+v", verb, r, last)
		}
	}
}

// TestI1AutomationsOneByOne: one that is missing does not keep the others.
func TestI1AutomationsOneByOne(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	r := s.run(t.Context(), "automation", "delete", "nobody", "triage", "--factory", "shop")
	if r.code != shell.ExitNotFound || r.out != "deleted triage\n" || !strings.Contains(r.err, `nobody: the factory has no automation named "nobody"`) {
		t.Errorf("%+v", r)
	}
}

func TestI1LargeFilesAreNotSent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := file(t, "big", "")
	if err := os.Truncate(path, shell.MaxStdin+1); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--prompt-file", path}, {"--prompt", "p", "--filter", "@" + path}} {
		r := s.run(t.Context(), append([]string{"automation", "create", "a", "--webhook", "w"}, args...)...)
		if r.code != shell.ExitUsage || !strings.Contains(r.err, "more than 1048576 bytes") || len(s.requests()) != 0 {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestI1TriggersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "github", "{", `{"provider":"github"}`, `["github/push"]`} {
		s := newStage(t).library()
		r := s.run(t.Context(), "automation", "create", "a", "--factory", factoryOne, "--prompt", "p", "--trigger", text)
		if r.code != 2 || !strings.Contains(r.err, "--trigger github/push") {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

// TestF6AutomationGetShowsFilters: every condition of a trigger is shown, and so are the title of
// runs and what has no effect.
func TestF6AutomationGetShowsFilters(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	const uid = "01980f11-3344-7556-8778-99aabbccdde0"
	s.answer("GET /api/v1/factory/"+factoryOne+"/automations/"+uid, 200, `{"uid":"`+uid+`","factory_uid":"`+factoryOne+`",
		"name":"a","prompt":"p","title":"#{{payload.n}}","notices":["triggers[0].filter.keywords: no"],"triggers":[
		{"provider":"slack","event":"reaction_added","filter":{"channel_ids":["C1","C2"],"emojis":{"in":["eyes"],"not_in":["x"]}}},
		{"provider":"linear","event":"issue_created","filter":{"teams":["ENG"],"payload":{"a":[1]}}}]}`)
	r := s.run(t.Context(), "automation", "get", uid, "--factory", factoryOne)
	for _, want := range []string{
		"channel_ids in C1, C2", "emojis in eyes and not in x", "teams in ENG", `{"a":[1]}`, "#{{payload.n}}", "triggers[0].filter.keywords: no",
	} {
		if r.code != shell.ExitOK || !strings.Contains(r.out, want) {
			t.Errorf("%q is missing: %+v", want, r)
		}
	}
}
