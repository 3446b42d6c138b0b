package definition

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestF4Compare(t *testing.T) {
	t.Parallel()
	before, after := full(), full()
	after.Factory.Name = "renamed"
	after.Factory.Alias = ""
	number := 7
	after.Factory.Defaults.TimeoutMinutes = &number
	after.Agents[0].Prompt = "first\nsecond"
	after.Agents = append(after.Agents, lineshaft.Agent{Name: "new", Type: lineshaft.AgentCustom})
	after.Automations[0].Triggers[1].Filter.Payload = []byte(`{"a":[1,"x"],"b":{"exists":true}}`)
	after.Automations[0].Config.MCPServers = map[string]lineshaft.MCPServer{
		"a": {Command: "c", Args: []string{"d"}, Env: map[string]string{"E": "{{G}}", "PASSWORD": "hunter2"}},
		"b": {URL: "https://me:hunter2@b.test", Headers: map[string]string{"H": "other"}},
	}
	after.Webhooks[0].Name = "other"
	after.Runners = after.Runners[1:]
	after.Skills[1].Body = strings.Repeat("long ", 30)
	want := []Change{
		{Action: ActionChange, Kind: KindFactory, Name: "renamed", File: "factory.yaml", Fields: []FieldChange{
			{"name", "n", "renamed"}, {"agentDefaults.timeoutMinutes", "5", "7"}, {"alias", "a", ""},
		}},
		{Action: ActionChange, Kind: KindAgent, Name: "boss", File: "agents/boss/agent.md", Fields: []FieldChange{{"prompt", "p", "first…"}}},
		{Action: ActionAdd, Kind: KindAgent, Name: "new", File: "agents/new/agent.md"},
		{Action: ActionChange, Kind: KindAutomation, Name: "auto", File: "automations/auto/automation.md", Fields: []FieldChange{
			{"triggers[1].filter.payload.a", "[1]", "[1, x]"},
			{"triggers[1].filter.payload.b.exists", "", "true"},
			{"mcpServers.a.env.E", "{{F}}", "{{G}}"},
			{"mcpServers.a.env.PASSWORD", "", "***"},
			{"mcpServers.b.url", "https://b.test", "https://redacted@b.test"},
			{"mcpServers.b.headers.H", "***", "***"},
			{"mcpServers.c.warpId", "w", ""},
		}},
		{Action: ActionAdd, Kind: KindWebhook, Name: "other", File: "webhooks/other.yaml", Note: "if this is hook renamed: it gets a new address, which its senders need"},
		{Action: ActionChange, Kind: KindSkill, Name: "boss/own", File: "agents/boss/skills/own/SKILL.md", Fields: []FieldChange{{"body", "b", strings.TrimSuffix(strings.Repeat("long ", 16), " ") + "…"}}},
		{Action: ActionRemove, Kind: KindWebhook, Name: "hook", File: "webhooks/hook.yaml", Note: "its address stops answering; under another name it is a new webhook with a new address"},
		{Action: ActionRemove, Kind: KindRunner, Name: "big", File: "runners/big.yaml"},
	}
	got := Compare(before, after)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("change %d: got %+v\nwant %+v", i, at(got, i), at(want, i))
		}
	}
}

func at(list []Change, i int) any {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

// What says the same is not a change, however it is written.
func TestF4CompareIgnoresHowThingsAreWritten(t *testing.T) {
	t.Parallel()
	stored := full()
	stored.Automations[0].Triggers[1].Filter.Payload = []byte(`{ "b": ["\u0041"], "a": [1] }`)
	stored.Agents[0].Config.Skills = append([]string{}, stored.Agents[0].Config.Skills...)
	stored.Factory.UID, stored.Agents[0].UID, stored.Webhooks[0].OwnsSecret = "u", "v", true
	read := full()
	read.Automations[0].Triggers[1].Filter.Payload = []byte(`{"a":[1],"b":["A"]}`)
	if changes := Compare(stored, read); len(changes) > 0 {
		t.Errorf("changes %+v", changes)
	}
	empty := full()
	empty.Factory.Secrets, empty.Factory.Defaults.MCPServers["a"].Env["E"] = []string{}, "{{F}}"
	none := full()
	none.Factory.Secrets = nil
	if changes := Compare(empty, none); len(changes) > 0 {
		t.Errorf("changes %+v", changes)
	}
}

// Long texts that differ only behind what is shown are still told apart.
func TestF4CompareLongTexts(t *testing.T) {
	t.Parallel()
	before, after := full(), full()
	before.Agents[0].Prompt = strings.Repeat("x", 200) + "a"
	after.Agents[0].Prompt = strings.Repeat("x", 200) + "b"
	f := Compare(before, after)[0].Fields[0]
	if f.Before == f.After || len(f.Before) > 200 || !strings.Contains(f.Before, "203 bytes, sha256 ") {
		t.Errorf("shown as %q and %q", f.Before, f.After)
	}
}

func TestF3ProblemsOfApplying(t *testing.T) {
	t.Parallel()
	def, problems := Parse(folder(`=== factory.yaml
schemaVersion: v1alpha1
name: acme
secrets:
  - A
  - B
agentDefaults:
  runner: 0198c0de-0000-7000-8000-00000000aaaa
=== agents/boss/agent.md
---
agentType: MAIN
model: m
secrets: [C]
---
=== webhooks/ci.yml
secretName: D
=== automations/a/automation.md
---
triggers:
  - provider: webhook
    event: received
    filter:
      webhook_ids: [x, y]
---
Go.
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		kind         Kind
		name, field  string
		file         string
		line, column int
	}{
		{KindFactory, "acme", "secrets[1]", "factory.yaml", 5, 5},
		{KindFactory, "", "secrets[7]", "factory.yaml", 4, 3},
		{KindFactory, "acme", "agentDefaults.runner_id", "factory.yaml", 7, 11},
		{KindFactory, "acme", "alias", "factory.yaml", 1, 1},
		{KindAgent, "boss", "config.secrets[0].name", "agents/boss/agent.md", 4, 11},
		{KindAgent, "boss", "config.model_id", "agents/boss/agent.md", 3, 8},
		{KindAgent, "boss", "config.environment_id", "agents/boss/agent.md", 1, 1},
		{KindWebhook, "ci", "secret_name", "webhooks/ci.yml", 1, 13},
		{KindAutomation, "a", "triggers[0].filter.webhook_ids[1]", "automations/a/automation.md", 6, 24},
		{KindRunner, "none", "platform", "runners/none.yaml", 0, 0},
		{KindSkill, "boss/s", "", "agents/boss/skills/s/SKILL.md", 0, 0},
	} {
		got := def.Problem(c.kind, c.name, c.field, "m", "h")
		if want := (lineshaft.FileProblem{File: c.file, Line: c.line, Column: c.column, Message: "m", Hint: "h"}); got != want {
			t.Errorf("%s %s %s is at %+v, want %+v", c.kind, c.name, c.field, got, want)
		}
	}
	if got := (&Definition{}).Problem(KindFactory, "x", "name", "m", "h"); got.File != factoryFile || got.Line != 0 {
		t.Errorf("without places it is at %+v", got)
	}
}
