package control_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// oddText are texts that a file or a database could take for something else.
func oddText() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"plain", "two\nlines\n", "yes", "1.0", "- x: #y", "'\"", "é😀\u2028", "a\r\nb", "---\na: 1\n---\n", " lead", "trail \n\n", "<&>", "{{payload.a}}", "\\u0000", "%s", "\ttab",
	})
}

func somePrompt(t *rapid.T) string { return "x" + oddText().Draw(t, "prompt") }

func someConfig(t *rapid.T, name string) lineshaft.AgentConfig {
	c := lineshaft.AgentConfig{ModelID: rapid.SampledFrom([]string{"", "sonnet", "1.0"}).Draw(t, "model")}
	if rapid.Bool().Draw(t, "secrets of "+name) {
		c.Secrets = []string{"TEAM_TOKEN"}
	}
	if rapid.Bool().Draw(t, "servers of "+name) {
		c.MCPServers = map[string]lineshaft.MCPServer{
			"a b": {Command: "run", Args: []string{oddText().Draw(t, "argument")}, Env: map[string]string{"K": oddText().Draw(t, "env")}},
			"u":   {URL: "https://u.example/x", Headers: map[string]string{"H": "{{TEAM_TOKEN}}"}},
		}
	}
	if rapid.Bool().Draw(t, "numbers of "+name) {
		c.TimeoutMinutes, c.IdleTimeoutMinutes, c.Budget = new(rapid.IntRange(1, 99).Draw(t, "minutes")), new(0), &lineshaft.Budget{MaxTokens: 5}
	}
	return c
}

func someTriggers(t *rapid.T, hooks []string) []lineshaft.Trigger {
	list := []lineshaft.Trigger{{Provider: "schedule", Event: "cron_fired", Schedule: &lineshaft.Timing{Cron: "0 9 * * 1-5", Timezone: "Europe/Berlin"}}}
	for _, hook := range hooks {
		payload := rapid.SampledFrom([]string{
			"", `{"a":["x",1.50,null,true]}`, `{"b":{"nested":{"exists":false}},"a":{"not_in":[12345678901234567890]}}`, `{"yes":{"in":["é<&>"],"exists":true}}`,
		}).Draw(t, "payload")
		list = append(list, lineshaft.Trigger{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{Webhooks: []string{hook}, Payload: json.RawMessage(payload)}})
	}
	return list
}

func someNames(t *rapid.T, what string) []string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b.c", "D e", "0", "yes", "x_y-z"}), 0, 3, rapid.ID[string]).Draw(t, what)
	slices.Sort(names)
	return names
}

// someDefinition draws a definition that a server with the secrets of shop takes.
func someDefinition(t *rapid.T) *definition.Definition {
	d := &definition.Definition{Factory: lineshaft.Factory{
		Name: "F" + strings.Join(strings.Fields(oddText().Draw(t, "name")), " "), Description: oddText().Draw(t, "description"), Defaults: someConfig(t, "factory"), Foreman: "zz",
	}}
	for _, name := range someNames(t, "webhooks") {
		w := lineshaft.Webhook{
			Name: name, AuthMode: rapid.SampledFrom(lineshaft.AuthModes()).Draw(t, "mode"), SecretName: "ISSUES", Enabled: rapid.Bool().Draw(t, "enabled"),
			RateLimit: rapid.IntRange(0, 90).Draw(t, "rate"), MaxBodyBytes: lineshaft.DefaultWebhookBytes,
		}
		if w.AuthMode == lineshaft.AuthSignature {
			w.SignatureScheme = rapid.SampledFrom([]string{"github", "gitlab"}).Draw(t, "scheme")
		}
		d.Webhooks = append(d.Webhooks, w)
	}
	var hooks []string
	for _, w := range d.Webhooks {
		hooks = append(hooks, w.Name)
	}
	for _, name := range append(someNames(t, "agents"), "zz") {
		a := lineshaft.Agent{Name: name, Type: lineshaft.AgentCustom, Description: oddText().Draw(t, "description"), Prompt: somePrompt(t), Config: someConfig(t, name)}
		if name == "zz" {
			a.Type = lineshaft.AgentForeman
		}
		d.Agents = append(d.Agents, a)
	}
	for _, name := range someNames(t, "automations") {
		d.Automations = append(d.Automations, lineshaft.Automation{
			Name: name, Prompt: somePrompt(t), Enabled: rapid.Bool().Draw(t, "on"), Triggers: someTriggers(t, hooks), Config: someConfig(t, name), MaxRunsPerHour: rapid.IntRange(0, 3).Draw(t, "brake"),
		})
	}
	for _, name := range someNames(t, "runners") {
		d.Runners = append(d.Runners, lineshaft.Runner{Name: name, Config: lineshaft.RunnerConfig{Description: oddText().Draw(t, "runner"), SetupCommands: []string{"x " + oddText().Draw(t, "command")}}})
	}
	for _, name := range someNames(t, "skills") {
		d.Skills = append(d.Skills, lineshaft.Skill{Name: name, Description: "x" + oddText().Draw(t, "skill"), Body: "Text.\n"})
	}
	return d
}

// Whatever is applied to a factory, one definition after the other: it is exported as
// it was, and applying that plans nothing.
func TestF5GeneratedDefinitionsRoundTrip(t *testing.T) {
	t.Parallel()
	generator := rapid.Custom(someDefinition)
	each(t, func(b *bench) {
		uid := b.shopFactory()
		for i := range longRounds(200) {
			files := definition.Render(generator.Example(i), nil)
			b.apply(uid, files)
			out := b.export(uid)
			if !maps.Equal(out.Files, files) {
				b.Fatalf("exported %v\nwant %v", out.Files, files)
			}
			parsed, _ := definition.Parse(files)
			again, _ := definition.Parse(out.Files)
			if changes := b.drift(uid, out.Files); len(changes) > 0 || !reflect.DeepEqual(parsed.Agents, again.Agents) {
				b.Fatalf("%+v", changes)
			}
			if done := b.apply(uid, out.Files); done.Changed {
				b.Fatalf("%+v", done)
			}
		}
	})
}
