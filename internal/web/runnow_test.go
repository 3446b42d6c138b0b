package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// Run now starts what an automation starts, as the reader and once for each form.
func TestI2AutomationIsRunByHand(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	made := must(s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{
		Name: "triage", Prompt: "Label it.", Enabled: true, Config: lineshaft.AgentConfig{
			ModelID: "big", Concurrency: &lineshaft.Concurrency{Key: "issue/{{payload.number}}", Policy: lineshaft.PolicyQueue},
		},
		Triggers: []lineshaft.Trigger{{
			Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived, Filter: lineshaft.TriggerFilter{Webhooks: []string{"issues"}},
		}},
	}))
	at := s.at() + "/" + made.UID
	form := url.Values{"once": {s.onceIn(at, `action="`+at+`/run"`)}}
	_, first, _ := s.post(at+"/run", form)
	if _, second, _ := s.post(at+"/run", form); first != second || !strings.HasPrefix(first, "/runs/") {
		t.Fatalf("%q, then %q", first, second)
	}
	run := s.lastRun()
	if run.Prompt != "Label it.\n\n(Started by hand, so there is no payload.)" || run.Title != "triage" || run.Config.ModelID != "big" ||
		run.Config.Concurrency != nil || run.FactoryUID != s.factory || run.Source != lineshaft.SourceWebApp {
		t.Errorf("%+v", run)
	}

	timed := must(s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{
		Name: "nightly", Prompt: "Sweep.", Triggers: []lineshaft.Trigger{{
			Provider: lineshaft.ProviderSchedule, Event: lineshaft.EventCronFired, Schedule: &lineshaft.Timing{Cron: "0 2 * * *"},
		}},
	}))
	s.sends(s.at()+"/"+timed.UID+"/run", nil, http.StatusOK, "")
	if run := s.lastRun(); run.Prompt != "Sweep." {
		t.Errorf("%q", run.Prompt)
	}
}

// Where people cannot start it, nobody is led to a refusal.
func TestI2RunNowIsOfferedWhereItCanWork(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleManager)
	must(s.control.CreateSecret(t.Context(), s.admin, lineshaft.Secret{Name: "TOKEN", Access: lineshaft.AccessGranted}, "v"))
	config := lineshaft.AgentConfig{Secrets: []string{"TOKEN"}}
	made := must(s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{
		Name: "triage", Prompt: "p", Config: config,
		Triggers: []lineshaft.Trigger{{Provider: lineshaft.ProviderRun, Event: lineshaft.EventFinished}},
	}))
	s.shows(s.at()+"/"+made.UID, "Delete automation", "!Run now", "it names secrets", `/deliveries?factory=`+s.factory+`">Redeliver a delivery</a> or give it a schedule`)
	s.sends(s.at()+"/"+made.UID+"/run", nil, http.StatusForbidden, "", "TOKEN")
	named := must(s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{
		Name: "elsewhere", Prompt: "p", Config: lineshaft.AgentConfig{WorkerHost: "mac"},
		Triggers: []lineshaft.Trigger{{Provider: lineshaft.ProviderRun, Event: lineshaft.EventFinished}},
	}))
	s.shows(s.at()+"/"+named.UID, "!Run now", "it names a worker")
	timed := must(s.control.CreateAutomation(t.Context(), s.admin, s.factory, lineshaft.Automation{
		Name: "nightly", Prompt: "p", Config: config, Triggers: []lineshaft.Trigger{{
			Provider: lineshaft.ProviderSchedule, Event: lineshaft.EventCronFired, Schedule: &lineshaft.Timing{Cron: "0 2 * * *"},
		}},
	}))
	s.shows(s.at()+"/"+timed.UID, "!Run now", "Give it a time that comes soon", "!Redeliver")
	one := must(s.control.CreateSchedule(t.Context(), s.admin, trigger.NewSchedule{
		Name: "watch", Timing: lineshaft.Timing{Cron: "0 9 * * *"}, Enabled: true, Prompt: "look",
		Metadata: map[string]string{"team": "shop"},
	}))
	must(s.control.CreateSecret(t.Context(), s.admin, lineshaft.Secret{Name: "SHARED", Access: lineshaft.AccessRuns}, "v"))
	config.Secrets = []string{"SHARED"}
	secret := must(s.control.CreateSchedule(t.Context(), s.admin, trigger.NewSchedule{
		Name: "secret", Timing: lineshaft.Timing{Cron: "0 9 * * *"}, Prompt: "look", Config: config,
	}))
	s.shows("/schedules/"+secret.ID, "!Run now", "it names secrets", "Give it a time that comes soon")
	at := "/schedules/" + one.ID
	s.shows(at, ">Run now<", "!You cannot start it by hand")
	form := url.Values{"once": {s.onceIn(at, `action="`+at+`/run"`)}}
	s.sends(at+"/run", form, http.StatusOK, "")
	if run := s.lastRun(); run.Prompt != "look" || run.Title != "watch" || run.Metadata["team"] != "shop" || run.ScheduleID != "" {
		t.Errorf("%+v", run)
	}
	member := s.signedIn(lineshaft.RoleMember)
	member.shows(at, "!Run now")
	member.shows(s.at()+"/"+made.UID, "!You cannot start it by hand")
	member.sends(at+"/run", nil, http.StatusForbidden, "")
}
