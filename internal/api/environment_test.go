package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
)

const environmentBody = `{"config":{"name":"shop","description":"d","docker_image":"node:24","github_repos":[{"owner":"acme","repo":"shop"}],` +
	`"setup_commands":["cd shop && npm ci"],"secrets":[{"name":"TOKEN"}],"git_credentials":"FORGE"}}`

// environment makes one over HTTP and gives its uid.
func (b *bench) environment(t *testing.T, body string) string {
	t.Helper()
	w := b.check(t, scenario{name: "create", method: post, path: "/agent/environments", as: lineshaft.RoleManager, body: body, status: 201})
	var made CloudEnvironment
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	return made.UID
}

func TestX9EnvironmentsOverHTTP(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	viewer, manager, admin := lineshaft.RoleViewer, lineshaft.RoleManager, lineshaft.RoleAdmin
	const list = "/agent/environments"
	b.play(t, []scenario{
		{name: "empty", method: get, path: list, as: viewer, status: 200, has: []string{`{"environments":[]}`}},
		{name: "no secret yet", method: post, path: list, as: manager, body: environmentBody, status: 400, code: "invalid_request", has: []string{"config.git_credentials: there is no secret FORGE"}},
		{method: post, path: "/secrets", as: admin, body: secretBody("TOKEN", hidden), status: 201},
		{method: post, path: "/secrets", as: admin, body: secretBody("FORGE", hidden), status: 201},
	})
	uid := b.environment(t, environmentBody)
	if len(uid) != 22 {
		t.Errorf("uid %q", uid)
	}
	one := list + "/" + uid
	config := strings.TrimSuffix(strings.TrimPrefix(environmentBody, `{"config":`), "}")
	b.play(t, []scenario{
		{name: "get", method: get, path: one, as: viewer, status: 200, not: []string{"last_task_created", hidden}, has: []string{
			`"uid":"` + uid + `"`, `"config":` + config, `"setup_failed":false`, `"last_task_run_timestamp":null`, `"scope":{"type":"Team"`, `"last_updated":"`, `"creator":{"type":"service_account"`, `"last_editor":{`,
		}},
		{name: "list", method: get, path: list, as: viewer, status: 200, has: []string{`"environments":[{"uid":"` + uid}},
		{name: "list by name", method: get, path: list + "?sort_by=name", as: viewer, status: 200, has: []string{uid}},
		{name: "list by update", method: get, path: list + "?sort_by=last_updated", as: viewer, status: 200, has: []string{uid}},
		{name: "bad order", method: get, path: list + "?sort_by=age", as: viewer, status: 400, code: "invalid_request", has: []string{"sort_by"}},
		{name: "replace", method: put, path: one, as: manager, body: `{"config":{"name":"shop 2","description":null}}`, status: 200, has: []string{`"config":{"name":"shop 2"}`}},
		{name: "secret is free", method: del, path: "/secrets/TOKEN", as: admin, status: 204},
		{name: "replace unknown", method: put, path: list + "/nope", as: manager, body: `{"config":{"name":"x"}}`, status: 404, code: "resource_not_found"},
		{name: "get unknown", method: get, path: list + "/%00%ff", as: viewer, status: 404, code: "resource_not_found"},
		{name: "member may not", method: post, path: list, as: lineshaft.RoleMember, body: `{"config":{"name":"x"}}`, status: 403, code: "not_authorized"},
		{name: "no patch", method: patch, path: one, as: manager, body: `{}`, status: 405},
		{name: "delete", method: del, path: one, as: manager, status: 204},
		{name: "delete again", method: del, path: one, as: manager, status: 404, code: "resource_not_found"},
		{name: "audit", method: get, path: "/audit?limit=100", as: admin, status: 200, not: []string{hidden}, has: []string{`"action":"environment.create"`, `"action":"environment.update"`, `"action":"environment.delete"`, `"git_credentials":"FORGE"`}},
	})
}

func TestX9EnvironmentShowsItsNewestRun(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid := b.environment(t, `{"config":{"name":"shop"}}`)
	one := "/agent/environments/" + uid
	runID := b.start(lineshaft.NewRun{Prompt: "Fix it", Config: lineshaft.AgentConfig{EnvironmentID: uid}})
	b.check(t, scenario{method: get, path: one, as: lineshaft.RoleViewer, status: 200, has: []string{
		`"last_task_created":{"id":"` + runID + `","title":"Fix it","state":"QUEUED",`, `"started_at":null`, `"last_task_run_timestamp":"2`, `"setup_failed":false`,
	}})
	b.check(t, scenario{method: del, path: one, as: lineshaft.RoleManager, status: 409, code: "conflict", has: []string{runID}})
	job := b.claim()
	if _, err := b.control.EndTurn(t.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Failed, Code: lineshaft.CodeEnvironmentSetupFailed, Message: "m", Dead: true}); err != nil {
		t.Fatal(err)
	}
	b.check(t, scenario{method: get, path: "/agent/environments", as: lineshaft.RoleViewer, status: 200, has: []string{`"setup_failed":true`, `"state":"FAILED"`}})
	b.check(t, scenario{method: del, path: one, as: lineshaft.RoleManager, status: 204})
}

func TestX9BadEnvironments(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	with := func(field, value string) string { return fmt.Sprintf(`{"config":{"name":"x",%q:%s}}`, field, value) }
	many := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	var list []scenario
	for name, test := range map[string]struct {
		body, field string
		status      int
	}{
		"nothing":         {`{}`, "config", 400},
		"flat":            {`{"name":"x"}`, "config", 400},
		"no name":         {`{"config":{}}`, "config.name", 400},
		"empty name":      {`{"config":{"name":""}}`, "config.name", 400},
		"blank name":      {`{"config":{"name":" "}}`, "config.name", 400},
		"description":     {with("description", `"`+strings.Repeat("x", 241)+`"`), "config.description", 400},
		"option as image": {with("docker_image", `"-v=/:/host"`), "config.docker_image", 400},
		"image":           {with("docker_image", `"a b"`), "config.docker_image", 400},
		"repository":      {with("github_repos", `[{"owner":"acme"}]`), "config.github_repos[0].repo", 400},
		"odd repository":  {with("github_repos", `[{"owner":"acme","repo":"../x"}]`), "config.github_repos[0]", 400},
		"twice":           {with("github_repos", `[{"owner":"a","repo":"x"},{"owner":"a","repo":"x"}]`), "config.github_repos[1]", 400},
		"101 commands":    {with("setup_commands", many(101, `"x"`)), "config.setup_commands", 400},
		"long command":    {with("setup_commands", `["`+strings.Repeat("x", 4097)+`"]`), "config.setup_commands[0]", 400},
		"blank command":   {with("setup_commands", `[" "]`), "config.setup_commands[0]", 400},
		"secret":          {with("secrets", `[{"name":"x"}]`), "config.secrets[0].name", 400},
		"unknown secret":  {with("secrets", `[{"name":"NOPE"}]`), "config.secrets: there is no secret NOPE", 400},
		"credentials":     {with("git_credentials", `"x:y"`), "config.git_credentials", 400},
		"providers":       {with("providers", `{"aws":{"role_arn":"x"}}`), "config.providers", 422},
		"retention":       {with("failure_session_retention_minutes", `5`), "config.failure_session_retention_minutes", 422},
		"number for text": {with("docker_image", `5`), "config.docker_image", 400},
	} {
		code := lineshaft.CodeInvalidRequest
		if test.status == 422 {
			code = lineshaft.CodeNotSupported
		}
		list = append(list, scenario{name: name, method: post, path: "/agent/environments", as: lineshaft.RoleManager, body: test.body, status: test.status, code: code, has: []string{test.field}})
	}
	for name, body := range map[string]string{
		"limits": with("setup_commands", many(100, `"`+strings.Repeat("x", 100)+`"`)), "nothing asked": `{"config":{"name":"x","providers":null,"failure_session_retention_minutes":null,"github_repos":[]}}`,
	} {
		list = append(list, scenario{name: name, method: post, path: "/agent/environments", as: lineshaft.RoleManager, body: body, status: 201})
	}
	b.play(t, list)
}

func TestS3LimitedKeysReadEnvironmentsOverHTTP(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid := b.environment(t, `{"config":{"name":"shop"}}`)
	_, key, err := b.control.CreateAPIKey(t.Context(), b.admin(), access.NewAPIKey{Name: "limited", Role: lineshaft.RoleManager, FactoryUIDs: []string{b.elsewhere()}})
	if err != nil {
		t.Fatal(err)
	}
	b.keys[lineshaft.RoleManager] = key
	for _, sc := range []scenario{
		{method: get, path: "/agent/environments", status: 200, has: []string{uid}},
		{method: get, path: "/agent/environments/" + uid, status: 200},
		{method: post, path: "/agent/environments", body: `{"config":{"name":"x"}}`, status: 403, code: "not_authorized", has: []string{"team"}},
		{method: put, path: "/agent/environments/" + uid, body: `{"config":{"name":"x"}}`, status: 403, code: "not_authorized"},
		{method: del, path: "/agent/environments/" + uid, status: 403, code: "not_authorized"},
	} {
		sc.as = lineshaft.RoleManager
		b.check(t, sc)
	}
}
