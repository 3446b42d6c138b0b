package api

import (
	_ "embed"
	"encoding/json"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/api/examples"
)

// operationDoc is what the OpenAPI document says about an operation beyond its types,
// and what the guard must know.
type operationDoc struct {
	Tag     string `json:"tag"`
	Summary string `json:"summary"`
	Text    string `json:"text"`
	// Status is that of success; zero is 200.
	Status int `json:"status"`
	// Codes are the errors of this operation beyond the common ones.
	Codes []lineshaft.Code `json:"codes"`
	// Large bodies may have 16 MiB.
	Large bool `json:"large"`
	// Archive operations also take a tar.gz of a folder.
	Archive bool `json:"archive"`
	// NUL operations take U+0000 in their body.
	NUL bool `json:"nul"`
	// Streamed bodies are left to the handler.
	Streamed bool `json:"-"`
	// Upload operations take any content, which is read while it is stored.
	Upload bool `json:"upload"`
	// Idempotent operations honour an Idempotency-Key.
	Idempotent bool `json:"idempotent"`
	// Request and Response name examples, which become the values; short ones are spelt out.
	Request       string          `json:"request"`
	RequestValue  json.RawMessage `json:"request_value"`
	Response      string          `json:"response"`
	ResponseValue json.RawMessage `json:"response_value"`
	// OlderNameOf is the operation that this one is an older name of, which makes it
	// the same but for its summary, and deprecated.
	OlderNameOf string `json:"older_name_of"`
}

// operations describes every operation of the table of routes by its id. A test finds
// one that is not there, and what cannot be read.
//
//go:embed operations.json
var operations []byte

func docs() map[string]operationDoc {
	var all map[string]operationDoc
	_ = json.Unmarshal(operations, &all)
	for id, doc := range all {
		if of := doc.OlderNameOf; of != "" {
			summary := doc.Summary
			doc = all[of]
			doc.OlderNameOf, doc.Summary, doc.Text = of, summary, "An older name of "+of+", with the same behaviour."
		}
		if doc.Request != "" {
			doc.RequestValue = example(doc.Request)
		}
		if doc.Response != "" {
			doc.ResponseValue = example(doc.Response)
		}
		all[id] = doc
	}
	return all
}

// example reads api/examples/NAME.json. A test finds a name without a file.
func example(name string) json.RawMessage {
	text, _ := examples.Files.ReadFile(name + ".json")
	return text
}

// tags are the groups of the documentation, in its order.
func tags() []string {
	return []string{
		"Runs", "Events", "Conversations", "Artifacts", "Factories", "Definitions", "Webhooks", "Schedules", "Notifications", "Secrets",
		"Server", "Access", "Agents", "Environments",
	}
}
