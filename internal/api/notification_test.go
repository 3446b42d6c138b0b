package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/callback"
	"github.com/lineshaft/lineshaft/internal/control/base"
)

const notifications = Prefix + "/notifications"

func (b *bench) notify(body string) IssuedNotification {
	b.Helper()
	return decode[IssuedNotification](b.T, b.check(b.T, scenario{name: body, method: post, path: notifications, as: lineshaft.RoleManager, body: body, status: 201}))
}

func TestC1NotificationLife(t *testing.T) {
	t.Parallel()
	b := newServerOn(t, base.Config{Callbacks: callback.New(callback.Config{})})
	created := b.check(t, scenario{method: post, path: notifications, as: lineshaft.RoleManager, body: `{"url":"https://example.com/x?token=t","states":["FAILED"]}`, status: 201})
	made := decode[IssuedNotification](t, created)
	if !strings.HasPrefix(made.Secret, "whsec_") || created.Header().Get("Cache-Control") != "no-store" || made.Name != "example.com" || !made.Enabled {
		t.Errorf("%s", created.Body)
	}
	one := notifications + "/" + made.ID
	b.play(t, []scenario{
		{name: "read", method: get, path: one, as: lineshaft.RoleViewer, status: 200, has: []string{`"states":["FAILED"]`, `"factory_uids":[]`, `"run_name":""`, `"description":""`}, not: []string{made.Secret, `"secret"`, "disabled", "null"}},
		{name: "list", method: get, path: notifications, as: lineshaft.RoleViewer, status: 200, has: []string{`{"notifications":[{`, `"page_info":{"has_next_page":false}`}, not: []string{made.Secret}},
		{name: "change", method: patch, path: one, as: lineshaft.RoleManager, body: `{"name":"ci","states":[],"run_name":"doctor","description":"d"}`, status: 200, has: []string{`"name":"ci"`, `"states":[]`, `"run_name":"doctor"`}, not: []string{made.Secret}},
		{name: "nothing", method: patch, path: one, as: lineshaft.RoleManager, body: `{}`, status: 200, has: []string{`"name":"ci"`}},
		{name: "test", method: post, path: one + "/test", as: lineshaft.RoleManager, status: 202, has: []string{`"type":"notification.test"`, `"status":"pending"`, `"next_attempt_at"`}, not: []string{"run_id", "state\"", "payload"}},
		{name: "log", method: get, path: one + "/deliveries?status=pending&limit=1", as: lineshaft.RoleViewer, status: 200, has: []string{`{"deliveries":[{`, `"has_next_page":false`}},
		{name: "none failed", method: get, path: one + "/deliveries?status=failed", as: lineshaft.RoleViewer, status: 200, has: []string{`{"deliveries":[],`}},
		{name: "rotate", method: post, path: one + "/rotate", as: lineshaft.RoleManager, body: `{"overlap_seconds":60}`, status: 200, has: []string{`"secret":"whsec_`, `"old_secret_until"`}},
		{name: "rotate again", method: post, path: one + "/rotate", as: lineshaft.RoleManager, body: `{"overlap_seconds":60}`, status: 409, code: "conflict", has: []string{"without overlap"}},
		{name: "rotate now", method: post, path: one + "/rotate", as: lineshaft.RoleManager, status: 200, not: []string{"old_secret_until"}},
		{name: "disable", method: patch, path: one, as: lineshaft.RoleManager, body: `{"enabled":false}`, status: 200, has: []string{`"enabled":false`, `"disabled_at"`}, not: []string{"disabled_reason"}},
		{name: "test disabled", method: post, path: one + "/test", as: lineshaft.RoleManager, status: 409, code: "conflict", has: []string{"enable it first"}},
		{name: "viewers change nothing", method: patch, path: one, as: lineshaft.RoleViewer, body: `{"enabled":true}`, status: 403, code: "not_authorized"},
		{name: "members test nothing", method: post, path: one + "/test", as: lineshaft.RoleMember, status: 403, code: "not_authorized"},
		{name: "delete", method: del, path: one, as: lineshaft.RoleManager, status: 204},
		{name: "gone", method: get, path: one, as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
		{name: "its log, too", method: get, path: one + "/deliveries", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
	})
	if strings.Contains(b.log.String(), "token=t") || strings.Contains(b.log.String(), "whsec_") {
		t.Error("the log of requests has a secret")
	}
}

func TestC1BadNotifications(t *testing.T) {
	t.Parallel()
	b := newServerOn(t, base.Config{Callbacks: callback.New(callback.Config{})})
	made := b.notify(`{"url":"https://example.com/"}`)
	one := notifications + "/" + made.ID
	for body, want := range map[string]string{
		``:                             "body",
		`{}`:                           "url",
		`{"url":""}`:                   "url",
		`{"url":5}`:                    "url",
		`{"url":"https://127.0.0.1/"}`: "--callback-allow-private",
		`{"url":"https://169.254.169.254/latest"}`:                                         "--callback-allow-private",
		`{"url":"https://[::ffff:10.0.0.1]/"}`:                                             "--callback-allow-private",
		`{"url":"https://2130706433/"}`:                                                    "private network",
		`{"url":"http://example.com/"}`:                                                    "https",
		`{"url":"https://u:p@example.com/"}`:                                               "user",
		`{"url":"https://e.com/","states":["DONE"]}`:                                       "states",
		`{"url":"https://e.com/","states":"FAILED"}`:                                       "states",
		`{"url":"https://e.com/","factory_uids":["01980f10-2233-7445-9667-8899aabbccdd"]}`: "factory_uids",
		`{"url":"https://e.com/","secret":"hello"}`:                                        "secret",
		`{"url":"https://e.com/","name":"` + strings.Repeat("x", 101) + `"}`:               "name",
		`{"url":"https://e.com/` + strings.Repeat("x", 2048) + `"}`:                        "url",
	} {
		b.check(t, scenario{name: "create " + body, method: post, path: notifications, as: lineshaft.RoleManager, body: body, status: 400, code: "invalid_request", has: []string{want}, not: []string{"hello"}})
	}
	b.play(t, []scenario{
		{name: "change url", method: patch, path: one, as: lineshaft.RoleManager, body: `{"url":"https://localhost/"}`, status: 400, code: "invalid_request", has: []string{"url"}},
		{name: "status", method: get, path: one + "/deliveries?status=done", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"status"}},
		{name: "cursor", method: get, path: one + "/deliveries?cursor=x", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"cursor"}},
		{name: "delivery", method: get, path: one + "/deliveries/x", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
		{name: "replay", method: post, path: one + "/deliveries/x/replay", as: lineshaft.RoleManager, status: 404, code: "resource_not_found"},
		{name: "overlap", method: post, path: one + "/rotate", as: lineshaft.RoleManager, body: `{"overlap_seconds":259201}`, status: 400, code: "invalid_request", has: []string{"overlap_seconds"}},
	})
}

// From a run to the receiver and back into the log, over the wire: the id of the event
// is the same in the run's log, in what arrives and in the log of deliveries.
func TestC1ACallbackOverTheWire(t *testing.T) {
	t.Parallel()
	ids := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { ids <- r.Header.Get("Webhook-Id") }))
	t.Cleanup(receiver.Close)
	b := newServerOn(t, base.Config{Callbacks: callback.New(callback.Config{AllowPrivate: true})})
	made := b.notify(`{"url":"` + receiver.URL + `","states":["QUEUED"]}`)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	go func() { b.control.FollowNotifications(ctx); done <- struct{}{} }()
	go func() { b.control.SendCallbacks(ctx); done <- struct{}{} }()
	runID := b.start(lineshaft.NewRun{Prompt: "x"})
	arrived := <-ids
	stop()
	<-done
	<-done
	events := b.check(t, scenario{method: get, path: Prefix + "/agent/runs/" + runID + "/events", as: lineshaft.RoleViewer, status: 200})
	if !strings.Contains(events.Body.String(), `"id":"`+arrived+`"`) {
		t.Errorf("%s is not in %s", arrived, events.Body)
	}
	page := decode[ListNotificationDeliveriesResponse](t, b.check(t, scenario{method: get, path: notifications + "/" + made.ID + "/deliveries", as: lineshaft.RoleViewer, status: 200}))
	if len(page.Deliveries) != 1 || page.Deliveries[0].EventID != arrived {
		t.Fatalf("%+v", page)
	}
	path := notifications + "/" + made.ID + "/deliveries/" + page.Deliveries[0].ID
	b.check(t, scenario{method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{`"attempts":[{"number":1,`, `"status_code":200`, `"payload":{"type":"run.state_changed"`, `"status":"delivered"`}, not: []string{"next_attempt_at"}})
	b.check(t, scenario{method: post, path: path + "/replay", as: lineshaft.RoleManager, status: 202, has: []string{`"status":"pending"`, `"event_id":"` + arrived + `"`}, not: []string{"payload", "finished_at"}})
}
