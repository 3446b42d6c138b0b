package definition

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

// compiled are the published schemas.
func compiled(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	compiler, out := jsonschema.NewCompiler(), map[string]*jsonschema.Schema{}
	for name, text := range Schemas() {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(name+".json", doc); err != nil {
			t.Fatal(err)
		}
		if out[name], err = compiler.Compile(name + ".json"); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// documentOf says which document a file is.
func documentOf(file string) string { return string(classify(strings.Split(file, "/")).kind) }

// complaint is what a schema says about the YAML of a file.
func complaint(t interface{ Fatalf(string, ...any) }, schemas map[string]*jsonschema.Schema, file, text string) error {
	yaml := text
	if parts := frontmatter.Split(text); parts.Found {
		yaml = parts.YAML + "\n"
	}
	n, _, m := parseYAML(yaml, maxWork)
	if m != nil {
		t.Fatalf("%s: %+v", file, m)
	}
	if n == nil {
		n = &node{kind: objectNode}
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(n.json()))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return schemas[documentOf(file)].Validate(value)
}

func TestF3SchemasTakeWhatIsRendered(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	if len(schemas) != len(Documents()) {
		t.Fatalf("there are %d schemas", len(schemas))
	}
	check := func(t interface{ Fatalf(string, ...any) }, files Files) {
		for name, text := range files {
			if documentOf(name) == "" {
				continue
			}
			if err := complaint(t, schemas, name, text); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
		}
	}
	check(t, Example("acme"))
	check(t, Render(full(), nil))
	check(t, sound())
	rapid.Check(t, func(t *rapid.T) { check(t, Render(genDefinition(t), nil)) })
}

// For mistakes that a schema can find, schema and Parse agree.
func TestF3SchemasAgreeWithParse(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	trigger := func(text string) string { return "triggers: [{" + text + "}]" }
	for file, texts := range map[string][]string{
		factoryFile: {
			"name: a", "schemaVersion: v1alpha1", "{schemaVersion: v1, name: a}", "{schemaVersion: v1alpha1, name: 1}", "{schemaVersion: v1alpha1, name: ''}", "{schemaVersion: v1alpha1, name: a, x: 1}",
			"{schemaVersion: v1alpha1, name: a, secrets: [a]}", "{schemaVersion: v1alpha1, name: a, secrets: [{nam: A}]}", "{schemaVersion: v1alpha1, name: a, repositories: [{owner: x}]}",
			"{schemaVersion: v1alpha1, name: a, agentDefaults: {harness: bash}}", "{schemaVersion: v1alpha1, name: a, agentDefaults: {harness: {kind: x}}}", "{schemaVersion: v1alpha1, name: a, mcpServers: {x: {cmd: y}}}",
			"{schemaVersion: v1alpha1, name: a, mcpServers: {x: {command: y, env: {A: 1}}}}", "{schemaVersion: v1alpha1, name: a, repositories: ~}", "[]", "text",
			"{schemaVersion: v1alpha1, name: a, agentDefaults: {budget: {maxCostUsd: -1}}}", "{schemaVersion: v1alpha1, name: a, agentDefaults: {budget: {maxTokens: 1.5}}}",
		},
		"agents/boss/agent.md": {
			"agentType: BOSS", "description: [a]", "timeoutMinutes: 0", "retry: {maxAttempts: 21}", "retry: {}", "concurrency: {policy: skip}", "concurrency: {key: a, policy: b}", "computerUseEnabled: 1", "skills: a", "AgentType: MAIN",
		},
		"automations/a/automation.md": {
			"{}", "triggers: []", "triggers: {}", "triggers: [a]", trigger("provider: x, event: y"), trigger("provider: linear"), trigger("event: y"), trigger("provider: linear, event: issue_created, filter: {repos: [a]}"),
			trigger("provider: linear, event: issue_created, filter: {labels: a}"), trigger("provider: linear, event: y"), trigger("provider: linear, event: issue_created, filter: {labels: {out: [a]}}"), trigger("provider: linear, event: issue_created, filter: {payload: [a]}"),
			trigger("provider: github, event: pull_request_opened, filter: {pr_numbers: [x]}"), trigger("provider: slack, event: app_mention, filter: {channels: {in: [x]}}"),
			trigger("provider: schedule, event: cron_fired, schedule: {timezone: UTC}"), trigger("provider: schedule, event: cron_fired, schedule: {cron: '@daily', overlap: x}"),
			trigger("provider: linear, event: issue_created") + "\nenabled: 'no'", trigger("provider: linear, event: issue_created") + "\nmaxRunsPerHour: -1", trigger("provider: linear, event: issue_created") + "\nagent: ''",
		},
		"webhooks/a.yaml": {
			"authMode: token", "secretName: a", "{secretName: A, authMode: basic}", "{secretName: A, authMode: signature}", "{secretName: A, signatureScheme: github}", "{secretName: A, authMode: signature, signatureScheme: x}",
			"{secretName: A, rateLimit: 60001}", "{secretName: A, maxBodyBytes: 0}", "{secretName: A, authMode: signature, signatureScheme: hmac, hmac: {header: A, digest: md5}}", "{secretName: A, hmac: x}",
		},
		"runners/a.yaml":       {"platform: 1", "instanceShape: {vcpus: 0}", "instanceShape: {cpus: 1}", "setupCommands: make", "setupCommands: ['']", "size: 1"},
		"skills/x/SKILL.md":    {"name: x", "description: x", "{name: x, description: ''}", "{name: [x], description: d}"},
		"skills/fine/SKILL.md": nil,
	} {
		for _, text := range texts {
			body := text
			if strings.HasSuffix(file, ".md") {
				body = frontmatter.Join(text+"\n", "Go.")
			}
			files := sound()
			files[file] = body
			_, problems := Parse(files)
			blamed := false
			for _, p := range problems {
				blamed = blamed || p.File == file
			}
			if err := complaint(t, schemas, file, body); err == nil || !blamed {
				t.Errorf("%s with %s: the schema says %v, Parse %v", file, text, err, problems)
			}
		}
	}
}

// People read the schemas in their editors: every key says what it is for.
func TestF3SchemasDescribeEveryKey(t *testing.T) {
	t.Parallel()
	for name, text := range Schemas() {
		var s map[string]any
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		undescribed(t, name, s)
	}
}

func undescribed(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok && v["additionalProperties"] != nil {
			for name, property := range properties {
				described, ok := property.(map[string]any)
				if ok && described["description"] == nil && !strings.HasSuffix(path, "oneOf") {
					t.Errorf("%s.%s has no description", path, name)
				}
			}
		}
		for name := range maps.Keys(v) {
			undescribed(t, path+"."+name, v[name])
		}
	case []any:
		for _, item := range v {
			undescribed(t, path, item)
		}
	}
}
