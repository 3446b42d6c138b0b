package client

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// example reads a file of the contract that the server's tests keep true.
func example[T any](t *testing.T, name string) (string, *T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "api", "examples", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return string(text), &value
}

func TestFactoryCalls(t *testing.T) {
	t.Parallel()
	text, factory := example[Factory](t, "factory")
	listText, list := example[FactoryPage](t, "list_factories_response")
	if factory.Name != "Web shop" || factory.Alias != "shop" || factory.ForemanAgent != "foreman" || factory.Revision != 4 || factory.Mode != "managed" ||
		!factory.CreatedAt.Equal(time.Date(2026, 8, 1, 9, 30, 0, 0, time.UTC)) || len(list.Factories) != 1 || list.PageInfo.NextCursor == "" {
		t.Fatalf("%+v %+v", factory, list)
	}
	for _, tc := range []callCase{
		{
			"create", 201, text,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Factories.Create(ctx, FactoryRequest{Name: "n", Alias: "a", Description: "d"})
			},
			seen{method: "POST", path: "/api/v1/factory", body: `{"name":"n","alias":"a","description":"d"}`},
			factory,
		},
		{
			"get", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Factories.Get(ctx, "a/b") },
			seen{method: "GET", path: "/api/v1/factory/a%2Fb"},
			factory,
		},
		{
			"list", 200, listText,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Factories.List(ctx, FactoryQuery{Search: "a b", Limit: 7, Cursor: "c"})
			},
			seen{method: "GET", path: "/api/v1/factory", query: "cursor=c&limit=7&search=a+b"},
			list,
		},
		{
			"update", 200, text,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Factories.Update(ctx, "f", FactoryUpdate{Alias: new(""), Paused: new(false)})
			},
			seen{method: "PATCH", path: "/api/v1/factory/f", body: `{"alias":"","paused":false}`},
			factory,
		},
		{
			"delete", 204, ``,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Factories.Delete(ctx, "f") },
			seen{method: "DELETE", path: "/api/v1/factory/f"},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestF6Choices(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`["a"]`: `{"in":["a"]}`, ` []`: `{"in":[]}`, `{"not_in":["b"]}`: `{"not_in":["b"]}`, `{"in":["a"],"not_in":["b"]}`: `{"in":["a"],"not_in":["b"]}`,
	} {
		var f TriggerFilter
		if err := json.Unmarshal([]byte(`{"labels":`+text+`}`), &f); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := json.Marshal(f); err != nil || string(got) != `{"labels":`+want+`}` {
			t.Errorf("%s is %s (%v)", text, got, err)
		}
	}
	if err := json.Unmarshal([]byte(`"a"`), new(Choice)); err == nil {
		t.Error("a text is no choice")
	}
}

func TestAutomationCalls(t *testing.T) {
	t.Parallel()
	text, automation := example[Automation](t, "automation")
	listText, list := example[AutomationPage](t, "list_automations_response")
	_, request := example[AutomationRequest](t, "create_automation_request")
	if automation.Name != "triage" || !automation.Enabled || automation.MaxRunsPerHour != 30 || automation.Concurrency == nil || automation.Config.ModelID != "sonnet" ||
		len(automation.Triggers) != 1 || automation.Triggers[0].Filter.Webhooks[0] != "issues" || !json.Valid(automation.Triggers[0].Filter.Payload) || len(list.Automations) != 1 {
		t.Fatalf("%+v %+v", automation, list)
	}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []callCase{
		{
			"create", 201, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Automations.Create(ctx, "f", *request) },
			seen{method: "POST", path: "/api/v1/factory/f/automations", body: string(body)},
			automation,
		},
		{
			"get", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Automations.Get(ctx, "f", "a") },
			seen{method: "GET", path: "/api/v1/factory/f/automations/a"},
			automation,
		},
		{
			"list", 200, listText,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Automations.List(ctx, "f", AutomationQuery{Limit: 3, Cursor: "c"})
			},
			seen{method: "GET", path: "/api/v1/factory/f/automations", query: "cursor=c&limit=3"},
			list,
		},
		{
			"update", 200, text,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Automations.Update(ctx, "f", "a", AutomationUpdate{Enabled: new(false), Agent: new(""), Concurrency: &Concurrency{}})
			},
			seen{method: "PATCH", path: "/api/v1/factory/f/automations/a", body: `{"enabled":false,"agent":"","concurrency":{"key":""}}`},
			automation,
		},
		{
			"delete", 204, ``,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Automations.Delete(ctx, "f", "a") },
			seen{method: "DELETE", path: "/api/v1/factory/f/automations/a"},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

// TestFactoriesThatCannotBeAddressed: an id that a path would swallow reaches
// nothing, rather than another thing.
func TestFactoriesThatCannotBeAddressed(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{}`))
	for _, id := range []string{"", ".", ".."} {
		_, getErr := c.Factories.Get(t.Context(), id)
		_, updateErr := c.Factories.Update(t.Context(), id, FactoryUpdate{})
		_, listErr := c.Automations.List(t.Context(), id, AutomationQuery{})
		_, createErr := c.Automations.Create(t.Context(), id, AutomationRequest{})
		_, oneErr := c.Automations.Get(t.Context(), "f", id)
		_, changeErr := c.Automations.Update(t.Context(), "f", id, AutomationUpdate{})
		for i, err := range []error{
			getErr, updateErr, listErr, createErr, oneErr, changeErr, c.Factories.Delete(t.Context(), id), c.Automations.Delete(t.Context(), "f", id),
		} {
			if err == nil {
				t.Errorf("call %d with %q was made", i, id)
			}
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestFactoriesPageByPage(t *testing.T) {
	t.Parallel()
	c, s := scripted(t,
		answer(200, `{"factories":[{"uid":"a"}],"page_info":{"has_next_page":true,"next_cursor":"x"}}`),
		answer(200, `{"factories":[{"uid":"b","alias":null}],"page_info":{"has_next_page":false}}`),
		answer(200, `{"automations":[{"uid":"c"}],"page_info":{"has_next_page":true,"next_cursor":"y"}}`),
		answer(404, `{"code":"resource_not_found","title":"Not found"}`))
	var got []string
	for f, err := range c.Factories.All(t.Context(), FactoryQuery{Search: "s"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.UID)
	}
	var last error
	for a, err := range c.Automations.All(t.Context(), "f", AutomationQuery{}) {
		if last = err; err == nil {
			got = append(got, a.UID)
		}
	}
	if !reflect.DeepEqual(got, []string{"a", "b", "c"}) || !IsNotFound(last) {
		t.Errorf("%v, %v", got, last)
	}
	if q := s.requests()[1].query; q != "cursor=x&search=s" {
		t.Errorf("second page with %s", q)
	}
}

// TestFactoriesAreNotMadeTwice: a lost answer is an error, not a second factory;
// changes and deletes are sent again.
func TestFactoriesAreNotMadeTwice(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(*Client) error
		want int
	}{
		"create": {func(c *Client) error {
			_, err := c.Factories.Create(t.Context(), FactoryRequest{Name: "n"})
			return err
		}, 1},
		"create automation": {func(c *Client) error {
			_, err := c.Automations.Create(t.Context(), "f", AutomationRequest{})
			return err
		}, 1},
		"update": {func(c *Client) error { _, err := c.Factories.Update(t.Context(), "f", FactoryUpdate{}); return err }, 2},
		"delete": {func(c *Client) error { return c.Automations.Delete(t.Context(), "f", "a") }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s := scripted(t, hangUp, answer(200, `{}`))
			err := tc.do(c)
			if got := len(s.requests()); got != tc.want || (err == nil) != (tc.want == 2) {
				t.Errorf("sent %d times, %v", got, err)
			}
		})
	}
}
