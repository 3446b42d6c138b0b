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

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// openAPIRules are keywords that the document has beyond what huma checks: rules of the
// domain, which says in its own words what is wrong. Each belongs to a schema, to a
// property (Schema.property), to the items of one (Schema.property[]), or to several of
// these with a comma between them.
//
//go:embed openapirules.json
var openAPIRules []byte

// sayRules adds the rules to the schemas. They do not validate anything.
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

// sayEmptyValues says that a parameter without a value is as good as none, and what its own rules are.
func sayEmptyValues(doc *huma.OpenAPI) {
	for _, op := range operationsOf(doc) {
		for _, param := range op.Parameters {
			if param.In == "query" && !param.Required && param.Name != "dry_run" {
				param.AllowEmptyValue = true
			}
			if param.Name == "cursor" {
				param.Schema.Format = "cursor"
			}
			if said := parameterRules()[op.OperationID+" "+param.Name]; said != nil {
				param.Schema.Extensions = said
			}
		}
	}
}

// parameterRules are those of openAPIRules for parameters.
func parameterRules() map[string]keywords {
	most := keywords{"maxItems": lineshaft.MaxFilterValues}
	return map[string]keywords{
		"getRunByExternalReferenceURL url": {"minLength": 1},
		"getRunEvents Last-Event-ID":       {"pattern": "^[0-9]{0,18}$"},
		"listRuns factory_uid":             most, "listRuns source": most, "listTasks factory_uid": most, "listTasks source": most,
		"listAgents repo": {"pattern": "^([A-Za-z0-9_][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,99})+)?$"},
	}
}

// createdBy says where the answer of an operation that creates something has what the
// paths of that thing name.
func createdBy() map[string]map[string]any {
	const factory = "$request.path.factoryUid"
	return map[string]map[string]any{
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
				created.Links[to.OperationID] = &huma.Link{OperationID: to.OperationID, Parameters: parameters}
			}
		}
	}
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

// sayTriggers adds to the schema of triggers what the table of events says: which providers
// there are, their events, and the keys of their filters. Like the rules, it is for readers
// of the document; the table itself answers mistakes in its own words. Which keys each event
// has would be too much here: GET /factory/automations/events/{provider} says it.
func sayTriggers(schemas map[string]*huma.Schema) error {
	provider, err := schemaAt(schemas, "Trigger.provider")
	if err != nil {
		return err
	}
	provider.Extensions = keywords{"enum": lineshaft.Providers()}
	var branches []any
	for _, name := range lineshaft.Providers() {
		events, err := factories.TriggerCatalog(name)
		if err != nil {
			return err
		}
		branches = append(branches, triggersOf(name, events)...)
	}
	schemas["Trigger"].Extensions = keywords{"anyOf": branches}
	return nil
}

// keywords are those of a schema.
type keywords = map[string]any

// triggersOf are the forms that triggers of a provider have.
func triggersOf(provider string, events []factories.TriggerEvent) []any {
	filter, needed := sayFilter(provider, events)
	none := keywords{"type": "null"}
	properties := keywords{"provider": keywords{"const": provider}, "event": sayEvents(events), "filter": filter, "schedule": none}
	out := keywords{"properties": properties}
	if needed {
		out["required"] = []string{"filter"}
	}
	if provider != lineshaft.ProviderSchedule {
		return []any{out}
	}
	// A schedule is in the trigger, or is named in the filter.
	ids, _ := filter["properties"].(keywords)[lineshaft.KeyScheduleIDs].(keywords)
	inline := maps.Clone(properties)
	inline["schedule"] = keywords{"type": []string{"string", "object"}}
	inline["filter"] = keywords{"propertyNames": filter["propertyNames"], "properties": keywords{lineshaft.KeyScheduleIDs: sayNothing()}}
	ids["anyOf"] = sayRequired()
	filter["type"], filter["required"] = "object", []string{lineshaft.KeyScheduleIDs}
	out["required"] = []string{"filter"}
	return []any{keywords{"required": []string{"schedule"}, "properties": inline}, out}
}

// sayEvents lists the names, or says what they look like where they are not established.
func sayEvents(events []factories.TriggerEvent) keywords {
	var names []string
	for _, e := range events {
		if e.Event == factories.AnyEvent {
			return keywords{"pattern": "^[A-Za-z0-9._-]+$", "maxLength": 80}
		}
		names = append(names, e.Event)
	}
	return keywords{"enum": names}
}

// sayFilter says which keys the filters of a provider have, and whether a filter is required.
func sayFilter(provider string, events []factories.TriggerEvent) (filter keywords, needed bool) {
	var names, required []string
	values := keywords{}
	if (lineshaft.Trigger{Provider: provider}).Delivered() {
		names = append(names, lineshaft.KeyWebhookIDs, lineshaft.KeyWebhooks, lineshaft.KeyPayload)
	}
	for _, e := range events {
		for _, k := range e.Keys {
			if slices.Contains(names, k.Name) {
				continue
			}
			names = append(names, k.Name)
			if values[k.Name] = sayValues(k); k.Required {
				required = append(required, k.Name)
			}
		}
	}
	filter = keywords{"propertyNames": keywords{"enum": names}, "properties": values}
	switch {
	case provider == lineshaft.ProviderWebhook:
		filter["type"] = "object"
		some, ids := keywords{"type": "array", "minItems": 1}, keywords{"anyOf": sayRequired()}
		filter["anyOf"] = []any{
			keywords{"required": []string{lineshaft.KeyWebhooks}, "properties": keywords{lineshaft.KeyWebhooks: some}},
			keywords{"required": []string{lineshaft.KeyWebhookIDs}, "properties": keywords{lineshaft.KeyWebhookIDs: ids}},
		}
	case required != nil:
		filter["type"], filter["required"] = "object", required
	default:
		return filter, false
	}
	return filter, true
}

// sayValues says what the values of a key are, in a list and in those of `in` and `not_in`.
func sayValues(k factories.FilterKey) keywords {
	item := keywords{"type": "string", "minLength": 1, "maxLength": 256}
	if k.Pattern != "" {
		item["pattern"] = k.Pattern
	}
	if k.Whole {
		item = keywords{"type": "integer", "minimum": 1}
	}
	in, notIn := keywords{"items": item}, keywords{"items": item}
	out := keywords{"items": item, "properties": keywords{"in": in, "not_in": notIn}}
	if k.Most > 0 {
		in["maxItems"], out["maxItems"] = k.Most, k.Most
	}
	if k.List || k.InOnly {
		notIn["maxItems"] = 0
	}
	if k.Required {
		out["anyOf"] = sayRequired()
	}
	return out
}

// sayRequired says that there is at least one value that is allowed.
func sayRequired() []any {
	some := keywords{"in": keywords{"minItems": 1}}
	return []any{keywords{"type": "array", "minItems": 1}, keywords{"type": "object", "required": []string{"in"}, "properties": some}}
}

// sayNothing says that there are no values.
func sayNothing() keywords {
	return keywords{"maxItems": 0, "properties": keywords{"in": keywords{"maxItems": 0}, "not_in": keywords{"maxItems": 0}}}
}
