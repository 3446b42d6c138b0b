package jsonbody_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/jsonbody"
)

type inner struct {
	Deep string `json:"deep"`
}

type outer struct {
	inner
	Role    string            `json:"role"`
	List    []inner           `json:"list"`
	Pointer *inner            `json:"pointer"`
	Map     map[string]inner  `json:"map"`
	Free    map[string]string `json:"free"`
	Any     any               `json:"any"`
	Raw     json.RawMessage   `json:"raw"`
	Hidden  string            `json:"-"`
	Plain   string
}

func TestH3NamesMatchExactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]outer{
		`{"role":"viewer","Role":"admin"}`:                        {Role: "viewer"},
		`{"ROLE":"admin"}`:                                        {},
		"{\"\\u0052ole\":\"admin\", \"r\\u006fle\" : \"viewer\"}": {Role: "viewer"},
		`{"roſe":1,"liſt":[{"deep":"x"}],"Deep":"x"}`:             {},
		`{"deep":"x"}`: {inner: inner{"x"}},
		`{"list":[{"Deep":"x"},{"deep":"y","DEEP":[{"a":[]}]}]}`:        {List: []inner{{}, {"y"}}},
		`{"pointer":{"Deep":"x"}}`:                                      {Pointer: &inner{}},
		`{"map":{"K":{"Deep":"x","deep":"y"},"k":{}}}`:                  {Map: map[string]inner{"K": {"y"}, "k": {}}},
		`{"free":{"Role":"1","role":"2"}}`:                              {Free: map[string]string{"Role": "1", "role": "2"}},
		`{"any":{"Role":"1"},"raw":{"Role":[1]}}`:                       {Any: map[string]any{"Role": "1"}, Raw: json.RawMessage(`{"Role":[1]}`)},
		`{"Plain":"a","plain":"b","Hidden":"c","hidden":"d","list":[]}`: {Plain: "a", List: []inner{}},
		`{}`:     {},
		` null `: {},
	} {
		var got outer
		if err := jsonbody.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// Whatever the text is, no name reaches a field whose name it is not.
func FuzzUnmarshal(f *testing.F) {
	for _, body := range corpus() {
		f.Add([]byte(body))
	}
	f.Add([]byte(`{"Role":"admin","list":[{"DEEP":""}],"map":{"a":{"deeP":"x"}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if jsonbody.Check(body, jsonbody.Options{Limit: 1 << 20, AllowNUL: true}) != nil {
			return
		}
		kept := string(body)
		var got outer
		if err := jsonbody.Unmarshal(body, &got); err != nil {
			return
		}
		if string(body) != kept {
			t.Fatalf("the body was changed: %q", kept)
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) == nil && members["role"] == nil && got.Role != "" {
			t.Fatalf("%q: role %q from nowhere", body, got.Role)
		}
		var plain outer
		if err := json.Unmarshal(body, &plain); err == nil && //nolint:musttag // one field is without a tag on purpose
			!strings.ContainsAny(kept, "RDLPMFAH\\ſK") && plain.Plain == "" && !reflect.DeepEqual(got, plain) {
			t.Fatalf("%q: %+v, not %+v", body, got, plain)
		}
	})
}
