package api

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/problem"
)

// conforms holds an answer against the OpenAPI document: its status, its content
// type, its body, and that the body has no field that is not documented. What
// every answer must have is checked too.
func (s *server) conforms(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Header().Get("X-Request-ID") == "" {
		t.Errorf("H-10: %s %s: no X-Request-Id", r.Method, r.URL.Path)
	}
	kind, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if w.Code >= 400 && kind != problem.ContentType && !strings.HasPrefix(r.URL.Path, "/docs/") && r.URL.Path != "/readyz" {
		t.Errorf("H-4: %s %s: %d with %q", r.Method, r.URL.Path, w.Code, kind)
	}
	op := s.operationFor(r)
	if op == nil {
		if kind == problem.ContentType {
			s.conformsTo(t, &huma.Schema{Ref: schemaPrefix + "Error"}, w.Body.Bytes())
		}
		return
	}
	response := op.Responses[strconv.Itoa(w.Code)]
	if response == nil {
		t.Errorf("%s answered %d, which is not documented", op.OperationID, w.Code)
		return
	}
	media := cmp.Or(response.Content[kind], response.Content["*/*"])
	switch {
	case media == nil && w.Body.Len() == 0:
	case media == nil:
		t.Errorf("%s answered %d with %q, which is not documented", op.OperationID, w.Code, kind)
	case strings.HasSuffix(kind, "json") && media == response.Content[kind]:
		s.conformsTo(t, media.Schema, w.Body.Bytes())
	}
}

// operationFor finds the documented operation that a request belongs to.
func (s *server) operationFor(r *http.Request) *huma.Operation {
	_, pattern := s.mux.Handler(r)
	_, path, _ := strings.Cut(pattern, " ")
	item := s.api.OpenAPI().Paths[strings.TrimPrefix(path, Prefix)]
	if item == nil {
		return nil
	}
	return map[string]*huma.Operation{get: item.Get, http.MethodHead: item.Get, post: item.Post, put: item.Put, patch: item.Patch, del: item.Delete}[r.Method]
}

func (s *server) conformsTo(t *testing.T, schema *huma.Schema, body []byte) {
	t.Helper()
	s.conformsAs(t, huma.ModeReadFromServer, schema, body)
}

// conformsAs is conformsTo for a body on its way in or out: some fields may go in
// one direction only.
func (s *server) conformsAs(t *testing.T, mode huma.ValidateMode, schema *huma.Schema, body []byte) {
	t.Helper()
	registry := s.api.OpenAPI().Components.Schemas
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Errorf("answer %q: %v", body, err)
		return
	}
	res := &huma.ValidateResult{}
	huma.Validate(registry, schema, huma.NewPathBuffer(nil, 0), mode, value, res)
	for _, err := range res.Errors {
		t.Errorf("answer does not fit its schema: %v", err)
	}
	for _, path := range undocumented(registry, schema, value, "") {
		t.Errorf("answer has %s, which is not documented", path)
	}
}

// undocumented lists the members of value that the schema does not name. Schemas
// without properties, such as maps, allow any.
func undocumented(registry huma.Registry, schema *huma.Schema, value any, path string) []string {
	for schema != nil && schema.Ref != "" {
		schema = registry.SchemaFromRef(schema.Ref)
	}
	if schema == nil {
		return nil
	}
	var found []string
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			found = append(found, undocumented(registry, schema.Items, item, path+"["+strconv.Itoa(i)+"]")...)
		}
	case map[string]any:
		for name, item := range v {
			property := schema.Properties[name]
			if property == nil && len(schema.Properties) > 0 {
				found = append(found, path+"."+name)
			}
			found = append(found, undocumented(registry, property, item, path+"."+name)...)
		}
	}
	return found
}

func TestConformsNoticesWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := build(Deps{Control: &control.Service{}})
	registry := s.api.OpenAPI().Components.Schemas
	run := &huma.Schema{Ref: schemaPrefix + "RunItem"}
	for name, tc := range map[string]struct {
		change  func(map[string]any)
		invalid bool
		unknown bool
	}{
		"as it is":             {func(map[string]any) {}, false, false},
		"a missing field":      {func(m map[string]any) { delete(m, "title") }, true, false},
		"a wrong type":         {func(m map[string]any) { m["title"] = 5.0 }, true, false},
		"an unknown state":     {func(m map[string]any) { m["state"] = "NOWHERE" }, true, false},
		"a bad time":           {func(m map[string]any) { m["created_at"] = "yesterday" }, true, false},
		"an unknown field":     {func(m map[string]any) { m["secret"] = "x" }, false, true},
		"an unknown below":     {func(m map[string]any) { m["creator"] = map[string]any{"password": "x"} }, false, true},
		"any metadata is fine": {func(m map[string]any) { m["metadata"] = map[string]any{"a": "b"} }, false, false},
	} {
		value := readExample[map[string]any](t, "run_item")
		tc.change(value)
		res := &huma.ValidateResult{}
		huma.Validate(registry, run, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, any(value), res)
		if (len(res.Errors) > 0) != tc.invalid {
			t.Errorf("%s: errors %v", name, res.Errors)
		}
		if extra := undocumented(registry, run, value, ""); (len(extra) > 0) != tc.unknown {
			t.Errorf("%s: undocumented %v", name, extra)
		}
	}
}
