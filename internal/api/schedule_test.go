package api

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestF9SchedulesOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	const list = "/agent/schedules"
	manager, viewer := lineshaft.RoleManager, lineshaft.RoleViewer
	b.check(t, scenario{name: "none", method: get, path: list, as: viewer, status: 200, has: []string{`"schedules":[]`}})
	w := b.check(t, scenario{
		method: post, path: list, as: manager, status: 201,
		body: `{"name":"watch","cron_schedule":"30 2 * * *","timezone":"Europe/Berlin","overlap":"queue","prompt":"look","mode":"normal","team":true,
			"agent_config":{"model_id":"m","worker_host":"box","mcp_servers":{"t":{"url":"https://t.example","headers":{"A":"literal"}}}},"metadata":{"k":"v"}}`,
		has: []string{
			`"name":"watch"`, `"cron_schedule":"30 2 * * *"`, `"timezone":"Europe/Berlin"`, `"overlap":"queue"`, `"enabled":true`, `"model_id":"m"`, `"worker_host":"box"`,
			`"metadata":{"k":"v"}`, `"history":{"last_ran":null,"next_run":"`, `"last_spawn_error":null`, `"scope":{"type":"Team"}`, `"created_by":{"type":`, `"updated_by":{"type":`, `"A":"***"`,
		},
		not: []string{"literal", `"agent_uid"`},
	})
	made := decode[ScheduledAgentItem](t, w)
	if next, err := time.Parse(time.RFC3339, *made.History.NextRun); err != nil || !next.After(time.Now()) || next.Minute() != 30 {
		t.Errorf("the next run is at %s, %v", *made.History.NextRun, err)
	}
	path := list + "/" + made.ID
	full := `{"name":"watch","cron_schedule":"@daily","enabled":true,"prompt":"look"}`
	b.play(t, []scenario{
		{name: "another", method: post, path: list, as: manager, body: `{"name":"earlier","cron_schedule":"@every 90m","prompt":"p","enabled":false}`, status: 201, has: []string{`"next_run":null`, `"enabled":false`}},
		{name: "get", method: get, path: path, as: viewer, status: 200, has: []string{`"id":"` + made.ID + `"`}},
		{name: "pause", method: post, path: path + "/pause", as: manager, status: 200, has: []string{`"enabled":false`, `"next_run":null`}},
		{name: "pause again", method: post, path: path + "/pause", as: manager, status: 200, has: []string{`"enabled":false`}},
		{name: "resume", method: post, path: path + "/resume", as: manager, status: 200, has: []string{`"enabled":true`}, not: []string{`"next_run":null`}},
		{name: "put", method: put, path: path, as: manager, body: full, status: 200, has: []string{`"cron_schedule":"@daily"`}, not: []string{"timezone", "overlap", "metadata", "model_id"}},
		{name: "put without enabled", method: put, path: path, as: manager, body: `{"name":"watch","cron_schedule":"@daily","prompt":"look"}`, status: 400, code: "invalid_request", has: []string{"enabled"}},
		{name: "members read", method: get, path: path, as: lineshaft.RoleMember, status: 200},
		{name: "members change nothing", method: put, path: path, as: lineshaft.RoleMember, body: full, status: 403, code: "not_authorized"},
		{name: "nor make", method: post, path: list, as: lineshaft.RoleMember, body: full, status: 403, code: "not_authorized"},
		{name: "nor delete", method: del, path: path, as: viewer, status: 403, code: "not_authorized"},
		{name: "unknown", method: get, path: list + "/nobody", as: viewer, status: 404, code: "resource_not_found"},
		{name: "unknown", method: put, path: list + "/nobody", as: manager, body: full, status: 404, code: "resource_not_found"},
		{name: "unknown", method: post, path: list + "/nobody/pause", as: manager, status: 404, code: "resource_not_found"},
		{name: "unknown", method: post, path: list + "/nobody/resume", as: manager, status: 404, code: "resource_not_found"},
		{name: "unknown", method: del, path: list + "/nobody", as: manager, status: 404, code: "resource_not_found"},
	})
	names := b.check(t, scenario{method: get, path: list, as: viewer, status: 200}).Body.String()
	if first, second := strings.Index(names, `"earlier"`), strings.Index(names, `"watch"`); first < 0 || first > second {
		t.Errorf("not by name: %s", names)
	}
	b.check(t, scenario{name: "delete", method: del, path: path, as: manager, status: 200, has: []string{`{"success":true}`}})
	b.check(t, scenario{name: "gone", method: get, path: path, as: viewer, status: 404, code: "resource_not_found"})
}

func TestF9BadScheduleBodies(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	base := `{"name":"n","cron_schedule":"@daily","prompt":"p"`
	for name, test := range map[string]struct {
		body   string
		status int
		field  string
	}{
		"no name":      {`{"cron_schedule":"@daily","prompt":"p"}`, 400, "name"},
		"no cron":      {`{"name":"n","prompt":"p"}`, 400, "cron_schedule"},
		"no prompt":    {`{"name":"n","cron_schedule":"@daily"}`, 400, "prompt: "},
		"bad cron":     {`{"name":"n","cron_schedule":"61 * * * *","prompt":"p"}`, 400, "cron_schedule: "},
		"seconds":      {`{"name":"n","cron_schedule":"0 0 9 * * 1","prompt":"p"}`, 400, "cron_schedule: "},
		"never":        {`{"name":"n","cron_schedule":"0 0 31 2 *","prompt":"p"}`, 400, "cron_schedule: "},
		"zone":         {base + `,"timezone":"Europe/Berln"}`, 400, "timezone: "},
		"overlap":      {base + `,"overlap":"perhaps"}`, 400, "overlap: "},
		"two rules":    {base + `,"overlap":"skip","agent_config":{"concurrency":{"key":"k"}}}`, 400, "overlap: "},
		"mode":         {base + `,"mode":"plan"}`, 422, "mode: "},
		"agent":        {base + `,"agent_uid":"nobody"}`, 400, "agent_uid: "},
		"environment":  {base + `,"agent_config":{"environment_id":"none"}}`, 400, "agent_config.environment_id: "},
		"config":       {base + `,"agent_config":{"timeout_minutes":0}}`, 400, "agent_config.timeout_minutes: "},
		"hidden value": {base + `,"agent_config":{"mcp_servers":{"t":{"command":"c","env":{"A":"***"}}}}}`, 400, "agent_config.mcp_servers.t.env.A: "},
		"metadata":     {base + `,"metadata":{"a b":"x"}}`, 400, "metadata: "},
	} {
		code := lineshaft.Code("invalid_request")
		if test.status == 422 {
			code = "operation_not_supported"
		}
		b.check(t, scenario{name: name, method: post, path: "/agent/schedules", as: lineshaft.RoleManager, body: test.body, status: test.status, code: code, has: []string{`"detail":"` + test.field}})
	}
	b.check(t, scenario{method: get, path: "/agent/schedules", as: lineshaft.RoleViewer, status: 200, has: []string{`"schedules":[]`}})
}

// A run says which schedule started it, and is found by it.
func TestF9RunsShowTheirSchedule(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)
	b := newServerAt(t, func() time.Time { return now })
	made := decode[ScheduledAgentItem](t, b.check(t, scenario{
		method: post, path: "/agent/schedules", as: lineshaft.RoleManager, status: 201,
		body: `{"name":"watch","cron_schedule":"30 2 * * *","timezone":"Europe/Berlin","prompt":"look"}`, has: []string{`"next_run":"2026-10-25T00:30:00`},
	}))
	now = now.Add(40 * time.Minute)
	if n, err := b.control.FireDue(t.Context()); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	want := `"schedule":{"schedule_id":"` + made.ID + `","schedule_name":"watch","cron_schedule":"30 2 * * *","slot":"2026-10-25T02:30"}`
	b.play(t, []scenario{
		{name: "runs", method: get, path: "/agent/runs?schedule_id=" + made.ID, as: lineshaft.RoleViewer, status: 200, has: []string{want, `"source":"SCHEDULED_AGENT"`, `"title":"watch"`}},
		{name: "others", method: get, path: "/agent/runs?schedule_id=" + exampleRunID, as: lineshaft.RoleViewer, status: 200, has: []string{`"runs":[]`}},
		{name: "history", method: get, path: "/agent/schedules/" + made.ID, as: lineshaft.RoleViewer, status: 200, has: []string{`"last_ran":"2026-10-25T00:40:00`, `"next_run":"2026-10-26T01:30:00`}},
	})
}

func TestF6ScheduleTriggersOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid, _ := b.factory("f", "hook")
	const body = `{"name":"NAME","prompt":"p","triggers":[{"provider":"schedule","event":"cron_fired","schedule":SCHEDULE}]}`
	for name, test := range map[string]struct{ schedule, want string }{
		"text":   {`"0 9 * * 1-5"`, `"schedule":{"cron":"0 9 * * 1-5"}`},
		"object": {`{"cron":"@hourly","timezone":"Asia/Tokyo","overlap":"skip"}`, `"schedule":{"cron":"@hourly","timezone":"Asia/Tokyo","overlap":"skip"}`},
	} {
		b.check(t, scenario{
			method: post, path: "/factory/" + uid + "/automations", as: lineshaft.RoleManager, status: 201, has: []string{test.want, `"provider":"schedule"`},
			body: strings.ReplaceAll(strings.ReplaceAll(body, "NAME", name), "SCHEDULE", test.schedule),
		})
	}
	for _, bad := range []string{`5`, `{"cron":"@daily","zone":"UTC"}`, `[]`} {
		b.check(t, scenario{
			method: post, path: "/factory/" + uid + "/automations", as: lineshaft.RoleManager, status: 400, code: "invalid_request",
			body: strings.ReplaceAll(strings.ReplaceAll(body, "NAME", "bad"), "SCHEDULE", bad),
		})
	}
}

func TestF9AScheduleShowsItsEnvironment(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	made := decode[CloudEnvironment](t, b.check(t, scenario{
		method: post, path: "/agent/environments", as: lineshaft.RoleManager, status: 201, body: `{"config":{"name":"build","setup_commands":["make"]}}`,
	}))
	item := decode[ScheduledAgentItem](t, b.check(t, scenario{
		method: post, path: "/agent/schedules", as: lineshaft.RoleManager, status: 201, has: []string{`"environment":{"name":"build"`},
		body: `{"name":"n","cron_schedule":"@daily","prompt":"p","agent_config":{"environment_id":"` + made.UID + `"}}`,
	}))
	b.check(t, scenario{method: get, path: "/agent/schedules", as: lineshaft.RoleViewer, status: 200, has: []string{`"environment":{"name":"build"`, item.ID}})
}
