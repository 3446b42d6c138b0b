package client

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// callCase is what goes out for a call, and what comes back.
type callCase struct {
	name   string
	status int
	answer string
	do     func(context.Context, *Client) (any, error)
	want   seen
	result any
}

func (tc callCase) check(t *testing.T) {
	t.Helper()
	c, s := scripted(t, answer(tc.status, tc.answer))
	result, err := tc.do(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	got := s.requests()[0]
	got.header = nil
	if !reflect.DeepEqual(got, tc.want) {
		t.Errorf("sent %+v\nwant %+v", got, tc.want)
	}
	if tc.result != nil && !reflect.DeepEqual(result, tc.result) {
		t.Errorf("result %+v\nwant   %+v", result, tc.result)
	}
}

func TestRunCalls(t *testing.T) {
	t.Parallel()
	request := RunRequest{
		Prompt: "p", Title: "t", Metadata: map[string]string{"k": "v"},
		Config: &AgentConfig{
			Name: "n", Harness: &Harness{Type: "command", Command: []string{"a", "b"}}, Retry: &Retry{MaxAttempts: 2},
			Budget: &Budget{MaxCostUSD: 1.5}, Secrets: []SecretRef{{"S"}}, IdleTimeoutMinutes: new(0),
		},
		Attachments: []Attachment{{FileName: "a.txt", MimeType: "text/plain", Data: []byte("hi")}},
	}
	requestJSON := `{"prompt":"p","title":"t","config":{"name":"n","harness":{"type":"command","command":["a","b"]},` +
		`"idle_timeout_minutes":0,"secrets":[{"name":"S"}],"budget":{"max_cost_usd":1.5},"retry":{"max_attempts":2}},"metadata":{"k":"v"},` +
		`"attachments":[{"file_name":"a.txt","mime_type":"text/plain","data":"aGk="}]}`
	for _, tc := range []callCase{
		{
			"create", 200, `{"run_id":"r1","task_id":"r1","state":"QUEUED","at_capacity":false}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Runs.Create(ctx, request) },
			seen{method: "POST", path: "/api/v1/agent/runs", body: requestJSON},
			&RunStarted{RunID: "r1", State: StateQueued},
		},
		{
			"cancel", 200, `"r1"`,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Runs.Cancel(ctx, "r1") },
			seen{method: "POST", path: "/api/v1/agent/runs/r1/cancel"},
			nil,
		},
		{
			"cancel cascade", 200, `"r1"`,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Runs.CancelCascade(ctx, "r1") },
			seen{method: "POST", path: "/api/v1/agent/runs/r1/cancel", query: "cascade=1"},
			nil,
		},
		{
			"followup", 200, `{"followup_id":null,"outcome":"queued_prompt"}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Runs.Followup(ctx, "r1", FollowupRequest{Message: "more"})
			},
			seen{method: "POST", path: "/api/v1/agent/runs/r1/followups", body: `{"message":"more"}`},
			&FollowupResult{Outcome: "queued_prompt"},
		},
		{
			"interrupt", 202, ``,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Runs.Interrupt(ctx, "r1") },
			seen{method: "POST", path: "/api/v1/agent/runs/r1/interrupt"},
			nil,
		},
		{
			"rerun", 200, `{"run_id":"r2","state":"QUEUED","at_capacity":true}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Runs.Rerun(ctx, "r1") },
			seen{method: "POST", path: "/api/v1/agent/runs/r1/rerun"},
			&RunStarted{RunID: "r2", State: StateQueued, AtCapacity: true},
		},
		{
			"delete", 204, ``,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Runs.Delete(ctx, "a/../b") },
			seen{method: "DELETE", path: "/api/v1/agent/runs/a%2F..%2Fb"},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestServerCalls(t *testing.T) {
	t.Parallel()
	expires := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	keyRequest := APIKeyRequest{Name: "ci", Role: "member", ExpiresAt: &expires, WorkerIDs: []string{"w"}}
	for _, tc := range []callCase{
		{
			"events", 200, `{"events":[],"page_info":{"has_next_page":false}}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Runs.Events(ctx, "r1", EventQuery{After: 7, Limit: 9})
			},
			seen{method: "GET", path: "/api/v1/agent/runs/r1/events", query: "after=7&limit=9"},
			&EventPage{Events: []Event{}},
		},
		{
			"create key", 201, `{"id":"k1","name":"ci","role":"member","key":"ls_abc","created_at":"2026-01-02T03:04:05.000000Z"}`,
			func(ctx context.Context, c *Client) (any, error) { return c.APIKeys.Create(ctx, keyRequest) },
			seen{method: "POST", path: "/api/v1/apikeys", body: `{"name":"ci","role":"member","expires_at":"2026-05-01T00:00:00Z","worker_ids":["w"]}`},
			&APIKey{ID: "k1", Name: "ci", Role: "member", Key: "ls_abc", CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		},
		{
			"revoke key", 204, ``,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.APIKeys.Revoke(ctx, "k1") },
			seen{method: "DELETE", path: "/api/v1/apikeys/k1"},
			nil,
		},
		{
			"whoami", 200, `{"principal":{"type":"user","uid":"u1","display_name":"Ada"},"role":"admin","key_id":"k1","limits":{"requests_per_minute":9}}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Whoami(ctx) },
			seen{method: "GET", path: "/api/v1/whoami"},
			&Whoami{Principal: Principal{Type: "user", UID: "u1", DisplayName: "Ada"}, Role: "admin", KeyID: "k1", Limits: KeyLimits{RequestsPerMinute: 9}},
		},
		{
			"audit", 200, `{"entries":[{"id":"a1","action":"run.cancel","target_id":"r1"}],"page_info":{"has_next_page":true,"next_cursor":"c2"}}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Audit(ctx, AuditQuery{Limit: 1, Cursor: "c1"})
			},
			seen{method: "GET", path: "/api/v1/audit", query: "cursor=c1&limit=1"},
			&AuditPage{Entries: []AuditEntry{{ID: "a1", Action: "run.cancel", TargetID: "r1"}}, PageInfo: PageInfo{true, "c2"}},
		},
		{
			"models", 200, `{"default_model_id":"m","models":[{"id":"m","display_name":"M","provider":"UNKNOWN","vision_supported":true}],"harnesses":[{"type":"acp","available":false,"problem":"no"}]}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Models(ctx) },
			seen{method: "GET", path: "/api/v1/agent/models"},
			&Models{DefaultModelID: "m", Models: []Model{{ID: "m", DisplayName: "M", Provider: "UNKNOWN", VisionSupported: true}}, Harnesses: []HarnessInfo{{Type: "acp", Problem: "no"}}},
		},
		{
			"workers", 200, `{"workers":[{"worker_host":"w","connection_count":2,"capacity":8,"load":3}]}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Workers(ctx) },
			seen{method: "GET", path: "/api/v1/agent/connected-self-hosted-workers"},
			[]Worker{{WorkerHost: "w", ConnectionCount: 2, Capacity: 8, Load: 3}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

// TestEmptyIDsGoNowhere: an empty id would turn "delete this run" into another call.
func TestEmptyIDsGoNowhere(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{}`))
	for _, id := range []string{"", ".", ".."} {
		for name, do := range map[string]func() error{
			"get":       func() error { _, err := c.Runs.Get(t.Context(), id); return err },
			"cancel":    func() error { return c.Runs.Cancel(t.Context(), id) },
			"cascade":   func() error { return c.Runs.CancelCascade(t.Context(), id) },
			"delete":    func() error { return c.Runs.Delete(t.Context(), id) },
			"rerun":     func() error { _, err := c.Runs.Rerun(t.Context(), id); return err },
			"interrupt": func() error { return c.Runs.Interrupt(t.Context(), id) },
			"followup":  func() error { _, err := c.Runs.Followup(t.Context(), id, FollowupRequest{}); return err },
			"events":    func() error { _, err := c.Runs.Events(t.Context(), id, EventQuery{}); return err },
			"revoke":    func() error { return c.APIKeys.Revoke(t.Context(), id) },
			"wait":      func() error { _, err := c.Runs.Wait(t.Context(), id, WaitOptions{}); return err },
			"stream": func() error {
				for _, err := range c.Runs.Stream(t.Context(), id, 0) {
					return err
				}
				return nil
			},
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), " id") {
				t.Errorf("%s(%q) = %v", name, id, err)
			}
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestRunKeepsUnknownFields(t *testing.T) {
	t.Parallel()
	body := strings.TrimSuffix(runJSON("SUCCEEDED"), "}") + `,"status_message":{"message":"done"},"later_field":{"a":1},
		"started_at":"2026-01-02T03:04:06Z","agent_config":{"name":"n","mcp_servers":{"s":{"url":"http://x"}}},"request_usage":{"total_tokens":5}}`
	c, _ := scripted(t, answer(200, body))
	run, err := c.Runs.Get(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	if string(run.RawJSON()) != body {
		t.Errorf("RawJSON = %s", run.RawJSON())
	}
	if run.FinishedAt != nil || run.StartedAt == nil || run.CreatedAt.Nanosecond() != 6000 || run.StatusMessage.Message != "done" ||
		run.AgentConfig.MCPServers["s"].URL != "http://x" || run.RequestUsage.TotalTokens != 5 {
		t.Errorf("run = %+v", run)
	}
	if again, err := json.Marshal(run); err != nil || strings.Contains(string(again), "later_field") {
		t.Errorf("marshalling tells the fields, not the raw text: %s, %v", again, err)
	}
}

func TestDeleteAgainAfterLostAnswer(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(502, ""), answer(404, `{}`))
	if err := c.Runs.Delete(t.Context(), "r1"); err != nil || len(s.requests()) != 2 {
		t.Errorf("Delete = %v after %d requests, want success: the first attempt did it", err, len(s.requests()))
	}
	c, _ = scripted(t, answer(404, `{}`))
	if err := c.Runs.Delete(t.Context(), "r1"); !IsNotFound(err) {
		t.Errorf("Delete = %v, want not found at the first attempt", err)
	}
}

func TestR2StatesTerminal(t *testing.T) {
	t.Parallel()
	terminal := []RunState{StateSucceeded, StateFailed, StateError, StateCancelled}
	for _, state := range append(RunStates(), "", "LATER_STATE") {
		if state.Terminal() != slices.Contains(terminal, state) {
			t.Errorf("%q.Terminal() = %v", state, state.Terminal())
		}
	}
}

func TestFailedCallReturnsNil(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, answer(http.StatusForbidden, `{"code":"not_authorized"}`))
	if run, err := c.Runs.Get(t.Context(), "r1"); run != nil || !IsDenied(err) {
		t.Errorf("Get = %v, %v", run, err)
	}
	if workers, err := c.Workers(t.Context()); workers != nil || !IsDenied(err) {
		t.Errorf("Workers = %v, %v", workers, err)
	}
	if keys, err := c.APIKeys.List(t.Context()); keys != nil || !IsDenied(err) {
		t.Errorf("List = %v, %v", keys, err)
	}
}
