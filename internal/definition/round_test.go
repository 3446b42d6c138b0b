package definition

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// bodyOf is a text as it comes back from below a front matter.
func bodyOf(s string) string { return frontmatter.Split(frontmatter.Join("", s)).Body }

// values is a definition without the places of things.
func values(d *Definition) Definition {
	bare := *d
	bare.places, bare.Unused, bare.kept, bare.Notices, bare.AtApply = nil, nil, nil, nil, nil
	return bare
}

// Whatever is rendered is read back the same.
func TestF5RenderedFoldersReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := genDefinition(t)
		files := Render(d, nil)
		back, problems := Parse(files)
		if len(problems) > 0 {
			t.Fatalf("%v\nin\n%s", problems, printed(files))
		}
		if d := difference(values(back), values(d)); d != "" {
			t.Fatalf("%s in\n%s", d, printed(files))
		}
		if changes := Compare(d, back); len(changes) > 0 {
			t.Fatalf("a plan of nothing has %v", changes)
		}
		if again := Render(back, files); !maps.Equal(again, files) {
			t.Fatalf("rendered again it is\n%s\nwas\n%s", printed(again), printed(files))
		}
	})
}

// A plan is empty exactly when nothing differs.
func TestF4PlansTellEveryDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genDefinition(t), genDefinition(t)
		if rapid.Bool().Draw(t, "mostly alike") {
			mixed := *a
			switch rapid.IntRange(0, 5).Draw(t, "other") {
			case 0:
				mixed.Factory = b.Factory
			case 1:
				mixed.Agents = b.Agents
			case 2:
				mixed.Automations = b.Automations
			case 3:
				mixed.Webhooks = b.Webhooks
			case 4:
				mixed.Runners = b.Runners
			default:
				mixed.Skills = b.Skills
			}
			b = &mixed
		}
		changes := Compare(a, b)
		if equal := difference(values(a), values(b)) == ""; equal != (len(changes) == 0) {
			t.Fatalf("equal is %v, and the plan %+v\n%s\n%s", equal, changes, printed(Render(a, nil)), printed(Render(b, nil)))
		}
		for _, c := range changes {
			if c.File == "" || c.Action == ActionChange && len(c.Fields) == 0 {
				t.Fatalf("change %+v says too little", c)
			}
			for _, f := range c.Fields {
				if f.Before == f.After && f.Before != hidden {
					t.Fatalf("%+v shows no difference", f)
				}
			}
		}
	})
}

func printed(files Files) string {
	var b strings.Builder
	for _, name := range sortedPaths(files) {
		fmt.Fprintf(&b, "== %s\n%s", name, files[name])
	}
	return b.String()
}

// unsaid are fields that no file says: who has them, and since when.
func unsaid() []string {
	return []string{
		"Factory.UID", "Factory.Mode", "Factory.Repository", "Factory.Paused", "Factory.DailyBudget", "Factory.SpentToday", "Factory.Revision", "Factory.CreatedAt", "Factory.UpdatedAt",
		"Agent.UID", "Agent.FactoryUID", "Agent.Truncated", "Agent.CreatedAt", "Agent.UpdatedAt",
		"Automation.UID", "Automation.FactoryUID", "Automation.Truncated", "Automation.Notices", "Automation.CreatedAt", "Automation.UpdatedAt",
		"Webhook.UID", "Webhook.FactoryUID", "Webhook.OwnsSecret", "Webhook.NeedsSecret", "Webhook.OldSecretUntil", "Webhook.CreatedAt", "Webhook.UpdatedAt", "Webhook.DeletedAt",
		"Runner.UID", "Runner.FactoryUID", "Runner.CreatedAt", "Runner.UpdatedAt",
		"Skill.Spec", "Skill.Path", "Skill.Commit", // of skills of repositories
		"Definition.Unused", "Definition.Notices", "Definition.AtApply", "Definition.Partial",
		"Definition.places", "Definition.kept", "Definition.inert",
	}
}

// full is a definition in which every field is used.
func full() *Definition {
	number, yes := 5, true
	choice := func() *lineshaft.Choice { return &lineshaft.Choice{In: []string{"a"}, NotIn: []string{"b"}} }
	config := lineshaft.AgentConfig{
		Name: "label", ModelID: "model", BasePrompt: "base\nprompt\n", EnvironmentID: "env", WorkerHost: "host", Skills: []string{"review"},
		MCPServers: map[string]lineshaft.MCPServer{
			"a": {Command: "c", Args: []string{"d"}, Env: map[string]string{"E": "{{F}}"}},
			"b": {URL: "https://b.test", Headers: map[string]string{"H": "v"}},
			"c": {WarpID: "w"},
		},
		Harness:            &lineshaft.HarnessConfig{Type: "claude", ModelID: "m", ReasoningLevel: "high", Command: []string{"run", "it"}, Mode: "acp", Permissions: "ask", Auth: &lineshaft.HarnessAuth{Source: lineshaft.AuthManagedSecret, SecretName: "KEY"}},
		IdleTimeoutMinutes: &number, RunnerID: "big", Secrets: []string{"ONE", "TWO"}, ComputerUseEnabled: &yes, TimeoutMinutes: &number,
		StallMinutes: &number, QueueTimeoutMinutes: &number, Budget: &lineshaft.Budget{MaxTokens: 7, MaxCostMicros: 2_500_001}, MaxAttempts: &number,
		Concurrency: &lineshaft.Concurrency{Key: "k", Policy: lineshaft.PolicySkip}, ComputerUseModelID: "eyes",
	}
	agentConfig := config
	agentConfig.ModelID = "" // goes with the built-in agent
	config.Harness = nil
	return &Definition{
		Factory: lineshaft.Factory{
			Name: "n", Alias: "a", Description: "d", Defaults: config, Secrets: []string{"S"}, MCPServers: config.MCPServers,
			Repositories: []lineshaft.Repository{{Owner: "acme", Name: "api"}}, Foreman: "boss",
		},
		Agents: []lineshaft.Agent{{Name: "boss", Type: lineshaft.AgentForeman, Description: "d", Prompt: "p", Config: agentConfig}},
		Automations: []lineshaft.Automation{{
			Name: "auto", Prompt: "p", Enabled: true, Agent: "boss", Config: config, Title: "Issue {{payload.issue.number}}", MaxRunsPerHour: 3,
			Triggers: []lineshaft.Trigger{
				{Provider: "schedule", Event: "cron_fired", Schedule: &lineshaft.Timing{Name: "day", Cron: "@daily", Timezone: "UTC", Overlap: lineshaft.OverlapSkip}},
				{Provider: "github", Event: "pull_request_opened", Filter: lineshaft.TriggerFilter{
					WebhookIDs: []string{"u"}, Webhooks: []string{"hook"}, Payload: []byte(`{"a":[1]}`),
					Sets: map[string]*lineshaft.Choice{"labels": choice(), "baseBranches": choice(), "pr_numbers": {In: []string{"7"}, NotIn: []string{"8"}, Whole: true}},
				}},
			},
		}},
		Webhooks: []lineshaft.Webhook{{
			Name: "hook", AuthMode: lineshaft.AuthSignature, SignatureScheme: "hmac", SecretName: "S", DeliveryIDHeader: "X-Id", Enabled: true, RateLimit: 7, MaxBodyBytes: 9, ReplayGuard: true,
			HMAC: lineshaft.WebhookHMAC{Header: "X-S", Prefix: "p=", Digest: "sha1", Encoding: "base64", Template: "{id}.{timestamp}.{body}", TimestampHeader: "X-T", IDHeader: "X-I"},
		}},
		Runners: []lineshaft.Runner{
			{Name: "big", Config: lineshaft.RunnerConfig{Description: "d", Platform: "linux/amd64", Image: "i", SetupCommands: []string{"make"}, Shape: lineshaft.InstanceShape{VCPUs: 2, MemoryGB: 4}}},
			{Name: "mac", Config: lineshaft.RunnerConfig{PlatformParts: &lineshaft.PlatformParts{OS: "macos", Arch: "aarch64", Mac: &lineshaft.MacPlatform{Version: "26"}}}},
			{Name: "small", Config: lineshaft.RunnerConfig{PlatformParts: &lineshaft.PlatformParts{OS: "linux", Arch: "x86_64", Linux: &lineshaft.LinuxPlatform{DockerImage: "i", RegistryCredentialSecretName: "R"}}}},
		},
		Skills: []lineshaft.Skill{{Name: "review", Description: "d", Body: "b"}, {Agent: "boss", Name: "own", Description: "d", Body: "b"}},
	}
}

// collect notes for every field of a struct whether it is ever used.
func collect(used map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			collect(used, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(used, v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			collect(used, v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			used[name] = used[name] || !v.Field(i).IsZero()
			if !slices.Contains(unsaid(), name) {
				collect(used, v.Field(i))
			}
		}
	default:
	}
}

// A new field of a noun is either said by the files, or listed as one that is not.
func TestF5FilesSayEveryField(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	collect(used, reflect.ValueOf(full()))
	for name, filled := range used {
		if !filled && !slices.Contains(unsaid(), name) {
			t.Errorf("field %s has no key: add it to the keys of its file and to full(), or to unsaid()", name)
		}
	}
	for _, name := range unsaid() {
		if _, ok := used[name]; !ok {
			t.Errorf("there is no field %s; take it out of unsaid()", name)
		}
	}
	files := Render(full(), nil)
	back, problems := Parse(files)
	if d := difference(values(back), values(full())); len(problems) > 0 || d != "" {
		t.Errorf("%v %s in\n%s", problems, d, printed(files))
	}
}
