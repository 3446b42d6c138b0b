package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/overview"
)

// I-2: what can only be meant is gone to; the rest is shown by kind.
func TestI2Search(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	factory, err := s.control.CreateFactory(t.Context(), s.admin, factories.NewFactory{Name: "Web shop", Alias: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	runID := s.startFor(s.admin, lineshaft.NewRun{Title: "Paint the shed"})
	s.startFor(s.admin, lineshaft.NewRun{Title: "Paint the fence"})
	if _, err := s.control.SettleRuns(t.Context()); err != nil {
		t.Fatal(err)
	}
	search := func(text string) (string, string) {
		t.Helper()
		status, at, body := s.get("/search?" + url.Values{"q": {text}}.Encode())
		if status != http.StatusOK && !strings.HasPrefix(at, "/factories") && !strings.HasPrefix(at, "/notifications") { // another page of these
			t.Fatalf("%s: %d", text, status)
		}
		return at, body
	}
	for _, text := range []string{runID, " " + strings.ToUpper(runID) + " ", runID[:20]} {
		if at, _ := search(text); at != "/runs/"+runID {
			t.Errorf("%q leads to %s", text, at)
		}
	}
	if at, _ := search("Web shop"); at != "/factories/"+factory.UID {
		t.Errorf("a name leads to %s", at)
	}
	issued, err := s.control.CreateNotification(t.Context(), s.admin, notify.NewNotification{Name: "chat", URL: "https://example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	if at, _ := search("chat"); at != "/notifications/"+issued.ID {
		t.Errorf("the name of a notification leads to %s", at)
	}
	if at, body := search("paint"); !strings.HasPrefix(at, "/search") || strings.Join(shown(body), ",") != "Paint the fence,Paint the shed" || !strings.Contains(body, `value="paint"`) {
		t.Errorf("words: at %s\n%s", at, body)
	}
	// One run with the words is still something to look at, not an id.
	if at, body := search("shed"); !strings.HasPrefix(at, "/search") || strings.Join(shown(body), ",") != "Paint the shed" {
		t.Errorf("words: at %s\n%s", at, body)
	}
	for _, text := range []string{"", "nothing of this", "…", "01890000-0000-7000-8000-000000000000", strings.Repeat("x", 2000)} {
		if _, body := search(text); !strings.Contains(body, "Browse the runs") {
			t.Errorf("%q finds something:\n%s", text, body)
		}
	}
	s.as(lineshaft.RoleViewer, s.factory("another").UID)
	for _, text := range []string{runID, "paint", "Web shop"} {
		if at, body := search(text); !strings.HasPrefix(at, "/search") || !strings.Contains(body, "Nothing found") {
			t.Errorf("a key of another factory finds %q at %s", text, at)
		}
	}
}

func TestI2SearchLeadsToAllRunsWithTheWords(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for range overview.SearchLimit + 1 {
		s.startFor(s.admin, lineshaft.NewRun{Title: "one of many"})
	}
	if _, err := s.control.SettleRuns(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, body := s.get("/search?q=of+many"); len(shown(body)) != overview.SearchLimit || !strings.Contains(body, `href="/runs?q=of&#43;many"`) && !strings.Contains(body, `href="/runs?q=of+many"`) {
		t.Errorf("%d rows\n%s", len(shown(body)), body)
	}
}

// An error code, or its beginning, leads to the runs that failed with it.
func TestI2SearchByErrorCode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.start("broken")
	s.finish(lineshaft.TurnResult{State: lineshaft.Failed, Code: lineshaft.CodeEnvironmentSetupFailed})
	for _, text := range []string{"environment_setup_failed", "Environment+setup", "environment_"} {
		if _, at, body := s.get("/search?q=" + text); at != "/runs?error=environment_setup_failed" || strings.Join(shown(body), ",") != "broken" {
			t.Errorf("%s leads to %s", text, at)
		}
	}
	s.shows("/search?q=environment", "Nothing found") // a word of everyday
	_, _, typed := s.do(http.MethodGet, "/search?q=run_time", nil, map[string]string{"Hx-Request": "true"})
	for _, want := range []string{`href="/runs?error=run_timeout"`, "Runs that failed with run_timeout", "Error code"} {
		if !strings.Contains(typed, want) {
			t.Errorf("the palette lacks %q:\n%s", want, typed)
		}
	}
}

// A part of a name finds every noun, and while one types also pages and actions; each
// only for those who may open it.
func TestI2SearchByPartOfAName(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{Name: "issues-of-github"})
	h.automate("triage-hub", "")
	other := h.another("Hubble", "far")
	if _, err := h.control.CreateEnvironment(t.Context(), h.admin, lineshaft.EnvironmentConfig{Name: "Hub of the shop"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.control.CreateSecret(t.Context(), h.admin, lineshaft.Secret{Name: "GITHUB_TOKEN"}, "value"); err != nil {
		t.Fatal(err)
	}
	found := []string{"issues-of-github", "triage-hub", "Hubble", "Hub of the shop", "GITHUB_TOKEN", "/secrets/GITHUB_TOKEN"}
	h.shows("/search?q=HUB", found...)
	asked := map[string]string{"Hx-Request": "true"}
	typed := func(text string) string {
		t.Helper()
		status, _, got := h.do(http.MethodGet, "/search?q="+url.QueryEscape(text), nil, asked)
		if status != http.StatusOK || strings.Contains(got, "<html") {
			t.Fatalf("%q: %d %s", text, status, got)
		}
		return got
	}
	h.wants("hits", typed("hub"), append(found, "<span class=\"muted\">Factory", "Webhook · <bdi>works</bdi>")...)
	h.wants("pages", typed("deliv"), `href="/deliveries"`, "Deliveries that matched nothing", "Action")
	h.wants("first", typed(""), `href="/runs"`, `href="/costs"`)
	h.wants("none", typed("zzz nothing"), "Nothing found")
	// A single result is opened, even when found by a part of its name.
	if _, at, _ := h.get("/search?q=age-hu"); !strings.Contains(at, "/automations/") {
		t.Errorf("a part of a name leads to %s", at)
	}
	h.as(lineshaft.RoleViewer, other.factory)
	h.lacks("hits of a stranger", typed("hub"), "issues-of-github", "triage-hub", "GITHUB_TOKEN")
	h.wants("hits of a stranger", typed("hub"), "Hubble")
	h.lacks("actions of a viewer", typed("new"), "New run", "New factory")
	h.lacks("pages of a viewer", typed("audit"), `href="/audit"`)
}
