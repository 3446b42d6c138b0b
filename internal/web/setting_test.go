package web_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web"
)

func settingsSite(t *testing.T, examine func(context.Context) []web.Check) *site {
	t.Helper()
	return newSite(t).withDeps(func(d *web.Deps) {
		d.Examine = examine
		d.Settings = []web.Setting{
			{Name: "listen", Value: "127.0.0.1:1", Help: "host and port", Origin: "flag"},
			{Name: "LINESHAFT_ADMIN_KEY", Env: "LINESHAFT_ADMIN_KEY", Value: "[set]", Origin: "environment", Secret: true},
			{Name: "oidc-name", Value: `<img src=x onerror="alert(1)">`, Origin: "file"},
			{Name: "lease", Value: "30s", Help: "how long", Origin: "default"},
			{Name: "metrics-key", Origin: "default", Secret: true},
		}
	})
}

func TestI2SettingsShowWhatTheServerRunsWith(t *testing.T) {
	t.Parallel()
	s := settingsSite(t, nil)
	s.signIn(s.key)
	status, _, text := s.get("/settings")
	for _, want := range []string{
		"v1.2.3", "SQLite, schema version ", "https://a.example", "https://b.example", "forever", "7 days, and the newest 50", "127.0.0.1:1", "set, not shown", "&lt;img src=x",
		"2 unchanged settings", "environment", "--oidc-issuer",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%d: the page lacks %q", status, want)
		}
	}
	if strings.Contains(text, "<img") || strings.Contains(text, "[set]") {
		t.Error("a value is shown as it must not be")
	}
	if strings.Index(text, "127.0.0.1:1") > strings.Index(text, "30s") {
		t.Error("what was chosen does not come first")
	}
}

func TestS3SettingsAreForAdmins(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := settingsSite(t, func(context.Context) []web.Check { asked.Add(1); return nil })
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager} {
		browser := s.stranger()
		browser.signIn(s.newKey(role))
		for _, path := range []string{"/settings", "/settings/doctor"} {
			if status, _, text := browser.get(path); status != http.StatusForbidden || strings.Contains(text, "127.0.0.1:1") {
				t.Errorf("%s as %s: %d", path, role, status)
			}
		}
		if _, _, text := browser.get("/"); strings.Contains(text, `href="/settings"`) {
			t.Errorf("the menu of a %s has settings", role)
		}
	}
	limited := s.stranger()
	limited.signIn(s.newKey(lineshaft.RoleAdmin, s.factory("f").UID))
	for _, path := range []string{"/settings", "/settings/doctor"} {
		if status, _, _ := limited.get(path); status != http.StatusForbidden {
			t.Errorf("%s as an admin of one factory: %d", path, status)
		}
	}
	if asked.Load() != 0 {
		t.Error("an examination ran for somebody who may not ask")
	}
}

func TestI2DoctorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := settingsSite(t, func(ctx context.Context) []web.Check {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the examination has no end")
		}
		return []web.Check{{Name: "fine", State: "ok", Detail: "all is well"}, {Name: "broken", State: "problem", Detail: "<b>bad</b>", Fix: "do this"}, {Name: "odd", State: "warning"}}
	})
	s.signIn(s.key)
	status, _, whole := s.get("/settings/doctor")
	if status != http.StatusOK || !strings.Contains(whole, "<html") || !strings.Contains(whole, "do this") || !strings.Contains(whole, "Run the checks again") {
		t.Errorf("the whole page: %d", status)
	}
	_, _, part := s.do(http.MethodGet, "/settings/doctor", nil, map[string]string{"Hx-Request": "true"})
	if strings.Contains(part, "<html") || strings.Contains(part, "<b>bad") || !strings.Contains(part, "do this") {
		t.Errorf("the part: %s", part)
	}
	if broken, odd, fine := strings.Index(part, "broken"), strings.Index(part, "odd"), strings.Index(part, "fine"); broken > odd || odd > fine {
		t.Error("the worst does not come first")
	}
	if _, _, text := s.get("/settings"); strings.Contains(text, "do this") {
		t.Error("the page examines without being asked")
	}
	if status, _, _ := settingsSiteOf(t).get("/settings/doctor"); status != http.StatusNotFound {
		t.Errorf("without an examination: %d", status)
	}
}

func settingsSiteOf(t *testing.T) *site {
	t.Helper()
	s := settingsSite(t, nil)
	s.signIn(s.key)
	return s
}

// Examinations start programs: many readers do not start them many times at once.
func TestI2OneExaminationAtATime(t *testing.T) {
	t.Parallel()
	var begun atomic.Int32
	inside, finish := make(chan struct{}), make(chan struct{})
	s := settingsSite(t, func(context.Context) []web.Check {
		if begun.Add(1) == 1 {
			close(inside)
			<-finish
		}
		return nil
	})
	s.signIn(s.key)
	first := make(chan int)
	go func() {
		status, _, _ := s.get("/settings/doctor")
		first <- status
	}()
	<-inside
	impatient := *s.browser
	impatient.Timeout = 500 * time.Millisecond
	if res, err := impatient.Get(s.url + "/settings/doctor"); err == nil {
		_ = res.Body.Close()
		t.Errorf("a second examination was answered with %d", res.StatusCode)
	}
	if begun.Load() != 1 {
		t.Error("two examinations run at once")
	}
	close(finish)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the first: %d", status)
	}
	if status, _, _ := s.get("/settings/doctor"); status != http.StatusOK || begun.Load() < 2 {
		t.Errorf("the next: %d, %d begun", status, begun.Load())
	}
}
