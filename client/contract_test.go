package client

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// contract is what the tests need of the OpenAPI document.
type contract struct {
	Paths map[string]map[string]any `yaml:"paths"`
}

func loadContract(t *testing.T) contract {
	t.Helper()
	text, err := os.ReadFile("../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out contract
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// goNames are the methods that are not called as clients.json has it: the older name
// stays, or the thing is not a list in Go.
var goNames = map[string]string{
	"definitions.get":       "Definitions.Export",
	"deliveries.list":       "Webhooks.Deliveries",
	"deliveries.list_all":   "Webhooks.FactoryDeliveries",
	"deliveries.get":        "Webhooks.GetDelivery",
	"deliveries.redeliver":  "Webhooks.Redeliver",
	"factories.test_filter": "Webhooks.TestFilter",
	"apikeys.list":          "APIKeys.List",
	"apikeys.create":        "APIKeys.Create",
	"apikeys.revoke":        "APIKeys.Revoke",
	"models.list":           "Models",
	"workers.list":          "Workers",
	"audit.list":            "Audit",
	"server.egress_ranges":  "EgressRanges",
	"server.whoami":         "Whoami",
}

// Every operation has a method, and every name an operation.
func TestI3EveryOperationHasAMethod(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../api/clients.json")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	if err := json.Unmarshal(text, &names); err != nil {
		t.Fatal(err)
	}
	inDocument := map[string]bool{}
	for path, methods := range loadContract(t).Paths {
		for method, node := range methods {
			op, _ := node.(map[string]any)
			id, _ := op["operationId"].(string)
			if id == "" {
				t.Errorf("%s %s has no operationId", method, path)
			}
			inDocument[id] = true
			name, ok := names[id]
			if !ok {
				t.Errorf("%s %s: api/clients.json does not name %s", method, path, id)
			} else if name != "-" && !hasMethod(goName(name)) {
				t.Errorf("%s: the client has no method %s", name, goName(name))
			}
		}
	}
	if len(inDocument) < 80 {
		t.Errorf("%d operations: the document was not understood", len(inDocument))
	}
	for id := range names {
		if !inDocument[id] {
			t.Errorf("api/clients.json names %s, which the document does not have", id)
		}
	}
}

func goName(name string) string {
	if known, ok := goNames[name]; ok {
		return known
	}
	var b strings.Builder
	for part := range strings.SplitSeq(name, ".") {
		if b.Len() > 0 {
			b.WriteString(".")
		}
		for word := range strings.SplitSeq(part, "_") {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

func hasMethod(name string) bool {
	service, method, nested := strings.Cut(name, ".")
	of := reflect.TypeFor[*Client]()
	if nested {
		field, ok := of.Elem().FieldByName(service)
		if !ok {
			return false
		}
		of, name = field.Type, method
	}
	_, ok := of.MethodByName(name)
	return ok
}

// byHand lists the structs of the wire that are not generated: what is in the data of
// events, and parts that have no properties of their own in the document.
func byHand() []string {
	return []string{
		"StateData", "MessageData", "ToolCallData", "ToolResultData", "OutputData", "UsageData", "NoticeData", "EnvironmentStep",
		"ArtifactEventData", "PlanData", "PermissionData", "PermissionOption", "TriggerSchedule",
		"ConversationFollowup", // embeds FollowupResult
	}
}

// Every other exported struct with JSON fields is generated, so that none drifts unseen.
func TestI3WireTypesAreGenerated(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "types_gen.go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range wireStructs(parsed) {
			if !slices.Contains(byHand(), name) {
				t.Errorf("%s: move %s to scripts/clienttypes/types.yaml", file, name)
			}
		}
	}
}

// wireStructs lists the exported structs that have JSON fields.
func wireStructs(file *ast.File) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() {
			return true
		}
		if body, ok := spec.Type.(*ast.StructType); ok && hasJSON(body) {
			names = append(names, spec.Name.Name)
		}
		return true
	})
	return names
}

func hasJSON(body *ast.StructType) bool {
	return slices.ContainsFunc(body.Fields.List, func(f *ast.Field) bool {
		return f.Tag != nil && strings.Contains(f.Tag.Value, "json:")
	})
}
