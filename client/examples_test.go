package client

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// exampleTypes says which type reads which file of api/examples.
func exampleTypes() map[string]any {
	return map[string]any{
		"agent_response": Agent{}, "create_agent_request": AgentRequest{}, "update_agent_request": AgentUpdate{},
		"apply_definition_request": DefinitionRequest{}, "apply_definition_response": DefinitionApplied{},
		"validate_definition_request": DefinitionRequest{}, "validate_definition_response": DefinitionValidation{},
		"plan_definition_response": DefinitionPlan{}, "factory_definition": Definition{},
		"revision": DefinitionRevision{}, "list_revisions_response": RevisionPage{},
		"artifact_response": ArtifactDetail{}, "audit_response": AuditPage{},
		"attachments_response": struct {
			Attachments []RunAttachment `json:"attachments"`
		}{},
		"automation": Automation{}, "create_automation_request": AutomationRequest{}, "update_automation_request": AutomationUpdate{},
		"list_automations_response": AutomationPage{},
		"cancel_runs_request":       map[string]any{}, "conversation_response": Conversation{},
		"create_apikey_request": APIKeyRequest{}, "create_apikey_response": APIKey{},
		"list_apikeys_response": struct {
			Keys     []APIKey `json:"apikeys"`
			PageInfo PageInfo `json:"page_info"`
		}{},
		"create_factory_request": FactoryRequest{}, "update_factory_request": FactoryUpdate{}, "factory": Factory{},
		"repository_factory": Factory{}, "list_factories_response": FactoryPage{},
		"follow_repository_request": FactoryUpdate{}, "unlink_repository_request": map[string]any{},
		"factory_run_request": FactoryRunRequest{}, "factory_run_response": FactoryRun{},
		"create_schedule_request": ScheduleRequest{}, "update_schedule_request": ScheduleUpdate{}, "schedule": Schedule{},
		"list_schedules_response": struct {
			Schedules []Schedule `json:"schedules"`
		}{},
		"create_secret_request": SecretRequest{}, "secret": Secret{},
		"list_secrets_response": struct {
			Secrets  []Secret `json:"secrets"`
			PageInfo PageInfo `json:"page_info"`
		}{},
		"create_webhook_request": WebhookRequest{}, "create_webhook_response": Webhook{}, "update_webhook_request": WebhookUpdate{},
		"rotate_webhook_request": WebhookRotation{}, "webhook": Webhook{},
		"list_webhooks_response": struct {
			Webhooks []Webhook `json:"webhooks"`
			PageInfo PageInfo  `json:"page_info"`
		}{},
		"delivery": Delivery{}, "list_deliveries_response": DeliveryPage{}, "list_factory_deliveries_response": DeliveryLogPage{},
		"test_webhook_request": WebhookTest{}, "test_webhook_response": WebhookTestResult{},
		"redeliver_request": map[string]any{}, "redeliver_response": Redelivered{},
		"test_filter_request": FilterTest{}, "test_filter_response": FilterVerdict{},
		"environment": Environment{}, "environment_request": struct {
			Config EnvironmentConfig `json:"config"`
		}{},
		"list_environments_response": struct {
			Environments []Environment `json:"environments"`
		}{},
		"list_agent_identities_response": struct {
			Agents []Agent `json:"agents"`
		}{},
		"list_agents_response": struct {
			Agents []NamedSkills `json:"agents"`
		}{},
		"models_response":             Models{},
		"create_notification_request": NotificationRequest{}, "create_notification_response": Notification{},
		"update_notification_request": NotificationUpdate{}, "rotate_notification_request": NotificationRotation{},
		"notification": Notification{}, "notification_delivery": NotificationDelivery{},
		"list_notification_deliveries_response": NotificationDeliveryPage{},
		"list_notifications_response": struct {
			Notifications []Notification `json:"notifications"`
			PageInfo      PageInfo       `json:"page_info"`
		}{},
		"run_agent_request": RunRequest{}, "run_agent_response": RunStarted{}, "run_item": Run{}, "list_runs_response": RunPage{},
		"run_events_response": EventPage{}, "run_followup_request": FollowupRequest{}, "run_followup_response": FollowupResult{},
		"run_report_request": RunReport{}, "run_report_response": RunReported{}, "timeline_response": Timeline{},
		"schema_versions_response": struct {
			Versions       []string `json:"versions"`
			CurrentVersion string   `json:"current_version"`
		}{},
		"list_schemas_response": map[string]any{}, "validate_files_request": DefinitionRequest{}, "validate_files_response": map[string]any{},
		"list_trigger_events_response": eventsOfProvider{},
		"test_notification_response":   NotificationDelivery{}, "replay_notification_response": NotificationDelivery{},
		"whoami_response": Whoami{},
		"workers_response": struct {
			Workers []Worker `json:"workers"`
		}{},
	}
}

type eventsOfProvider struct {
	Provider string         `json:"provider"`
	Events   []TriggerEvent `json:"events"`
}

// leftInExamples are fields that the types leave out; scripts/clienttypes/types.yaml says why.
var leftInExamples = []string{"task_id", "memory", "problems", "mode", "team"}

// Every example goes through its type and comes back with nothing lost.
func TestI3ExamplesKeepEverything(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../api/examples/*.json")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	types := exampleTypes()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if name == "error" {
			continue // see TestI3ExampleOfAnError
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sample, ok := types[name]
			if !ok {
				t.Fatal("no type reads this example: add it to exampleTypes")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			typed := reflect.New(reflect.TypeOf(sample)).Interface()
			if err := json.Unmarshal(text, typed); err != nil {
				t.Fatal(err)
			}
			back, err := json.Marshal(typed)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(back, &got); err != nil {
				t.Fatal(err)
			}
			for _, lost := range missing("", want, got) {
				t.Error(lost)
			}
		})
	}
}

// missing lists what want has and got has not. Empty and absent are the same.
func missing(path string, want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		var lost []string
		for key, value := range w {
			if !slices.Contains(leftInExamples, key) {
				lost = append(lost, missing(path+"."+key, value, g[key])...)
			}
		}
		return lost
	case []any:
		g, _ := got.([]any)
		var lost []string
		for i, value := range w {
			if i >= len(g) {
				return append(lost, fmt.Sprintf("%s has %d of %d items", path, len(g), len(w)))
			}
			lost = append(lost, missing(fmt.Sprintf("%s[%d]", path, i), value, g[i])...)
		}
		return lost
	}
	if reflect.DeepEqual(want, got) || sameTime(want, got) || want == nil || got == nil && reflect.ValueOf(want).IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)}
}

func sameTime(a, b any) bool {
	x, _ := a.(string)
	y, _ := b.(string)
	first, err := time.Parse(time.RFC3339Nano, x)
	if err != nil {
		return false
	}
	second, err := time.Parse(time.RFC3339Nano, y)
	return err == nil && first.Equal(second)
}

func TestI3ExampleOfAnError(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../api/examples/error.json")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := scripted(t, answer(400, string(text)))
	got, ok := asError(c.Do(t.Context(), "GET", "/x", nil, nil))
	if !ok || got.Code != "invalid_request" || got.TraceID == "" || got.Detail == "" || got.Instance != "/api/v1/agent/runs" || got.Retryable {
		t.Errorf("the example of an error is read as %+v", got)
	}
}
