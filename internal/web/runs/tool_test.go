package runs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// S-4: what is deeply nested is not laid out to a thousand times its length.
func TestS4DeepToolData(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for name, value := range map[string]string{
		"lists":   strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"objects": strings.Repeat(`{"a":`, 4000) + "1" + strings.Repeat("}", 4000),
		"wide":    strings.Repeat("[", 500) + "1" + strings.Repeat(",1", 9000) + strings.Repeat("]", 500),
	} {
		for _, e := range []lineshaft.Event{
			told(3, lineshaft.EventToolCall, `{"id":"c","name":"x","input":{"deep":`+value+`}}`),
			told(3, lineshaft.EventToolResult, `{"id":"c","name":"x","state":"completed","output":{"deep":`+value+`}}`),
		} {
			if got := s.html(t, true, e); len(got) > 2*page.MaxShown || !strings.Contains(got, " more</span>") {
				t.Errorf("%s of %d bytes become %d", name, len(e.Data), len(got))
			}
		}
	}
	many := map[string]any{}
	for i := range maxFields {
		deep := any("end")
		for range 400 {
			deep = []any{deep}
		}
		many[strings.Repeat("k", i+1)] = deep
	}
	size := 0
	list := fields(many)
	for _, f := range list {
		size += len(f.Text.Text)
	}
	if len(list) != maxFields || size > maxFieldBytes || list[maxFields-1].Text.Left == 0 {
		t.Errorf("%d fields of %d bytes", len(list), size)
	}
}

// What a field shows and what it says is missing make up the whole.
func TestI2FieldsOfATool(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value any
		want  page.Shown
	}{
		"text":      {"a\x1b[31mb", page.Shown{Text: "ab", Left: 0}},
		"long text": {"abcdefghijkl", page.Shown{Text: "abcdefgh", Left: 4}},
		"number":    {7.5, page.Shown{Text: "7.5", Left: 0}},
		"nothing":   {nil, page.Shown{Text: "null", Left: 0}},
		"list":      {[]any{1.0}, page.Shown{Text: "[\n  1\n]", Left: 0}},
		"long list": {[]any{1.0, 2.0, 3.0}, page.Shown{Text: "[\n  1,\n ", Left: 4}},
		"unheard":   {func() {}, page.Shown{}},
	} {
		if got := fieldText(tc.value, 8); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
	var input map[string]any
	if err := json.Unmarshal([]byte(`{"b":{"c":[]},"a":"x","command":"y"}`), &input); err != nil {
		t.Fatal(err)
	}
	if list := fields(input, "command"); len(list) != 2 || list[0].Name != "a" || list[1].Text.Text != "{\n  \"c\": []\n}" {
		t.Errorf("%+v", list)
	}
}
