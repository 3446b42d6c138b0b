package web_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func TestS5AuditIsFilteredAndPaged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	p := s.platform()
	for range 60 {
		s.start("hello")
	}
	first := s.shows("/audit", "run.create", "Older", "!Newest")
	at := strings.Index(first, `href="/audit?cursor=`)
	address, _, _ := strings.Cut(first[at+len(`href="`):], `"`)
	s.shows(strings.ReplaceAll(address, "&amp;", "&"), "Newest", "secret.create", "schedule.create")
	s.shows("/audit?by=action&value=secret.create", "TOKEN", "!run.create</b>", "href=\"/audit\"")
	s.shows("/audit?by=target&value="+p.schedule, "schedule.create", "/schedules/"+p.schedule, "!run.create</b>")
	s.shows("/audit?by=actor&value="+url.QueryEscape(s.admin.Principal.UID), "run.create")
	s.shows("/audit", `<option value="`+s.admin.Principal.UID+`">`+s.admin.Principal.DisplayName+"</option>")
	s.shows("/audit?by=actor&value=nobody", "No entry matches")
	day := time.Now().UTC()
	s.shows("/audit?since="+day.Format(time.DateOnly)+"&until="+day.AddDate(0, 0, 1).Format(time.DateOnly), "run.create")
	s.shows("/audit?until="+day.AddDate(0, 0, -1).Format(time.DateOnly), "No entry matches")
	for _, query := range []string{
		"by=colour&value=red", "value=red", "since=soon", "until=2026-99-99", "since=0001-01-01", "cursor=x", "by=actor&value=" + strings.Repeat("x", 600),
		"by=action&value=%00", "by=action&value=run.create&" + strings.TrimPrefix(strings.ReplaceAll(address, "&amp;", "&"), "/audit?"), // a cursor of another list
	} {
		if status, _, text := s.get("/audit?" + query); status != http.StatusBadRequest || !strings.Contains(text, "callout bad") {
			t.Errorf("%s: %d", query, status)
		}
		if status, _, _ := s.get("/audit/export?" + query); !strings.Contains(query, "cursor") && status != http.StatusBadRequest {
			t.Errorf("export %s: %d", query, status)
		}
	}
}

// Rows name what was changed and lead there, also where the entry has only an id.
func TestS5AuditNamesWhatWasChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	f := s.factory("Shop")
	hook := must(s.control.CreateWebhook(t.Context(), s.admin, f.UID, controlfactories.NewWebhook{Name: "issues"}))
	automation := must(s.control.CreateAutomation(t.Context(), s.admin, f.UID, lineshaft.Automation{
		Name: "Nightly", Prompt: "p", Triggers: []lineshaft.Trigger{{Provider: lineshaft.ProviderRun, Event: lineshaft.EventFinished}},
	}))
	paused := true
	must(s.control.UpdateFactory(t.Context(), s.admin, f.UID, controlfactories.FactoryChange{Paused: &paused}))
	runID, gone := s.start("Say hello"), s.start("Soon gone")
	for _, id := range []string{runID, gone} {
		s.finish(lineshaft.TurnResult{State: lineshaft.Succeeded})
		if state := s.state(id); !state.Terminal() {
			t.Fatalf("%s is %s", id, state)
		}
	}
	if err := s.control.DeleteRun(t.Context(), s.admin, gone); err != nil {
		t.Fatal(err)
	}
	to := func(address, name string) string {
		return `<a href="` + address + `"><bdi title="` + name + `">` + name + `</bdi></a>`
	}
	s.shows("/audit?by=action&value=run.create", to("/runs/"+runID, "Say hello"), `<td class="target"><code>`+gone, "!/runs/"+gone)
	s.shows("/audit?by=action&value=factory.update", to("/factories/"+f.UID, "Shop"))
	s.shows("/audit?by=action&value=webhook.create", to("/factories/"+f.UID+"/webhooks/"+hook.UID, "issues"))
	s.shows("/audit?by=action&value=automation.create", to("/factories/"+f.UID+"/automations/"+automation.UID, "Nightly"))
}

// Keys, sessions and deliveries are named, and lead to where they are listed or shown; what is gone leads nowhere.
func TestS5AuditNamesKeysSessionsAndDeliveries(t *testing.T) {
	t.Parallel()
	h := newHooked(t, controlfactories.NewWebhook{})
	made, _, err := h.control.CreateAPIKey(t.Context(), h.admin, access.NewAPIKey{Name: "For CI", Role: lineshaft.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	to := func(address, name string) string {
		return `<td class="target"><a href="` + address + `"><bdi title="` + name + `">` + name + `</bdi></a>`
	}
	h.shows("/audit?by=action&value=apikey.create", to("/keys#key-"+made.ID, "For CI"))
	h.shows("/keys", `<tr id="key-`+made.ID)
	if err := h.control.RevokeAPIKey(t.Context(), h.admin, made.ID); err != nil {
		t.Fatal(err)
	}
	h.shows("/audit?by=action&value=apikey.revoke", to("/keys?show=ended#key-"+made.ID, "For CI"))
	h.shows("/keys?show=ended", `<tr id="key-`+made.ID)

	own := must(h.control.ListSessions(t.Context(), h.admin, false, 10, "")).Sessions[0].ID
	elsewhere := h.stranger()
	elsewhere.signIn(h.key)
	other := must(h.control.ListSessions(t.Context(), h.admin, false, 10, "")).Sessions[0].ID
	if err := h.control.RevokeSession(t.Context(), h.admin, other); err != nil {
		t.Fatal(err)
	}
	h.shows("/audit?by=action&value=session.create", to("/sessions?of=everybody#session-"+own, page.BrowserName("Go-http-client/1.1")),
		`<td class="target"><code>`+other, "!#session-"+other)
	h.shows("/audit?by=action&value=session.revoke", `<td class="target"><bdi title="`+h.admin.Principal.DisplayName)
	h.shows("/sessions?of=everybody", `<tr id="session-`+own)

	again := must(h.control.Redeliver(t.Context(), h.admin, trigger.Redelivery{FactoryUID: h.factory, WebhookUID: h.hook.UID, DeliveryID: h.deliver("1", "{}")}, nil))
	h.shows("/audit?by=action&value=delivery.redeliver", `<td class="target"><a href="`+h.at+"/deliveries/"+again.DeliveryID+`">`)
}

func TestS5AuditShowsTextAsText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	must(s.control.CreateEnvironment(t.Context(), s.admin, lineshaft.EnvironmentConfig{Name: hostileName}))
	s.shows("/audit", "environment.create", "!<script>alert", "&lt;script&gt;")
	s.shows("/audit?by=action&value="+url.QueryEscape(`"><script>alert(1)</script>`), "!<script>alert")
}

// An export is the whole log, as a file, in more batches than one.
func TestS5AuditExport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for range 1010 {
		s.start("hello")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/audit/export?by=action&value=run.create", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.Header.Get("Content-Type") != "application/x-ndjson" || !strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("headers %v", res.Header)
	}
	seen, last := map[string]bool{}, ""
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		var entry struct {
			ID     string `json:"id"`
			Action string `json:"action"`
			Actor  struct {
				UID string `json:"uid"`
			} `json:"actor"`
		}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Action != "run.create" || entry.Actor.UID != s.admin.Principal.UID || last != "" && entry.ID >= last {
			t.Fatalf("%+v after %s", entry, last)
		}
		seen[entry.ID], last = true, entry.ID
	}
	if len(seen) != 1010 {
		t.Errorf("%d entries", len(seen))
	}
}
