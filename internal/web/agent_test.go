package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web"
)

func TestI2AgentIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleManager)
	s.shows("/agents", "No agents yet")
	f := s.factory("Shop")
	s.shows("/agents", "foreman", "Shop")
	s.shows("/agents/new?factory="+f.UID, "Create agent", `value="`+f.UID+`" selected`)
	form := url.Values{
		"factory_uid": {f.UID}, "name": {"reviewer"}, "agent_type": {"REVIEW"}, "description": {hostile}, "prompt": {"You review.\r\nYou never push."},
		"skills": {"acme/skills:review\r\n\r\n"}, "harness": {"codex"}, "harness_model": {"gpt"}, "reasoning": {"high"}, "permissions": {"deny"},
	}
	status, _, page := s.post("/agents", url.Values{"factory_uid": {f.UID}, "name": {"a/b"}, "agent_type": {"CUSTOM"}, "prompt": {"keep this"}})
	if status != http.StatusBadRequest || !strings.Contains(page, "also a file name") || !strings.Contains(page, "keep this") {
		t.Errorf("bad name: %d", status)
	}
	_, at, page := s.post("/agents", form)
	for _, text := range []string{"The agent is created", "You review.\nYou never push.", "acme/skills:review", "codex", "gpt", "permissions: deny", "/runs/new?agent="} {
		if !strings.Contains(page, text) {
			t.Errorf("%s lacks %q", at, text)
		}
	}
	if status, _, page := s.post("/agents", form); status != http.StatusConflict || !strings.Contains(page, "choose another name") {
		t.Errorf("same name: %d", status)
	}
	crumb := `<li><a href="/factories/` + f.UID + `"><bdi>Shop</bdi></a></li>`
	s.shows(at, crumb)
	s.shows(at+"/edit", crumb, "You review.", "acme/skills:review", "<option selected>codex", "<option selected>deny")
	form.Set("name", "reader")
	form.Set("skills", "")
	form.Set("harness", "")
	form.Set("harness_model", "")
	form.Set("reasoning", "")
	form.Set("permissions", "")
	form.Set("model_id", "m-1")
	if _, _, page = s.post(at, form); !strings.Contains(page, "The agent is changed") || strings.Contains(page, "acme/skills") || !strings.Contains(page, "m-1") {
		t.Errorf("changed:\n%s", page)
	}
	uid := strings.TrimPrefix(at, "/agents/")
	if _, err := s.control.StartRun(t.Context(), s.admin, lineshaft.NewRun{Prompt: "read it", Title: "Reading", AgentUID: uid, Source: lineshaft.SourceAPI}, nil); err != nil {
		t.Fatal(err)
	}
	s.shows(at, "Reading")
	s.shows(at+"/delete", crumb, "Delete agent", "Its runs stay")
	if _, at, page := s.post(at+"/delete", nil); at != "/agents" || strings.Contains(page, uid) {
		t.Errorf("deleted: at %s", at)
	}
	if status, _, _ := s.get(at); status != http.StatusNotFound {
		t.Errorf("a deleted agent: %d", status)
	}
	if status, _, _ := s.get("/agents/nonsense"); status != http.StatusNotFound {
		t.Errorf("no agent: %d", status)
	}
}

// What an agent has that the form does not show stays.
func TestI2AgentFormKeepsToolServers(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleManager)
	made, err := s.control.CreateAgent(t.Context(), s.admin, lineshaft.Agent{Name: "tooled", Config: lineshaft.AgentConfig{
		MCPServers: map[string]lineshaft.MCPServer{"tracker": {URL: "https://tracker.example/mcp", Headers: map[string]string{"Authorization": "a-value-of-a-header"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	at := "/agents/" + made.UID
	for _, path := range []string{at, at + "/edit"} {
		if page := s.shows(path, "tracker"); strings.Contains(page, "a-value-of-a-header") {
			t.Errorf("%s shows the value of a header", path)
		}
	}
	s.post(at, url.Values{"name": {"renamed"}, "agent_type": {"CUSTOM"}, "prompt": {"p"}, "harness": {"command"}, "command": {"sh\n-c\ntrue"}})
	got, err := s.control.GetAgent(t.Context(), s.admin, made.UID)
	if err != nil || got.Name != "renamed" || len(got.Config.Harness.Command) != 3 || got.Config.MCPServers["tracker"].Headers["Authorization"] != "a-value-of-a-header" {
		t.Errorf("%+v, %v", got, err)
	}
}

// The runner of an agent is changed like the rest, and has to be one of its factory.
func TestI2AgentRunnerIsEdited(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleManager)
	f := s.factory("Shop")
	files := must(s.control.ExportDefinition(t.Context(), s.admin, f.UID)).Files
	files["runners/big.yaml"], files["agents/builder/agent.md"] = "platform: linux/amd64\n", "---\nrunner: big\n---\nYou build.\n"
	must(s.control.ApplyDefinition(t.Context(), s.admin, f.UID, factories.Application{Files: files}))
	agents := must(s.control.ListAgents(t.Context(), s.admin, f.UID, base.MaxPage, "")).Items
	built := agents[slices.IndexFunc(agents, func(a lineshaft.Agent) bool { return a.Name == "builder" })]
	runners, at := must(s.store.ListRunners(t.Context(), f.UID)), "/agents/"+built.UID
	s.shows(at+"/edit", `name="runner_id" class="code" value="`+built.Config.RunnerID+`"`)
	for _, uid := range []string{built.Config.RunnerID, "", runners[0].UID} {
		s.sends(at, url.Values{"name": {"builder"}, "agent_type": {"CUSTOM"}, "prompt": {"p"}, "runner_id": {uid}}, http.StatusOK, at)
		if got := must(s.control.GetAgent(t.Context(), s.admin, built.UID)); got.Config.RunnerID != uid {
			t.Errorf("the runner is %q, want %q", got.Config.RunnerID, uid)
		}
	}
	form := url.Values{"name": {"builder"}, "agent_type": {"CUSTOM"}, "prompt": {"from a page of an earlier version"}}
	s.sends(at, form, http.StatusOK, at)
	if got := must(s.control.GetAgent(t.Context(), s.admin, built.UID)); got.Config.RunnerID != runners[0].UID || got.Prompt != form.Get("prompt") {
		t.Errorf("a form without a runner makes it %q", got.Config.RunnerID)
	}
	form.Set("runner_id", "nobodys")
	s.sends(at, form, http.StatusBadRequest, "", "has no runner", `value="nobodys"`, `aria-invalid="true"`)
}

// Fields for a worker, a model and one secret offer what the server has, as far as the reader may know it.
func TestI2FormsOfferWhatTheServerHas(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.factory("Shop")
	must(s.control.CreateSecret(t.Context(), s.admin, lineshaft.Secret{Name: "TRACKER_TOKEN"}, "value"))
	must(s.control.StartRun(t.Context(), s.admin, lineshaft.NewRun{Prompt: "a claim waits for a run", Source: lineshaft.SourceAPI, Config: lineshaft.AgentConfig{WorkerHost: "mac"}}, nil))
	s.claim("mac")
	s = s.withDeps(func(d *web.Deps) {
		d.Standard = func() web.Standard { return web.Standard{Models: []string{"m-large"}} }
	})
	s.signIn(s.key)
	offered := []string{`<option value="mac">`, `<option value="hosted">`, `<option value="m-large">`, `list="hosts"`, `list="models"`}
	for _, path := range []string{"/agents/new", "/schedules/new", "/factories/" + f.UID + "/automations/new"} {
		s.shows(path, offered...)
	}
	for _, path := range []string{"/agents/new", "/factories/" + f.UID + "/automations/new"} {
		s.shows(path, `name="secrets"`, `!list="secret-names"`) // it takes several, and choosing one would replace them all
	}
	s.shows("/environments/new", `<option value="TRACKER_TOKEN">`, `list="secret-names"`)
	s.as(lineshaft.RoleManager)
	s.shows("/environments/new", `list="secret-names"`, "!TRACKER_TOKEN\"></option>")
}

func TestF1ForemanStays(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleManager)
	agents, err := s.control.ListAgents(t.Context(), s.admin, s.factory("Shop").UID, base.MaxPage, "")
	if err != nil {
		t.Fatal(err)
	}
	at := "/agents/" + agents.Items[0].UID
	if page := s.shows(at); strings.Contains(page, "Delete agent") {
		t.Error("a foreman has a button to delete it")
	}
	if status, _, page := s.post(at+"/delete", nil); status != http.StatusBadRequest || !strings.Contains(page, "is the foreman") {
		t.Errorf("delete a foreman: %d", status)
	}
}
