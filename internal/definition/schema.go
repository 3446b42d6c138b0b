package definition

import (
	"embed"
	"io/fs"
	"strings"

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

//go:embed example
var example embed.FS

// Example is a folder to begin with: it can be applied as it is.
func Example(name string) Files {
	files := Files{}
	folder, err := fs.Sub(example, "example")
	if err == nil {
		files, err = ReadFS(folder)
	}
	if err != nil {
		return Files{} // it is part of the program, and a test reads it
	}
	quoted := (&yamlWriter{plain: true}).scalarText(name, false)
	files[factoryFile] = strings.Replace(files[factoryFile], "NAME", quoted, 1)
	files["README.md"] = strings.Replace(files["README.md"], "NAME", name, 1)
	return files
}
