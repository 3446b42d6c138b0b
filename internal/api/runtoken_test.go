package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// planted is in whatever belongs to others.
const planted = "PLANTED"

// open lists what answers a run token about something else than one run: its own tree,
// itself, and the agents of its factory. Everything else is refused or not found.
func open() []string {
	return []string{
		"createRun", "runAgent", "createTask", "listRuns", "listTasks", "whoami", "listAgents", "listAgentIdentities", "streamRunStates",
		"listSchemaVersions", // public
	}
}

// others fills a server with what a run must not see, and returns ids for the variables
// of paths.
func (b *bench) others() map[string][]string {
	b.Helper()
	ctx, admin := b.Context(), b.admin()
	fatal := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	factory, err := b.control.CreateFactory(ctx, admin, factories.NewFactory{Name: planted})
	fatal(err)
	environment, err := b.control.CreateEnvironment(ctx, admin, lineshaft.EnvironmentConfig{Name: planted})
	fatal(err)
	agent, err := b.control.CreateAgent(ctx, admin, lineshaft.Agent{Name: planted, Type: lineshaft.AgentCustom, FactoryUID: factory.UID})
	fatal(err)
	team, err := b.control.CreateAgent(ctx, admin, lineshaft.Agent{Name: planted + "team", Type: lineshaft.AgentCustom})
	fatal(err)
	b.start(lineshaft.NewRun{Prompt: planted, Config: lineshaft.AgentConfig{WorkerHost: planted}})
	_, err = b.control.Claim(ctx, lineshaft.ClaimRequest{WorkerHost: planted, WorkerID: planted, Limit: 1, Capacity: 1})
	fatal(err)
	ids := map[string][]string{
		"{factoryUid}": {factory.UID}, "{environmentUid}": {environment.UID}, "{agentUid}": {agent.UID, team.UID},
	}
	for _, req := range []lineshaft.NewRun{{Prompt: planted, Title: planted}, {Prompt: planted, Title: planted, AgentUID: agent.UID}} {
		run, err := b.control.GetRun(ctx, admin, b.start(req))
		fatal(err)
		ids["{runId}"] = append(ids["{runId}"], run.ID)
		ids["{conversationId}"] = append(ids["{conversationId}"], run.ConversationID)
		ids["{sessionUuid}"] = append(ids["{sessionUuid}"], run.SessionID)
	}
	return ids
}

// TestX15ARunTokenOpensItsOwnTreeOnly calls every operation with the token of a run, of
// a factory and of none, for everything that belongs to others.
func TestX15ARunTokenOpensItsOwnTreeOnly(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		stopping := make(chan struct{})
		close(stopping) // streams end at once
		b := newServerWith(t, database, base.Config{Lease: time.Minute, Git: scriptedGit{}}, func(d *Deps) { d.Stopping = stopping })
		own, err := b.control.CreateFactory(t.Context(), b.admin(), factories.NewFactory{Name: "own"})
		if err != nil {
			t.Fatal(err)
		}
		var hand *lineshaft.Agent
		for name, prompt := range map[string]string{"colleague": planted, "hand": "mine"} {
			made, err := b.control.CreateAgent(t.Context(), b.admin(), lineshaft.Agent{Name: name, Type: lineshaft.AgentCustom, FactoryUID: own.UID, Prompt: prompt})
			if err != nil {
				t.Fatal(err)
			}
			if name == "hand" {
				hand = made
			}
		}
		var tokens []string
		for _, req := range []lineshaft.NewRun{{Prompt: "mine"}, {Prompt: "mine", AgentUID: hand.UID}} {
			b.start(req)
			tokens = append(tokens, b.claim().RunToken)
		}
		ids := b.others()
		for _, route := range Routes() {
			if route.OperationID == "" || route.Permission == lineshaft.PermissionNone && route.Method != get {
				continue
			}
			for _, path := range paths(route.Path, ids) {
				for _, token := range tokens {
					b.wantClosed(t, route, path, token)
				}
			}
		}
	})
}

// wantClosed calls an operation about someone else's things.
func (b *bench) wantClosed(t *testing.T, route Route, path, token string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), route.Method, path, strings.NewReader(`{"prompt": "x", "message": "x", "kind": "notice", "text": "x"}`))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	b.srv.ServeHTTP(w, r)
	if strings.Contains(w.Body.String(), planted) {
		t.Errorf("%s %s shows what others have: %s", route.Method, path, w.Body)
	}
	may := lineshaft.RoleRun.May(route.Permission)
	closed := w.Code >= 400 && w.Code < 500 || route.Permission == lineshaft.PermissionNone
	if !closed && !slices.Contains(open(), route.OperationID) || !may && w.Code != http.StatusForbidden {
		t.Errorf("%s %s (%s): %d %s", route.Method, path, route.OperationID, w.Code, w.Body)
	}
}

// paths fills the variables of a path, in every way that there are ids for.
func paths(path string, ids map[string][]string) []string {
	for variable, values := range ids {
		if !strings.Contains(path, variable) {
			continue
		}
		var filled []string
		for _, value := range values {
			filled = append(filled, paths(strings.ReplaceAll(path, variable, value), ids)...)
		}
		return filled
	}
	return []string{concrete(path)}
}

// TestX15RunTokensSeeNoWorkersModelsOrRepositories holds the ways by which an agent
// found where else it could go.
func TestX15RunTokensSeeNoWorkersModelsOrRepositories(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.others()
	for _, path := range []string{"/agent/connected-self-hosted-workers", "/agent/models", "/agent/environments", "/agent?repo=acme/other"} {
		b.check(t, scenario{method: get, path: path, as: lineshaft.RoleRun, status: 403, code: lineshaft.CodeNotAuthorized})
	}
	list := b.check(t, scenario{method: get, path: "/agent", as: lineshaft.RoleRun, status: 200})
	if got := decode[ListAgentsResponse](t, list); len(got.Agents) != 0 {
		t.Errorf("%+v", got)
	}
}
