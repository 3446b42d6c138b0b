package web_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/web"
)

// A notice is shown once, on the page after the change.
func TestI2NoticeIsShownOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID := s.start("hello")
	if _, _, text := s.post("/runs/"+runID+"/cancel", nil); !strings.Contains(text, `role="status"`) {
		t.Error("nothing tells that the run was cancelled")
	}
	if _, _, text := s.get("/runs"); strings.Contains(text, "The run was cancelled.") {
		t.Error("the notice is there twice")
	}
	// A cookie that someone else put there is text, if it is anything.
	for _, value := range []string{"PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg", "%%%"} {
		status, _, text := s.do(http.MethodGet, "/runs", nil, map[string]string{"Cookie": "lineshaft_notice=" + value})
		if status != http.StatusOK || strings.Contains(text, "<script>alert") {
			t.Errorf("notice %s: %d", value, status)
		}
	}
}

func TestI2ThemeIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for _, tc := range []struct{ choice, want, next, at string }{
		{"dark", `data-theme="dark"`, "/runs", "/runs"},
		{"light", `data-theme="light"`, "/runs?q=a", "/runs?q=a"},
		{"purple", "", "/runs", "/runs"},
		{"dark", `data-theme="dark"`, "//evil.example/", "/"},
		{"", "", "/runs", "/runs"},
	} {
		status, at, text := s.post("/theme", url.Values{"theme": {tc.choice}, "next": {tc.next}})
		if status != http.StatusOK || at != tc.at {
			t.Errorf("theme %q: %d at %s", tc.choice, status, at)
		}
		if has := strings.Contains(text, "<html lang=\"en\" data-theme"); has != (tc.want != "") || !strings.Contains(text, tc.want) {
			t.Errorf("theme %q: the page has one: %v", tc.choice, has)
		}
	}
}

// The density of lists is kept beside the theme.
func TestI2DensityIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.shows("/runs", "!data-density", `value="" aria-pressed="true">Comfortable`)
	s.post("/theme", url.Values{"theme": {"dark"}, "next": {"/runs"}})
	for _, tc := range []struct {
		choice string
		kept   bool
	}{{"compact", true}, {"tiny", false}, {"compact", true}, {"", false}} {
		status, at, text := s.post("/theme", url.Values{"density": {tc.choice}, "next": {"/runs?q=a"}})
		if status != http.StatusOK || at != "/runs?q=a" || strings.Contains(text, `data-theme="dark" data-density="compact"`) != tc.kept {
			t.Errorf("density %q: %d at %s", tc.choice, status, at)
		}
		s.shows("/deliveries", `data-theme="dark"`, map[bool]string{true: "", false: "!"}[tc.kept]+`data-density="compact"`)
	}
}

// So is the zone of times, which the page's script keeps to.
func TestI2ZoneIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.shows("/runs", "!<html lang=\"en\" data-zone", `value="" aria-pressed="true">Local time`)
	for _, tc := range []struct {
		choice string
		kept   bool
	}{{"utc", true}, {"Mars/Base", false}, {"utc", true}, {"", false}} {
		status, at, text := s.post("/theme", url.Values{"zone": {tc.choice}, "next": {"/audit"}})
		if status != http.StatusOK || at != "/audit" || strings.Contains(text, `<html lang="en" data-zone="utc">`) != tc.kept {
			t.Errorf("zone %q: %d at %s", tc.choice, status, at)
		}
	}
}

// A part of a page gets an error that fits into it, and goes to sign in as a whole.
func TestI2PartsFailAsParts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	part := map[string]string{"Hx-Request": "true"}
	path := "/runs/01890000-0000-7000-8000-000000000000"
	if status, _, text := s.do(http.MethodGet, path, nil, part); status != http.StatusUnauthorized || text != "" {
		t.Errorf("as nobody: %d %q", status, text)
	}
	s.signIn(s.key)
	status, _, text := s.do(http.MethodGet, path, nil, part)
	if status != http.StatusNotFound || strings.Contains(text, "<html") || !strings.Contains(text, "check the id") {
		t.Errorf("as a part: %d\n%s", status, text)
	}
	if _, _, text = s.get(path); !strings.Contains(text, "<html") || !strings.Contains(text, `aria-label="Main"`) {
		t.Error("the whole page lacks its menu")
	}
}

// H-5: a page that the database failed says so, and the log has the reason, for the operator.
func TestH5WhyAPageIsNotThereIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newSite(t).withDeps(func(deps *web.Deps) { deps.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
	s.signIn(s.key)
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	if status, _, text := s.get("/runs"); status != http.StatusServiceUnavailable || !strings.Contains(text, "try again") || strings.Contains(text, "closed") {
		t.Errorf("%d\n%s", status, text)
	}
	if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, `"level":"ERROR"`) || !strings.Contains(line, "closed") {
		t.Errorf("the log has %q", line)
	}
}
