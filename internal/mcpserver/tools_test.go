package mcpserver_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/mcpserver"
)

// operations names the operation of the API that does what a tool does.
func operations() map[string]string {
	return map[string]string{
		"list_factories": "listFactories", "list_agents": "listAgentIdentities", "list_automations": "listAutomations", "list_webhooks": "listWebhooks",
		"dispatch": "createRun", "get_run": "getRun", "wait_for_run": "getRunEvents", "list_runs": "listRuns", "get_run_events": "getRunEvents",
		"follow_up": "submitRunFollowup", "cancel_run": "cancelRun",
		"list_deliveries": "listDeliveries", "get_delivery": "getDelivery", "test_filter": "testFilter",
	}
}

// attempts are arguments that fit the schema of each tool.
func attempts() map[string]map[string]any {
	return map[string]map[string]any{
		"list_factories": {}, "list_agents": {}, "list_automations": {"factory": "f"}, "list_webhooks": {"factory": "f"},
		"dispatch": {"prompt": "forbidden fruit"}, "get_run": {"run_id": "r"}, "wait_for_run": {"run_id": "r"}, "list_runs": {}, "get_run_events": {"run_id": "r"},
		"follow_up": {"run_id": "r", "message": "m"}, "cancel_run": {"run_id": "r"},
		"list_deliveries": {"factory": "f", "webhook": "w"}, "get_delivery": {"factory": "f", "webhook": "w", "delivery_id": "d"},
		"test_filter": {"factory": "f", "filter": map[string]any{}, "payload": 1},
	}
}

// A tool is no way round the permission that the API asks for.
func TestI4ToolsNeedWhatTheAPINeeds(t *testing.T) {
	t.Parallel()
	needs, same := mcpserver.Needs(), operations()
	if !slices.Equal(slices.Sorted(maps.Keys(needs)), slices.Sorted(maps.Keys(same))) {
		t.Fatalf("the tools are %v; say which operation does what each does", slices.Sorted(maps.Keys(needs)))
	}
	permissions := map[string]lineshaft.Permission{}
	for _, route := range api.Routes() {
		permissions[route.OperationID] = route.Permission
	}
	for tool, operation := range same {
		if permissions[operation] == "" || needs[tool] != permissions[operation] {
			t.Errorf("%s needs %q, and %s needs %q", tool, needs[tool], operation, permissions[operation])
		}
	}
}

// A model knows of a tool what is said here, and nothing else.
func TestI4EveryToolIsDescribedAndBounded(t *testing.T) {
	t.Parallel()
	c := onSQLite(t)
	list, err := c.as(c.adminKey).session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(operations()) {
		t.Fatal(err, len(list.Tools))
	}
	for _, tool := range list.Tools {
		if len(tool.Description) < 40 || tool.Title == "" || tool.Annotations == nil || tool.Annotations.DestructiveHint == nil || tool.Annotations.OpenWorldHint == nil {
			t.Errorf("%s is not described: %+v", tool.Name, tool)
		}
		changes := map[string]bool{"dispatch": true, "follow_up": true, "cancel_run": true}
		if tool.Annotations.ReadOnlyHint == changes[tool.Name] || *tool.Annotations.DestructiveHint != (tool.Name == "cancel_run") {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
		bounded(t, tool)
	}
}

type property struct {
	Type        string   `json:"type"`
	Description string   `json:"description"`
	MaxLength   *int     `json:"maxLength"`
	Maximum     *int     `json:"maximum"`
	MaxItems    *int     `json:"maxItems"`
	Enum        []string `json:"enum"`
	Pattern     string   `json:"pattern"`
}

func bounded(t *testing.T, tool *mcp.Tool) {
	t.Helper()
	raw, err := json.Marshal(tool.InputSchema)
	var input struct {
		Properties           map[string]property `json:"properties"`
		AdditionalProperties *bool               `json:"additionalProperties"`
	}
	if err != nil || json.Unmarshal(raw, &input) != nil || input.AdditionalProperties == nil || *input.AdditionalProperties {
		t.Errorf("%s takes arguments that it does not know: %s", tool.Name, raw)
	}
	for name, p := range input.Properties {
		if p.Description == "" && name != "limit" {
			t.Errorf("%s.%s is not described", tool.Name, name)
		}
		if p.Type == "string" && p.MaxLength == nil && p.Enum == nil && p.Pattern == "" || p.Type == "integer" && name != "after" && p.Maximum == nil || p.Type == "array" && p.MaxItems == nil {
			t.Errorf("%s.%s has no bound", tool.Name, name)
		}
	}
}

// Every role sees and uses the tools of its permissions, and no others.
func TestI4EveryToolAsEveryRole(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		s.start(lineshaft.NewRun{Prompt: "agent"})
		token := s.claim().RunToken
		for _, role := range lineshaft.Roles() {
			key := token
			if role != lineshaft.RoleRun {
				key = s.key(role)
			}
			c := s.as(key)
			shown := c.names()
			for tool, need := range mcpserver.Needs() {
				if shown[tool] != role.May(need) {
					s.Errorf("%s sees %s: %v", role, tool, shown[tool])
				}
				text := words(c.call(tool, attempts()[tool]))
				if strings.HasPrefix(text, "not_authorized: the role") == role.May(need) {
					s.Errorf("%s calls %s: %s", role, tool, text)
				}
				if !role.May(need) { // nor does it learn of its mistakes
					c.fails(lineshaft.CodeNotAuthorized, tool, map[string]any{"nonsense": true})
				}
				if strings.HasPrefix(text, "internal_error") {
					s.Errorf("%s calls %s: %s", role, tool, text)
				}
			}
		}
		// viewer, worker: no dispatch; member, manager, admin and the run itself: one each.
		page, err := s.control.ListRuns(s.Context(), s.admin, lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 100})
		if err != nil {
			s.Fatal(err)
		}
		sources := map[lineshaft.Source]int{}
		for i := range page.Runs {
			sources[page.Runs[i].Source]++
		}
		if sources[lineshaft.SourceMCP] != 3 || sources[lineshaft.SourceOrchestration] != 1 || len(page.Runs) != 5 {
			s.Errorf("runs by source: %v", sources)
		}
	})
}
