package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const (
	environmentOne = "7hQ2mXv9LkD4sTfR1bWcYz"
	environmentTwo = "8hQ2mXv9LkD4sTfR1bWcYz"

	shopEnvironment = `{"uid":"` + environmentOne + `","config":{"name":"shop","description":"The \u001b[31mshop","docker_image":"node:24","github_repos":[{"owner":"acme","repo":"shop"},{"owner":"acme/ops","repo":"tools"}],` +
		`"setup_commands":["cd shop && npm ci","cd shop\nnpm test"],"secrets":[{"name":"NPM_TOKEN"}],"git_credentials":"FORGE"},"last_updated":"2026-01-02T03:59:00.000000Z","setup_failed":true,` +
		`"last_task_run_timestamp":"2026-01-02T03:00:00.000000Z","last_task_created":{"id":"run-1","title":"t","state":"FAILED","created_at":"2026-01-02T03:00:00.000000Z","updated_at":"2026-01-02T03:00:00.000000Z","started_at":null},` +
		`"scope":{"type":"Team"},"creator":{"type":"user","uid":"u"},"last_editor":{"type":"user","uid":"u"}}`
	plainEnvironment = `{"uid":"` + environmentTwo + `","config":{"name":"plain"},"last_updated":"2026-01-01T04:00:00.000000Z","setup_failed":false,"last_task_run_timestamp":null,` +
		`"scope":{"type":"Team"},"creator":{"type":"user","uid":"u"},"last_editor":{"type":"user","uid":"u"}}`
)

// environments adds two environments.
func (s *stage) environments() {
	s.answer("GET /api/v1/agent/environments", 200, `{"environments":[`+shopEnvironment+`,`+plainEnvironment+`]}`)
	s.answer("POST /api/v1/agent/environments", 201, shopEnvironment)
	s.answer("GET /api/v1/agent/environments/"+environmentOne, 200, shopEnvironment)
	s.answer("PUT /api/v1/agent/environments/"+environmentOne, 200, shopEnvironment)
	s.answer("DELETE /api/v1/agent/environments/{uid}", 204, ``)
}

func TestX9EnvironmentCreateAndUpdate(t *testing.T) {
	t.Parallel()
	shop := `"name":"shop","description":"The \u001b[31mshop","docker_image":"node:24","github_repos":[{"owner":"acme","repo":"shop"},{"owner":"acme/ops","repo":"tools"}],` +
		`"setup_commands":["cd shop \u0026\u0026 npm ci","cd shop\nnpm test"],"secrets":[{"name":"NPM_TOKEN"}],"git_credentials":"FORGE"`
	for _, tc := range []struct {
		args  []string
		sends string
	}{
		{[]string{"create", "shop"}, `{"config":{"name":"shop"}}`},
		{
			[]string{
				"create", "shop", "--description", "d", "--image", "i", "--repo", "a/b", "--repo", "g/s/c", "--setup-command", "one, two", "--setup-command", "three",
				"--refresh-command", "four",
				"--secret", "A", "--secret", "B", "--git-credentials", "G",
			},
			`{"config":{"name":"shop","description":"d","docker_image":"i","github_repos":[{"owner":"a","repo":"b"},{"owner":"g/s","repo":"c"}],"setup_commands":["one, two","three"],"refresh_commands":["four"],"secrets":[{"name":"A"},{"name":"B"}],"git_credentials":"G"}}`,
		},
		{[]string{"update", "SHOP", "--name", "shop"}, `{"config":{` + shop + `}}`},
		{[]string{"update", environmentOne, "--image="}, `{"config":{` + strings.Replace(shop, `"docker_image":"node:24",`, "", 1) + `}}`},
		{[]string{"update", "shop", "--repo=", "--setup-command=", "--secret=", "--git-credentials=", "--description="}, `{"config":{"name":"shop","docker_image":"node:24"}}`},
		{[]string{"update", "shop", "--repo", "x/y"}, `{"config":{` + strings.Replace(shop, `[{"owner":"acme","repo":"shop"},{"owner":"acme/ops","repo":"tools"}]`, `[{"owner":"x","repo":"y"}]`, 1) + `}}`},
	} {
		s := newStage(t)
		s.environments()
		r := s.run(t.Context(), append([]string{"environment"}, tc.args...)...)
		got := s.requests()[len(s.requests())-1]
		if r.code != shell.ExitOK || strings.ReplaceAll(got.body, "&&", `\u0026\u0026`) != tc.sends {
			t.Errorf("%q: %+v\nsent %s\nwant %s", tc.args, r, got.body, tc.sends)
		}
	}
}

// preparing is a run that asks no model.
func TestX14EnvironmentPrepare(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.environments()
	s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r1","state":"QUEUED"}`)
	r := s.run(t.Context(), "environment", "prepare", "shop", "--host", "build-1")
	got := s.requests()[len(s.requests())-1].body
	for _, want := range []string{
		`"environment_id":"` + environmentOne + `"`, `"harness":{"type":"shell"}`, `"worker_host":"build-1"`, `"title":"Prepare shop"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("sent %s without %s", got, want)
		}
	}
	if r.code != shell.ExitOK || r.out != "r1\n" {
		t.Errorf("answered %+v", r)
	}
}

// who waits learns what was kept, which the run's own success does not say, and what to do otherwise.
func TestX14PrepareSaysWhatIsKept(t *testing.T) {
	t.Parallel()
	const cold = `{"step":"cold","worker":"mac","reason":"nothing like it was prepared"}`
	for _, tc := range []struct{ name, flags, state, steps, want string }{
		{"kept", "--wait", "SUCCEEDED", cold + `,{"step":"command","worker":"mac","name":"true"},{"step":"kept","worker":"mac","layer":"abc"}`, "-- later runs start on layer abc on worker mac\n"},
		{"for programs", "--wait -o json", "SUCCEEDED", `{"step":"kept","worker":"mac","layer":"abc"}`, "-- later runs start on layer abc on worker mac\n"},
		{"before", "--wait", "SUCCEEDED", `{"step":"warm","worker":"mac","layer":"abc"}`, "-- it was prepared before: layer abc on worker mac; to prepare it again, change the environment, if only its description\n"},
		{"again", "--wait", "SUCCEEDED", `{"step":"kept","worker":"mac","layer":"old"},{"step":"newer","worker":"mac","layer":"old"},{"step":"kept","worker":"mac","layer":"new"}`, "-- later runs start on layer new on worker mac\n"},
		{"not kept", "--wait", "SUCCEEDED", cold + `,{"step":"unkept","worker":"mac","reason":"the disk is \u001b[31mfull"}`, "-- it is not kept for later runs: the disk is full\n"},
		{"never kept", "--wait", "SUCCEEDED", cold, "-- its log does not say that it is kept for later runs, and it started cold: nothing like it was prepared; `lineshaft doctor`, run where the worker is, says what that needs\n"},
		{"nothing", "--wait", "SUCCEEDED", "", "-- nothing was prepared; repositories or set-up commands are missing: lineshaft environment update shop --help\n"},
		{"failed", "--wait", "FAILED", cold, "-- what its commands have printed: lineshaft runs logs r\n"},
		{"failed before your eyes", "--follow", "FAILED", "", ""},
		{"nobody waits", "", "SUCCEEDED", cold, ""},
	} {
		s := newStage(t)
		s.environments()
		s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r","state":"QUEUED"}`)
		s.answer("GET /api/v1/agent/runs/r", 200, `{"run_id":"r","state":"`+tc.state+`"}`)
		s.mux.HandleFunc("GET /api/v1/agent/runs/r/events", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept") == "text/event-stream" {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "id: 1\ndata: {\"sequence\":1,\"type\":\"state\",\"data\":{\"to\":%q}}\n\n", tc.state)
				return
			}
			var steps []json.RawMessage
			if err := json.Unmarshal([]byte("["+tc.steps+"]"), &steps); err != nil {
				t.Error(err)
			}
			events := []string{`{"sequence":1,"type":"notice","data":{"level":"info","text":"A new workspace."}}`}
			for i, step := range steps {
				events = append(events, fmt.Sprintf(`{"sequence":%d,"type":"notice","data":{"level":"info","text":"t","environment":%s}}`, i+2, step))
			}
			fmt.Fprintf(w, `{"events":[%s],"page_info":{"has_next_page":false}}`, strings.Join(events, ","))
		})
		r := s.run(t.Context(), append([]string{"environment", "prepare", "shop"}, strings.Fields(tc.flags)...)...)
		told := strings.TrimPrefix(r.err, "-- run r\n")
		if (r.code == shell.ExitOK) != (tc.state == "SUCCEEDED") || told != tc.want {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}

func TestX9EnvironmentMistakes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"environment create":                      {shell.ExitUsage, "needs a name"},
		"environment create a b":                  {shell.ExitUsage, "does not know what to do"},
		"environment create a --repo shop":        {shell.ExitUsage, "Write --repo owner/name."},
		"environment create a --repo shop/":       {shell.ExitUsage, "Write --repo owner/name."},
		"environment update shop":                 {shell.ExitUsage, "nothing to change"},
		"environment update shop --repo /x":       {shell.ExitUsage, "Write --repo owner/name."},
		"environment list --sort age":             {shell.ExitUsage, "--sort name or --sort updated"},
		"environment prepare":                     {shell.ExitUsage, "needs the name or uid"},
		"environment prepare nope":                {shell.ExitNotFound, `no environment has the name "nope"`},
		"environment get":                         {shell.ExitUsage, "needs the name or uid"},
		"environment get nope":                    {shell.ExitNotFound, `no environment has the name "nope"`},
		"environment delete nope":                 {shell.ExitNotFound, `no environment has the name "nope"`},
		"run x --environment nope":                {shell.ExitNotFound, "`lineshaft environment list` shows"},
		"environment get 9hQ2mXv9LkD4sTfR1bWcYz":  {shell.ExitNotFound, "no such"},
		"environment lst":                         {shell.ExitUsage, "Did you mean `lineshaft environment list`?"},
		"environment update nope --description x": {shell.ExitNotFound, "nope"},
	} {
		s := newStage(t)
		s.environments()
		s.mux.HandleFunc("GET /api/v1/agent/environments/{uid}", problem(404, "resource_not_found", "no such environment"))
		r := s.run(t.Context(), strings.Fields(line)...)
		if r.code != want.code || !strings.Contains(r.err, want.text) {
			t.Errorf("%s: %+v", line, r)
		}
		if want.code == shell.ExitUsage && len(s.requests()) > 0 {
			t.Errorf("%s asks the server", line)
		}
	}
	s := newStage(t)
	s.answer("GET /api/v1/agent/environments", 200, `{"environments":[`+shopEnvironment+`,`+strings.Replace(plainEnvironment, `"plain"`, `"Shop"`, 1)+`]}`)
	if r := s.run(t.Context(), "run", "x", "--environment", "shop"); r.code != shell.ExitUsage || !strings.Contains(r.err, environmentOne) || !strings.Contains(r.err, environmentTwo) {
		t.Errorf("two of one name: %+v", r)
	}
}

func TestI1RunInAnEnvironment(t *testing.T) {
	t.Parallel()
	for ref, requests := range map[string]int{"shop": 2, "SHOP": 2, environmentOne: 1} {
		s := newStage(t)
		s.environments()
		s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r1","state":"QUEUED"}`)
		r := s.run(t.Context(), "run", "go", "--environment", ref)
		if got := s.requests(); r.code != shell.ExitOK || len(got) != requests || !strings.Contains(got[len(got)-1].body, `"environment_id":"`+environmentOne+`"`) {
			t.Errorf("%s: %+v, sent %+v", ref, r, got)
		}
	}
}
