package lineshaft_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
)

func TestR3ConfigLimits(t *testing.T) {
	t.Parallel()
	type config = lineshaft.AgentConfig
	for name, test := range map[string]struct {
		config config
		field  string
	}{
		"empty":               {config{}, ""},
		"longest name":        {config{Name: strings.Repeat("ü", 200)}, ""},
		"too long name":       {config{Name: strings.Repeat("ü", 201)}, "config.name"},
		"NUL in name":         {config{Name: "\x00"}, "config.name"},
		"base prompt":         {config{BasePrompt: strings.Repeat("x", lineshaft.MaxPromptBytes+1)}, "config.base_prompt"},
		"NUL in base prompt":  {config{BasePrompt: "\x00"}, "config.base_prompt"},
		"long model":          {config{ModelID: strings.Repeat("m", 257)}, "config.model_id"},
		"NUL in environment":  {config{EnvironmentID: "e\x00"}, "config.environment_id"},
		"long worker":         {config{WorkerHost: strings.Repeat("w", 257)}, "config.worker_host"},
		"long runner":         {config{RunnerID: strings.Repeat("r", 257)}, "config.runner_id"},
		"many tool servers":   {config{MCPServers: map[string]lineshaft.MCPServer{"a": {Command: "x", Args: []string{strings.Repeat("x", lineshaft.MaxToolBytes)}}}}, "config.mcp_servers"},
		"long command":        {config{Harness: &lineshaft.HarnessConfig{Type: "command", Command: []string{strings.Repeat("x", lineshaft.MaxToolBytes+1)}}}, "config.harness.command"},
		"long model of it":    {config{Harness: &lineshaft.HarnessConfig{ModelID: strings.Repeat("x", 257)}}, "config.harness.model_id"},
		"bad skill":           {config{Skills: []string{"ok", "\xff"}}, "config.skills"},
		"bad secret":          {config{Secrets: []string{"\x00"}}, "config.secrets[0].name"},
		"idle 0":              {config{IdleTimeoutMinutes: new(0)}, ""},
		"idle 60":             {config{IdleTimeoutMinutes: new(60)}, ""},
		"idle -1":             {config{IdleTimeoutMinutes: new(-1)}, "config.idle_timeout_minutes"},
		"idle 61":             {config{IdleTimeoutMinutes: new(61)}, "config.idle_timeout_minutes"},
		"timeout 0":           {config{TimeoutMinutes: new(0)}, "config.timeout_minutes"},
		"timeout too long":    {config{TimeoutMinutes: new(lineshaft.MaxTimeoutMinutes + 1)}, "config.timeout_minutes"},
		"stall 0":             {config{StallMinutes: new(0)}, "config.stall_minutes"},
		"queue 0":             {config{QueueTimeoutMinutes: new(0)}, "config.queue_timeout_minutes"},
		"queue 30 days":       {config{QueueTimeoutMinutes: new(30 * 24 * 60)}, ""},
		"queue more":          {config{QueueTimeoutMinutes: new(30*24*60 + 1)}, "config.queue_timeout_minutes"},
		"attempts 0":          {config{MaxAttempts: new(0)}, "config.retry.max_attempts"},
		"attempts 21":         {config{MaxAttempts: new(21)}, "config.retry.max_attempts"},
		"budget":              {config{Budget: &lineshaft.Budget{MaxTokens: 1}}, ""},
		"negative tokens":     {config{Budget: &lineshaft.Budget{MaxTokens: -1}}, "config.budget"},
		"negative cost":       {config{Budget: &lineshaft.Budget{MaxCostMicros: -1}}, "config.budget"},
		"harness":             {config{Harness: &lineshaft.HarnessConfig{Type: "claude"}}, ""},
		"harness mode":        {config{Harness: &lineshaft.HarnessConfig{Type: "codex", Mode: lineshaft.ModeCommand}}, ""},
		"unknown mode":        {config{Harness: &lineshaft.HarnessConfig{Type: "codex", Mode: "loud"}}, "config.harness.mode"},
		"mode without agent":  {config{Harness: &lineshaft.HarnessConfig{Type: "shell", Mode: lineshaft.ModeACP}}, "config.harness.mode"},
		"unknown harness":     {config{Harness: &lineshaft.HarnessConfig{Type: "vim"}}, "config.harness.type"},
		"concurrency":         {config{Concurrency: &lineshaft.Concurrency{Key: "k"}}, ""},
		"no key":              {config{Concurrency: &lineshaft.Concurrency{Policy: "queue"}}, "config.concurrency.key"},
		"long key":            {config{Concurrency: &lineshaft.Concurrency{Key: strings.Repeat("k", 257)}}, "config.concurrency.key"},
		"NUL in key":          {config{Concurrency: &lineshaft.Concurrency{Key: "\x00"}}, "config.concurrency.key"},
		"unknown policy":      {config{Concurrency: &lineshaft.Concurrency{Key: "k", Policy: "first"}}, "config.concurrency.policy"},
		"policy cancel":       {config{Concurrency: &lineshaft.Concurrency{Key: "k", Policy: lineshaft.PolicyCancelPrevious}}, ""},
		"server without name": {config{MCPServers: map[string]lineshaft.MCPServer{"": {Command: "x"}}}, "config.mcp_servers"},
	} {
		wantField(t, test.config.Validate(), test.field, name)
	}
}

func TestR3MCPServersHaveOneKind(t *testing.T) {
	t.Parallel()
	const field = "config.mcp_servers.s"
	for name, test := range map[string]struct {
		server lineshaft.MCPServer
		field  string
	}{
		"command":         {lineshaft.MCPServer{Command: "x", Args: []string{"-v"}, Env: map[string]string{"A": "{{B}}"}}, ""},
		"url":             {lineshaft.MCPServer{URL: "https://mcp.example.com/sse", Headers: map[string]string{"A": "b"}}, ""},
		"warp id":         {lineshaft.MCPServer{WarpID: "w"}, ""},
		"none":            {lineshaft.MCPServer{}, field},
		"two":             {lineshaft.MCPServer{Command: "x", URL: "https://a"}, field},
		"all":             {lineshaft.MCPServer{Command: "x", URL: "https://a", WarpID: "w"}, field},
		"env with url":    {lineshaft.MCPServer{URL: "https://a", Env: map[string]string{"A": "b"}}, field},
		"headers alone":   {lineshaft.MCPServer{Command: "x", Headers: map[string]string{"A": "b"}}, field},
		"file url":        {lineshaft.MCPServer{URL: "file:///etc/passwd"}, field + ".url"},
		"no host":         {lineshaft.MCPServer{URL: "https://"}, field + ".url"},
		"not a url":       {lineshaft.MCPServer{URL: "http://a b/\x7f"}, field + ".url"},
		"args with a url": {lineshaft.MCPServer{URL: "https://a", Args: []string{"x"}}, field},
	} {
		config := lineshaft.AgentConfig{MCPServers: map[string]lineshaft.MCPServer{"s": test.server}}
		wantField(t, config.Validate(), test.field, name)
	}
}

func TestR3NarrowestLayerWins(t *testing.T) {
	t.Parallel()
	config, origins := lineshaft.Resolve(
		lineshaft.Layer{Origin: "run", Config: lineshaft.AgentConfig{ModelID: "big", IdleTimeoutMinutes: new(0)}},
		lineshaft.Layer{Origin: "agent", Config: lineshaft.AgentConfig{ModelID: "small", Skills: []string{"a"}, Name: "ann"}},
		lineshaft.Layer{Origin: "server", Config: lineshaft.AgentConfig{Skills: []string{"b", "c"}, IdleTimeoutMinutes: new(10), WorkerHost: "hosted"}},
	)
	if config.ModelID != "big" || config.Name != "ann" || config.WorkerHost != "hosted" || *config.IdleTimeoutMinutes != 0 ||
		!reflect.DeepEqual(config.Skills, []string{"a"}) {
		t.Errorf("resolved to %+v", config)
	}
	want := map[string]string{"model_id": "run", "idle_timeout_minutes": "run", "name": "agent", "skills": "agent", "worker_host": "server"}
	if !reflect.DeepEqual(origins, want) {
		t.Errorf("origins are %v, want %v", origins, want)
	}
}

// fields of AgentConfig, each with the name that origins use for it.
func configFields() map[string]string {
	names := map[string]string{}
	kind := reflect.TypeFor[lineshaft.AgentConfig]()
	for i := range kind.NumField() {
		word, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		names[kind.Field(i).Name] = word
	}
	names["MaxAttempts"] = "retry.max_attempts"
	return names
}

// fill sets a field to a value that names the layer it came from.
func fill(config *lineshaft.AgentConfig, field string, layer int) {
	v := reflect.ValueOf(config).Elem().FieldByName(field)
	text := fmt.Sprintf("%s of layer %d", field, layer)
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = text
	case *[]string:
		*p = []string{text}
	case **int:
		*p = new(layer)
	case **bool:
		*p = new(layer%2 == 0)
	case *map[string]lineshaft.MCPServer:
		*p = map[string]lineshaft.MCPServer{text: {}}
	case **lineshaft.HarnessConfig:
		*p = &lineshaft.HarnessConfig{Type: text}
	case **lineshaft.Budget:
		*p = &lineshaft.Budget{MaxTokens: int64(layer)}
	case **lineshaft.Concurrency:
		*p = &lineshaft.Concurrency{Key: text}
	}
}

// For any layers, each field is that of the first layer that sets it, and its origin
// names that layer. A field that is new in AgentConfig is tested separately.
func TestR3ResolveTakesTheFirstThatSpeaks(t *testing.T) {
	t.Parallel()
	fields := configFields()
	rapid.Check(t, func(t *rapid.T) {
		layers := make([]lineshaft.Layer, rapid.IntRange(0, 5).Draw(t, "layers"))
		var want lineshaft.AgentConfig
		origins := map[string]string{}
		for i := range layers {
			layers[i].Origin = fmt.Sprint("layer ", i)
			for field, name := range fields {
				if !rapid.Bool().Draw(t, field) {
					continue
				}
				fill(&layers[i].Config, field, i)
				switch field { // these add up
				case "Secrets":
					want.Secrets = append(want.Secrets, layers[i].Config.Secrets...)
					origins[lineshaft.SecretOrigin(layers[i].Config.Secrets[0])] = layers[i].Origin
					continue
				case "MCPServers":
					if want.MCPServers == nil {
						want.MCPServers = map[string]lineshaft.MCPServer{}
					}
					for server := range layers[i].Config.MCPServers {
						want.MCPServers[server] = lineshaft.MCPServer{}
						origins["mcp_servers."+server] = layers[i].Origin
					}
					continue
				}
				if _, set := origins[name]; !set {
					origins[name] = layers[i].Origin
					fill(&want, field, i)
				}
			}
		}
		got, gotOrigins := lineshaft.Resolve(layers...)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("resolved to %+v, want %+v", got, want)
		}
		if !reflect.DeepEqual(gotOrigins, origins) {
			t.Fatalf("origins are %v, want %v", gotOrigins, origins)
		}
	})
}

// A name in several layers occurs once, with the narrowest one's value.
func TestR3SecretsAndServersAddUp(t *testing.T) {
	t.Parallel()
	server := func(url string) map[string]lineshaft.MCPServer {
		return map[string]lineshaft.MCPServer{"tickets": {URL: url}}
	}
	config, origins := lineshaft.Resolve(
		lineshaft.Layer{Origin: "run", Config: lineshaft.AgentConfig{Secrets: []string{"A", "B"}}},
		lineshaft.Layer{Origin: "agent", Config: lineshaft.AgentConfig{Secrets: []string{"B", "C"}, MCPServers: server("https://near.test")}},
		lineshaft.Layer{Origin: "factory", Config: lineshaft.AgentConfig{MCPServers: server("https://far.test")}})
	if !reflect.DeepEqual(config.Secrets, []string{"A", "B", "C"}) || config.MCPServers["tickets"].URL != "https://near.test" {
		t.Errorf("resolved to %+v", config)
	}
	want := map[string]string{"secrets.A": "run", "secrets.B": "run", "secrets.C": "agent", "mcp_servers.tickets": "agent"}
	if !reflect.DeepEqual(origins, want) {
		t.Errorf("origins are %v, want %v", origins, want)
	}
}

func TestR3FillKnowsEveryField(t *testing.T) {
	t.Parallel()
	for field := range configFields() {
		var config lineshaft.AgentConfig
		fill(&config, field, 1)
		if reflect.ValueOf(config).IsZero() {
			t.Errorf("this test does not know field %s", field)
		}
	}
}

// A stored configuration reads back the same.
func TestR3ConfigSurvivesJSON(t *testing.T) {
	t.Parallel()
	var config, back lineshaft.AgentConfig
	for field := range configFields() {
		fill(&config, field, 1)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(config, back) {
		t.Errorf("%+v came back as %+v", config, back)
	}
	if text := (lineshaft.Concurrency{Key: "k", Policy: lineshaft.PolicySkip}).String(); text != "k (skip)" {
		t.Errorf("text is %q", text)
	}
}
