package web_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// An automation whose webhook is deleted does not look healthy anywhere.
func TestI2AutomationOfADeletedWebhook(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	_, at, _ := s.post(s.at(), typed(""))
	const told = "istens to a webhook that is gone"
	pages := []string{"/automations", at, "/factories/" + s.factory, "/"}
	look := func(want bool) {
		t.Helper()
		if err := s.control.RefreshHooks(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, path := range pages {
			if text := s.shows(path); strings.Contains(text, told) != want {
				t.Errorf("%s tells of a gone webhook: %t, want %t", path, !want, want)
			}
		}
	}
	look(false)
	if err := s.control.DeleteWebhook(t.Context(), s.admin, s.factory, s.hook.UID); err != nil {
		t.Fatal(err)
	}
	look(true)
	s.shows(at, "Choose another webhook", at+"/edit")
	s.shows("/", "Choose another one, or disable it")
	_, _, _ = s.post(at+"/enable", url.Values{"enabled": {"false"}})
	if err := s.control.RefreshHooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.shows("/"), told) {
		t.Error("a disabled automation needs attention")
	}
}

// The editor says that a webhook is to be ticked when there is something to save, and
// checks the filter all the same.
func TestI2EditorWithoutAWebhook(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	if _, err := s.control.CreateWebhook(t.Context(), s.admin, s.factory, factories.NewWebhook{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	const tick = "Tick at least one webhook."
	if page := s.shows(s.at() + "/new"); strings.Contains(page, tick) || strings.Contains(page, "webhook_ids") || strings.Contains(page, "callout bad") {
		t.Error("the empty form complains at once")
	}
	form := typed("action: opened")
	form.Del("t0.webhook")
	if part := s.ask("check:0", form); !strings.Contains(part, tick) || !strings.Contains(part, "Line 1, column 1") {
		t.Errorf("the filter's mistake is hidden:\n%s", part)
	}
	form.Set("t0.filter", "action: [opened]")
	form.Del("do")
	status, _, page := s.post(s.at(), form)
	if status != http.StatusBadRequest || !strings.Contains(page, tick) || strings.Contains(page, "webhook_ids") {
		t.Errorf("%d\n%s", status, page)
	}
}

// An address that nothing has keeps the menu of anyone who is signed in.
func TestI2UnknownPageHasTheMenu(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleViewer)
	status, _, page := s.get("/nope")
	if status != http.StatusNotFound || !strings.Contains(page, `href="/runs"`) {
		t.Errorf("%d without a menu", status)
	}
	if _, _, page := s.stranger().get("/nope"); strings.Contains(page, `href="/runs"`) {
		t.Error("a stranger sees the menu")
	}
}

// F-4: a roll-back that lacks a secret says which, and leads to where it is created.
func TestF4RollbackSaysTheNextStep(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleAdmin)
	revisions, err := s.control.ListRevisions(t.Context(), s.admin, s.factory, 1, "")
	if err != nil || len(revisions.Revisions) == 0 {
		t.Fatalf("%+v, %v", revisions, err)
	}
	if err := s.control.DeleteWebhook(t.Context(), s.admin, s.factory, s.hook.UID); err != nil {
		t.Fatal(err)
	}
	at := "/factories/" + s.factory + "/revisions/" + strconv.FormatInt(revisions.Revisions[0].Number, 10) + "/rollback"
	s.shows(at, "can no longer be applied", "There is no secret", "/secrets/new?name="+s.hook.SecretName, "Check again")
	s.shows("/secrets/new?name="+s.hook.SecretName, `value="`+s.hook.SecretName+`"`)
}
