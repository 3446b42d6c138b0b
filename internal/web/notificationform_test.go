package web_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client/callback"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/signature"
)

func callbackForm(changes ...string) url.Values {
	form := url.Values{"url": {"https://hooks.example/ok"}, "name": {"Chat"}, "from": {"make"}}
	for i := 0; i < len(changes); i += 2 {
		form[changes[i]] = []string{changes[i+1]}
	}
	return form
}

// marked are the boxes of a name that a page has marked.
func marked(page, name string) []string {
	var values []string
	for _, found := range regexp.MustCompile(`name="`+name+`" value="([^"]+)" checked`).FindAllStringSubmatch(page, -1) {
		values = append(values, found[1])
	}
	return values
}

func TestI2NewNotificationTakesItsForm(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	shop, docs := w.factory("Shop").UID, w.factory("Docs").UID
	page := w.shows("/notifications/new", "If none is selected, every change is sent", "including those without a factory", "Shop", "Docs")
	if got := marked(page, "state"); !slices.Equal(got, []string{"SUCCEEDED", "FAILED", "ERROR", "CANCELLED"}) {
		t.Errorf("a new one hears of %v", got)
	}
	if got := len(regexp.MustCompile(`name="state"`).FindAllString(page, -1)); got != len(lineshaft.RunStates()) {
		t.Errorf("%d states to choose from", got)
	}
	form := callbackForm("description", " Ask Ada ", "run_name", "doctor")
	form["state"], form["factory"] = []string{"FAILED", "BLOCKED"}, []string{shop}
	text := w.sends("/notifications", form, http.StatusOK, "/notifications", "Notification <bdi>Chat</bdi> is ready", "Send a test")
	all := w.all()
	if len(all) != 1 {
		t.Fatalf("%d endpoints", len(all))
	}
	n := all[0]
	if n.Name != "Chat" || n.Description != "Ask Ada" || n.URL != "https://hooks.example/ok" || n.RunName != "doctor" || !n.Enabled ||
		!slices.Equal(n.FactoryUIDs, []string{shop}) || !slices.Equal(n.States, []lineshaft.RunState{lineshaft.Blocked, lineshaft.Failed}) {
		t.Errorf("%+v", n)
	}
	if !strings.Contains(text, `href="/notifications/`+n.ID+`"`) || !strings.Contains(text, `action="/notifications/`+n.ID+`/test"`) {
		t.Error("no way to what was made")
	}
	if page := w.shows("/notifications/" + n.ID + "/edit"); !slices.Equal(marked(page, "factory"), []string{shop}) || strings.Contains(page, docs+`" checked`) {
		t.Errorf("the form has %v", marked(page, "factory"))
	}
}

// An empty form of states and factories is everything, and the host is the name.
func TestI2NotificationWithoutChoices(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.sends("/notifications", url.Values{"url": {" https://hooks.example:8443/ok "}}, http.StatusOK, "/notifications", "hooks.example:8443")
	n := w.all()[0]
	if len(n.States)+len(n.FactoryUIDs) != 0 || n.RunName != "" || n.URL != "https://hooks.example:8443/ok" || n.Name != "hooks.example:8443" {
		t.Errorf("%+v", n)
	}
}

// S-2, S-4: the secret is in the answer to the form and nowhere else.
func TestS4CallbackSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/notifications", strings.NewReader(callbackForm().Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := w.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if h := res.Header; h.Get("Cache-Control") != "no-store" || h.Get("Content-Encoding") != "" || h.Get("Referrer-Policy") != "no-referrer" || len(res.Cookies()) != 0 {
		t.Errorf("headers %v", h)
	}
	text := w.sends("/notifications", callbackForm("name", "Other"), http.StatusOK, "/notifications", "shown only once")
	secret := html.UnescapeString(copied(text)["secret"])
	if !strings.HasPrefix(secret, "whsec_") || !strings.Contains(html.UnescapeString(copied(text)["line for a terminal"]), "CALLBACK_SECRET='"+secret+"'") {
		t.Fatalf("secret %q, terminal %q", secret, copied(text)["line for a terminal"])
	}
	for _, language := range []string{"Python", "TypeScript", "Go"} {
		if lines := copied(text)["lines of "+language]; !strings.Contains(lines, "CALLBACK_SECRET") || strings.Contains(lines, secret) {
			t.Errorf("how to verify in %s: %q", language, lines)
		}
	}
	paths := []string{"/notifications", "/notifications/new", "/audit", "/"}
	for _, n := range w.all() {
		log := w.test(notify.IssuedNotification{Notification: n})
		at := "/notifications/" + n.ID
		paths = append(paths, at, at+"/edit", at+"/rotate", at+"/delete", log)
	}
	for _, path := range paths {
		if _, _, text := w.get(path); strings.Contains(html.UnescapeString(text), secret) {
			t.Errorf("%s has the secret", path)
		}
	}
}

// C-1: what is shown verifies what is sent.
func TestC1ShownSecretVerifies(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	text := w.sends("/notifications", callbackForm(), http.StatusOK, "/notifications")
	first := html.UnescapeString(copied(text)["secret"])
	n := w.all()[0]
	at := "/notifications/" + n.ID
	w.sends(at+"/test", nil, http.StatusOK, "", "A test is on its way")
	w.send()
	if !w.verifies(first) {
		t.Error("the secret that was shown does not verify")
	}
	text = w.sends(at+"/rotate", url.Values{"from": {"make"}, "overlap_seconds": {"3600"}}, http.StatusOK, at+"/rotate", "New secret of", "signed with the old secret as well")
	second := html.UnescapeString(copied(text)["secret"])
	w.shows(at, "Old secret", "also signs", "!"+second)
	w.shows(at+"/rotate", "The one before ends")
	w.test(notify.IssuedNotification{Notification: n})
	if first == second || !w.verifies(first) || !w.verifies(second) {
		t.Error("in an overlap not both verify")
	}
	w.sends(at+"/rotate", url.Values{"from": {"make"}, "overlap_seconds": {"3600"}}, http.StatusConflict, "", "still signs until")
	text = w.sends(at+"/rotate", url.Values{"from": {"make"}, "overlap_seconds": {"0"}}, http.StatusOK, "", "The old secret no longer works")
	third := html.UnescapeString(copied(text)["secret"])
	w.test(notify.IssuedNotification{Notification: n})
	if w.verifies(first) || w.verifies(second) || !w.verifies(third) {
		t.Error("after an end at once not the newest alone verifies")
	}
	w.shows(at, "!Old secret")
}

// verifies says whether a receiver with a secret believes what was sent last.
func (w *told) verifies(secret string) bool {
	w.Helper()
	w.receiver.mu.Lock()
	defer w.receiver.mu.Unlock()
	c := w.receiver.got[len(w.receiver.got)-1]
	var signatures []string
	header := http.Header{}
	for _, own := range c.Secrets {
		signed := &signature.Request{Body: c.Body, Now: c.Time}
		if err := signature.Sign("standard_webhooks", signature.HMAC{}, own, signed, c.ID); err != nil {
			w.Fatal(err)
		}
		header = signed.Header
		signatures = append(signatures, signed.Header.Get("Webhook-Signature"))
	}
	header.Set("Webhook-Signature", strings.Join(signatures, " "))
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.URL, strings.NewReader(string(c.Body)))
	if err != nil {
		w.Fatal(err)
	}
	req.Header = header
	verifier, err := callback.New(secret)
	if err != nil {
		w.Fatal(err)
	}
	event, err := verifier.Read(req)
	return err == nil && event.Type == lineshaft.NotificationTest
}

// A secret that people bring is accepted, and never shown.
func TestS4OwnCallbackSecret(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	const own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	text := w.sends("/notifications", callbackForm("from", "own", "secret", " "+own+" "), http.StatusOK, "", "Created. Send a test")
	if strings.Contains(text, own) {
		t.Error("it is shown")
	}
	n := w.all()[0]
	w.test(notify.IssuedNotification{Notification: n})
	if !w.verifies(own) {
		t.Error("it does not sign")
	}
	at := "/notifications/" + n.ID
	const other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	text = w.sends(at+"/rotate", url.Values{"from": {"own"}, "secret": {other}}, http.StatusOK, at, "signed with the new secret")
	if strings.Contains(text, other) {
		t.Error("the new one is shown")
	}
	w.test(notify.IssuedNotification{Notification: n})
	if w.verifies(own) || !w.verifies(other) {
		t.Error("the new one does not sign alone")
	}
}

// H-9: the page with a secret that is loaded again sends its form again. That neither
// makes a second endpoint nor ends the secret that was copied.
func TestH9CallbackSecretsAreMadeOnce(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	form := callbackForm("once", w.onceIn("/notifications/new", `action="/notifications"`))
	w.sends("/notifications", form, http.StatusOK, "/notifications", "whsec_")
	text := w.sends("/notifications", form, http.StatusConflict, "/notifications", "was already created", "rotate the secret")
	if len(w.all()) != 1 || strings.Contains(text, "whsec_A") {
		t.Errorf("%d endpoints", len(w.all()))
	}
	n := w.all()[0]
	at := "/notifications/" + n.ID
	again := url.Values{"from": {"make"}, "overlap_seconds": {"0"}, "once": {w.onceIn(at+"/rotate", `action="`+at+`/rotate"`)}}
	secret := html.UnescapeString(copied(w.sends(at+"/rotate", again, http.StatusOK, ""))["secret"])
	w.sends(at+"/rotate", again, http.StatusConflict, "", "shown once")
	w.test(notify.IssuedNotification{Notification: n})
	if !w.verifies(secret) {
		t.Error("sent twice, the form ended the secret that was shown")
	}
	again.Set("once", w.onceIn(at+"/rotate", `action="`+at+`/rotate"`))
	if next := html.UnescapeString(copied(w.sends(at+"/rotate", again, http.StatusOK, ""))["secret"]); next == secret || next == "" {
		t.Errorf("another form: %q", next)
	}
	form.Set("once", w.onceIn("/notifications/new", `action="/notifications"`))
	w.sends("/notifications", form, http.StatusOK, "/notifications", "whsec_")
	if len(w.all()) != 2 {
		t.Errorf("another form made none: %d", len(w.all()))
	}
}

// What is wrong is said beside its field, what was filled in stays, and no secret does.
func TestI2NotificationFormComesBack(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	shop := w.factory("Shop").UID
	long := strings.Repeat("x", 1001)
	for name, tc := range map[string]struct {
		form url.Values
		say  string
	}{
		"no url":      {callbackForm("url", ""), "full address"},
		"no address":  {callbackForm("url", "<i>"), "full address"},
		"plain http":  {callbackForm("url", "http://hooks.example/"), "must begin with https://"},
		"private":     {callbackForm("url", "https://10.0.0.1/"), "--callback-allow-private"},
		"localhost":   {callbackForm("url", "https://localhost:9/"), "--callback-allow-private"},
		"password":    {callbackForm("url", "https://me:pass@hooks.example/"), "must not have a user"},
		"name":        {callbackForm("name", long), "longer than 100"},
		"description": {callbackForm("description", long), "longer than 1000"},
		"run name":    {callbackForm("run_name", long), "longer than"},
		"state":       {callbackForm("state", "<b>NO</b>"), "not a state of a run"},
		"factory":     {callbackForm("factory", "nobody"), "no factory"},
		"no secret":   {callbackForm("from", "own"), "paste the secret"},
		"bad secret":  {callbackForm("from", "own", "secret", "hunter2hunter2hunter2"), "whsec_ followed by base64"},
	} {
		if !tc.form.Has("factory") {
			tc.form.Set("factory", shop)
		}
		status, _, text := w.post("/notifications", tc.form)
		if status != http.StatusBadRequest || !strings.Contains(text, tc.say) {
			t.Errorf("%s: %d\n%s", name, status, content(text))
		}
		for _, field := range []string{"url", "name", "description", "run_name"} {
			if value := tc.form.Get(field); value != "" && !strings.Contains(text, `value="`+html.EscapeString(value)+`"`) {
				t.Errorf("%s: %s is lost", name, field)
			}
		}
		if strings.Contains(text, "hunter2") || strings.Contains(text, "<b>NO") || strings.Contains(text, `"<i>"`) {
			t.Errorf("%s: the page repeats what it must not", name)
		}
		if name != "factory" && !slices.Equal(marked(text, "factory"), []string{shop}) {
			t.Errorf("%s: the factories are lost", name)
		}
	}
	if len(w.all()) != 0 {
		t.Errorf("%d endpoints", len(w.all()))
	}
}

func TestI2EditNotification(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	shop := w.factory("Shop").UID
	at, made := w.endpoint(notify.NewNotification{
		Name: "Chat", Description: "Ask Ada", URL: "ok", RunName: "doctor", States: []lineshaft.RunState{lineshaft.Failed}, FactoryUIDs: []string{shop},
	})
	page := w.shows(at+"/edit", `value="Chat"`, `value="Ask Ada"`, `value="https://hooks.example/ok"`, `value="doctor"`, `action="`+at+`/edit"`, "!Signing secret")
	if !slices.Equal(marked(page, "state"), []string{"FAILED"}) || !slices.Equal(marked(page, "factory"), []string{shop}) {
		t.Errorf("marked: %v and %v", marked(page, "state"), marked(page, "factory"))
	}
	w.sends(at+"/edit", url.Values{"url": {"https://hooks.example/new"}, "name": {"Talk"}, "state": {"ERROR", "BLOCKED"}}, http.StatusOK, at, "Saved.", "Talk")
	n := w.stored(made.ID)
	if n.Name != "Talk" || n.Description != "" || n.RunName != "" || len(n.FactoryUIDs) != 0 || n.URL != "https://hooks.example/new" ||
		!slices.Equal(n.States, []lineshaft.RunState{lineshaft.Blocked, lineshaft.Errored}) || !n.Enabled {
		t.Errorf("%+v", n)
	}
	text := w.sends(at+"/edit", url.Values{"url": {"http://10.0.0.1/"}, "name": {"Kept name"}}, http.StatusBadRequest, at+"/edit", "must begin with https://", `value="Kept name"`)
	if !strings.Contains(text, `action="`+at+`/edit"`) || w.stored(made.ID).Name != "Talk" {
		t.Error("the form that came back is another, or it was changed all the same")
	}
}

// A factory that is gone stays marked, so that saving something else does not make the
// endpoint get the changes of all runs.
func TestI2EditKeepsFactoriesThatAreGone(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	shop := w.factory("Shop").UID
	at, made := w.endpoint(notify.NewNotification{Name: "Chat", URL: "ok", FactoryUIDs: []string{shop}})
	if err := w.control.DeleteFactory(t.Context(), w.admin, shop); err != nil {
		t.Fatal(err)
	}
	page := w.shows(at + "/edit")
	if !slices.Equal(marked(page, "factory"), []string{shop}) {
		t.Fatalf("marked: %v", marked(page, "factory"))
	}
	w.sends(at+"/edit", url.Values{"url": {"https://hooks.example/ok"}, "name": {"Talk"}, "factory": {shop}}, http.StatusOK, at, "Saved.", shop)
	if n := w.stored(made.ID); n.Name != "Talk" || !slices.Equal(n.FactoryUIDs, []string{shop}) {
		t.Errorf("%+v", n)
	}
}

// A change of the form does not enable what is disabled.
func TestI2EditLeavesTheSwitchAlone(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{Name: "Chat", URL: "ok", Enabled: new(false)})
	w.sends(at+"/edit", callbackForm("name", "Talk"), http.StatusOK, at, "Saved.")
	if n := w.stored(made.ID); n.Enabled || n.Name != "Talk" {
		t.Errorf("%+v", n)
	}
}

func TestI2RotateFormComesBack(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	at, made := w.endpoint(notify.NewNotification{Name: "Chat", URL: "ok"})
	w.shows(at+"/rotate", "Ends at once", "Works for one more hour", "Works for three more days", "two signatures", "!The one before ends")
	for name, tc := range map[string]struct {
		form url.Values
		say  string
	}{
		"overlap":    {url.Values{"overlap_seconds": {"<i>"}}, "offered times"},
		"negative":   {url.Values{"overlap_seconds": {"-1"}}, "offered times"},
		"too long":   {url.Values{"overlap_seconds": {"259201"}}, "offered times"},
		"no secret":  {url.Values{"from": {"own"}, "overlap_seconds": {"3600"}}, "paste the secret"},
		"bad secret": {url.Values{"from": {"own"}, "secret": {"hunter2"}, "overlap_seconds": {"3600"}}, "whsec_ followed by base64"},
	} {
		text := w.sends(at+"/rotate", tc.form, http.StatusBadRequest, at+"/rotate", tc.say)
		if strings.Contains(text, "hunter2") || strings.Contains(text, "<i>") {
			t.Errorf("%s: the page repeats what it must not", name)
		}
		if tc.form.Get("overlap_seconds") == "3600" && !slices.Equal(marked(text, "overlap_seconds"), []string{"3600"}) {
			t.Errorf("%s: the choice is lost", name)
		}
	}
	w.test(made)
	if !w.verifies(made.Secret) {
		t.Error("a refused form changed the secret")
	}
}

// The limit is shown with what to do.
func TestI2NotificationLimit(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	for i := range lineshaft.MaxNotifications {
		w.endpoint(notify.NewNotification{Name: "n" + strconv.Itoa(i), URL: "ok"})
	}
	w.sends("/notifications", callbackForm(), http.StatusConflict, "/notifications", "delete one first", `value="Chat"`)
}
