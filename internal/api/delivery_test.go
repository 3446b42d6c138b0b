package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// delivered is a webhook with one automation that matches and one that does not, and
// the rows of its log, newest first.
type delivered struct {
	factory, hook string // paths
	webhookUID    string
	rows          []string
}

// received is a body whose second issue counts, and whose number no float holds.
const received = `{"action":"opened","issue":{"number":1},"issue":{"number":12345678901234567890123},"html":"<b>&\u00e9"}`

func (b *bench) deliver(bodies ...string) delivered {
	b.Helper()
	path := b.hooks()
	made := b.createHook(path, `{"name":"issues"}`)
	d := delivered{factory: strings.TrimSuffix(path, "/webhooks"), hook: path + "/" + made.UID, webhookUID: made.UID}
	for name, filter := range map[string]string{"match": `{"action":["opened"]}`, "miss": `{"action":["closed"]}`} {
		b.check(b.T, scenario{
			method: post, path: d.factory + "/automations", as: lineshaft.RoleManager, status: 201,
			body: fmt.Sprintf(`{"name":%q,"prompt":"x","triggers":[{"provider":"webhook","event":"received","filter":{"webhooks":["issues"],"payload":%s}}]}`, name, filter),
		})
	}
	if err := b.control.RefreshHooks(b.Context()); err != nil {
		b.Fatal(err)
	}
	for i, body := range bodies {
		receipt, err := b.control.Accept(b.Context(), trigger.Received{
			Hook: b.control.Hook(b.Context(), made.UID), Body: []byte(body), InvalidJSON: body == "{", Identity: body, IdentitySource: "test", RemoteAddr: fmt.Sprintf("192.0.2.%d", i),
		})
		if err != nil {
			b.Fatal(err)
		}
		d.rows = append(d.rows, receipt.Delivery.ID)
	}
	slices.Reverse(d.rows)
	return d
}

func TestW11ReadTheLog(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	d := b.deliver(received, received, "{")
	log := d.hook + "/deliveries"
	list := b.check(t, scenario{name: "list", method: get, path: log, as: lineshaft.RoleViewer, status: 200})
	page := decode[ListDeliveriesResponse](t, list)
	if len(page.Deliveries) != 3 || page.PageInfo.HasNextPage || strings.Contains(list.Body.String(), "payload") {
		t.Fatalf("%s", list.Body)
	}
	first := d.rows[2]
	for i, want := range []string{
		`"status":"rejected_invalid_json","size":1,`, `"duplicate_of":"` + first + `","not_matched":0,"outcomes":[]`, `"status":"accepted"`,
	} {
		text, err := marshal(page.Deliveries[i])
		if err != nil || page.Deliveries[i].DeliveryID != d.rows[i] || !strings.Contains(string(text), want) {
			t.Errorf("row %d: %s", i, text)
		}
	}
	if row := page.Deliveries[2]; row.NotMatched != 1 || len(row.Outcomes) != 1 || row.Outcomes[0].Result != "started" || row.Outcomes[0].RunID == "" || row.Identity != received || row.RemoteAddr != "192.0.2.0" {
		t.Errorf("%+v", row)
	}
	b.play(t, []scenario{
		{name: "one", method: get, path: log + "/" + first, as: lineshaft.RoleViewer, status: 200, has: []string{`"payload":` + received + `}`}, not: []string{"not_matched_automations"}},
		{name: "explained", method: get, path: log + "/" + first + "?explain=1", as: lineshaft.RoleViewer, status: 200, has: []string{
			`"not_matched_automations":[{"automation_id":"`, `"automation_name":"miss","checks":[{"trigger":0,"path":"payload.action","operator":"in","expected":["closed"],"seen":"opened","passed":false}]}]`,
		}},
		{name: "without payload", method: get, path: log + "/" + d.rows[0] + "?explain=1", as: lineshaft.RoleViewer, status: 200, has: []string{`"not_matched_automations":[]`}, not: []string{`"payload"`}},
		{name: "page", method: get, path: log + "?limit=2", as: lineshaft.RoleViewer, status: 200, has: []string{`"has_next_page":true,"next_cursor":"`}, not: []string{first + `","status":"accepted"`}},
		{name: "after", method: get, path: log + "?received_after=2100-01-01T00:00:00Z", as: lineshaft.RoleViewer, status: 200, has: []string{`"deliveries":[]`}},
		{name: "before", method: get, path: log + "?received_before=2001-01-01T00:00:00Z", as: lineshaft.RoleViewer, status: 200, has: []string{`"deliveries":[]`}},
		{name: "bad time", method: get, path: log + "?received_after=yesterday", as: lineshaft.RoleViewer, status: 400, code: "invalid_request"},
		{name: "limit 0", method: get, path: log + "?limit=0", as: lineshaft.RoleViewer, status: 400, code: "invalid_request"},
		{name: "limit 501", method: get, path: log + "?limit=501", as: lineshaft.RoleViewer, status: 400, code: "invalid_request"},
		{name: "cursor", method: get, path: log + "?cursor=x", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"cursor"}},
		{name: "unknown", method: get, path: log + "/" + exampleRunID, as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
		{name: "unknown webhook", method: get, path: d.factory + "/webhooks/x/deliveries", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
		{name: "worker", method: get, path: log, as: lineshaft.RoleWorker, status: 403, code: "not_authorized"},
		{name: "delete", method: del, path: d.hook, as: lineshaft.RoleManager, status: 204},
		{name: "log of a deleted webhook", method: get, path: log, as: lineshaft.RoleViewer, status: 200, has: []string{first}},
	})
}

func TestW15Redeliver(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	d := b.deliver(received, received)
	duplicate, first := d.hook+"/deliveries/"+d.rows[0], d.hook+"/deliveries/"+d.rows[1]
	b.play(t, []scenario{
		{name: "viewer", method: post, path: first + "/redeliver", as: lineshaft.RoleViewer, status: 403, code: "not_authorized"},
		{name: "member", method: post, path: first + "/redeliver", as: lineshaft.RoleMember, status: 403, code: "not_authorized"},
		{name: "duplicate", method: post, path: duplicate + "/redeliver", as: lineshaft.RoleManager, status: 409, code: "conflict", has: []string{d.rows[1], `"retryable":false`}},
		{name: "unknown", method: post, path: d.hook + "/deliveries/x/redeliver", as: lineshaft.RoleManager, status: 404, code: "resource_not_found"},
		{name: "dry run", method: post, path: first + "/redeliver", as: lineshaft.RoleManager, body: `{"dry_run":true}`, status: 202, has: []string{
			`{"delivery_id":"` + d.rows[1] + `","outcomes":[{"automation_id":"`, `"automation_name":"match","result":"started"},`, `"result":"filtered","reason":"payload.action must be one of [\"closed\"]; it is \"opened\""}]}`,
		}, not: []string{"run_id"}},
		{name: "bad body", method: post, path: first + "/redeliver", as: lineshaft.RoleManager, body: `{"dry_run":"yes"}`, status: 400, code: "invalid_request"},
	})
	for _, query := range []string{"?dry_run=1", "?dry_run=true"} {
		b.play(t, []scenario{
			{name: "dry run in the query " + query, method: post, path: first + "/redeliver" + query, as: lineshaft.RoleManager, status: 202, has: []string{`{"delivery_id":"` + d.rows[1] + `",`, `"result":"filtered"`}, not: []string{"run_id"}},
			{name: "dry run wins " + query, method: post, path: first + "/redeliver" + query, as: lineshaft.RoleManager, body: `{"dry_run":false}`, status: 202, not: []string{"run_id"}},
		})
	}
	b.play(t, []scenario{
		{name: "bad dry run", method: post, path: first + "/redeliver?dry_run=yes", as: lineshaft.RoleManager, status: 400, code: "invalid_request", has: []string{"dry_run"}},
		{name: "dry run without a value", method: post, path: first + "/redeliver?dry_run", as: lineshaft.RoleManager, status: 400, code: "invalid_request", has: []string{"dry_run=1"}},
		{name: "nothing was stored", method: get, path: d.hook + "/deliveries?limit=2", as: lineshaft.RoleViewer, status: 200, has: []string{`"has_next_page":false`}},
	})
	again := scenario{method: post, path: first + "/redeliver", as: lineshaft.RoleManager, status: 202, header: map[string]string{"Idempotency-Key": "k1"}}
	one, two := b.check(t, again), b.check(t, again)
	made := decode[RedeliverResponse](t, one)
	if made.DeliveryID == d.rows[1] || len(made.Outcomes) != 1 || made.Outcomes[0].RunID == "" || two.Body.String() != one.Body.String() || two.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%s\n%s", one.Body, two.Body)
	}
	b.play(t, []scenario{
		{name: "new row", method: get, path: d.hook + "/deliveries/" + made.DeliveryID, as: lineshaft.RoleViewer, status: 200, has: []string{
			`"redelivery_of":"` + d.rows[1] + `"`, `"identity":"` + made.DeliveryID + `","identity_source":"redelivery"`, `"payload":` + received,
		}},
		{name: "dry run under a used key", method: post, path: first + "/redeliver?dry_run=1", as: lineshaft.RoleManager, status: 202, header: map[string]string{"Idempotency-Key": "k1"}, has: []string{`"result":"filtered"`}, not: []string{made.DeliveryID}},
		{name: "one new row", method: get, path: d.hook + "/deliveries?limit=3", as: lineshaft.RoleViewer, status: 200, has: []string{`"has_next_page":false`}},
		{name: "its run", method: get, path: "/agent/runs?delivery_id=" + made.DeliveryID, as: lineshaft.RoleViewer, status: 200, has: []string{made.Outcomes[0].RunID, `"source":"CUSTOM_WEBHOOK"`}},
		{name: "delete", method: del, path: d.hook, as: lineshaft.RoleManager, status: 204},
		{name: "deleted", method: post, path: first + "/redeliver", as: lineshaft.RoleManager, status: 409, code: "conflict"},
	})
}

func TestW16TestFilter(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	d := b.deliver(received)
	other := strings.TrimSuffix(b.hooks(), "/webhooks")
	try := func(name, body string, status int, code lineshaft.Code, has ...string) scenario {
		return scenario{name: name, method: post, path: d.factory + "/test-filter", as: lineshaft.RoleViewer, body: body, status: status, code: code, has: has}
	}
	stored := `"delivery_id":"` + d.rows[0] + `"`
	b.play(t, []scenario{
		try("match", `{"filter":{"webhooks":["issues"],"payload":{"issue":{"number":[12345678901234567890123]}}},`+stored+`}`, 200, "",
			`{"would_trigger":true,"checks":[{"path":"webhook","operator":"in","expected":["issues"],"seen":"issues","passed":true},`,
			`{"path":"payload.issue.number","operator":"in","expected":[12345678901234567890123],"seen":12345678901234567890123,"passed":true}]}`),
		try("no match", `{"filter":{"payload":{"issue":{"number":[12345678901234567890124]},"x":{"exists":true}}},`+stored+`}`, 200, "",
			`"would_trigger":false`, `"seen":12345678901234567890123,"passed":false}`, `{"path":"payload.x","operator":"exists","expected":true,"passed":false}`),
		try("payload", `{"filter":{"webhook_ids":["x"],"payload":{"a":["<"]}},"payload":{"a":1,"a":"<"}}`, 200, "", `"would_trigger":true`, `"seen":"<"`),
		try("payload null", `{"filter":{},"payload":null}`, 200, "", `"would_trigger":true`),
		try("payload 0", `{"filter":{},"payload":0}`, 200, "", `"would_trigger":true`),
		try("at a webhook", `{"filter":{"webhooks":["other"]},"payload":0,"webhook_id":"`+d.webhookUID+`"}`, 200, "", `"would_trigger":false`),
		try("no filter", `{"payload":0}`, 400, "invalid_request"),
		try("neither", `{"filter":{}}`, 400, "invalid_request", "delivery_id"),
		try("both", `{"filter":{},"payload":1,`+stored+`}`, 400, "invalid_request"),
		try("bad filter", `{"filter":{"payload":{"a":{"in":[1],"b":[2]}}},"payload":1}`, 400, "invalid_request", "filter.payload.a"),
		try("unknown delivery", `{"filter":{},"delivery_id":"x"}`, 404, "resource_not_found"),
		{name: "another factory", method: post, path: other + "/test-filter", as: lineshaft.RoleAdmin, body: `{"filter":{},` + stored + `}`, status: 404, code: "resource_not_found"},
		{name: "worker", method: post, path: d.factory + "/test-filter", as: lineshaft.RoleWorker, body: `{"filter":{},"payload":1}`, status: 403, code: "not_authorized"},
	})
}
