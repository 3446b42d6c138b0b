package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/callback"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/notify"
)

// receiver replaces all endpoints: the end of an address is its answer.
type receiver struct {
	*callback.Sender

	mu  sync.Mutex
	got []lineshaft.Callback
	// fixed makes all of them take everything.
	mended bool
}

func (r *receiver) Send(_ context.Context, c lineshaft.Callback) lineshaft.CallbackResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, c)
	switch {
	case r.mended || strings.HasSuffix(c.URL, "/ok"):
		return lineshaft.CallbackResult{StatusCode: 204, Took: 12 * time.Millisecond}
	case strings.HasSuffix(c.URL, "/gone"):
		return lineshaft.CallbackResult{StatusCode: 410, Error: "it answered 410 Gone", Took: time.Millisecond}
	case strings.HasSuffix(c.URL, "/evil"):
		return lineshaft.CallbackResult{Error: "<script>alert(1)</script> \u202egnp"}
	}
	return lineshaft.CallbackResult{StatusCode: 500, Error: "it answered 500 Internal Server Error", Took: 3 * time.Millisecond}
}

func (r *receiver) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mended = true
}

func (r *receiver) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for _, c := range r.got {
		ids = append(ids, c.ID)
	}
	return ids
}

// told is a site whose callbacks a receiver gets, with an admin signed in.
type told struct {
	*site

	receiver *receiver
	mu       sync.Mutex
	later    time.Duration
}

func newTold(t *testing.T) *told {
	t.Helper()
	w := &told{receiver: &receiver{Sender: callback.New(callback.Config{})}}
	w.site = newSite(t, func(c *base.Config) {
		c.Callbacks = w.receiver
		c.Clock = func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			return time.Now().Add(w.later)
		}
	})
	w.signIn(w.key)
	return w
}

// endpoint makes one whose address ends in a word, and returns where its page is.
func (w *told) endpoint(n notify.NewNotification) (at string, made notify.IssuedNotification) {
	w.Helper()
	if !strings.HasPrefix(n.URL, "https://") {
		n.URL = "https://hooks.example/" + n.URL
	}
	made, err := w.control.CreateNotification(w.Context(), w.admin, n)
	if err != nil {
		w.Fatal(err)
	}
	return "/notifications/" + made.ID, made
}

// send notifies endpoints of what happened, and attempts what is due.
func (w *told) send() {
	w.Helper()
	for more := true; more; {
		var err error
		if more, err = w.control.FanOut(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
	for n := 1; n > 0; {
		var err error
		if n, err = w.control.SendDue(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}

// wait lets time go by.
func (w *told) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.later += d
}

// test sends a test to an endpoint and returns where its page is.
func (w *told) test(made notify.IssuedNotification) string {
	w.Helper()
	sent, err := w.control.TestNotification(w.Context(), w.admin, made.ID)
	if err != nil {
		w.Fatal(err)
	}
	w.send()
	return "/notifications/" + made.ID + "/deliveries/" + sent.ID
}

func (w *told) stored(id string) lineshaft.Notification {
	w.Helper()
	n, err := w.control.GetNotification(w.Context(), w.admin, id)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *told) all() []lineshaft.Notification {
	w.Helper()
	list, err := w.control.ListNotifications(w.Context(), w.admin)
	if err != nil {
		w.Fatal(err)
	}
	return list
}

func TestI2NotificationListTellsTheState(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.shows("/notifications", "No notifications yet", "lineshaft notification create", "/notifications/new")
	shop := w.factory("<b>Shop</b>").UID
	ends := []lineshaft.RunState{lineshaft.Cancelled, lineshaft.Errored, lineshaft.Failed, lineshaft.Succeeded}
	ok, healthy := w.endpoint(notify.NewNotification{Name: "Chat", URL: "ok", States: ends})
	_, failing := w.endpoint(notify.NewNotification{Name: "Board", URL: "bad"})
	_, gone := w.endpoint(notify.NewNotification{Name: "Pager", URL: "https://hooks.example/x/gone", States: []lineshaft.RunState{lineshaft.Failed, lineshaft.Blocked}})
	_, off := w.endpoint(notify.NewNotification{Name: "Store", URL: "ok?token=of-the-query", Enabled: new(false), FactoryUIDs: []string{shop}, RunName: "build <i>doctor</i>"})
	for _, one := range []notify.IssuedNotification{healthy, failing, gone} {
		w.test(one)
	}
	text := w.shows("/notifications", `href="`+ok+`"`, "!of-the-query", "!<b>Shop", "!<i>doctor", "!No notifications yet")
	for id, want := range map[string][]string{
		healthy.ID: {">Enabled<", "Run ended", "https://hooks.example<", "failure </span><span class=\"muted\">never"},
		failing.ID: {">Failing<", "Every state change", "success </span><span class=\"muted\">never"},
		gone.ID:    {">Given up<", "Blocked, failed"},
		off.ID:     {">Disabled<", "named <bdi>build &lt;i&gt;doctor&lt;/i&gt;</bdi>", "in <bdi>&lt;b&gt;Shop&lt;/b&gt;</bdi>"},
	} {
		_, row, _ := strings.Cut(text, `href="/notifications/`+id+`"`)
		row, _, _ = strings.Cut(row, "</tr>")
		for _, part := range want {
			if !strings.Contains(row, part) {
				t.Errorf("the row lacks %q:\n%s", part, row)
			}
		}
	}
}

func TestI2NotificationIsInTheMenu(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, _ := w.endpoint(notify.NewNotification{URL: "ok"})
	for _, path := range []string{"/notifications", "/notifications/new", at, at + "/edit", at + "/rotate", at + "/delete"} {
		w.shows(path, `<a href="/notifications" aria-current="page">`)
	}
}

func TestI2NotificationPageTellsWhatItIs(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	shop := w.factory("Shop").UID
	at, made := w.endpoint(notify.NewNotification{
		Name: "Chat", URL: "ok?token=x", Description: "Ask <i>Ada</i>", States: []lineshaft.RunState{lineshaft.Blocked}, FactoryUIDs: []string{shop}, RunName: "doctor",
	})
	w.shows(at, "https://hooks.example/ok?token=x", "Ask &lt;i&gt;Ada", ">Blocked<", "named <bdi>doctor</bdi>, in", `href="/factories/`+shop+`"`,
		"Nothing was sent yet", "Send a test", "webhook-signature", "!"+made.Secret, "!Old secret", "!gave up", `hx-trigger="every 2s"`)
	every, _ := w.endpoint(notify.NewNotification{URL: "ok"})
	w.shows(every, "Every state change", "<dd>all</dd>", "<bdi>hooks.example</bdi>")
	for _, path := range []string{"/notifications/nobody", "/notifications/01890000-0000-7000-8000-000000000000", at + "/deliveries/nobody"} {
		if status, _, _ := w.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// C-1: an endpoint that was given up says so, on its page and on the overview, until
// someone enables it; then it gets what waits.
func TestC1GivenUpAndEnabledAgain(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{Name: "Pager", URL: "gone"})
	w.test(made)
	w.shows(at, "The server gave up", "it answered 410 Gone", `action="`+at+`/enable"`, "!Send a test", "!"+at+"/disable")
	w.shows("/", `href="`+at+`"`, "It no longer gets callbacks", "it answered 410 Gone")
	w.receiver.mend()
	w.sends(at+"/enable", nil, http.StatusOK, at, "Enabled. Waiting callbacks", "Send a test")
	w.shows(at, "!The server gave up", ">Failing<") // until something gets through
	w.shows("/", "!It no longer gets callbacks")
	w.test(made)
	w.shows(at, "It answered 204", ">Enabled<", "!>Failing<")
}

func TestC1FailingAndDisabled(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{Name: "Board", URL: "bad"})
	log := w.test(made)
	w.shows(at, ">Failing<", "Each callback is tried for 72 hours", "Trying again", "It answered 500 Internal Server Error", "1 attempt, next")
	w.shows(log, "Trying again", "Next attempt", "Tried until", "!Replay", `hx-get="`+log)
	w.sends(at+"/disable", nil, http.StatusOK, at, "Disabled. State changes are not kept", "It was disabled", "On hold", `action="`+at+`/enable"`)
	w.shows(at, "!Send a test", "!"+at+"/disable")
	w.shows(log, "On hold", "The notification is disabled", "!Next attempt", "!Replay")
	if status, _, text := w.post(at+"/test", nil); status != http.StatusConflict || !strings.Contains(text, "enable it first") {
		t.Errorf("a test of a disabled one: %d", status)
	}
	w.receiver.mend()
	w.sends(at+"/enable", nil, http.StatusOK, at, "from the last 72 hours are sent now")
	w.send()
	w.shows(at, ">Enabled<", "It answered 204", "2 attempts")
}

// After 72 hours in which nothing got through, the server gives up.
func TestC1GivenUpAfterThreeDays(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{Name: "Board", URL: "bad"})
	log := w.test(made)
	for range lineshaft.MinNotificationAttempts - 1 {
		w.wait(lineshaft.NotificationPeriod + time.Minute)
		w.send()
	}
	w.shows(at, "Given up", "nothing was delivered for 72 hours", ">Failed<")
	w.shows(log, ">Failed<", "To replay it, enable the notification first", "!"+log+"/replay")
	w.shows("/", "nothing was delivered for 72 hours")
}

// Deleting asks first and names what goes.
func TestI2DeleteNotification(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, _ := w.endpoint(notify.NewNotification{Name: "<b>Chat</b>", URL: "ok?token=of-the-query"})
	w.shows(at+"/delete", "Delete <bdi>&lt;b&gt;Chat", "https://hooks.example.", "cannot be undone", "its callback log", "!of-the-query")
	if len(w.all()) != 1 {
		t.Fatal("the question alone deleted it")
	}
	w.sends(at+"/delete", nil, http.StatusOK, "/notifications", "Notification &lt;b&gt;Chat&lt;/b&gt; is deleted", "No notifications yet")
	for _, path := range []string{at, at + "/edit", at + "/rotate", at + "/delete"} {
		if status, _, _ := w.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _, _ := w.post(at+"/delete", nil); status != http.StatusNotFound {
		t.Errorf("deleted twice: %d", status)
	}
}

// S-3: anyone who may not change anything sees no button for it, and is refused.
func TestS3NotificationRoles(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{Name: "Chat", URL: "ok"})
	log := w.test(made)
	gone, goneMade := w.endpoint(notify.NewNotification{Name: "Pager", URL: "gone"})
	w.test(goneMade)
	changes := []string{"/notifications", at + "/edit", at + "/enable", at + "/disable", at + "/test", at + "/rotate", at + "/delete", log + "/replay"}
	buttons := []string{"!/notifications/new", "!" + at + "/edit", "!/enable", "!/disable", "!/test", "!/rotate", "!/delete", "!/replay"}
	before := len(w.receiver.ids())
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember} {
		w.as(role)
		for _, path := range []string{"/notifications", at, gone, log} {
			w.shows(path, buttons...)
		}
		w.shows(gone, "The server gave up", "someone with the role manager enables it")
		for _, path := range []string{"/notifications/new", at + "/edit", at + "/rotate", at + "/delete"} {
			if status, _, _ := w.get(path); status != http.StatusForbidden {
				t.Errorf("GET %s as %s: %d", path, role, status)
			}
		}
		for _, path := range changes {
			if status, _, _ := w.post(path, url.Values{"url": {"https://hooks.example/new"}}); status != http.StatusForbidden {
				t.Errorf("POST %s as %s: %d", path, role, status)
			}
		}
	}
	w.send()
	if n := w.stored(made.ID); !n.Enabled || n.Name != "Chat" || len(w.all()) != 2 || len(w.receiver.ids()) != before {
		t.Errorf("something was changed: %+v, %d endpoints, %d sent", n, len(w.all()), len(w.receiver.ids())-before)
	}
	w.as(lineshaft.RoleManager)
	w.shows(at, "Send a test", at+"/edit", at+"/rotate", at+"/delete", at+"/disable")
	w.shows(log, log+"/replay")
	w.sends(at+"/test", nil, http.StatusOK, "", "A test is on its way")
}

func TestS3ViewerIsToldWhoCanMakeOne(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.as(lineshaft.RoleViewer)
	w.shows("/notifications", "role manager can create one", "!New notification", "!lineshaft notification create")
}

// S-3: a key that is limited to factories reaches endpoints of these alone, and has to
// name one; what was filled in is not lost over that.
func TestS3LimitedKeyAndNotificationPages(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	own, foreign := w.factory("Own works").UID, w.factory("Foreign works").UID
	mine, _ := w.endpoint(notify.NewNotification{Name: "Mine", URL: "ok", FactoryUIDs: []string{own}})
	hidden := map[string]notify.IssuedNotification{}
	for name, factories := range map[string][]string{"Everything": nil, "Foreign": {foreign}, "Both": {own, foreign}} {
		at, made := w.endpoint(notify.NewNotification{Name: "Hidden " + name, URL: "gone", FactoryUIDs: factories})
		w.test(made)
		hidden[at] = made
	}
	w.as(lineshaft.RoleManager, own)
	w.shows("/notifications", "Mine", "!Hidden")
	w.shows("/", "!Hidden")
	for at := range hidden {
		for _, path := range []string{at, at + "/edit", at + "/rotate", at + "/delete"} {
			if status, _, _ := w.get(path); status != http.StatusNotFound {
				t.Errorf("GET %s: %d", path, status)
			}
		}
		for _, path := range []string{"/edit", "/enable", "/disable", "/test", "/rotate", "/delete"} {
			if status, _, _ := w.post(at+path, url.Values{"url": {"https://hooks.example/new"}}); status != http.StatusNotFound {
				t.Errorf("POST %s: %d", at+path, status)
			}
		}
	}
	w.shows("/notifications/new", "Your key is limited to factories: select at least one", "Own works", "!Foreign works")
	form := url.Values{"url": {"https://hooks.example/filled-in"}, "from": {"make"}}
	w.sends("/notifications", form, http.StatusBadRequest, "", "select some of them", "https://hooks.example/filled-in")
	form["factory"] = []string{foreign}
	w.sends("/notifications", form, http.StatusBadRequest, "", "no factory")
	form["factory"] = []string{own}
	w.sends("/notifications", form, http.StatusOK, "", "whsec_")
	w.sends(mine+"/edit", url.Values{"url": {"https://hooks.example/ok"}}, http.StatusBadRequest, "", "select some of them")
	w.sends(mine+"/test", nil, http.StatusOK, "", "A test is on its way")
	for at, made := range hidden {
		if n := w.stored(made.ID); n.Enabled {
			t.Errorf("%s was enabled", at)
		}
	}
}

// S-4: changes from elsewhere are refused, no matter who is signed in.
func TestS4NotificationsRefuseOtherOrigins(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{URL: "ok"})
	for _, path := range []string{"/notifications", at + "/delete", at + "/disable", at + "/rotate", at + "/test"} {
		if status, _, _ := w.do(http.MethodPost, path, url.Values{"url": {"https://evil.example/"}}, map[string]string{"Sec-Fetch-Site": "cross-site"}); status != http.StatusForbidden {
			t.Errorf("%s: %d", path, status)
		}
	}
	if n := w.stored(made.ID); !n.Enabled || len(w.all()) != 1 {
		t.Errorf("%+v of %d", n, len(w.all()))
	}
}

// I-2: an open page asks what is new; nothing new leaves it alone.
func TestI2NotificationPageIsLive(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{Name: "Chat", URL: "ok"})
	asks := regexp.MustCompile(`hx-get="([^"]+)"`)
	ask := func(page string) (int, string) {
		w.Helper()
		found := asks.FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("the page asks for nothing:\n%s", page)
		}
		status, _, text := w.do(http.MethodGet, strings.ReplaceAll(found[1], "&amp;", "&"), nil, map[string]string{"Hx-Request": "true"})
		return status, text
	}
	page := w.shows(at)
	if status, text := ask(page); status != http.StatusNoContent || text != "" {
		t.Errorf("nothing new: %d\n%s", status, text)
	}
	w.test(made)
	status, part := ask(page)
	if status != http.StatusOK || strings.Contains(part, "<html") || !strings.Contains(part, "It answered 204") {
		t.Errorf("a delivery: %d\n%s", status, part)
	}
	if status, _ := ask(part); status != http.StatusNoContent {
		t.Errorf("the new part is out of date at once: %d", status)
	}
	w.sends(at+"/disable", nil, http.StatusOK, at)
	if status, part = ask(part); status != http.StatusOK || !strings.Contains(part, "It was disabled") {
		t.Errorf("disabled: %d\n%s", status, part)
	}
	filtered := w.shows(at+"?status=failed", "No callback from the last 30 days has this status")
	if !strings.Contains(asks.FindString(filtered), "status=failed") {
		t.Errorf("the filter is lost: %s", asks.FindString(filtered))
	}
	if err := w.control.DeleteNotification(t.Context(), w.admin, made.ID); err != nil {
		t.Fatal(err)
	}
	if status, part = ask(part); status != http.StatusNotFound || strings.Contains(part, "<html") {
		t.Errorf("deleted: %d\n%s", status, part)
	}
}

// Runs that end are reported, and the log names them.
func TestC1LogNamesTheRuns(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, _ := w.endpoint(notify.NewNotification{Name: "Chat", URL: "ok", States: []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Queued}})
	runID := w.startFor(w.admin, lineshaft.NewRun{Title: "<b>Fix</b> the build"})
	w.finish(lineshaft.TurnResult{State: lineshaft.Succeeded})
	w.send()
	text := w.shows(at, "&lt;b&gt;Fix&lt;/b&gt; the build", `class="badge succeeded"`, `class="badge queued"`, "!badge claimed", "!<b>Fix")
	if newest, oldest := strings.Index(text, "badge succeeded"), strings.Index(text, "badge queued"); newest > oldest {
		t.Error("the newest is not first")
	}
	found := regexp.MustCompile(`href="(` + at + `/deliveries/[^"]+)"`).FindStringSubmatch(text)
	if found == nil {
		t.Fatal("no way to a delivery")
	}
	text = w.shows(found[1], `href="/runs/`+runID+`"><bdi>&lt;b&gt;Fix`, "run.state_changed", "webhook-id", "&#34;SUCCEEDED&#34;", "12 ms", "Accepted", "!<b>Fix")
	if !slices.ContainsFunc(w.receiver.ids(), func(id string) bool { return strings.Contains(text, "<code>"+id+"</code>") }) {
		t.Errorf("none of the ids that were sent is there: %v", w.receiver.ids())
	}
}

// The log is shown page by page, and by status.
func TestI2LogIsPagedAndFiltered(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{Name: "Chat", URL: "ok"})
	for range 27 {
		if _, err := w.control.TestNotification(t.Context(), w.admin, made.ID); err != nil {
			t.Fatal(err)
		}
	}
	w.send()
	rows := func(text string) []string { return regexp.MustCompile(`id="d-[^"]+"`).FindAllString(text, -1) }
	first := w.shows(at, "Older", `hx-trigger`)
	next := regexp.MustCompile(`href="(/notifications/[^"]+cursor=[^"]+)"`).FindStringSubmatch(first)
	if next == nil {
		t.Fatal("no way to the next page")
	}
	second := w.shows(strings.ReplaceAll(next[1], "&amp;", "&"), "Newest", "!Older", "!hx-trigger")
	if a, b := rows(first), rows(second); len(a) != 25 || len(b) != 2 || slices.Contains(a, b[0]) {
		t.Errorf("pages of %d and %d", len(a), len(b))
	}
	for status, want := range map[string]int{"delivered": 25, "failed": 0, "pending": 0, "nonsense": 25} {
		text := w.shows(at+"?status="+status, `id="status-all"`)
		if got := len(rows(text)); got != want {
			t.Errorf("%s: %d rows, want %d", status, got, want)
		}
		marked := regexp.MustCompile(`id="status-([a-z]+)" href="[^"]+" aria-current`).FindStringSubmatch(text)
		if marked == nil || marked[1] != map[string]string{"nonsense": "all"}[status] && marked[1] != status {
			t.Errorf("%s: marked %v", status, marked)
		}
	}
	delivered := w.shows(at + "?status=delivered")
	if next := regexp.MustCompile(`href="([^"]+cursor=[^"]+)"`).FindStringSubmatch(delivered); next == nil || !strings.Contains(next[1], "status=delivered") {
		t.Errorf("the next page loses the filter: %v", next)
	}
	if status, _, _ := w.get(at + "?cursor=nonsense"); status != http.StatusBadRequest {
		t.Errorf("a wrong cursor: %d", status)
	}
}

// A delivery is sent again with the same id and body.
func TestC1Replay(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	_, made := w.endpoint(notify.NewNotification{Name: "Chat", URL: "ok"})
	log := w.test(made)
	w.sends(log+"/replay", nil, http.StatusOK, log, "It is sent again", "To be sent again", ">Sending<")
	w.send()
	w.shows(log, ">Delivered<", "</span>2</td>", "</span>1</td>", "!hx-get")
	if ids := w.receiver.ids(); len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("sent %v", ids)
	}
	if status, _, _ := w.post("/notifications/"+made.ID+"/deliveries/nobody/replay", nil); status != http.StatusNotFound {
		t.Errorf("replay of nothing: %d", status)
	}
	audit, err := w.control.ListAudit(t.Context(), w.admin, access.AuditQuery{Limit: 20})
	if err != nil || !slices.ContainsFunc(audit.Entries, func(e lineshaft.AuditEntry) bool { return e.Action == "notification.replay" }) {
		t.Errorf("the audit log has no replay: %v", err)
	}
}

// A delivery's page shows the result of each attempt, whatever texts say.
func TestS4HostileAnswersAndNames(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	evil := `"><script>alert(1)</script><img src=x onerror=alert(2)>`
	at, made := w.endpoint(notify.NewNotification{Name: evil, Description: evil, RunName: evil, URL: "https://hooks.example/" + url.PathEscape(evil) + "/evil"})
	log := w.test(made)
	for _, path := range []string{"/notifications", at, log, at + "/edit", at + "/rotate", at + "/delete"} {
		w.shows(path, "&lt;script&gt;alert(1)")
	}
	w.shows(log, "No answer", "&lt;script&gt;alert(1)&lt;/script&gt;", "&lt; 1 ms")
	_, _, text := w.post(at+"/delete", nil)
	if strings.Contains(text, "<script>alert") {
		t.Error("the notice has a text as HTML")
	}
}

// What an attempt and an endpoint that failed say is the same in every place.
func TestC1WordsOfAttempts(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{Name: "Board", URL: "bad"})
	log := w.test(made)
	w.wait(time.Minute)
	w.send()
	w.shows(log, "</span>2</td>", "Refused", "It answered 500 Internal Server Error", "3 ms", "notification.test")
	text := w.shows(at, "2 attempts, next")
	if strings.Contains(text, "it answered 500") {
		t.Error("a sentence begins with a small letter")
	}
	w.receiver.mend()
	w.wait(time.Hour)
	w.send()
	text = w.shows(log, ">Delivered<", "Finished", "!Trying again")
	if newest, oldest := strings.Index(text, "</span>3</td>"), strings.Index(text, "</span>1</td>"); newest < 0 || newest > oldest {
		t.Error("the newest attempt is not first")
	}
	w.shows(at, ">Enabled<", fmt.Sprintf("%d attempts", 3))
}
