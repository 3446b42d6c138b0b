package definition

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/lineshaft/lineshaft"
)

var updateSchemas = flag.Bool("update-schemas", false, "write the schemas anew")

// The published schemas are those of the keys that are read.
func TestF3SchemasArePublished(t *testing.T) {
	t.Parallel()
	for _, name := range Documents() {
		want, err := json.MarshalIndent(documentSchema(name), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		if *updateSchemas {
			if err := os.WriteFile(filepath.Join("schemas", Version, name+".schema.json"), want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got := Schemas()[name]; string(got) != string(want) {
			t.Errorf("schemas/%s/%s.schema.json is not what the keys say; run go test ./internal/definition -run Schemas -update-schemas", Version, name)
		}
	}
}

// documentSchema makes the schema of a document from its keys.
func documentSchema(name string) schema {
	s := schema{"$defs": commonSchemas()}
	if name != commonDocument {
		s = objectSchema(documentKeys(name))
	}
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = map[string]string{
		"factory": factoryFile, "agent": "front matter of agents/NAME/agent.md", "automation": "front matter of automations/NAME/automation.md",
		"webhook": "webhooks/NAME.yaml", "runner": "runners/NAME.yaml", "skill": "front matter of skills/NAME/SKILL.md",
		scorerDocument: "front matter of scorers/NAME/scorer.md", suiteDocument: "benchmarks/NAME/suite.yaml", taskDocument: "benchmarks/NAME/tasks/NAME.yaml",
		commonDocument: "what several files have in common",
	}[name]
	switch name {
	case "skill":
		s["additionalProperties"] = true // other programs have keys of their own
	case "webhook":
		s["if"] = schema{"properties": schema{"authMode": schema{"const": "signature"}}, "required": []string{"authMode"}}
		s["then"] = schema{"required": []string{"signatureScheme"}}
		s["else"] = schema{"properties": schema{"signatureScheme": false}}
	}
	return s
}

// commonSchemas are what agentDefaults, agents and automations share.
func commonSchemas() schema {
	c := &lineshaft.AgentConfig{}
	return schema{
		"agentConfig": objectSchema(configKeys(c)), "harness": harness(&c.Harness).schema(), "mcpServers": ownServers(&c.MCPServers).schema(),
		"secrets": ownSecrets(&c.Secrets).schema(), "trigger": objectSchema(triggerKeys(&lineshaft.Trigger{})),
	}
}
