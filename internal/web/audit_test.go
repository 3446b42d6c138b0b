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
