package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
)

// awkward are texts that YAML or Markdown could take for something else.
func awkward() []string {
	return []string{
		"yes", "on", "null", "~", "1.0", "0x1F", "010", "1e3", "true", "- x", "a: b", "# x", "x #y", "*a", "&a", "!t", "%d", "@a", "`a`", "|", ">", "{a}", "[a]", "---", "...",
		"a\nb", "a\n\nb\n", "\n a", " a", "a ", "a\n", "a\n\n", "\ta", "a\tb\nc", "a \nb", "\r", "a\r\nb", "---\na: 1\n---\n", "\u2028", "\ufeffa", "é😀", "\u0085", "\u0001", "\"", "'", "\\n", "?", "? a",
		"a:", ":a", "a,b", "<<", "=", "2024-01-01", "12:30:45", "#", "first\n  second\n# third\n", "{{payload.a}}", "a\n---\nb", "\u00a0", "x\u00a0", "\x7f", "\ufffd", ".", "..", "0", "-", "--- a", "a\n\tb",
	}
}

func anyText() *rapid.Generator[string] {
	free := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
	return rapid.OneOf(rapid.SampledFrom(awkward()), free, rapid.Map(rapid.SliceOfN(rapid.SampledFrom(awkward()), 2, 3), func(parts []string) string {
		return strings.Join(parts, "\n")
	}))
}

func filled(g *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Map(g, func(s string) string {
		if strings.TrimSpace(s) == "" {
			return "x" + s
		}
		return s
	})
}

// oneLine is a text without line breaks.
func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

func partName() *rapid.Generator[string] {
	return rapid.StringMatching(`[A-Za-z0-9äЖ日_]([A-Za-z0-9 ._ß漢é+@&,()'-]{0,8}[A-Za-z0-9_-])?`)
}

func secretList() *rapid.Generator[[]string] {
	return orNil(rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z][A-Z0-9_]{0,6}`), 1, 3, rapid.ID[string]))
}

// orNil is nil half of the time: nothing is nil, never empty.
func orNil[T any](g *rapid.Generator[[]T]) *rapid.Generator[[]T] {
	return rapid.OneOf(rapid.Just[[]T](nil), g)
}

func orNone[T any](g *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.OneOf(rapid.Just[*T](nil), rapid.Ptr(g, false))
}

func textTable(t *rapid.T, label string) map[string]string {
	m := rapid.MapOfN(anyText(), rapid.Map(anyText(), func(s string) string { return strings.ReplaceAll(s, hidden, "") }), 0, 3).Draw(t, label)
	if len(m) == 0 {
		return nil
	}
	return m
}

func genServers(t *rapid.T) map[string]lineshaft.MCPServer {
	var out map[string]lineshaft.MCPServer
	for _, name := range rapid.SliceOfNDistinct(rapid.Map(filled(anyText()), func(s string) string { return lineshaft.Clip(s, 20) }), 0, 2, rapid.ID[string]).Draw(t, "server names") {
		if out == nil {
			out = map[string]lineshaft.MCPServer{}
		}
		switch rapid.IntRange(0, 2).Draw(t, "server") {
		case 0:
			out[name] = lineshaft.MCPServer{Command: filled(anyText()).Draw(t, "command"), Args: orNil(rapid.SliceOfN(anyText(), 1, 3)).Draw(t, "args"), Env: textTable(t, "env")}
		case 1:
			out[name] = lineshaft.MCPServer{URL: "https://tools.test/a?b=c#d", Headers: textTable(t, "headers")}
		default:
			out[name] = lineshaft.MCPServer{WarpID: filled(anyText()).Draw(t, "warp id")}
		}
	}
	return out
}

func genConfig(t *rapid.T, local, runners []string) lineshaft.AgentConfig {
	word := rapid.Map(anyText(), func(s string) string { return lineshaft.Clip(s, 40) })
	number := func(least, most int) *rapid.Generator[*int] { return orNone(rapid.IntRange(least, most)) }
	c := lineshaft.AgentConfig{
		Name: word.Draw(t, "label"), ModelID: word.Draw(t, "model"), BasePrompt: anyText().Draw(t, "base prompt"), EnvironmentID: word.Draw(t, "environment"),
		RunnerID: rapid.SampledFrom(append(runners, "", "0198c0de-0000-7000-8000-00000000aaaa")).Draw(t, "runner"), WorkerHost: rapid.SampledFrom([]string{"", "hosted", "my-host"}).Draw(t, "host"),
		Secrets: secretList().Draw(t, "secrets"), MCPServers: genServers(t),
		IdleTimeoutMinutes: number(0, 60).Draw(t, "idle"), TimeoutMinutes: number(1, 9).Draw(t, "timeout"), StallMinutes: number(1, 9).Draw(t, "stall"),
		QueueTimeoutMinutes: number(1, 9).Draw(t, "queue"), MaxAttempts: number(1, 20).Draw(t, "attempts"), ComputerUseEnabled: orNone(rapid.Bool()).Draw(t, "computer"), ComputerUseModelID: word.Draw(t, "screen model"),
	}
	specs := append([]string{"acme/skills:review", "acme/skills:a/b/SKILL.md", "skills:x"}, local...)
	c.Skills = orNil(rapid.SliceOfNDistinct(rapid.SampledFrom(specs), 1, 2, rapid.ID[string])).Draw(t, "skills")
	if rapid.Bool().Draw(t, "harness") {
		c.Harness = &lineshaft.HarnessConfig{
			Type: rapid.SampledFrom(append(lineshaft.HarnessTypes(), "")).Draw(t, "type"), ModelID: anyText().Draw(t, "harness model"),
			ReasoningLevel: rapid.SampledFrom([]string{"", "high", "no"}).Draw(t, "level"), Command: orNil(rapid.SliceOfN(anyText(), 1, 3)).Draw(t, "command"),
		}
		if auth := orNone(rapid.SampledFrom([]lineshaft.HarnessAuth{{}, {Source: "managedSecret", SecretName: "KEY"}})); slices.Contains(append(lineshaft.KeyedHarnesses(), ""), c.Harness.Type) {
			c.Harness.Auth = auth.Draw(t, "auth")
		}
		if c.ModelID = ""; c.Harness.IsZero() {
			c.Harness = nil
		}
	}
	if c.Secrets == nil && rapid.Bool().Draw(t, "no secrets") {
		c.Secrets = []string{}
	}
	if c.MCPServers == nil && rapid.Bool().Draw(t, "no servers") {
		c.MCPServers = map[string]lineshaft.MCPServer{}
	}
	if rapid.Bool().Draw(t, "budget") {
		c.Budget = &lineshaft.Budget{MaxTokens: rapid.Int64Range(0, maxTokens).Draw(t, "tokens"), MaxCostMicros: rapid.Int64Range(0, maxCostMicros).Draw(t, "micros")}
	}
	if rapid.Bool().Draw(t, "concurrency") {
		c.Concurrency = &lineshaft.Concurrency{
			Key:    rapid.SampledFrom([]string{"k", "{{payload.a.b}}/x", " # ", "yes"}).Draw(t, "key"),
			Policy: rapid.SampledFrom([]lineshaft.ConcurrencyPolicy{"", "queue", "skip", "cancel_previous", "followup"}).Draw(t, "policy"),
		}
	}
	return c
}

func genPayload(t *rapid.T) json.RawMessage {
	scalar := rapid.SampledFrom([]string{`"a"`, `"yes"`, `"1"`, `1`, `1.0`, `-0`, `12345678901234567890123`, `1e3`, `1E+3`, `0.5`, `true`, `null`, `"a: b"`, `"\n"`, `"😀"`})
	n := &node{kind: objectNode}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "1", "yes", "a.b", "x y", "null", "#", "é", "A"}), 0, 3, rapid.ID[string]).Draw(t, "fields") {
		list := "[" + strings.Join(rapid.SliceOfN(scalar, 0, 3).Draw(t, "set"), ",") + "]"
		text := rapid.SampledFrom([]string{list, `{"in":` + list + `}`, `{"exists":true}`, `{"nested":{"deeper":` + list + `}}`, `{"not_in":` + list + `,"exists":true}`}).Draw(t, "leaf")
		value, err := fromJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		n.fields = append(n.fields, field{key: name, value: value})
	}
	if len(n.fields) == 0 {
		return nil
	}
	return json.RawMessage(n.json())
}

func genChoice(t *rapid.T) *lineshaft.Choice {
	some := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "yes", "1", "main", "x/y", "# b"}), 1, 3)
	switch rapid.IntRange(0, 3).Draw(t, "choice") {
	case 0:
		return &lineshaft.Choice{In: some.Draw(t, "in")}
	case 1:
		return &lineshaft.Choice{NotIn: some.Draw(t, "not in")}
	case 2:
		return &lineshaft.Choice{In: some.Draw(t, "in"), NotIn: []string{"other"}}
	}
	return nil
}

func genSets(t *rapid.T, f *lineshaft.TriggerFilter, keys ...string) {
	for _, key := range keys {
		f.Put(key, genChoice(t))
	}
}

func genTrigger(t *rapid.T, hooks []string) lineshaft.Trigger {
	kinds := []string{"schedule", "run", "github", "linear", "webhook"}
	trigger := lineshaft.Trigger{Provider: rapid.SampledFrom(kinds).Draw(t, "provider"), Event: "issue_created"}
	f := &trigger.Filter
	switch trigger.Provider {
	case "schedule":
		trigger.Event = lineshaft.EventCronFired
		trigger.Schedule = &lineshaft.Timing{
			Cron: rapid.SampledFrom([]string{"0 9 * * 1-5", "@daily", "@every 1h"}).Draw(t, "cron"), Timezone: rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin"}).Draw(t, "zone"),
			Overlap: rapid.SampledFrom([]lineshaft.Overlap{"", "skip", "queue"}).Draw(t, "overlap"),
		}
	case "run":
		trigger.Event = lineshaft.EventFinished
		genSets(t, f, "agents", "automations", "factories")
		f.Put("states", orNone(rapid.Just(lineshaft.Choice{In: []string{"FAILED"}})).Draw(t, "states"))
	case "github":
		trigger.Event = rapid.SampledFrom([]string{"pull_request_opened", "pull_request_*"}).Draw(t, "event")
		genSets(t, f, "labels", "branches", rapid.SampledFrom([]string{"base_branches", "baseBranches"}).Draw(t, "spelling"))
		f.Payload = genPayload(t)
		f.Put("pr_numbers", orNone(rapid.Just(lineshaft.Choice{In: []string{"7", "12"}, Whole: true})).Draw(t, "numbers"))
	case "linear":
		genSets(t, f, "labels", "team_ids", "creator_ids")
		f.Payload = genPayload(t)
	case "webhook":
		trigger.Event = lineshaft.EventReceived
		f.WebhookIDs = []string{"9b2f"}
		if len(hooks) > 0 {
			f.Webhooks = orNil(rapid.SliceOfN(rapid.SampledFrom(hooks), 1, 2)).Draw(t, "webhooks")
		}
		f.Payload = genPayload(t)
	}
	return trigger
}

func genWebhook(t *rapid.T, name string) lineshaft.Webhook {
	w := lineshaft.Webhook{
		Name: name, AuthMode: rapid.SampledFrom(lineshaft.AuthModes()).Draw(t, "mode"), SecretName: "HOOK_SECRET",
		DeliveryIDHeader: rapid.SampledFrom([]string{"", "X-Id"}).Draw(t, "header"), Enabled: rapid.Bool().Draw(t, "enabled"),
		RateLimit: rapid.IntRange(0, 100).Draw(t, "rate"), MaxBodyBytes: rapid.IntRange(1, lineshaft.MaxWebhookBytes).Draw(t, "bytes"), ReplayGuard: rapid.Bool().Draw(t, "guard"),
	}
	if w.AuthMode != lineshaft.AuthSignature {
		return w
	}
	if w.SignatureScheme = rapid.SampledFrom([]string{"github", "hmac"}).Draw(t, "scheme"); w.SignatureScheme == "hmac" {
		w.HMAC = lineshaft.WebhookHMAC{
			Header: "X-Sig", Prefix: rapid.SampledFrom([]string{"", "sha256=", "v1: ", " "}).Draw(t, "prefix"), Digest: rapid.SampledFrom([]string{"", "sha1", "sha512"}).Draw(t, "digest"),
			Encoding: rapid.SampledFrom([]string{"", "base64"}).Draw(t, "encoding"), Template: "{timestamp}.{body}", TimestampHeader: "X-Time", IDHeader: rapid.SampledFrom([]string{"", "X-Nr"}).Draw(t, "id"),
		}
	}
	return w
}

func genRunner(t *rapid.T, name string) lineshaft.Runner {
	r := lineshaft.Runner{Name: name, Config: lineshaft.RunnerConfig{
		Description: lineshaft.Clip(anyText().Draw(t, "description"), 100), Platform: rapid.SampledFrom([]string{"", "linux/amd64"}).Draw(t, "platform"),
		Image: rapid.SampledFrom([]string{"", "golang:1.26"}).Draw(t, "image"), SetupCommands: orNil(rapid.SliceOfN(filled(anyText()), 1, 3)).Draw(t, "commands"),
		Shape: lineshaft.InstanceShape{VCPUs: rapid.IntRange(0, 8).Draw(t, "cpus"), MemoryGB: rapid.IntRange(0, 8).Draw(t, "memory")},
	}}
	if r.Config.Platform == "" && rapid.Bool().Draw(t, "block") {
		r.Config.PlatformParts = rapid.SampledFrom([]*lineshaft.PlatformParts{
			{}, {OS: "linux", Arch: "aarch64"}, {OS: "macos", Mac: &lineshaft.MacPlatform{Version: "27"}}, {Linux: &lineshaft.LinuxPlatform{RegistryCredentialSecretName: "R"}},
		}).Draw(t, "platform block")
	}
	return r
}

// namesOf draws names of parts in order, none of which differ in case only.
func namesOf(t *rapid.T, label string) []string {
	return sorted(rapid.SliceOfNDistinct(partName(), 0, 2, strings.ToLower).Draw(t, label))
}

// genDefinition makes a definition as Parse gives it.
func genDefinition(t *rapid.T) *Definition {
	d := &Definition{}
	for _, name := range namesOf(t, "webhooks") {
		d.Webhooks = append(d.Webhooks, genWebhook(t, name))
	}
	for _, name := range namesOf(t, "runners") {
		d.Runners = append(d.Runners, genRunner(t, name))
	}
	runners := partNames(d.Runners, func(r lineshaft.Runner) string { return r.Name })
	hooks := partNames(d.Webhooks, func(w lineshaft.Webhook) string { return w.Name })
	body := rapid.Map(anyText(), func(s string) string { return bodyOf(s) })
	var shared []string
	for _, name := range namesOf(t, "skills") {
		shared = append(shared, name)
		d.Skills = append(d.Skills, lineshaft.Skill{Name: name, Description: filled(anyText()).Draw(t, "skill description"), Body: body.Draw(t, "body")})
	}
	const foreman = "zz foreman"
	agents := sorted(append(namesOf(t, "agents"), foreman))
	for _, name := range agents {
		a := lineshaft.Agent{Name: name, Type: lineshaft.AgentType(rapid.SampledFrom([]string{"CUSTOM", "TRIAGE", "REVIEW"}).Draw(t, "type")), Description: lineshaft.Clip(anyText().Draw(t, "description"), 100), Prompt: anyText().Draw(t, "prompt")}
		own := append([]string{}, shared...)
		for _, skill := range namesOf(t, "own skills") {
			own = append(own, skill)
			d.Skills = append(d.Skills, lineshaft.Skill{Agent: name, Name: skill, Description: "d", Body: body.Draw(t, "body")})
		}
		if a.Config = genConfig(t, own, runners); name == foreman {
			a.Type = lineshaft.AgentForeman
		}
		if checkAgent(a) != nil {
			a.Config.ModelID = ""
		}
		d.Agents = append(d.Agents, a)
	}
	for _, name := range namesOf(t, "automations") {
		a := lineshaft.Automation{
			Name: name, Enabled: rapid.Bool().Draw(t, "enabled"), Agent: rapid.SampledFrom(append(agents, "")).Draw(t, "agent"),
			MaxRunsPerHour: rapid.IntRange(0, 9).Draw(t, "brake"), Prompt: filled(anyText()).Draw(t, "prompt"), Config: genConfig(t, shared, runners),
		}
		for range rapid.IntRange(1, 3).Draw(t, "triggers") {
			a.Triggers = append(a.Triggers, genTrigger(t, hooks))
		}
		d.Automations = append(d.Automations, a)
	}
	d.Factory = lineshaft.Factory{
		Name: lineshaft.Clip(rapid.Map(filled(anyText()), oneLine).Draw(t, "name"), 100), Alias: rapid.SampledFrom([]string{"", "a b", "1.0", "no"}).Draw(t, "alias"), Description: lineshaft.Clip(anyText().Draw(t, "description"), 100),
		Defaults: genConfig(t, shared, runners), Secrets: secretList().Draw(t, "secrets"), MCPServers: genServers(t), Foreman: foreman,
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "repositories") {
		d.Factory.Repositories = append(d.Factory.Repositories, lineshaft.Repository{Owner: "1.0", Name: fmt.Sprintf("r%d", i)})
	}
	return d
}
