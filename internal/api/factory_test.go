package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/store"
)

// elsewhere is a factory that a test does nothing in.
func (b *bench) elsewhere() string {
	b.Helper()
	uid, _ := b.factory("elsewhere", "h")
	return uid
}

// factory makes a factory with a webhook behind the API's back.
func (b *bench) factory(name, webhook string) (factoryUID, webhookUID string) {
	b.Helper()
	f, err := b.control.CreateFactory(b.Context(), b.admin(), factories.NewFactory{Name: name})
	if err != nil {
		b.Fatal(err)
	}
	uid, at := b.store.NewID()
	if err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutWebhook(ctx, store.Webhook{Webhook: lineshaft.Webhook{
			UID: uid, FactoryUID: f.UID, Name: webhook, AuthMode: lineshaft.AuthToken, Enabled: true, MaxBodyBytes: 1, CreatedAt: at, UpdatedAt: at,
		}})
	}); err != nil {
		b.Fatal(err)
	}
	return f.UID, uid
}

// limited is the header of a key of a role that reaches one factory.
func (b *bench) limited(role lineshaft.Role, factoryUID string) map[string]string {
	b.Helper()
	_, key, err := b.control.CreateAPIKey(b.Context(), b.admin(), access.NewAPIKey{Name: "limited", Role: role, FactoryUIDs: []string{factoryUID}})
	if err != nil {
		b.Fatal(err)
	}
	return map[string]string{"Authorization": "Bearer " + key}
}

func TestF1FactoriesOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	w := b.check(t, scenario{
		method: post, path: "/factory", as: lineshaft.RoleManager, body: `{"name":"Web shop","alias":"Shop","description":"d","surprise":1}`, status: 201,
		has: []string{`"name":"Web shop"`, `"alias":"Shop"`, `"description":"d"`, `"mode":"managed"`, `"foreman_agent":"foreman"`, `"paused":false`, `"revision":`},
	})
	made := decode[Factory](t, w)
	path := "/factory/" + made.UID
	b.play(t, []scenario{
		{name: "read", method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{made.UID, `"alias":"Shop"`}},
		{name: "alias taken", method: post, path: "/factory", as: lineshaft.RoleManager, body: `{"name":"x","alias":"sHoP"}`, status: 409, code: "conflict", has: []string{`another factory has the alias`}, not: []string{`"retryable":true`}},
		{name: "pause", method: patch, path: path, as: lineshaft.RoleManager, body: `{"paused":true}`, status: 200, has: []string{`"paused":true`, `"alias":"Shop"`, `"name":"Web shop"`}},
		{name: "clear", method: patch, path: path, as: lineshaft.RoleManager, body: `{"alias":"","description":"","name":"Shop 2"}`, status: 200, has: []string{`"alias":null`, `"description":null`, `"name":"Shop 2"`, `"paused":true`}},
		{name: "empty change", method: patch, path: path, as: lineshaft.RoleManager, body: `{}`, status: 200, has: []string{`"name":"Shop 2"`}},
		{name: "empty name", method: patch, path: path, as: lineshaft.RoleManager, body: `{"name":""}`, status: 400, code: "invalid_request"},
		{name: "unknown", method: get, path: "/factory/" + exampleFactoryUID, as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
		{name: "PUT is no operation", method: put, path: path, as: lineshaft.RoleAdmin, body: `{}`, status: 405, code: "method_not_allowed"},
		{name: "PUT of the list", method: put, path: "/factory", as: lineshaft.RoleAdmin, body: `{}`, status: 405, code: "method_not_allowed"},
		{name: "delete", method: del, path: path, as: lineshaft.RoleManager, status: 204},
		{name: "gone", method: del, path: path, as: lineshaft.RoleManager, status: 404, code: "resource_not_found"},
	})
}

func TestF1ListOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.check(t, scenario{method: get, path: "/factory", as: lineshaft.RoleViewer, status: 200, has: []string{`"factories":[]`, `"has_next_page":false`}})
	for i := range 51 {
		b.factory(fmt.Sprintf("Factory %02d", i), "hook")
	}
	first := decode[ListFactoriesResponse](t, b.check(t, scenario{method: get, path: "/factory", as: lineshaft.RoleViewer, status: 200}))
	if len(first.Factories) != 50 || !first.PageInfo.HasNextPage {
		t.Fatalf("%d, %+v", len(first.Factories), first.PageInfo)
	}
	next := "&cursor=" + first.PageInfo.NextCursor
	b.play(t, []scenario{
		{name: "next", method: get, path: "/factory?limit=100" + next, as: lineshaft.RoleViewer, status: 200, has: []string{"Factory 50", `"has_next_page":false`}, not: []string{"Factory 49"}},
		{name: "search", method: get, path: "/factory?search=ORY+07", as: lineshaft.RoleViewer, status: 200, has: []string{"Factory 07"}, not: []string{"Factory 08"}},
		{name: "cursor of another search", method: get, path: "/factory?search=x" + next, as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"cursor"}},
		{name: "garbage", method: get, path: "/factory?cursor=garbage", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"cursor"}},
		{name: "limit 0", method: get, path: "/factory?limit=0", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"limit"}},
		{name: "limit 101", method: get, path: "/factory?limit=101", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"limit"}},
		{name: "no number", method: get, path: "/factory?limit=many", as: lineshaft.RoleViewer, status: 400, code: "invalid_request"},
		{name: "limit 100", method: get, path: "/factory?limit=100", as: lineshaft.RoleViewer, status: 200, has: []string{"Factory 50"}},
	})
}

func TestF1BadFactoryBodies(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	var list []scenario
	for name, body := range map[string]string{
		"nothing": ``, "no name": `{}`, "empty name": `{"name":""}`, "blank name": `{"name":" "}`, "number": `{"name":5}`, "long name": `{"name":"` + strings.Repeat("x", 201) + `"}`,
		"bad alias": `{"name":"x","alias":"a/b"}`, "long alias": `{"name":"x","alias":"` + strings.Repeat("x", 61) + `"}`, "NUL": `{"name":"a\u0000"}`,
		"long description": `{"name":"x","description":"` + strings.Repeat("x", 2001) + `"}`, "array": `[]`, "two values": `{"name":"x"}{"name":"y"}`,
	} {
		list = append(list, scenario{name: name, method: post, path: "/factory", as: lineshaft.RoleManager, body: body, status: 400, code: "invalid_request"})
	}
	b.play(t, list)
	b.check(t, scenario{method: get, path: "/factory", as: lineshaft.RoleViewer, status: 200, has: []string{`"factories":[]`}})
}

// A key that is limited to factories does everything with its own and nothing with
// others.
func TestS3LimitedKeysOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	own, hook := b.factory("own", "hook")
	foreign, foreignHook := b.factory("foreign", "hook")
	header := b.limited(lineshaft.RoleManager, own)
	body := `{"name":"a","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhook_ids":["%s"]}}]}`
	made := decode[Automation](t, b.check(t, scenario{method: post, path: "/factory/" + own + "/automations", header: header, body: fmt.Sprintf(body, hook), status: 201}))
	kept := decode[Automation](t, b.check(t, scenario{method: post, path: "/factory/" + foreign + "/automations", as: lineshaft.RoleAdmin, body: fmt.Sprintf(body, foreignHook), status: 201}))
	b.check(t, scenario{method: post, path: "/factory", header: header, body: `{"name":"x"}`, status: 403, code: "not_authorized", has: []string{"limited to factories"}})
	b.check(t, scenario{method: get, path: "/factory", header: header, status: 200, has: []string{own}, not: []string{foreign}})
	for _, call := range []struct{ method, rest, body string }{
		{get, "", ""},
		{patch, "", `{"paused":true}`},
		{get, "/automations", ""},
		{post, "/automations", fmt.Sprintf(body, foreignHook)},
		{get, "/automations/" + kept.UID, ""},
		{patch, "/automations/" + kept.UID, `{"enabled":false}`},
		{del, "/automations/" + kept.UID, ""},
		{del, "", ""},
	} {
		b.check(t, scenario{name: "foreign", method: call.method, path: "/factory/" + foreign + call.rest, header: header, body: call.body, status: 404, code: "resource_not_found"})
		rest := strings.ReplaceAll(call.rest, kept.UID, made.UID)
		body := strings.ReplaceAll(strings.ReplaceAll(call.body, foreignHook, hook), `"name":"a"`, `"name":"b"`)
		w := b.do(t, scenario{method: call.method, path: "/factory/" + own + rest, header: header, body: body})
		if w.Code >= http.StatusBadRequest {
			t.Errorf("%s %s of the own factory: %d %s", call.method, rest, w.Code, w.Body)
		}
	}
	b.check(t, scenario{method: get, path: "/factory/" + foreign, as: lineshaft.RoleAdmin, status: 200, has: []string{`"paused":false`}})
}

// The examples of the documentation work when the webhook that they name exists.
func TestContractAutomationExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid, _ := b.factory("Web shop", "issues")
	as := func(method, path, name string, status int, has ...string) *httptest.ResponseRecorder {
		return b.check(t, scenario{method: method, path: path, as: lineshaft.RoleManager, body: string(example(name)), status: status, has: has})
	}
	made := decode[Automation](t, as(post, "/factory/"+uid+"/automations", "create_automation_request", 201))
	as(patch, "/factory/"+uid+"/automations/"+made.UID, "update_automation_request", 200)
	as(patch, "/factory/"+uid, "update_factory_request", 200, `"paused":true`)
}
