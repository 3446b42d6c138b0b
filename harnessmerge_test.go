package lineshaft_test

import (
	"reflect"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// definitionLayers are what an automation, its agent and the factory's defaults say, in
// this order, on a server with a default model.
func definitionLayers(configs ...lineshaft.AgentConfig) []lineshaft.Layer {
	var layers []lineshaft.Layer
	for i, origin := range []string{"automation", "agent", "factory"} {
		layers = append(layers, lineshaft.Layer{Origin: origin, Config: configs[i], Replaces: true})
	}
	return append(layers, lineshaft.Layer{Origin: "server", Config: lineshaft.AgentConfig{ModelID: "default"}})
}

func TestF2HarnessIsInheritedPartByPart(t *testing.T) {
	t.Parallel()
	type config = lineshaft.AgentConfig
	auth := &lineshaft.HarnessAuth{Source: lineshaft.AuthManagedSecret, SecretName: "KEY"}
	claude := config{Harness: &lineshaft.HarnessConfig{Type: "claude", ModelID: "opus", ReasoningLevel: "high", Auth: auth, Permissions: lineshaft.PermissionsAsk}}
	only := func(h lineshaft.HarnessConfig) config { return config{Harness: &h} }
	for name, test := range map[string]struct {
		automation, agent, factory config
		want                       *lineshaft.HarnessConfig
		model                      string
		origins                    map[string]string
	}{
		"all of it": {
			factory: claude, want: claude.Harness, model: "default",
			origins: map[string]string{"harness": "factory", "harness.permissions": "factory", "model_id": "server"},
		},
		"one part changed": {
			automation: only(lineshaft.HarnessConfig{ModelID: "sonnet"}), agent: only(lineshaft.HarnessConfig{ReasoningLevel: "low"}), factory: claude,
			want:  &lineshaft.HarnessConfig{Type: "claude", ModelID: "sonnet", ReasoningLevel: "low", Auth: auth, Permissions: lineshaft.PermissionsAsk},
			model: "default",
			origins: map[string]string{
				"harness": "automation", "harness.type": "factory", "harness.reasoning_level": "agent", "harness.auth": "factory", "harness.permissions": "factory", "model_id": "server",
			},
		},
		"cleared": {
			agent: only(lineshaft.HarnessConfig{ReasoningLevel: lineshaft.ReasoningDefault, Auth: &lineshaft.HarnessAuth{}}), factory: claude,
			want:    &lineshaft.HarnessConfig{Type: "claude", ModelID: "opus", Permissions: lineshaft.PermissionsAsk},
			model:   "default",
			origins: map[string]string{"harness": "agent", "harness.type": "factory", "harness.model_id": "factory", "harness.permissions": "factory", "model_id": "server"},
		},
		"another agent has its own parts": {
			agent: only(lineshaft.HarnessConfig{Type: "codex"}), factory: claude,
			want: &lineshaft.HarnessConfig{Type: "codex", Permissions: lineshaft.PermissionsAsk}, model: "default",
			origins: map[string]string{"harness": "agent", "harness.permissions": "factory", "model_id": "server"},
		},
		"a model is the built-in agent's": {
			agent: config{ModelID: "small"}, factory: claude,
			want: &lineshaft.HarnessConfig{Type: "builtin", Permissions: lineshaft.PermissionsAsk}, model: "small",
			origins: map[string]string{"harness": "agent", "harness.permissions": "factory", "model_id": "agent"},
		},
		"which other agents do not inherit": {
			agent: only(lineshaft.HarnessConfig{Type: "claude"}), factory: config{ModelID: "small"},
			want: &lineshaft.HarnessConfig{Type: "claude"}, model: "default",
			origins: map[string]string{"harness": "agent", "model_id": "server"},
		},
		"and the built-in agent does": {
			agent: only(lineshaft.HarnessConfig{Type: "oz"}), factory: config{ModelID: "small"},
			want: &lineshaft.HarnessConfig{Type: "oz"}, model: "small",
			origins: map[string]string{"harness": "agent", "model_id": "factory"},
		},
	} {
		got, origins := lineshaft.Resolve(definitionLayers(test.automation, test.agent, test.factory)...)
		if !reflect.DeepEqual(got.Harness, test.want) || got.ModelID != test.model {
			t.Errorf("%s: %+v with model %q, want %+v with %q", name, got.Harness, got.ModelID, test.want, test.model)
		}
		for field, origin := range test.origins {
			if origins[field] != origin {
				t.Errorf("%s: %s is of the %q, want %q", name, field, origins[field], origin)
			}
		}
		if name != "cleared" && len(origins) != len(test.origins) {
			t.Errorf("%s: origins are %v, want %v", name, origins, test.origins)
		}
	}
}

// TestF2SecretsAndServersReplace: the narrowest place of a definition that names any
// counts, and what is for everyone is added to it.
func TestF2SecretsAndServersReplace(t *testing.T) {
	t.Parallel()
	config := func(names ...string) lineshaft.AgentConfig {
		c := lineshaft.AgentConfig{Secrets: []string{}, MCPServers: map[string]lineshaft.MCPServer{}}
		for _, name := range names {
			c.Secrets, c.MCPServers[name] = append(c.Secrets, name), lineshaft.MCPServer{Command: "c"}
		}
		return c
	}
	for name, test := range map[string]struct {
		automation, agent, factory lineshaft.AgentConfig
		want                       []string
	}{
		"inherited":        {factory: config("DEFAULT"), want: []string{"DEFAULT", "SHARED"}},
		"the agent's":      {agent: config("AGENT"), factory: config("DEFAULT"), want: []string{"AGENT", "SHARED"}},
		"the automation's": {automation: config("AUTO"), agent: config("AGENT"), factory: config("DEFAULT"), want: []string{"AUTO", "SHARED"}},
		"none":             {automation: config(), agent: config("AGENT"), factory: config("DEFAULT"), want: []string{"SHARED"}},
	} {
		layers := append(definitionLayers(test.automation, test.agent, test.factory), lineshaft.Layer{Origin: "factory", Config: config("SHARED")})
		got, origins := lineshaft.Resolve(layers...)
		if !reflect.DeepEqual(got.Secrets, test.want) {
			t.Errorf("%s: secrets %v, want %v", name, got.Secrets, test.want)
		}
		if !reflect.DeepEqual(got.MCPServers, config(test.want...).MCPServers) {
			t.Errorf("%s: tool servers %v, want %v", name, got.MCPServers, test.want)
		}
		for _, secret := range []string{"DEFAULT", "AGENT", "AUTO"} {
			if given := origins[lineshaft.SecretOrigin(secret)] != ""; given != (secret == test.want[0]) {
				t.Errorf("%s: origins are %v", name, origins)
			}
		}
	}
}
