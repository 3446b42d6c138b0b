package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// openAPIRules are keywords that the document has beyond what huma checks: rules of the
// domain, which says in its own words what is wrong. Each belongs to a schema, to a
// property (Schema.property), to the items of one (Schema.property[]), or to several of
// these with a comma between them.
//
//go:embed openapirules.json
var openAPIRules []byte

// sayRules adds the rules to the schemas. Nothing is validated by what it adds.
func sayRules(schemas map[string]*huma.Schema) error {
	var rules map[string]map[string]any
	if err := json.Unmarshal(openAPIRules, &rules); err != nil {
		return err
	}
	for places, keywords := range rules {
		for place := range strings.SplitSeq(places, ", ") {
			schema, err := schemaAt(schemas, place)
			if err != nil {
				return err
			}
			said := maps.Clone(schema.Extensions)
			if said == nil {
				said = map[string]any{}
			}
			maps.Copy(said, keywords)
			schema.Extensions = said
		}
	}
	return nil
}

func schemaAt(schemas map[string]*huma.Schema, place string) (*huma.Schema, error) {
	name, property, _ := strings.Cut(place, ".")
	schema := schemas[name]
	if schema != nil && property != "" {
		property, items := strings.CutSuffix(property, "[]")
		if schema = schema.Properties[property]; schema != nil && items {
			schema = schema.Items
		}
	}
	if schema == nil {
		return nil, fmt.Errorf("openapirules.json: there is no %s", place)
	}
	return schema, nil
}

// sayEmptyValues says that a parameter without a value is as good as none.
func sayEmptyValues(doc *huma.OpenAPI) {
	for _, op := range operationsOf(doc) {
		for _, param := range op.Parameters {
			if param.In == "query" && !param.Required && param.Name != "dry_run" {
				param.AllowEmptyValue = true
			}
			if param.Name == "cursor" {
				param.Schema.Format = "cursor"
			}
		}
	}
}

// createdBy says where the answer of an operation that creates something has what the
// paths of that thing name.
func createdBy() map[string]map[string]string {
	const factory = "$request.path.factoryUid"
	return map[string]map[string]string{
		"createRun":            {"runId": "$response.body#/run_id"},
		"runAgent":             {"runId": "$response.body#/run_id"},
		"createTask":           {"runId": "$response.body#/run_id"},
		"rerunRun":             {"runId": "$response.body#/run_id"},
		"createFactoryRun":     {"runId": "$response.body#/run_id"},
		"createScheduledAgent": {"scheduleId": "$response.body#/id"},
		"createSecret":         {"name": "$response.body#/name"},
		"createAgent":          {"agentUid": "$response.body#/uid"},
		"createEnvironment":    {"environmentUid": "$response.body#/uid"},
		"createFactory":        {"factoryUid": "$response.body#/uid"},
		"createAutomation":     {"factoryUid": factory, "automationUid": "$response.body#/uid"},
		"createWebhook":        {"factoryUid": factory, "webhookUid": "$response.body#/uid"},
		"createNotification":   {"notificationId": "$response.body#/id"},
		"createAPIKey":         {"keyId": "$response.body#/id"},
	}
}

// link leads from each operation that creates something to all that take it.
func link(doc *huma.OpenAPI) {
	operations := operationsOf(doc)
	for _, from := range operations {
		parameters := createdBy()[from.OperationID]
		if parameters == nil {
			continue
		}
		created := successOf(from)
		created.Links = map[string]*huma.Link{}
		for _, to := range operations {
			if slices.Equal(slices.Sorted(maps.Keys(parameters)), variables(to.Path)) {
				created.Links[to.OperationID] = &huma.Link{OperationID: to.OperationID, Parameters: anyValues(parameters)}
			}
		}
	}
}

func anyValues(texts map[string]string) map[string]any {
	out := map[string]any{}
	for name, text := range texts {
		out[name] = text
	}
	return out
}

// variables are the names in the braces of a path, in order of their letters.
func variables(path string) []string {
	var names []string
	for _, match := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(path, -1) {
		names = append(names, match[1])
	}
	slices.Sort(names)
	return names
}

// successOf is the answer of an operation that did what was asked.
func successOf(op *huma.Operation) *huma.Response {
	for status := http.StatusOK; status < http.StatusMultipleChoices; status++ {
		if response := op.Responses[fmt.Sprint(status)]; response != nil {
			return response
		}
	}
	return &huma.Response{}
}

func operationsOf(doc *huma.OpenAPI) []*huma.Operation {
	var all []*huma.Operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		all = append(all, item.Get, item.Post, item.Put, item.Patch, item.Delete)
	}
	return slices.DeleteFunc(all, func(op *huma.Operation) bool { return op == nil })
}
