package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/controltest"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/mcpserver"
	"github.com/lineshaft/lineshaft/internal/vault"
	"github.com/lineshaft/lineshaft/internal/web"
)

// world is every transport on one control plane, without a network.
type world struct {
	*testing.T
	control  *control.Service
	handler  http.Handler
	adminKey string
	admin    lineshaft.Caller
}

func newWorld(t *testing.T, database string) *world {
	t.Helper()
	sealing, err := vault.NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	plane := controltest.Open(t, database, controltest.Options{Config: base.Config{Lease: time.Hour, Vault: vault.New(sealing)}, Encode: api.EncodeSSE})
	w := &world{T: t, control: plane.Service, adminKey: plane.AdminKey, admin: plane.Admin}
	stopping := make(chan struct{})
	close(stopping) // streams say what there is and end
	logger := slog.New(slog.DiscardHandler)
	tools := mcpserver.New(mcpserver.Deps{Control: w.control, Logger: logger, BaseURL: "http://example.com/", Stopping: stopping})
	pages, err := web.New(web.Deps{Control: w.control, Logger: logger, Stopping: stopping, BaseURL: "http://example.com", WebhookBaseURL: "http://example.com"})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.Handle(api.Prefix+"/", api.New(api.Deps{Control: w.control, Logger: logger, BaseURL: "http://example.com", MCP: tools.Serve, Stopping: stopping}))
	w.handler = mux
	return w
}

// request is one call; who is a key, or the token of a browser session for pages.
type request struct {
	method, path, body string
	who                string
	page               bool
}

func (c request) String() string { return c.method + " " + c.path + " " + c.body }

// do sends a request and returns all that came back, headers too.
func (w *world) do(c request) (status int, answer string) {
	r := httptest.NewRequestWithContext(w.Context(), c.method, c.path, strings.NewReader(c.body))
	switch {
	case c.page:
		r.AddCookie(&http.Cookie{Name: "lineshaft_session", Value: c.who})
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	default:
		r.Header.Set("Authorization", "Bearer "+c.who)
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream, text/html")
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	text := recorder.Body.String()
	for name, values := range recorder.Header() {
		text += "\n" + name + ": " + strings.Join(values, ", ")
	}
	return recorder.Code, text
}

// make posts to the API as the administrator and returns a field of the answer.
func (w *world) make(path, field, body string, args ...any) string {
	w.Helper()
	status, answer := w.do(request{method: http.MethodPost, path: api.Prefix + path, body: fmt.Sprintf(body, args...), who: w.adminKey})
	var made map[string]any
	if err := json.NewDecoder(strings.NewReader(answer)).Decode(&made); err != nil || status >= 300 {
		w.Fatalf("POST %s: %d %s", path, status, answer)
	}
	value, _ := made[field].(string)
	if value == "" {
		w.Fatalf("POST %s: no %s in %s", path, field, answer)
	}
	return value
}

// things are the ids of what is planted, by the name that they have in routes.
type things map[string]string

// params says which things a variable of a route may be; the pages name them shorter.
func params(path, variable string) []string {
	switch variable {
	case "id":
		for prefix, noun := range map[string]string{"/runs/": "runId", "/schedules/": "scheduleId", "/notifications/": "notificationId", "/keys/": "keyId", "/sessions/": "loginId"} {
			if strings.HasPrefix(path, prefix) {
				return []string{noun}
			}
		}
	case "uid":
		for part, noun := range map[string]string{"/agents/": "agentUid", "/automations/": "automationUid", "/environments/": "environmentUid", "/artifacts/": "artifactUid", "/attachments/": "attachmentUid"} {
			if strings.Contains(path, part) {
				return []string{noun}
			}
		}
	case "factory":
		return []string{"factoryUid"}
	case "webhook":
		return []string{"webhookUid"}
	case "delivery", "deliveryId":
		if strings.Contains(path, "/notifications/") {
			return []string{"notificationDeliveryId"}
		}
		return []string{"deliveryId"}
	}
	return []string{variable}
}

var variable = regexp.MustCompile(`\{[^}]+\}`)

// concretePaths is a route's path with its variables filled in every way out of the
// given sets of things.
func concretePaths(path string, sets ...things) []string {
	at := variable.FindStringIndex(path)
	if at == nil {
		return []string{path}
	}
	name := strings.TrimSuffix(path[at[0]+1:at[1]-1], "...")
	var values []string
	for _, set := range sets {
		for _, noun := range params(path, name) {
			if value := set[noun]; value != "" && !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
	}
	if len(values) == 0 {
		values = []string{map[string]string{"$": "", "number": "1", "rest": "x", "version": "v1", "document": "factory", "file": "app.css"}[name]}
		if values[0] == "" && name != "$" {
			values[0] = "none"
		}
	}
	var list []string
	for _, value := range values {
		list = append(list, concretePaths(path[:at[0]]+value+path[at[1]:], sets...)...)
	}
	return list
}

// apiCalls is every route of the API, in every way that the things allow. Routes that
// take any method get GET.
func apiCalls(sets ...things) []request {
	var list []request
	for _, route := range api.Routes() {
		method := route.Method
		if method == "" {
			method = http.MethodGet
		}
		for _, path := range concretePaths(route.Path, sets...) {
			list = append(list, request{method: method, path: path})
		}
	}
	return list
}

// pageCalls is every page and form of the dashboard, by the table that the tests in
// browsers use.
func pageCalls(t *testing.T, sets ...things) []request {
	t.Helper()
	raw, err := os.ReadFile("../../e2e/browser/routes.json")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	if err := json.Unmarshal(raw, &patterns); err != nil {
		t.Fatal(err)
	}
	var list []request
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(pattern, " ")
		if strings.HasPrefix(path, "/login") || strings.HasPrefix(path, "/logout") || path == "/sessions/others/end" {
			continue // they end the session that asks
		}
		for _, filled := range concretePaths(path, sets...) {
			list = append(list, request{method: method, path: filled, page: true})
		}
	}
	return list
}

// toolCalls is every tool of the MCP server, shown to a caller or not, with every argument that names a thing.
func (w *world) toolCalls(sets ...things) []request {
	_, answer := w.do(request{method: http.MethodPost, path: api.Prefix + "/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, who: w.adminKey})
	var names []string
	for _, found := range regexp.MustCompile(`"name":"([a-z_]+)"`).FindAllStringSubmatch(answer, -1) {
		names = append(names, found[1])
	}
	if len(names) == 0 {
		w.Fatalf("no tools: %s", answer)
	}
	var list []request
	for _, name := range names {
		for _, set := range sets {
			for _, arguments := range []string{
				`{}`, fmt.Sprintf(`{"run_id":%q,"message":"m"}`, set["runId"]), fmt.Sprintf(`{"factory":%q,"prompt":"p"}`, set["factoryUid"]),
				fmt.Sprintf(`{"agent":%q,"prompt":"p"}`, set["agentUid"]), fmt.Sprintf(`{"factory":%q,"webhook":%q}`, set["factoryUid"], set["webhookUid"]),
				fmt.Sprintf(`{"factory":%q,"webhook":%q,"delivery_id":%q,"filter":{}}`, set["factoryUid"], set["webhookUid"], set["deliveryId"]),
			} {
				list = append(list, request{method: http.MethodPost, path: api.Prefix + "/mcp", body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)})
			}
		}
	}
	return list
}

// plant fills a factory with everything there is, each with the mark in all of its
// texts, and returns the ids and the token of a live run.
func (w *world) plant(mark, environment string) (ids things, runToken string) {
	w.Helper()
	ids = things{"environmentUid": environment}
	ids["factoryUid"] = w.make("/factory", "uid", `{"name":"%s works","alias":"%s"}`, mark, strings.ToLower(mark))
	f := ids["factoryUid"]
	ids["agentUid"] = w.make("/agent/identities", "uid", `{"name":"%[1]s-agent","factory_uid":%[2]q,"prompt":"%[1]s","description":"%[1]s"}`, mark, f)
	ids["webhookUid"] = w.make("/factory/"+f+"/webhooks", "uid", `{"name":"%s-hook"}`, mark)
	ids["automationUid"] = w.make("/factory/"+f+"/automations", "uid",
		`{"name":"%[1]s-auto","prompt":"%[1]s","triggers":[{"provider":"webhook","event":"received","filter":{"webhooks":["%[1]s-hook"]}}]}`, mark)
	ids["scheduleId"] = w.make("/agent/schedules", "id", `{"name":"%[1]s schedule","cron_schedule":"0 9 * * *","prompt":"%[1]s","agent_uid":%[2]q,"enabled":true}`, mark, ids["agentUid"])
	ids["notificationId"] = w.make("/notifications", "id", `{"name":"%[1]s","url":"https://%[1]s.example/x","description":"%[1]s","factory_uids":[%[2]q]}`, mark, f)
	ids["keyId"] = w.make("/apikeys", "id", `{"name":"%s key","role":"viewer","factory_uids":[%q]}`, mark, f)
	w.deliver(mark, ids)
	runToken = w.work(mark, ids, fmt.Sprintf(`"agent_identity_uid":%q,`, ids["agentUid"]))
	found := w.callbacks(ids["notificationId"])
	if len(found.Deliveries) == 0 {
		w.Fatalf("no callbacks for %s", mark)
	}
	ids["notificationDeliveryId"] = found.Deliveries[0].ID
	return ids, runToken
}

func (w *world) deliver(mark string, ids things) {
	w.Helper()
	if err := w.control.RefreshHooks(w.Context()); err != nil {
		w.Fatal(err)
	}
	receipt, err := w.control.Accept(w.Context(), trigger.Received{
		Hook: w.control.Hook(w.Context(), ids["webhookUid"]), Body: []byte(`{"text":"` + mark + `"}`), Identity: mark, IdentitySource: "test", RemoteAddr: "192.0.2.1",
	})
	if err != nil {
		w.Fatal(err)
	}
	ids["deliveryId"] = receipt.DeliveryID
}

// work starts a run and lets it say, report and keep the mark; it keeps running.
func (w *world) work(mark string, ids things, more string) (runToken string) {
	w.Helper()
	ids["runId"] = w.make("/agent/runs", "run_id", `{%[2]s"prompt":"%[1]s","title":"%[1]s","metadata":{"k":"%[1]s"},"config":{"environment_id":%[3]q},
		"attachments":[{"file_name":"%[1]s.txt","mime_type":"text/plain","data":"eA=="}]}`, mark, more, ids["environmentUid"])
	jobs, err := w.control.Claim(w.Context(), lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: "w", Limit: 100, Capacity: 1000})
	at := slices.IndexFunc(jobs, func(j lineshaft.Job) bool { return j.RunID == ids["runId"] })
	if err != nil || at < 0 {
		w.Fatalf("%d jobs, %v", len(jobs), err)
	}
	said := lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Role: "assistant", Text: mark})
	for _, job := range jobs {
		if refused, err := w.control.Report(w.Context(), []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Started: true, Events: []lineshaft.Draft{said}}}); err != nil || refused[0] != nil {
			w.Fatal(err, refused)
		}
	}
	agent, err := w.control.Authenticate(w.Context(), jobs[at].RunToken)
	if err != nil {
		w.Fatal(err)
	}
	made, err := w.control.ReportArtifact(w.Context(), agent, ids["runId"], lineshaft.NewArtifact{FileName: mark + ".txt", Title: mark, Description: mark}, io.LimitReader(strings.NewReader(mark), 100))
	if err != nil {
		w.Fatal(err)
	}
	run, err := w.control.GetRun(w.Context(), w.admin, ids["runId"])
	if err != nil {
		w.Fatal(err)
	}
	ids["artifactUid"], ids["conversationId"], ids["sessionUuid"] = made.UID, run.ConversationID, run.SessionID
	attached, err := w.control.Attachments(w.Context(), w.admin, run.ID)
	if err != nil || len(attached) != 1 {
		w.Fatalf("attachments %+v, %v", attached, err)
	}
	ids["attachmentUid"] = attached[0].ID
	return jobs[at].RunToken
}

// callbacks makes deliveries until an endpoint has one. On PostgreSQL changes of states wait
// for every transaction that began before them, and other tests have some.
func (w *world) callbacks(notificationID string) (found notify.NotificationDeliveryPage) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	for len(found.Deliveries) == 0 && ctx.Err() == nil {
		if _, err := w.control.FanOut(ctx); err != nil {
			w.Fatal(err)
		}
		var err error
		found, err = w.control.ListNotificationDeliveries(ctx, w.admin, notificationID, notify.NotificationDeliveryQuery{Limit: 1})
		if err != nil {
			w.Fatal(err)
		}
	}
	return found
}
