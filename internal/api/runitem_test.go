package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
)

func testServer() *server { return build(Deps{Control: &control.Service{}, BaseURL: testBase}) }

// fullRun has every field set.
func fullRun() *lineshaft.Run {
	at := time.Date(2026, 8, 1, 9, 30, 0, 0, time.UTC)
	return &lineshaft.Run{
		ID: "r", Title: "t", Prompt: "p", Submitted: "p\n\nq", State: lineshaft.Failed,
		Status: lineshaft.StatusMessage{Message: "m", ErrorCode: lineshaft.CodeRunTimeout, Retryable: ptr(false)}, Source: lineshaft.SourceWebhook,
		Creator:  lineshaft.Principal{UID: "u", Type: lineshaft.User, DisplayName: "Ada", Email: "a@b.c"},
		Executor: lineshaft.Principal{UID: "x", Type: lineshaft.ServiceAccount, DisplayName: "Agent"},
		Config:   lineshaft.AgentConfig{Name: "n"}, ConversationID: "c", SessionID: "s", ParentRunID: "parent", RootRunID: "root", FactoryUID: "f",
		Metadata: map[string]string{"k": "v"}, CreatedAt: at, UpdatedAt: at.Add(time.Hour), StartedAt: at.Add(time.Minute), FinishedAt: at.Add(time.Hour),
		RunTime: 150 * time.Second, Usage: lineshaft.Usage{InputTokens: 10, OutputTokens: 5, CostMicros: 1_250_000}, SandboxRunning: true,
		UsageByModel: []lineshaft.ModelUsage{{ModelID: "m", Usage: lineshaft.Usage{InputTokens: 10, OutputTokens: 5, CostMicros: 1_250_000}, CachedInputTokens: 4, UnpricedTokens: 2}},
		Artifacts:    []lineshaft.Artifact{{UID: "a", Type: lineshaft.ArtifactFile, FileName: "f", FilePath: "d/f", MimeType: "text/plain", CreatedAt: at}},
	}
}

func TestR5RunItemHasThePublishedFields(t *testing.T) {
	t.Parallel()
	text, err := marshal(testServer().wireRun(fullRun()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"run_id":"r"`, `"task_id":"r"`, `"title":"t"`, `"prompt":"p"`, `"submitted_prompt":"p\n\nq"`, `"state":"FAILED"`,
		`"created_at":"2026-08-01T09:30:00.000000Z"`, `"updated_at":"2026-08-01T10:30:00.000000Z"`, `"started_at":"2026-08-01T09:31:00.000000Z"`,
		`"finished_at":"2026-08-01T10:30:00.000000Z"`, `"run_time":"PT2M30S"`, `"root_run_id":"root"`, `"parent_run_id":"parent"`,
		`"status_message":{"message":"m","error_code":"run_timeout","retryable":false}`, `"source":"CUSTOM_WEBHOOK"`,
		`"creator":{"type":"user","uid":"u","display_name":"Ada","email":"a@b.c"}`, `"executor":{"type":"service_account","uid":"x","display_name":"Agent"}`,
		`"agent_config":{"name":"n"}`, `"session_id":"s"`, `"session_link":"https://ls.test/runs/r"`, `"conversation_id":"c"`, `"factory_uid":"f"`,
		`"metadata":{"k":"v"}`, `"request_usage":{"total_tokens":15,"inference_cost_usd":1.25,"model_token_usage":[{"model_id":"m","total_tokens":15,"usage_type":"custom_endpoint",` +
			`"tokens_by_category":{"input":6,"input_cache_read":4,"output":5},"inference_cost_usd":1.25,"cost_unknown_tokens":2}]}`, `"execution_location":"REMOTE"`,
		`"is_sandbox_running":true`, `"is_run_type_cancellable":true`, `"scope":{"type":"Team"}`, `"size_bytes":0`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

func TestH6OptionalFieldsAreAbsentNotNull(t *testing.T) {
	t.Parallel()
	text, err := marshal(testServer().wireRun(&lineshaft.Run{ID: "r", State: lineshaft.Queued, CreatedAt: time.Unix(0, 0), UpdatedAt: time.Unix(0, 0)}))
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	for name, v := range value {
		if v == nil && name != "finished_at" && name != "started_at" {
			t.Errorf("%s is null", name)
		}
	}
	want := []string{
		"agent_config", "created_at", "creator", "execution_location", "finished_at", "is_run_type_cancellable", "is_sandbox_running", "prompt",
		"root_run_id", "run_id", "scope", "session_link", "source", "started_at", "state", "status_message", "task_id", "title", "updated_at",
	}
	if got := slices.Sorted(maps.Keys(value)); !slices.Equal(got, want) {
		t.Errorf("fields of a bare run\n%v\nwant\n%v", got, want)
	}
	if value["root_run_id"] != "r" {
		t.Errorf("a run at the top is its own root: %v", value["root_run_id"])
	}
}

func TestR5FinishedAtIsNullUnlessTheRunHasEnded(t *testing.T) {
	t.Parallel()
	s := testServer()
	for _, state := range lineshaft.RunStates() {
		run := fullRun()
		run.State = state
		if got := s.wireRun(run).FinishedAt; (got != nil) != state.Terminal() {
			t.Errorf("%s: %v", state, got)
		}
	}
}

func TestR11ArtifactsAsTheListShowsThem(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 1, 9, 30, 0, 0, time.UTC)
	for _, tc := range []struct {
		artifact lineshaft.Artifact
		want     string
	}{
		{
			lineshaft.Artifact{UID: "u", Type: lineshaft.ArtifactPlan, Title: "t", URL: "https://x"},
			`{"artifact_uid":"u","document_uid":"u","url":"https://x","title":"t"}`,
		},
		{lineshaft.Artifact{Type: lineshaft.ArtifactPullRequest, URL: "https://x"}, `{"url":"https://x","branch":"","status":"unknown"}`},
		{
			lineshaft.Artifact{Type: lineshaft.ArtifactPullRequest, URL: "https://x", Branch: "b"},
			`{"url":"https://x","branch":"b","status":"unknown"}`,
		},
		{
			lineshaft.Artifact{UID: "u", Type: lineshaft.ArtifactScreenshot, MimeType: "image/png", Description: "d"},
			`{"artifact_uid":"u","mime_type":"image/png","description":"d"}`,
		},
		{
			lineshaft.Artifact{UID: "u", Type: lineshaft.ArtifactFile, FileName: "f", FilePath: "a/f", MimeType: "text/plain", SizeBytes: 7, Title: "t"},
			`{"artifact_uid":"u","filepath":"a/f","filename":"f","mime_type":"text/plain","title":"t","size_bytes":7}`,
		},
		{lineshaft.Artifact{Type: lineshaft.ArtifactReference, URL: "https://x", Title: "t"}, `{"url":"https://x","reference_type":"url","title":"t"}`},
	} {
		tc.artifact.CreatedAt = at
		text, err := marshal(wireArtifact(&tc.artifact))
		want := `{"artifact_type":"` + string(tc.artifact.Type) + `","created_at":"2026-08-01T09:30:00.000000Z","data":` + tc.want + `}`
		if err != nil || string(text) != want {
			t.Errorf("%s, %v\nwant %s", text, err, want)
		}
	}
}

func TestH8PageInfo(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{"": `{"has_next_page":false}`, "c": `{"has_next_page":true,"next_cursor":"c"}`} {
		if text, err := marshal(pageInfo(next)); err != nil || string(text) != want {
			t.Errorf("%q: %s, %v", next, text, err)
		}
	}
}
