package lineshaft_test

import (
	"reflect"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestX7ToolSecrets(t *testing.T) {
	t.Parallel()
	config := lineshaft.AgentConfig{Secrets: []string{"OWN", "B"}, MCPServers: map[string]lineshaft.MCPServer{
		"stdio": {Command: "c", Args: []string{"{{NOT_HERE}}"}, Env: map[string]string{"X": "{{ A }}:{{B}}", "Y": "{{A}}", "Z": "{{}} {A} {{9}} {{A B}}"}},
		"http":  {URL: "https://t.test/{{NOR_HERE}}", Headers: map[string]string{"Authorization": "Bearer {{C}}"}},
		"warp":  {WarpID: "linear"},
	}}
	if got := config.ToolSecrets(); !reflect.DeepEqual(got, []string{"C", "A", "B"}) {
		t.Errorf("tool servers name %q", got)
	}
	if got := config.NamedSecrets(); !reflect.DeepEqual(got, []string{"OWN", "B", "C", "A"}) {
		t.Errorf("all named: %q", got)
	}
	if got := (lineshaft.AgentConfig{}).NamedSecrets(); len(got) != 0 {
		t.Errorf("nothing names %q", got)
	}
}

// The value of a secret is not looked into, and the server it was made of stays as it is.
func TestX7FillToolServer(t *testing.T) {
	t.Parallel()
	server := lineshaft.MCPServer{URL: "https://t.test", Headers: map[string]string{"A": "Bearer {{TOKEN}}", "B": "literal"}}
	filled, missing := server.Fill(lineshaft.SecretValues{"TOKEN": "{{OTHER}}$1", "OTHER": "x"})
	if missing != "" || filled.Headers["A"] != "Bearer {{OTHER}}$1" || filled.Headers["B"] != "literal" || filled.URL != server.URL {
		t.Errorf("filled %+v, missing %q", filled, missing)
	}
	if server.Headers["A"] != "Bearer {{TOKEN}}" {
		t.Errorf("the server changed to %+v", server)
	}
	if _, missing := server.Fill(nil); missing != "TOKEN" {
		t.Errorf("missing %q", missing)
	}
}

// The policy is looked up apart from the rest: choosing another agent keeps it.
func TestR3PermissionsResolveByThemselves(t *testing.T) {
	t.Parallel()
	layer := func(origin string, h lineshaft.HarnessConfig) lineshaft.Layer {
		return lineshaft.Layer{Origin: origin, Config: lineshaft.AgentConfig{Harness: &h}}
	}
	config, origins := lineshaft.Resolve(
		layer("run", lineshaft.HarnessConfig{Type: "codex"}),
		layer("agent", lineshaft.HarnessConfig{Permissions: "ask"}),
		layer("factory", lineshaft.HarnessConfig{Type: "claude", ModelID: "m", Permissions: "deny"}))
	want := lineshaft.HarnessConfig{Type: "codex", Permissions: "ask"}
	if !reflect.DeepEqual(*config.Harness, want) || origins["harness"] != "run" || origins["harness.permissions"] != "agent" {
		t.Errorf("%+v of %v", config.Harness, origins)
	}
	config, origins = lineshaft.Resolve(
		layer("run", lineshaft.HarnessConfig{Permissions: "allow"}),
		layer("agent", lineshaft.HarnessConfig{Type: "claude", Permissions: "ask"}))
	want = lineshaft.HarnessConfig{Type: "claude", Permissions: "allow"}
	if !reflect.DeepEqual(*config.Harness, want) || origins["harness"] != "agent" || origins["harness.permissions"] != "run" {
		t.Errorf("%+v of %v", config.Harness, origins)
	}
	bad := lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Permissions: "maybe"}}
	if err := bad.Validate(); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
		t.Errorf("an unknown policy is %v", err)
	}
}

// R-3, S-2: readers see the names of secrets and no literal value.
func TestR3S2LiteralValuesAreNotShown(t *testing.T) {
	t.Parallel()
	config := lineshaft.AgentConfig{ModelID: "m", MCPServers: map[string]lineshaft.MCPServer{
		"cmd": {Command: "c", Args: []string{"-v"}, Env: map[string]string{
			"A": "hunter2", "B": "{{TOKEN}}", "C": "Bearer {{TOKEN}}", "D": "", "E": "{{ TOKEN }}", "F": "{{}}", "G": "{{A}}{{B}}", "H": "{{A}}\n",
		}},
		"url": {URL: "https://user:hunter2@mcp.test/x?y=1", Headers: map[string]string{"Authorization": "Bearer hunter2", "X-Key": "{{KEY}}"}},
		"odd": {URL: "https://user:hunter2@mcp.test/%zz"},
	}}
	want := map[string]lineshaft.MCPServer{
		"cmd": {Command: "c", Args: []string{"-v"}, Env: map[string]string{
			"A": "***", "B": "{{TOKEN}}", "C": "***", "D": "***", "E": "{{ TOKEN }}", "F": "***", "G": "***", "H": "***",
		}},
		"url": {URL: "https://redacted@mcp.test/x?y=1", Headers: map[string]string{"Authorization": "***", "X-Key": "{{KEY}}"}},
		"odd": {URL: "***"},
	}
	shown := config.Shown()
	if !reflect.DeepEqual(shown.MCPServers, want) || shown.ModelID != "m" {
		t.Errorf("shown %+v", shown)
	}
	if config.MCPServers["cmd"].Env["A"] != "hunter2" || config.MCPServers["url"].URL != "https://user:hunter2@mcp.test/x?y=1" {
		t.Errorf("showing it changed it to %+v", config)
	}
	if shown := (lineshaft.AgentConfig{}).Shown(); shown.MCPServers != nil {
		t.Errorf("of nothing %+v is shown", shown)
	}
}
