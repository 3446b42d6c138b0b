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
		described := schema{"description": k.doc}
		for name, v := range k.value.schema() {
			described[name] = v
		}
		properties[k.name] = described
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

// Documents names the documents that a folder is made of.
func Documents() []string {
	return []string{"factory", "agent", "automation", "webhook", "runner", "skill"}
}

// Schemas are the JSON Schemas of the documents, by name. For Markdown files they
// describe the front matter.
func Schemas() map[string][]byte {
	out := map[string][]byte{}
	for _, name := range Documents() {
		text, err := published.ReadFile("schemas/" + Version + "/" + name + ".json")
		if err == nil { // they are part of the program, and a test reads them
			out[name] = text
		}
	}
	return out
}

// documentSchema makes the schema of a document from its keys.
func documentSchema(name string) schema {
	var (
		text       string
		factory    lineshaft.Factory
		agent      lineshaft.Agent
		automation lineshaft.Automation
		webhook    lineshaft.Webhook
		runner     lineshaft.Runner
		skill      lineshaft.Skill
	)
	s := objectSchema(map[string][]key{
		"factory": factoryKeys(&text, &factory), "agent": agentKeys(&agent), "automation": automationKeys(&automation),
		"webhook": webhookKeys(&webhook), "runner": runnerKeys(&runner.Config), "skill": skillKeys(&skill, &text),
	}[name])
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = map[string]string{
		"factory": factoryFile, "agent": "front matter of agents/NAME/agent.md", "automation": "front matter of automations/NAME/automation.md",
		"webhook": "webhooks/NAME.yaml", "runner": "runners/NAME.yaml", "skill": "front matter of skills/NAME/SKILL.md",
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
