package app_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// foreignMark is in all texts of what callers of another factory must not see.
const foreignMark = "ZZFOREIGNZZ"

// foreignWorld has a factory and runs of no factory that are full of the mark, and the
// caller's own factory.
type foreignWorld struct {
	*world
	foreign, none, own things
	runToken           string
}

func newForeignWorld(t *testing.T, database string) *foreignWorld {
	t.Helper()
	w := &foreignWorld{world: newWorld(t, database)}
	environment := w.make("/agent/environments", "uid", `{"config":{"name":"shared"}}`)
	w.own, w.runToken = w.plant("own", environment)
	w.foreign, _ = w.plant(foreignMark, environment)
	w.none = things{"environmentUid": environment}
	w.none["agentUid"] = w.make("/agent/identities", "uid", `{"name":"%[1]s-of-the-team","prompt":"%[1]s"}`, foreignMark)
	w.none["scheduleId"] = w.make("/agent/schedules", "id", `{"name":"%[1]s of the team","cron_schedule":"0 9 * * *","prompt":"%[1]s","enabled":true}`, foreignMark)
	w.none["notificationId"] = w.make("/notifications", "id", `{"name":"%[1]s-all","url":"https://%[1]s.example/all"}`, foreignMark)
	w.none["name"] = w.make("/secrets", "name", `{"name":"NAMEOFASECRET","value":"%[1]s","description":"%[1]s"}`, foreignMark)
	w.work(foreignMark, w.none, "") // the newest in the environment
	login, err := w.control.CreateSession(t.Context(), w.adminKey, access.Visitor{UserAgent: foreignMark})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.control.SessionCaller(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	w.none["loginId"] = c.SessionID
	return w
}

// limitedKey is a key for the caller's own factory.
func (w *foreignWorld) limitedKey(role lineshaft.Role) string {
	w.Helper()
	return w.make("/apikeys", "key", `{"name":"own %s","role":%q,"factory_uids":[%q]}`, role, role, w.own["factoryUid"])
}

// check sends a request and looks for what is foreign in the answer: the mark, and ids
// that the request did not name.
func (w *foreignWorld) check(who string, c request) {
	w.Helper()
	status, answer := w.do(c)
	if strings.Contains(strings.ToUpper(answer), foreignMark) {
		at := strings.Index(strings.ToUpper(answer), foreignMark)
		w.Errorf("%s: %s: %d shows what is foreign: …%s…", who, c, status, answer[max(0, at-200):min(len(answer), at+60)])
	}
	open := strings.HasSuffix(c.path, "/redirect") // for everyone, to a page that is not
	for _, set := range []things{w.foreign, w.none} {
		for noun, value := range set {
			if noun != "environmentUid" && strings.Contains(answer, value) && !strings.Contains(c.String(), value) && !open {
				w.Errorf("%s: %s: %d names the foreign %s %s", who, c, status, noun, value)
			}
		}
	}
	stream := c.page && (strings.Contains(c.path, "/events") || strings.Contains(c.path, "/live"))
	if status >= 500 && !stream { // the server is stopping, which such a page may say
		w.Errorf("%s: %s: %d %.300s", who, c, status, answer)
	}
}

// names says whether a request is for something foreign, which is not there whatever
// else the request says.
func (w *foreignWorld) names(path string) bool {
	for _, set := range []things{w.foreign, w.none} {
		for noun, value := range set {
			if noun != "environmentUid" && strings.Contains(path, value) {
				return true
			}
		}
	}
	return false
}

// queries ask lists for what is foreign, by its id and by the beginning of the mark.
func (w *foreignWorld) queries() []string {
	list := []string{"", "?q=ZZFOREIGN", "?name=ZZFOREIGN", "?search=zzforeign", "?of=everybody", "?explain=1", "?show=all", "?limit=500"}
	for _, set := range []things{w.foreign, w.none} {
		for noun, name := range map[string]string{
			"factoryUid": "factory_uid", "automationUid": "automation_id", "webhookUid": "webhook_id", "deliveryId": "delivery_id", "scheduleId": "schedule_id",
			"agentUid": "executor", "environmentUid": "environment_id",
		} {
			if set[noun] != "" {
				list = append(list, "?"+url.Values{name: {set[noun]}}.Encode())
			}
		}
		for _, name := range []string{"parent_run_id", "ancestor_run_id", "q", "run"} {
			list = append(list, "?"+url.Values{name: {set["runId"]}}.Encode())
		}
	}
	return list
}

// bodies are what changes are sent with: nothing, and everything that names a thing.
func (w *foreignWorld) bodies(set things) []string {
	all := fmt.Sprintf(`"agent_identity_uid":%[1]q,"agent_uid":%[1]q,"parent_run_id":%[2]q,"conversation_id":%[3]q,"factory_uid":%[4]q,"factory_uids":[%[4]q],"webhook_id":%[5]q,"delivery_id":%[6]q`,
		set["agentUid"], set["runId"], set["conversationId"], set["factoryUid"], set["webhookUid"], set["deliveryId"])
	common := `{"prompt":"p","message":"m","name":"n","role":"viewer","cron_schedule":"0 9 * * *","url":"https://own.example/","config":{"name":"n"},"filter":{},"triggers":[],"value":"v"`
	return []string{`{}`, common + `}`, common + `,` + all + `}`, fmt.Sprintf(`{"filter":{"factory_uid":[%q],"ancestor_run_id":%q}}`, set["factoryUid"], set["runId"])}
}

// methods is the order of calls.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete}

// calls is everything that can be asked of the API and the tools, the changes last and
// the removals after them.
func (w *foreignWorld) calls() []request {
	var list []request
	sets := []things{w.own, w.foreign, w.none}
	for _, c := range apiCalls(sets...) {
		switch {
		case w.names(c.path):
			list = append(list, request{method: c.method, path: c.path, body: w.bodies(w.own)[1]})
		case c.method == http.MethodGet && slices.ContainsFunc(slices.Collect(maps.Values(w.own)), func(value string) bool { return strings.HasSuffix(c.path, value) }):
			list = append(list, request{method: c.method, path: c.path + "?explain=1"}) // one thing has no filters
		case c.method == http.MethodGet:
			for _, query := range w.queries() {
				list = append(list, request{method: c.method, path: c.path + query})
			}
		default:
			for _, body := range append(w.bodies(w.foreign), w.bodies(w.none)[2:]...) {
				list = append(list, request{method: c.method, path: c.path, body: body})
			}
		}
	}
	list = append(list, w.toolCalls(sets...)...)
	slices.SortStableFunc(list, func(a, b request) int { return slices.Index(methods, a.method) - slices.Index(methods, b.method) })
	return list
}

// pages is everything that can be asked of the dashboard by a browser that is signed in.
func (w *foreignWorld) pages(login string) []request {
	if login == "" {
		return nil
	}
	var list []request
	for _, c := range pageCalls(w.T, w.own, w.foreign, w.none) {
		c.who = login
		list = append(list, c)
		if c.method == http.MethodGet && !w.names(c.path) {
			c.path += "?q=ZZFOREIGN&name=ZZFOREIGN&of=everybody&show=all"
			list = append(list, c)
		}
	}
	return list
}

// intact sees that no call changed what is foreign.
func (w *foreignWorld) intact() string {
	w.Helper()
	var all []string
	for _, set := range []things{w.foreign, w.none} {
		for noun, path := range map[string]string{
			"runId": "/agent/runs/", "factoryUid": "/factory/", "agentUid": "/agent/identities/", "scheduleId": "/agent/schedules/", "notificationId": "/notifications/",
		} {
			if set[noun] == "" {
				continue
			}
			status, answer := w.do(request{method: http.MethodGet, path: api.Prefix + path + set[noun], who: w.adminKey})
			if status != http.StatusOK {
				w.Errorf("%s %s: %d", noun, set[noun], status)
			}
			body, _, _ := strings.Cut(answer, "\n")
			all = append(all, body)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// Whatever is asked with a key of one factory, the token of a run in it or a worker's key, nothing of
// another factory or of runs outside all comes back, and nothing of it changes (S-3).
func TestS3NoAnswerShowsAnotherFactory(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		w := newForeignWorld(t, database)
		before := w.intact()
		keys := map[string]string{"run token": w.runToken}
		keys["worker"] = w.make("/apikeys", "key", `{"name":"box","role":"worker","worker_ids":["box"]}`)
		for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager, lineshaft.RoleAdmin} {
			keys["limited "+string(role)] = w.limitedKey(role)
		}
		logins := map[string]string{}
		for who, key := range keys {
			if who == "run token" || who == "worker" { // neither can sign in: TestS6SessionsOfBrowsers
				continue
			}
			login, err := w.control.CreateSession(t.Context(), key, access.Visitor{})
			if err != nil {
				t.Fatal(err)
			}
			logins[who] = login
		}
		callers := []string{"run token", "worker", "limited viewer", "limited member", "limited manager", "limited admin"}
		seen := 0
		for _, reading := range []bool{true, false} { // all of them look before one of them changes
			for _, who := range callers {
				for _, c := range slices.Concat(w.calls(), w.pages(logins[who])) {
					if c.who == "" {
						c.who = keys[who]
					}
					if (c.method == http.MethodGet) == reading {
						w.check(who, c)
						seen++
					}
				}
			}
		}
		if seen < 3000 {
			t.Errorf("only %d calls", seen)
		}
		if after := w.intact(); after != before {
			t.Errorf("what is foreign changed from\n%s\nto\n%s", before, after)
		}
	})
}
