package api

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// memoryForge is a control.Git with one repository, acme/tools.
type memoryForge map[string]string

func (memoryForge) URL(r lineshaft.Repository) string { return r.String() }

func (memoryForge) Head(_ context.Context, url, _ string) (string, error) {
	switch url {
	case "acme/tools":
		return "abc123", nil
	case "acme/away":
		return "", lineshaft.Unavailable(nil, "no answer")
	}
	return "", lineshaft.NotFound("repository", url)
}

func (f memoryForge) Tree(_ context.Context, _, _ string, keep func(string, int64) bool) (map[string]string, error) {
	kept := map[string]string{}
	for path, text := range f {
		if keep(path, int64(len(text))) {
			kept[path] = text
		}
	}
	return kept, nil
}

func skillServer(t *testing.T) *bench {
	t.Helper()
	b := newServerOn(t, base.Config{Lease: time.Minute, Git: memoryForge{
		".agents/skills/triage/SKILL.md": "---\nname: Triage\ndescription: Sorts issues.\n---\nRead $ARGUMENTS.",
		"skills/broken/SKILL.md":         "nothing",
	}})
	err := b.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutEnvironment(ctx, lineshaft.Environment{UID: "e1", Config: lineshaft.EnvironmentConfig{
			Name: "tools", Repositories: []lineshaft.Repository{{Owner: "acme", Name: "tools"}, {Owner: "acme", Name: "away"}},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ask sends a request that must succeed.
func ask[T any](b *bench, role lineshaft.Role, method, path, body string) T {
	b.Helper()
	return decode[T](b.T, b.check(b.T, scenario{name: body, method: method, path: path, as: role, body: body, status: 200}))
}

func TestX8RunsShowTheirSkill(t *testing.T) {
	t.Parallel()
	b := skillServer(t)
	var started RunAgentResponse
	for _, body := range []string{
		`{"skill":"acme/tools:triage","config":{"skill_spec":"acme/tools:other"}}`,
		`{"config":{"skill_spec":"tools:triage","environment_id":"e1"},"prompt":"issue 7"}`,
		`{"config":{"skills":["acme/tools:.agents/skills/triage/SKILL.md"]}}`,
	} {
		started = ask[RunAgentResponse](b, lineshaft.RoleMember, post, "/agent/runs", body)
		run := ask[RunItem](b, lineshaft.RoleViewer, get, "/agent/runs/"+started.RunID, "")
		want := AgentSkill{"Triage", "Sorts issues.", ".agents/skills/triage/SKILL.md", "abc123"}
		if run.AgentSkill == nil || *run.AgentSkill != want || run.AgentConfig.Name != "Triage" ||
			!strings.HasPrefix(run.AgentConfig.SkillSpec, "acme/tools:") || run.AgentConfig.Skills[0] != run.AgentConfig.SkillSpec {
			t.Errorf("%s: %+v %+v", body, run.AgentSkill, run.AgentConfig)
		}
	}
	for query, want := range map[string]int{
		"skill=acme/tools:triage": 3, "skill_spec=acme/tools:.agents/skills/triage/SKILL.md": 3, "name=Triage": 3, "sort_by=agent": 3,
		"skill=acme/tools:other": 0,
	} {
		list := ask[ListRunsResponse](b, lineshaft.RoleViewer, get, "/agent/runs?"+query, "")
		if len(list.Runs) != want {
			t.Errorf("%s: %d runs, want %d", query, len(list.Runs), want)
		}
	}
}

func TestX8SkillsThatDoNotExistAreNamed(t *testing.T) {
	t.Parallel()
	b := skillServer(t)
	b.play(t, []scenario{
		create("typo", `{"skill":"acme/tools:triag"}`, 404, "resource_not_found", `"detail":"skill: repository acme/tools has no skill`, "it has triage"),
		create("no repository", `{"skill":"acme/nothing:x"}`, 404, "resource_not_found", "no repository acme/nothing"),
		create("no owner", `{"skill":"other:x"}`, 400, "invalid_request", "write owner/other:x"),
		create("of a list", `{"config":{"skills":["acme/tools:triage","acme/tools:x"]}}`, 404, "resource_not_found", `"detail":"config.skills[1]: `),
		create("nonsense", `{"skill":"acme/tools:"}`, 400, "invalid_request", `"detail":"skill: `),
		create("malformed", `{"skill":"acme/tools:broken"}`, 400, "invalid_request", "no front matter"),
		create("nothing at all", `{}`, 400, "invalid_request", "a skill"),
	})
}

func TestF8SkillsAreListedByName(t *testing.T) {
	t.Parallel()
	b := skillServer(t)
	list := func(query string) ListAgentsResponse {
		t.Helper()
		return ask[ListAgentsResponse](b, lineshaft.RoleViewer, get, "/agent"+query, "")
	}
	got := list("")
	if len(got.Agents) != 1 || got.Agents[0].Name != "Triage" || len(got.Agents[0].Variants) != 1 {
		t.Fatalf("%+v", got)
	}
	v := got.Agents[0].Variants[0]
	if v.ID != "acme/tools:.agents/skills/triage/SKILL.md" || v.BasePrompt != "Read $ARGUMENTS." || v.Source.SkillPath != ".agents/skills/triage/SKILL.md" ||
		v.Source.Owner != "acme" || len(v.Environments) != 1 || v.Environments[0] != (VariantEnvironment{"e1", "tools"}) || v.LastRunTimestamp != nil {
		t.Errorf("%+v", v)
	}
	b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{Skills: []string{"acme/tools:triage"}}})
	if v := list("?repo=acme/tools&sort_by=last_run&refresh=true").Agents[0].Variants[0]; v.LastRunTimestamp == nil {
		t.Errorf("%+v", v)
	}
	if got := list("?include_malformed_skills=true"); len(got.Agents) != 2 || got.Agents[1].Variants[0].Error == "" {
		t.Errorf("%+v", got)
	}
	at := func(query string, role lineshaft.Role, status int, code lineshaft.Code, has ...string) scenario {
		return scenario{name: query + string(role), method: get, path: "/agent?" + query, as: role, status: status, code: code, has: has}
	}
	b.play(t, []scenario{
		at("repo=acme/away", lineshaft.RoleViewer, 503, "resource_unavailable", "does not answer"),
		at("repo=acme/nothing", lineshaft.RoleMember, 404, "resource_not_found"),
		at("repo=acme/nothing", lineshaft.RoleViewer, 403, "not_authorized"),
		at("repo=nonsense", lineshaft.RoleViewer, 400, "invalid_request", `"detail":"repo: `),
		at("sort_by=size", lineshaft.RoleViewer, 400, "invalid_request"),
	})
}
