package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestH1Whoami(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for role, has := range map[lineshaft.Role][]string{
		lineshaft.RoleViewer:  {`"role":"viewer"`, `"permissions":["whoami","runs:read","server:read","factories:read"]`, `"principal":{"type":"service_account"`, `"limits":{}`, `"key_id":`},
		lineshaft.RoleMember:  {`"role":"member"`, `"runs:start"`},
		lineshaft.RoleManager: {`"role":"manager"`, `"runs:manage"`, `"factories:manage"`},
		lineshaft.RoleAdmin:   {`"role":"admin"`, `"keys:manage"`, `"secrets:manage"`, `"audit:read"`, `"display_name":"Administrator"`},
		lineshaft.RoleWorker:  {`"role":"worker"`, `"permissions":["whoami","runs:work"]`, `"worker_ids":["farm"]`},
		lineshaft.RoleRun:     {`"role":"run"`, `"run_id":"`},
	} {
		b.check(t, scenario{method: get, path: "/api/v1/whoami", as: role, status: 200, has: has})
	}
}

func TestH2APIKeysAreShownOnce(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	factory := b.elsewhere()
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	w := b.check(t, scenario{
		method: post, path: "/apikeys", as: lineshaft.RoleAdmin, status: 201,
		body: `{"name":"ci","role":"member","expires_at":"` + expires + `","factory_uids":["` + factory + `"],"owner":{"type":"user","uid":"u1","display_name":"Ada"}}`,
	})
	made := decode[CreatedAPIKey](t, w)
	if !strings.HasPrefix(made.Key, "ls_") || len(made.Key) < 32 || made.Name != "ci" || made.Owner.UID != "u1" || made.ExpiresAt == nil || made.LastUsedAt != nil {
		t.Errorf("%+v", made)
	}
	if w.Header().Get("Cache-Control") != "no-store" {
		t.Error("a key must not be cached")
	}
	b.check(t, scenario{method: get, path: "/apikeys", as: lineshaft.RoleAdmin, status: 200, has: []string{made.ID, `"name":"admin"`, `"page_info":{"has_next_page":false}`}, not: []string{made.Key, `"key":`}})
	use := scenario{method: get, path: "/api/v1/whoami", header: map[string]string{"Authorization": "Bearer " + made.Key}, status: 200, has: []string{`"factory_uids":["` + factory + `"]`, `"uid":"u1"`}}
	b.check(t, use)
	b.check(t, scenario{method: del, path: "/apikeys/" + made.ID, as: lineshaft.RoleManager, status: 403, code: "not_authorized"})
	b.check(t, scenario{method: del, path: "/apikeys/" + made.ID, as: lineshaft.RoleAdmin, status: 204})
	use.status, use.has, use.code = 401, nil, "authentication_required"
	b.check(t, use)
	b.check(t, scenario{method: get, path: "/apikeys", as: lineshaft.RoleAdmin, status: 200, has: []string{`"revoked_at":"`}})
	b.check(t, scenario{method: post, path: "/apikeys", as: lineshaft.RoleAdmin, body: `{"name":"n","role":"viewer","factory_uids":[]}`, status: 400, code: "invalid_request", has: []string{"factory_uids"}})
	b.check(t, scenario{method: del, path: "/apikeys/nope", as: lineshaft.RoleAdmin, status: 404, code: "resource_not_found"})
}

func TestH2BadKeyRequests(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	bad := func(name, body, field string) scenario {
		return scenario{name: name, method: post, path: "/apikeys", as: lineshaft.RoleAdmin, body: body, status: 400, code: "invalid_request", has: []string{`"detail":"` + field + `: `}}
	}
	b.play(t, []scenario{
		bad("no name", `{"role":"member"}`, "name"),
		bad("empty name", `{"name":"","role":"member"}`, "name"),
		bad("long name", `{"name":"`+strings.Repeat("x", 201)+`","role":"member"}`, "name"),
		bad("no role", `{"name":"x"}`, "role"),
		bad("unknown role", `{"name":"x","role":"king"}`, "role"),
		bad("the role of runs", `{"name":"x","role":"run"}`, "role"),
		bad("expired", `{"name":"x","role":"member","expires_at":"2020-01-01T00:00:00Z"}`, "expires_at"),
		bad("not a time", `{"name":"x","role":"member","expires_at":"soon"}`, "expires_at"),
		bad("worker without ids", `{"name":"x","role":"worker"}`, "worker_ids"),
		bad("ids without worker", `{"name":"x","role":"member","worker_ids":["a"]}`, "worker_ids"),
		bad("owner without type", `{"name":"x","role":"member","owner":{"uid":"u"}}`, "owner.type"),
		bad("owner of no known type", `{"name":"x","role":"member","owner":{"type":"robot"}}`, "owner.type"),
		{name: "worker", method: post, path: "/apikeys", as: lineshaft.RoleAdmin, body: `{"name":"x","role":"worker","worker_ids":["farm"]}`, status: 201},
	})
}

func TestS5AuditIsPaged(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for i := range 5 {
		b.start(lineshaft.NewRun{Prompt: fmt.Sprint(i)})
	}
	seen := map[string]bool{}
	for cursor := ""; ; {
		page := decode[ListAuditResponse](t, b.check(t, scenario{method: get, path: "/audit?limit=2&cursor=" + cursor, as: lineshaft.RoleAdmin, status: 200}))
		for _, e := range page.Entries {
			if seen[e.ID] || e.Action == "" || e.Actor.UID == "" {
				t.Errorf("%+v", e)
			}
			seen[e.ID] = true
		}
		if cursor = page.PageInfo.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) < 6 {
		t.Errorf("%d entries", len(seen))
	}
	b.play(t, []scenario{
		{name: "manager", method: get, path: "/audit", as: lineshaft.RoleManager, status: 403, code: "not_authorized"},
		{name: "limit", method: get, path: "/audit?limit=501", as: lineshaft.RoleAdmin, status: 400, code: "invalid_request"},
		{name: "cursor", method: get, path: "/audit?cursor=x", as: lineshaft.RoleAdmin, status: 400, code: "invalid_request", has: []string{"cursor: "}},
	})
}

func TestX2Workers(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.check(t, scenario{method: get, path: "/agent/connected-self-hosted-workers", as: lineshaft.RoleViewer, status: 200, has: []string{`{"workers":[]}`}})
	id := b.start(lineshaft.NewRun{Prompt: "x", Config: lineshaft.AgentConfig{WorkerHost: "farm"}})
	b.check(t, scenario{method: get, path: "/agent/runs/" + id, as: lineshaft.RoleViewer, status: 200, has: []string{`not connected`, `"worker_host":"farm"`}})
	b.start(lineshaft.NewRun{Prompt: "y", Config: lineshaft.AgentConfig{WorkerHost: "farm"}})
	for _, worker := range []string{"a", "b"} {
		if jobs, err := b.control.Claim(t.Context(), lineshaft.ClaimRequest{WorkerHost: "farm", WorkerID: worker, Limit: 1, Capacity: 4}); err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
	}
	w := b.check(t, scenario{method: get, path: "/agent/connected-self-hosted-workers", as: lineshaft.RoleViewer, status: 200})
	list := decode[ListWorkersResponse](t, w).Workers
	if len(list) != 1 || list[0].WorkerHost != "farm" || list[0].ConnectionCount != 2 || list[0].Capacity != 8 {
		t.Errorf("%s", w.Body)
	}
}

func TestX6Models(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.check(t, scenario{method: get, path: "/agent/models", as: lineshaft.RoleViewer, status: 200, has: []string{`{"default_model_id":"","models":[]}`}})
	models := readExample[ListModelsResponse](t, "models_response")
	b = newServer(t, func(d *Deps) { d.Models = func(context.Context) ListModelsResponse { return models } })
	b.check(t, scenario{method: get, path: "/agent/models", as: lineshaft.RoleViewer, status: 200, has: []string{`"default_model_id":"sonnet"`, `"provider":"ANTHROPIC"`, `"harnesses":[`}})
	b.check(t, scenario{method: get, path: "/api/v1/networking/egress-ranges", as: lineshaft.RoleViewer, status: 200, has: []string{`{"cidrs":[]}`}})
}

func TestH1Health(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	broken, minor := "", ""
	b.control.AddPart("worker", func() string { return broken })
	b.control.AddMinorPart("certificate", func() string { return minor })
	b.check(t, scenario{method: get, path: "/healthz", status: 200, has: []string{`{"status":"ok"}`}})
	b.check(t, scenario{method: get, path: "/readyz", status: 200, has: []string{`{"status":"ok"}`}})
	minor = "none yet"
	b.check(t, scenario{method: get, path: "/readyz", status: 200, has: []string{`{"status":"degraded","parts":[{"name":"certificate","problem":"none yet"}]}`}})
	broken = "not running"
	b.check(t, scenario{method: get, path: "/readyz", status: 503, has: []string{`{"status":"unavailable","parts":[{"name":"worker","problem":"not running"},{"name":"certificate","problem":"none yet"}]}`}})
	b.check(t, scenario{method: get, path: "/healthz", status: 200})
}

func TestH1Metrics(t *testing.T) {
	t.Parallel()
	plain := newServer(t)
	plain.check(t, scenario{method: get, path: "/metrics", status: 404, code: "resource_not_found"})
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1") })
	open := newServer(t, func(d *Deps) { d.Metrics = page })
	open.check(t, scenario{method: get, path: "/metrics", status: 200, has: []string{"up 1"}})
	keyed := newServer(t, func(d *Deps) { d.Metrics, d.MetricsKey = page, "metrics-key" })
	for header, status := range map[string]int{"": 401, "Bearer nope": 401, "Bearer metrics-key": 200, "bearer metrics-key": 200, "Basic metrics-key": 401} {
		keyed.check(t, scenario{method: get, path: "/metrics", header: map[string]string{"Authorization": header}, status: status})
	}
	keyed.check(t, scenario{method: get, path: "/metrics", as: lineshaft.RoleAdmin, status: 401, code: "authentication_required"})
}
