package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

func TestF6ScheduleIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	p := s.platform()
	form := url.Values{
		"name": {hostileName}, "cron": {"30 2 * * *"}, "timezone": {"Asia/Tokyo"}, "overlap": {"skip"}, "prompt": {"line one\r\nline two"},
		"environment": {p.environment}, "worker": {"mac-mini"}, "model": {"big"}, "enabled": {"yes"},
	}
	_, at, text := s.post("/schedules", form)
	found, err := s.control.GetSchedule(t.Context(), s.admin, strings.TrimPrefix(at, "/schedules/"))
	if err != nil {
		t.Fatalf("%v at %s\n%s", err, at, content(text))
	}
	if found.Timing != (lineshaft.Timing{Cron: "30 2 * * *", Timezone: "Asia/Tokyo", Overlap: "skip"}) || !found.Enabled || found.Prompt != "line one\nline two" ||
		found.Config.EnvironmentID != p.environment || found.Config.WorkerHost != "mac-mini" || found.Config.ModelID != "big" {
		t.Errorf("%+v", found)
	}
	s.shows(at, "Every day at 02:30", "02:30 JST", "17:30 UTC", "skipped while", "!<script>alert")
	s.shows("/schedules", "Every day at 02:30", "02:30 JST", "17:30 UTC", "Pause", "!<script>alert")
	s.sends(at+"/pause", url.Values{"back": {"list"}}, http.StatusOK, "/schedules", "is paused", "Resume")
	s.sends(at+"/resume", nil, http.StatusOK, at, "is on")
	// What the form does not have stays.
	change := trigger.NewSchedule{Name: "kept", Timing: found.Timing, Prompt: "x", Metadata: map[string]string{"team": "shop"}}
	change.Config.Harness = &lineshaft.HarnessConfig{Type: "shell"}
	must(s.control.UpdateSchedule(t.Context(), s.admin, found.ID, change))
	s.shows(at+"/edit", "Kept as they are: harness", `value="30 2 * * *"`, "02:30 JST")
	s.sends(at, url.Values{"name": {"other"}, "cron": {"@hourly"}, "prompt": {"y"}}, http.StatusOK, at, "other")
	found = must(s.control.GetSchedule(t.Context(), s.admin, found.ID))
	if found.Config.Harness == nil || found.Metadata["team"] != "shop" || found.Enabled || found.Timing.Cron != "@hourly" {
		t.Errorf("%+v", found)
	}
	s.shows(at, "None while it is paused")
	s.shows(at+"/delete", "starts no more runs", "Delete schedule</button>")
	s.sends(at+"/delete", nil, http.StatusOK, "/schedules", "is deleted")
}

// The next times are shown while one types, and mistakes with what was meant.
func TestF6FiresAsOneTypes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for query, want := range map[string]string{
		"":                                   "show here as you type",
		"cron=0+9+*+*+1-5":                   "Monday to Friday at 09:00",
		"cron=0+9+*+*+*&timezone=Asia/Tokyo": "09:00 JST",
		"cron=@every+6h":                     "Every 6 hours",
		"cron=0+9+*+*":                       "Needs five fields",
		"cron=0+25+*+*+*":                    "25",
		"cron=@dayly":                        "@daily",
		"cron=0+9+*+*+*&timezone=Berlin":     "did you mean Europe/Berlin?",
		"cron=0+0+30+2+*":                    "",
		"cron=%3Cimg+src%3Dx%3E":             "!<img",
		"cron=" + strings.Repeat("1", 300):   "Needs a cron expression",
	} {
		status, _, text := s.get("/schedules/fires?" + query)
		if status != http.StatusOK || strings.Contains(text, "<html") {
			t.Errorf("%s: %d\n%s", query, status, text)
		}
		if bad, not := strings.CutPrefix(want, "!"); not == strings.Contains(text, bad) && want != "" {
			t.Errorf("%s: want %q\n%s", query, want, text)
		}
	}
}

func TestF6ScheduleMistakes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	right := url.Values{"name": {"n"}, "cron": {"@daily"}, "prompt": {"p"}}
	for name, tc := range map[string]struct{ field, value, told string }{
		"no name":     {"name", "", "<b>Name</b>"},
		"no prompt":   {"prompt", "", `<p class="wrong">A schedule needs a prompt or a skill`},
		"cron":        {"cron", "0 9 * *", "<b>When</b>"},
		"zone":        {"timezone", "Berlin", "<b>Time zone</b>"},
		"overlap":     {"overlap", "never", "not one of skip, queue"},
		"environment": {"environment", "none", "<b>Environment</b>"},
		"agent":       {"agent", "01890000-0000-7000-8000-000000000000", "<b>Agent</b>"},
	} {
		form := url.Values{tc.field: {tc.value}}
		for field, values := range right {
			if field != tc.field {
				form[field] = values
			}
		}
		status, _, text := s.post("/schedules", form)
		if (status != http.StatusBadRequest && status != http.StatusNotFound) || status == http.StatusBadRequest && !strings.Contains(text, tc.told) {
			t.Errorf("%s: %d\n%s", name, status, content(text))
		}
	}
	if list := must(s.control.ListSchedules(t.Context(), s.admin, "", base.MaxPage, "")).Items; len(list) != 0 {
		t.Errorf("%d schedules", len(list))
	}
}

// The list also shows the schedules of automations, of the factories that the key reaches.
func TestF6SchedulesOfAutomations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	own, other := s.factory("Own").UID, s.factory("Other").UID
	for _, uid := range []string{own, other} {
		must(s.control.CreateAutomation(t.Context(), s.admin, uid, lineshaft.Automation{
			Name: "nightly-" + uid[len(uid)-4:], Prompt: "p", Enabled: true, Triggers: []lineshaft.Trigger{
				{Provider: "schedule", Event: "cron_fired", Schedule: &lineshaft.Timing{Cron: "30 2 * * *", Timezone: "America/New_York"}},
			},
		}))
	}
	s.signIn(s.key)
	s.shows("/schedules", "nightly-"+own[len(own)-4:], "nightly-"+other[len(other)-4:], "Automation schedules", "02:30 E")
	must(s.control.UpdateFactory(t.Context(), s.admin, own, factories.FactoryChange{Paused: new(true)}))
	s.shows("/schedules", "The factory is paused")
	s.as(lineshaft.RoleManager, own)
	s.shows("/schedules", "nightly-"+own[len(own)-4:], "!nightly-"+other[len(other)-4:])
	s.sends("/schedules", url.Values{"name": {"n"}, "cron": {"@daily"}, "prompt": {"p"}}, http.StatusForbidden, "")
}

func TestH8SchedulesArePaged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for range 103 {
		must(s.control.CreateSchedule(t.Context(), s.admin, trigger.NewSchedule{Name: "n", Timing: lineshaft.Timing{Cron: "@daily"}, Prompt: "p", Enabled: true}))
	}
	first := s.shows("/schedules", "Next <svg", "!>First<")
	at := strings.Index(first, `href="/schedules?cursor=`)
	address, _, _ := strings.Cut(first[at+len(`href="`):], `"`)
	rest := s.shows(address, ">First<")
	if n := strings.Count(first, `<td class="main">`) + strings.Count(rest, `<td class="main">`); n != 103 {
		t.Errorf("%d rows", n)
	}
}
