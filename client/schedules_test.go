package client

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

func TestF9ScheduleCalls(t *testing.T) {
	t.Parallel()
	text, schedule := example[Schedule](t, "schedule")
	listText, list := example[struct {
		Schedules []Schedule `json:"schedules"`
	}](t, "list_schedules_response")
	_, request := example[ScheduleRequest](t, "create_schedule_request")
	_, update := example[ScheduleUpdate](t, "update_schedule_request")
	if schedule.Timezone != "Europe/Berlin" || schedule.Overlap != "skip" || schedule.History.NextRun == nil || schedule.LastSpawnError != nil || schedule.CreatedBy == nil ||
		!schedule.History.LastRan.Equal(time.Date(2026, 7, 31, 0, 30, 0, 0, time.UTC)) || schedule.Metadata["team"] != "web" || len(list.Schedules) != 1 {
		t.Fatalf("%+v", schedule)
	}
	created, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	updated, err := json.Marshal(update)
	if err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/agent/schedules"
	for _, tc := range []callCase{
		{
			"create", 201, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Schedules.Create(ctx, *request) },
			seen{method: "POST", path: path, body: string(created)},
			schedule,
		},
		{
			"get", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Schedules.Get(ctx, "a/b") },
			seen{method: "GET", path: path + "/a%2Fb"},
			schedule,
		},
		{
			"list", 200, listText,
			func(ctx context.Context, c *Client) (any, error) { return c.Schedules.List(ctx) },
			seen{method: "GET", path: path},
			list.Schedules,
		},
		{
			"update", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Schedules.Update(ctx, "s", *update) },
			seen{method: "PUT", path: path + "/s", body: string(updated)},
			schedule,
		},
		{
			"pause", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Schedules.Pause(ctx, "s") },
			seen{method: "POST", path: path + "/s/pause"},
			schedule,
		},
		{
			"resume", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Schedules.Resume(ctx, "s") },
			seen{method: "POST", path: path + "/s/resume"},
			schedule,
		},
		{
			"delete", 200, `{"success":true}`,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Schedules.Delete(ctx, "s") },
			seen{method: "DELETE", path: path + "/s"},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestF9SchedulesThatCannotBeAddressed(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{}`))
	for _, id := range []string{"", ".", ".."} {
		_, get := c.Schedules.Get(t.Context(), id)
		_, update := c.Schedules.Update(t.Context(), id, ScheduleUpdate{})
		_, pause := c.Schedules.Pause(t.Context(), id)
		_, resume := c.Schedules.Resume(t.Context(), id)
		for i, err := range []error{get, update, pause, resume, c.Schedules.Delete(t.Context(), id)} {
			if err == nil {
				t.Errorf("call %d with %q was made", i, id)
			}
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
