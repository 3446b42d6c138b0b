package api

import (
	"cmp"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/sse"
)

// OpenAPI generates the OpenAPI 3.1 document as YAML: what api/openapi.yaml holds.
// It names no version and no host, which belong to a server.
func OpenAPI() ([]byte, error) { return build(Deps{Control: &control.Service{}}).openAPIYAML() }

func orFault(fault error, render func() ([]byte, error)) ([]byte, error) {
	if fault != nil {
		return nil, fault
	}
	return render()
}

// humaConfig keeps huma to the wire: JSON only, unknown fields ignored, no schema
// links, no pages of its own, and errors that are ours.
func (s *server) humaConfig() huma.Config {
	version := cmp.Or(s.Version, "1")
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Lineshaft", Version: version,
				Description: "Start, watch, continue and cancel agent runs. Every failure is answered with a problem document (schema Error) " +
					"whose type links to a page that explains it. Unknown fields and parameters are ignored, and in a request null is the same as no value; only cancelRuns refuses both. " +
					"Names are case-sensitive. Within /api/v1, changes only add.",
			},
			Servers: []*huma.Server{{URL: Prefix}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry(schemaPrefix, schemaName),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "An API key, which begins with ls_."},
				},
			},
			Tags: each(tags(), func(name *string) *huma.Tag { return &huma.Tag{Name: *name} }),
		},
		Formats:       map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{s.transformError},
	}
	config.AllowAdditionalPropertiesByDefault = true
	return config
}

func jsonFormat() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			if answer, ok := v.(written); ok {
				out := newJSONWriter(w)
				answer.writeJSON(out)
				_ = out.finish() // as below
				return nil
			}
			body, err := marshal(v)
			if err == nil {
				_, _ = w.Write(body) // a reader who left is not our failure
			}
			return err
		},
		Unmarshal: unmarshal,
	}
}

// schemaName gives the problem document its published name.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[problem.Document]() {
		return "Error"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// describe makes the huma operation of a row.
func (s *server) describe(row route) huma.Operation {
	doc := s.docs[row.ID]
	op := huma.Operation{
		OperationID: row.ID, Method: row.Method, Path: row.Path, Summary: doc.Summary, Description: doc.Text, Tags: []string{doc.Tag},
		DefaultStatus: doc.Status, Deprecated: doc.OlderNameOf != "",
		MaxBodyBytes: -1, BodyReadTimeout: -1, // the guard has read the body already
		Security:   []map[string][]string{},
		Responses:  errorResponses(row, doc),
		Extensions: map[string]any{"x-permission": string(row.Permission)},
	}
	if row.Permission != lineshaft.PermissionNone {
		op.Security = append(op.Security, map[string][]string{"bearer": {}})
	}
	if doc.RequestValue != nil {
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Example: doc.RequestValue}}}
		if doc.Archive {
			op.Description += " The body is JSON, or a tar.gz of the folder."
			op.RequestBody.Content[gzipType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
		}
	}
	if doc.Upload {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}}
	}
	if doc.ResponseValue != nil {
		status := cmp.Or(doc.Status, http.StatusOK)
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{"application/json": {Example: doc.ResponseValue}},
		}
	}
	if doc.Idempotent {
		op.Parameters = append(op.Parameters, idempotencyParam())
	}
	addStreams(&op)
	return op
}

func idempotencyParam() *huma.Param {
	least, most := 1, 255
	return &huma.Param{
		Name: "Idempotency-Key", In: "header",
		Description: "Makes it safe to send the request again: within 24 hours, the same key and body get the first answer. Another body gets 422.",
		Schema:      &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most, Pattern: "^[ -~]+$"},
	}
}

// addStreams documents the answers that are not JSON.
func addStreams(op *huma.Operation) {
	text := &huma.Schema{Type: huma.TypeString}
	frame := "id: 2\nevent: message\ndata: {\"id\":\"…\",\"sequence\":2,\"type\":\"message\",\"time\":\"…\",\"data\":{…}}\n\n"
	switch op.OperationID {
	case "getRunEvents":
		ok := op.Responses["200"].Content
		ok["application/json"].Schema = &huma.Schema{Ref: schemaPrefix + "ListRunEventsResponse"}
		ok[sse.ContentType] = &huma.MediaType{Schema: text, Example: frame}
	case "streamRunStates":
		op.Responses["200"] = &huma.Response{
			Description: "OK", Content: map[string]*huma.MediaType{sse.ContentType: {Schema: text, Example: frame}},
		}
	case "getDefinition":
		ok := op.Responses["200"].Content
		ok["application/json"].Schema = &huma.Schema{Ref: schemaPrefix + "FactoryDefinition"}
		ok[gzipType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	case "getDownload":
		op.Responses["200"] = &huma.Response{
			Description: "OK", Content: map[string]*huma.MediaType{"*/*": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}
	}
}

// errorResponses documents the problems that an operation may answer with.
func errorResponses(row route, doc operationDoc) map[string]*huma.Response {
	codes := slices.Concat([]lineshaft.Code{lineshaft.CodeInvalidRequest, lineshaft.CodeInternal, lineshaft.CodeUnavailable}, doc.Codes)
	if row.Permission != lineshaft.PermissionNone {
		codes = append(codes, lineshaft.CodeAuthenticationRequired, lineshaft.CodeNotAuthorized)
	}
	if strings.Contains(row.Path, "{") {
		codes = append(codes, lineshaft.CodeNotFound)
	}
	if row.Method != get {
		codes = append(codes, lineshaft.CodePayloadTooLarge)
	}
	out := map[string]*huma.Response{}
	add := func(status int, code lineshaft.Code) {
		key := strconv.Itoa(status)
		if out[key] == nil {
			out[key] = &huma.Response{
				Description: string(code),
				Content:     map[string]*huma.MediaType{problem.ContentType: {Schema: &huma.Schema{Ref: schemaPrefix + "Error"}}},
			}
		} else if !slices.Contains(strings.Split(out[key].Description, " or "), string(code)) {
			out[key].Description += " or " + string(code)
		}
		if code == lineshaft.CodeUnavailable {
			out[key].Headers = map[string]*huma.Param{"Retry-After": {
				Description: "Whole seconds to wait.", Schema: &huma.Schema{Type: huma.TypeInteger},
			}}
		}
	}
	for _, code := range codes {
		known, _ := problem.Lookup(code)
		add(known.Status, code)
		if code == lineshaft.CodeUnavailable {
			add(http.StatusTooManyRequests, code)
		}
	}
	return out
}

// finishOpenAPI adds what no operation mentions by its types, and says that arrays
// are never null. Its error is a mistake in openapirules.json, which a test finds.
func finishOpenAPI(doc *huma.OpenAPI) error {
	registry := doc.Components.Schemas
	registry.Schema(reflect.TypeFor[problem.Document](), true, "")
	registry.Schema(reflect.TypeFor[ListRunEventsResponse](), true, "")
	registry.Schema(reflect.TypeFor[FactoryDefinition](), true, "")
	if e := registry.Map()["Error"]; e != nil {
		e.Examples = []any{example("error")}
	}
	seen := map[*huma.Schema]bool{}
	for _, schema := range registry.Map() {
		neverNull(schema, seen)
	}
	for _, op := range operationsOf(doc) {
		if body := op.RequestBody; body != nil && body.Content["application/json"] != nil {
			delete(body.Content, "application/octet-stream") // huma adds it for a RawBody beside a Body
		}
		for _, param := range op.Parameters {
			neverNull(param.Schema, seen)
		}
	}
	sayEmptyValues(doc)
	link(doc)
	if err := sayTriggers(registry.Map()); err != nil {
		return err
	}
	return sayRules(registry.Map())
}

func neverNull(s *huma.Schema, seen map[*huma.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	neverNull(s.Items, seen)
	for _, property := range s.Properties {
		neverNull(property, seen)
	}
}

func (s *server) serveOpenAPIJSON(w http.ResponseWriter, _ *http.Request) error {
	text, err := s.openAPIJSON()
	if err != nil {
		return err
	}
	return writeStatic(w, "application/json", text)
}

func (s *server) serveOpenAPIYAML(w http.ResponseWriter, _ *http.Request) error {
	text, err := s.openAPIYAML()
	if err != nil {
		return err
	}
	return writeStatic(w, "application/yaml", text)
}

func writeStatic(w http.ResponseWriter, kind string, text []byte) error {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(text) // nobody is left to receive an error
	return nil
}
