package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const (
	scheduleOne = "01980f13-4455-7667-8889-aabbccddee01"
	scheduleTwo = "01980f13-4455-7667-8889-aabbccddee02"

	watchSchedule = `{"id":"` + scheduleOne + `","name":"watch","cron_schedule":"0 9 * * 1-5","timezone":"Europe/Berlin","overlap":"skip","enabled":true,
		"prompt":"Look at the build.","agent_config":{"model_id":"m1","secrets":[{"name":"A"}]},"agent_uid":"agent-1","metadata":{"team":"web"},
		"history":{"last_ran":"2026-01-01T08:00:00.000000Z","next_run":"2026-01-05T08:00:00.000000Z"},"last_spawn_error":null,
		"created_by":{"type":"user","uid":"u","display_name":"Ann"},"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-02T03:00:00.000000Z","scope":{"type":"Team"}}`
	brokenSchedule = `{"id":"` + scheduleTwo + `","name":"tidy","cron_schedule":"@every 6h","enabled":true,"prompt":"Tidy up.",
		"history":{"last_ran":null,"next_run":"2026-01-02T06:00:00.000000Z"},"last_spawn_error":"agent_uid: no agent \"x\"",
		"created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-02T03:00:00.000000Z","scope":{"type":"Team"}}`
)

func (s *stage) schedules() *stage {
	paused := strings.NewReplacer(`"enabled":true`, `"enabled":false`, `"next_run":"2026-01-05T08:00:00.000000Z"`, `"next_run":null`).Replace(watchSchedule)
	s.answer("GET /api/v1/agent/schedules", 200, `{"schedules":[`+brokenSchedule+`,`+watchSchedule+`]}`)
	s.answer("POST /api/v1/agent/schedules", 201, watchSchedule)
	s.answer("GET /api/v1/agent/schedules/"+scheduleOne, 200, watchSchedule)
	s.answer("GET /api/v1/agent/schedules/"+scheduleTwo, 200, brokenSchedule)
	s.answer("PUT /api/v1/agent/schedules/"+scheduleOne, 200, paused)
	s.answer("POST /api/v1/agent/schedules/{id}/pause", 200, paused)
	s.answer("POST /api/v1/agent/schedules/{id}/resume", 200, watchSchedule)
	s.answer("DELETE /api/v1/agent/schedules/{id}", 200, `{"success":true}`)
	return s
}

func TestI1ScheduleGolden(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		args []string
	}{
		{"schedule-list", []string{"schedule", "list"}},
		{"schedule-list-json", []string{"schedule", "list", "-o", "json"}},
		{"schedule-get", []string{"schedule", "get", "watch"}},
		{"schedule-get-failing", []string{"schedule", "get", scheduleTwo}},
		{"schedule-create", []string{"schedule", "create", "watch", "--cron", "0 9 * * 1-5", "--prompt", "Look at the build."}},
		{"schedule-create-json", []string{"schedule", "create", "watch", "--cron", "@daily", "--prompt", "x", "-o", "json"}},
		{"schedule-update", []string{"schedule", "update", "watch", "--overlap", "queue"}},
		{"schedule-pause", []string{"schedule", "pause", "watch", "nobody"}},
		{"schedule-resume-json", []string{"schedule", "resume", "watch", "-o", "json"}},
		{"schedule-delete", []string{"schedule", "delete", "watch", scheduleTwo}},
		{"schedule-next", []string{"schedule", "next", "30 2 * * *", "--timezone", "Europe/Berlin", "--from", "2026-10-24", "--count", "3"}},
		{"schedule-next-json", []string{"schedule", "next", "@every 6h", "--count", "2", "-o", "json"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, width := range []int{0, 80} {
				s := newStage(t).schedules()
				s.terminal(width)
				r := s.run(t.Context(), tc.args...)
				fmt.Fprintf(&text, "$ lineshaft %s   (%s)\n[exit %d]\n[stdout]\n%s[stderr]\n%s\n", strings.Join(tc.args, " "), kindOf(width), r.code, r.out, r.err)
			}
			golden(t, tc.name, strings.ReplaceAll(text.String(), "\x1b", "<ESC>"))
		})
	}
}

// What is not given stays; what is given empty goes.
func TestI1ScheduleRequests(t *testing.T) {
	t.Parallel()
	const before = `"name":"watch","cron_schedule":"0 9 * * 1-5","enabled":true,"timezone":"Europe/Berlin","overlap":"skip","prompt":"Look at the build.",` +
		`"agent_uid":"agent-1","agent_config":{"model_id":"m1","secrets":[{"name":"A"}]},"metadata":{"team":"web"}`
	for _, tc := range []struct{ line, want string }{
		{"create n --cron @daily --prompt p --disabled", `{"name":"n","cron_schedule":"@daily","prompt":"p","enabled":false}`},
		{
			"create n --cron @daily --prompt p --timezone UTC --overlap queue --agent a --model m --host h --environment shop --skill o/r:s --secret S --metadata k=v",
			`{"name":"n","cron_schedule":"@daily","timezone":"UTC","overlap":"queue","prompt":"p","enabled":true,"agent_uid":"a",` +
				`"agent_config":{"model_id":"m","environment_id":"` + environmentOne + `","worker_host":"h","skills":["o/r:s"],"secrets":[{"name":"S"}]},"metadata":{"k":"v"}}`,
		},
		{"update watch --environment plain", `{` + strings.Replace(before, `"model_id":"m1"`, `"model_id":"m1","environment_id":"`+environmentTwo+`"`, 1) + `}`},
		{"update watch --name other", `{` + strings.Replace(before, `"name":"watch"`, `"name":"other"`, 1) + `}`},
		{"update watch --prompt-file -", `{` + strings.Replace(before, `Look at the build.`, `from a pipe`, 1) + `}`},
		{"update watch --timezone= --overlap= --agent= --model= --secret= --metadata=", `{"name":"watch","cron_schedule":"0 9 * * 1-5","enabled":true,"prompt":"Look at the build.","agent_config":{}}`},
	} {
		s := newStage(t).schedules()
		s.environments()
		s.deps.Stdin = strings.NewReader("from a pipe")
		r := s.run(t.Context(), append([]string{"schedule"}, strings.Fields(tc.line)...)...)
		requests := s.requests()
		if r.code != shell.ExitOK || len(requests) == 0 || requests[len(requests)-1].body != tc.want {
			t.Errorf("%s: %+v\nsent %s\nwant %s", tc.line, r, requests[len(requests)-1].body, tc.want)
		}
	}
}

func TestI1ScheduleMistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []mistake{
		{"no name", "schedule create", "needs a name", "lineshaft schedule create NAME"},
		{"no times", "schedule create n --prompt p", "needs a cron expression", "--cron @daily"},
		{"overlap", "schedule create n --cron @daily --overlap never", "neither skip nor queue", "Leave it out"},
		{"two prompts", "schedule create n --cron @daily --prompt p --prompt-file f", "one prompt", "not both"},
		{"nothing", "schedule update watch", "nothing to change", "--cron"},
		{"metadata", "schedule create n --cron @daily --prompt p --metadata x", "has no value", "KEY=VALUE"},
		{"no expression", "schedule next", "needs a cron expression", "next CRON"},
		{"bad expression", "schedule next @never", "the cron expression: ", "docs/schedules.md"},
		{"bad zone", "schedule next @daily --timezone Berlin", "did you mean Europe/Berlin?", "docs/schedules.md"},
		{"count", "schedule next @daily --count 0", "not between 1 and 1000", "five"},
		{"from", "schedule next @daily --from soon", "is not a time", "--from 12h"},
		{"unknown", "schedule lsit", "is not a command", "Did you mean `lineshaft schedule list`?"},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
	s := newStage(t)
	s.answer("GET /api/v1/agent/schedules", 200, `{"schedules":[`+watchSchedule+`,`+strings.Replace(watchSchedule, scheduleOne, scheduleTwo, 1)+`]}`)
	if r := s.run(t.Context(), "schedule", "get", "watch"); r.code != shell.ExitUsage || !strings.Contains(r.err, scheduleOne+", "+scheduleTwo) {
		t.Errorf("two of one name: %+v", r)
	}
	if r := s.run(t.Context(), "schedule", "get", "nobody"); r.code != shell.ExitNotFound || !strings.Contains(r.err, "schedule list") {
		t.Errorf("none of that name: %+v", r)
	}
	s = newStage(t)
	s.answer("GET /api/v1/agent/schedules", 200, `{"schedules":[]}`)
	if r := s.run(t.Context(), "schedule", "list"); r.code != shell.ExitOK || r.out != "" || !strings.Contains(r.err, "schedule create") {
		t.Errorf("none at all: %+v", r)
	}
}

// An automation may fire at set times, with or without webhooks.
func TestI1AutomationWithASchedule(t *testing.T) {
	t.Parallel()
	at := []string{"automation", "create", "sweep", "--factory", factoryOne, "--prompt", "p"}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--schedule", "0 6 * * 1"}, `"triggers":[{"provider":"schedule","event":"cron_fired","filter":{},"schedule":{"cron":"0 6 * * 1"}}]`},
		{[]string{"--schedule", "@daily", "--timezone", "Asia/Tokyo", "--webhook", "issues"}, `{"provider":"schedule","event":"cron_fired","filter":{},"schedule":{"cron":"@daily","timezone":"Asia/Tokyo"}}]`},
	} {
		s := newStage(t).library()
		r := s.run(t.Context(), append(at, tc.args...)...)
		requests := s.requests()
		if body := requests[len(requests)-1].body; r.code != shell.ExitOK || !strings.Contains(body, tc.want) {
			t.Errorf("%v: %+v\nsent %s", tc.args, r, body)
		}
	}
	for _, tc := range []mistake{
		{"nothing", "automation create a --prompt p", "needs a webhook", "--schedule CRON"},
		{"zone alone", "automation create a --prompt p --webhook w --timezone UTC", "--timezone is for --schedule", "Add --schedule"},
		{"filter alone", "automation create a --prompt p --schedule @daily --filter {}", "--filter is for deliveries", "--webhook"},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
	s := newStage(t)
	timed := strings.Replace(triageAutomation, `"triggers":[`, `"triggers":[{"provider":"schedule","event":"cron_fired","filter":{},"schedule":{"cron":"@daily","timezone":"Asia/Tokyo","overlap":"skip"}},`, 1)
	s.answer("GET /api/v1/factory/"+factoryOne+"/automations/"+automationOne, 200, timed)
	s.answer("GET /api/v1/factory/"+factoryOne+"/webhooks", 200, `{"webhooks":[],"page_info":{"has_next_page":false}}`)
	if r := s.run(t.Context(), "automation", "get", automationOne, "--factory", factoryOne); r.code != shell.ExitOK || !strings.Contains(r.out, "schedule cron_fired: @daily Asia/Tokyo skip") {
		t.Errorf("%+v", r)
	}
}
