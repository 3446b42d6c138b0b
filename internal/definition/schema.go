package definition

import (
	"embed"

	"github.com/lineshaft/lineshaft"
)

//go:embed schemas
var published embed.FS

// schema is a JSON Schema.
type schema map[string]any

func listSchema(items schema, most int) schema {
	s := schema{"type": "array", "items": items}
	if most > 0 {
		s["maxItems"] = most
	}
	return s
}

func objectSchema(keys []key) schema {
	properties, required := schema{}, []string{}
	for _, k := range keys {
		properties[k.name] = k.schema()
		if k.required {
			required = append(required, k.name)
		}
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// schema describes what stands at a key.
func (k key) schema() schema {
	described := k.value.schema()
	if k.null != nil {
		described = schema{"oneOf": []any{described, schema{"type": "null"}}}
	}
	if described["description"] = k.doc; k.inert != "" {
		described["description"] = k.doc + " Has no effect on this server: " + k.inert + "."
	}
	return described
}

// Documents names the documents that a folder is made of, and what they share.
func Documents() []string {
	return []string{"factory", "agent", "automation", "webhook", "runner", "skill", scorerDocument, suiteDocument, taskDocument, commonDocument}
}

// commonDocument is what several documents share.
const commonDocument = "common"

// Schemas are the JSON Schemas of the documents, by name. For Markdown files they
// describe the front matter.
func Schemas() map[string][]byte {
	out := map[string][]byte{}
	for _, name := range Documents() {
		text, err := published.ReadFile("schemas/" + Version + "/" + name + ".schema.json")
		if err == nil { // they are part of the program, and a test reads them
			out[name] = text
		}
	}
	return out
}

// documentKeys are the keys of a document.
func documentKeys(name string) []key {
	var text string
	switch name {
	case "factory":
		return factoryKeys(&text, &lineshaft.Factory{})
	case "agent":
		return agentKeys(&lineshaft.Agent{})
	case "automation":
		return automationKeys(&lineshaft.Automation{})
	case "webhook":
		return webhookKeys(&lineshaft.Webhook{})
	case "runner":
		return runnerKeys(&lineshaft.RunnerConfig{})
	case "skill":
		return skillKeys(&lineshaft.Skill{}, &text)
	}
	return evaluationKeys(&evaluation{document: document{kind: Kind(name)}}, &scorer{})
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
