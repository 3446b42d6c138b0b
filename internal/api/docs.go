package api

import (
	"bytes"
	_ "embed" // the page and its style sheet
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft/internal/problem"
)

//go:embed docs.html
var docsSource string

//go:embed docs.css
var docsStyle string

// docsView is what the page shows; it is read from the OpenAPI document, so the two
// cannot differ.
type docsView struct {
	Style   template.CSS
	Title   string
	Intro   string
	Groups  []docsGroup
	Schemas []docsSchema
}

type docsGroup struct {
	Name       string
	Operations []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Summary, Text, Permission string
	Deprecated                                  bool
	Params                                      []docsField
	Request                                     *docsBody
	Responses                                   []docsResponse
	// Sample is a line for a shell that makes the call.
	Sample string
}

type docsBody struct {
	Schema  string
	Example string
}

type docsResponse struct {
	Status, Text string
	Bodies       []docsBody
}

type docsSchema struct {
	Name, Text string
	Values     []string
	Fields     []docsField
}

type docsField struct {
	Name, In, Type, Text string
	Required             bool
}

func (s *server) serveDocs(w http.ResponseWriter, _ *http.Request) error {
	page, err := s.docsPage()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", problem.StylePolicy(docsStyle))
	w.Header().Set("Referrer-Policy", "no-referrer")
	return writeStatic(w, "text/html; charset=utf-8", page)
}

func (s *server) renderDocs() ([]byte, error) {
	tmpl, err := template.New("docs").Parse(docsSource)
	if err != nil {
		return nil, fmt.Errorf("parse docs page: %w", err)
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, s.docsView()); err != nil {
		return nil, fmt.Errorf("render docs page: %w", err)
	}
	return out.Bytes(), nil
}

func (s *server) docsView() docsView {
	doc := s.api.OpenAPI()
	view := docsView{Style: template.CSS(docsStyle), Title: doc.Info.Title, Intro: doc.Info.Description}
	byTag := map[string][]docsOperation{}
	// The order of the table is the order of the page.
	for _, row := range s.operations() {
		item := doc.Paths[row.Path]
		op := map[string]*huma.Operation{get: item.Get, post: item.Post, put: item.Put, patch: item.Patch, del: item.Delete}[row.Method]
		byTag[op.Tags[0]] = append(byTag[op.Tags[0]], operationView(doc, op))
	}
	for _, tag := range doc.Tags {
		view.Groups = append(view.Groups, docsGroup{tag.Name, byTag[tag.Name]})
	}
	for name, schema := range doc.Components.Schemas.Map() {
		if name != "ErrorModel" && name != "ErrorDetail" { // huma's own, which we never answer
			view.Schemas = append(view.Schemas, schemaView(name, schema))
		}
	}
	slices.SortFunc(view.Schemas, func(a, b docsSchema) int { return strings.Compare(a.Name, b.Name) })
	return view
}

func operationView(doc *huma.OpenAPI, op *huma.Operation) docsOperation {
	view := docsOperation{
		ID: op.OperationID, Method: op.Method, Path: doc.Servers[0].URL + op.Path, Summary: op.Summary, Text: op.Description,
		Permission: fmt.Sprint(op.Extensions["x-permission"]), Deprecated: op.Deprecated,
	}
	for _, p := range op.Parameters {
		text := p.Description
		if text == "" && p.Schema != nil {
			text = p.Schema.Description
		}
		view.Params = append(view.Params, docsField{p.Name, p.In, typeName(p.Schema), text, p.Required})
	}
	if op.RequestBody != nil {
		if media := op.RequestBody.Content["application/json"]; media != nil {
			view.Request = &docsBody{typeName(media.Schema), exampleText(media.Example)}
		}
	}
	for status, response := range op.Responses {
		shown := docsResponse{Status: status, Text: response.Description}
		for kind, media := range response.Content {
			if kind != problem.ContentType {
				shown.Bodies = append(shown.Bodies, docsBody{kind + ": " + typeName(media.Schema), exampleText(media.Example)})
			}
		}
		sort.Slice(shown.Bodies, func(i, j int) bool { return shown.Bodies[i].Schema < shown.Bodies[j].Schema })
		view.Responses = append(view.Responses, shown)
	}
	slices.SortFunc(view.Responses, func(a, b docsResponse) int { return strings.Compare(a.Status, b.Status) })
	view.Sample = sample(op, view)
	return view
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// sample writes a call for a shell. What only the reader knows are variables.
func sample(op *huma.Operation, view docsOperation) string {
	line := "curl -X " + op.Method + ` "$LINESHAFT_URL` + pathParameter.ReplaceAllString(view.Path, "$$$1") + `"`
	if view.Permission != "none" {
		line += ` -H "Authorization: Bearer $LINESHAFT_API_KEY"`
	}
	switch {
	case op.RequestBody == nil:
	case view.Request == nil:
		line += ` --data-binary "@$FILE"`
	default:
		line += " -H 'Content-Type: application/json' \\\n  -d '" + strings.ReplaceAll(view.Request.Example, "'", `'\''`) + "'"
	}
	return line
}

func exampleText(example any) string {
	switch v := example.(type) {
	case nil:
		return ""
	case string:
		if strings.Contains(v, "\n") {
			return v
		}
	}
	text, err := json.MarshalIndent(example, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}

func schemaView(name string, schema *huma.Schema) docsSchema {
	view := docsSchema{Name: name, Text: schema.Description}
	for _, value := range schema.Enum {
		view.Values = append(view.Values, fmt.Sprint(value))
	}
	for field, property := range schema.Properties {
		view.Fields = append(view.Fields, docsField{
			Name: field, Type: typeName(property), Text: property.Description, Required: slices.Contains(schema.Required, field),
		})
	}
	slices.SortFunc(view.Fields, func(a, b docsField) int {
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return view
}

// typeName says in a few words what a schema allows.
func typeName(s *huma.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, schemaPrefix)
	case s.Type == huma.TypeArray:
		return typeName(s.Items) + "[]"
	case s.Type == "":
		return "any"
	}
	name := s.Type
	if s.Format != "" && s.Format != "int64" && s.Format != "double" {
		name += " (" + s.Format + ")"
	}
	if len(s.Enum) > 0 {
		name = strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Enum), "[]"), " ", " | ")
	}
	if s.Nullable {
		name += " or null"
	}
	return name
}
