package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/model"
)

func confined(_ *Config, s *SessionConfig) { s.Confined = true }

// fetchers make a vendor reach out, by the path that they are sent to.
func fetchers() map[string][]string {
	return map[string][]string{
		"/openai/v1/responses": {
			`"text":{"format":{"type":"json_schema","schema":{"$ref":"https://x.example/secret"}}}`,
			`"input":[{"type":"tool_search_output","tools":[{"type":"function","parameters":{"$ref":"https://x.example/secret"}}]}]`,
			`"tools":[{"type":"mcp","server_label":"x","server_url":"https://x.example"}]`, `"tools":[{"type":"function","name":"f"},{"type":"code_interpreter"}]`, `"tools":[{"type":"function","type":"mcp"}]`,
			`"tools":[{"type":"namespace","name":"n","tools":[{"type":"mcp"}]}]`, `"tools":[{"Type":"mcp"}]`, `"Tools":[{"type":"mcp"}]`, `"prompt":{"id":"pmpt_1"}`,
			`"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x.example/secret"}]}]`, `"input":[{"content":[{"type":"input_file","file_url":"HTTP://x.example"}]}]`,
			`"input":[{"content":[{"type":"input_image","image_url":"data:image/png;base64,AA","image_url":"https://x.example"}]}]`,
			`"input":[{"type":"tool_search_output","tools":[{"type":"mcp","server_url":"https://x.example"}]}]`, `"input":[{"type":"additional_tools","tools":[{"type":"function","name":"f"},{"type":"code_interpreter"}]}]`,
			`"tools":[{"type":"image_generation","input_image_mask":{"image_url":"https://x.example/secret"}}]`, `"tools":[{"server_url":"https://x.example"}]`,
			`"input":[{"type":"tool_use","input":[{"type":"input_image","image_url":"https://x.example"}]}]`, `"tools":[{"type":"file_search"}]`, `"tools":[{"type":"shell","environment":{"type":"container_auto"}}]`,
		},
		"/openai/v1/chat/completions": {
			`"tools":[{"type":"function","function":{"name":"f","parameters":{"$ref":"https://x.example/secret"}}}]`,
			`"response_format":{"type":"json_schema","json_schema":{"schema":{"properties":{"a":{"items":{"$ref":"HTTP://x.example/secret"}}}}}}`,
			`"response_format":{"json_schema":{"schema":{"$id":"https://x.example/a","properties":{"a":{"$ref":"secret"}}}}}`,
			`"tools":[{"type":"function","function":{"parameters":{"$dynamicRef":"//x.example/secret"}}}]`,
			`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.example/secret"}}]}]`, `"web_search_options":{}`, `"plugins":[{"id":"web"}]`,
			`"messages":[{"content":[{"type":"video_url","video_url":{"url":"https://x.example"}}]}]`, `"messages":[{"content":[{"type":"input_audio","audio_url":"https://x.example"}]}]`,
			`"messages":[{"content":[{"type":"file","file":{"file_data":"https://x.example/secret"}}]}]`, `"tools":[{"type":"builtin_function","function":{"name":"$web_search"}}]`,
			`"messages":[{"content":[{"type":"file","file":{"file_id":"https://x.example/secret"}}]}]`, `"messages":[{"content":[{"type":"image","url":"https://x.example/secret"}]}]`,
			`"messages":[{"content":[{"type":"input_audio","input_audio":{"data":"https://x.example/secret","format":"mp3"}}]}]`, `"messages":[{"content":[{"url":"https://x.example/secret","type":"document"}]}]`,
		},
		"/anthropic/v1/messages": {
			`"tools":[{"name":"f","input_schema":{"type":"tool_use","input":{"$ref":"https://x.example/secret"}}}]`,
			`"mcp_servers":[{"type":"url","url":"https://x.example"}]`, `"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]`, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, `"tools":[{"type":"mcp_toolset"}]`,
			`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.example/secret"}}]}]`,
			`"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`,
			`"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"document","source":{"url":"https://x.example/secret","type":"url"}}]}]}]`,
		},
		"/anthropic/v1/messages/count_tokens": {`"messages":[{"content":[{"source":{"type":"url","url":"https://x.example"}}]}]`},
		"/gemini/v1beta/models/m1:generateContent": {
			`"tools":[{"functionDeclarations":[{"parametersJsonSchema":{"$ref":"https://x.example/secret"}}]}]`,
			`"generationConfig":{"responseJsonSchema":{"$ref":"ftp://x.example/secret"}}`,
			`"tools":[{"googleSearch":{}}]`, `"tools":[{"url_context":{}}]`, `"tools":[{"functionDeclarations":[]},{"google_search_retrieval":{}}]`,
			`"contents":[{"parts":[{"fileData":{"fileUri":"https://x.example/secret"}}]}]`, `"contents":[{"parts":[{"file_data":{"file_uri":"gs://x/secret"}}]}]`,
			`"contents":[{"parts":[{"functionResponse":{"response":{},"parts":[{"fileData":{"fileUri":"https://x.example"}}]}}]}]`, `"tools":[{"googleMaps":{}}]`, `"tools":[{"fileSearch":{}}]`,
		},
	}
}

// TestX12VendorsDoNotReachOut: with egress none and allow the model's vendor is not a
// way out; with full it is the agent's business.
func TestX12VendorsDoNotReachOut(t *testing.T) {
	t.Parallel()
	closed, open := newRig(t, say("application/json", `{}`), confined), newRig(t, say("application/json", `{}`))
	for path, bodies := range fetchers() {
		for _, body := range bodies {
			body = `{"model":"m1",` + body + `}`
			if resp, got := closed.post(path, body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(got, "egress") && !strings.Contains(got, "twice") {
				t.Errorf("%s %s: %d %s", path, body, resp.StatusCode, got)
			}
			if resp, got := open.post(path, body); resp.StatusCode != http.StatusOK {
				t.Errorf("full: %s %s: %d %s", path, body, resp.StatusCode, got)
			}
		}
	}
	if closed.sent() != 0 {
		t.Error("something was passed on")
	}
}

// TestX12UnknownFieldsAreLeftOut: what a vendor may understand as the wish to search, or to
// have another model asked, does not get there; the run is notified once.
func TestX12UnknownFieldsAreLeftOut(t *testing.T) {
	t.Parallel()
	reported := make(chan string, 2*maxLeft)
	r := newRig(t, say("application/json", `{}`), confined, func(_ *Config, s *SessionConfig) { s.LeftOut = func(name string) { reported <- name } })
	for path, fields := range map[string]string{
		"/openai/v1/chat/completions":              `"enable_search":true,"extra_body":{"google":{}},"models":["x"],"temperature":1`,
		"/openai/v1/responses":                     `"enable_search":true,"temperature":1`,
		"/anthropic/v1/messages":                   `"container":{"skills":[]},"temperature":1`,
		"/gemini/v1beta/models/m1:generateContent": `"cachedContent":"cachedContents/1","safetySettings":[]`,
	} {
		for range 2 {
			before := r.sent()
			if resp, got := r.post(path, `{"model":"m1",`+fields+`}`); resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %s", path, resp.StatusCode, got)
			}
			_, sent := r.request(before)
			if strings.Contains(sent, "enable_search") || strings.Contains(sent, "extra_body") || strings.Contains(sent, "models") || strings.Contains(sent, "container") || strings.Contains(sent, "cached") ||
				!strings.Contains(sent, "temperature") && !strings.Contains(sent, "safetySettings") {
				t.Errorf("%s: passed on %s", path, sent)
			}
		}
	}
	r.counted() // nothing runs any more
	close(reported)
	left := slices.Sorted(func(yield func(string) bool) {
		for name := range reported {
			if !yield(name) {
				return
			}
		}
	})
	if want := []string{"cachedContent", "container", "enable_search", "extra_body", "models"}; !slices.Equal(left, want) {
		t.Errorf("reported %q, want %q", left, want)
	}
}

// TestX12AgentsWorkWithoutTheirVendorsTools: what they send every time passes, with
// the same meaning.
func TestX12AgentsWorkWithoutTheirVendorsTools(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`), confined)
	for _, test := range []struct{ path, body, want string }{
		{
			"/openai/v1/responses", `{"model":"m1","tool_choice":"auto","tools":[{"type":"function","name":"f"},{"type":"namespace","tools":[{"type":"function"},{"type":"web_search"}]},{"type":"web_search","external_web_access":true}]}`,
			`{"model":"m1","tool_choice":"auto","tools":[{"name":"f","type":"function"},{"tools":[{"type":"function"}],"type":"namespace"}]}`,
		},
		{"/openai/v1/responses", `{"model":"m1","tool_choice":"auto","tools":[{"type":"web_search_preview"}]}`, `{"model":"m1"}`},
		{"/openai/v1/responses", `{"input":[{"content":[{"image_url":"data:image/png;base64,AA"}]}],"model":"m1"}`, ""},
		{
			"/anthropic/v1/messages", `{"messages":[{"content":[{"input":{"$ref":"https://x"},"type":"tool_use"}]}],"model":"m1",` +
				`"tools":[{"input_schema":{"$defs":{"a":{}},"$id":"https://x","$schema":"https://json-schema.org/draft","items":{"$ref":"#/$defs/a"}},"name":"f"}]}`, "",
		},
		{"/openai/v1/chat/completions", `{"model":"m1","tools":[{"function":{"parameters":{"$id":"T0","items":{"$ref":"T0"}}},"type":"function"}]}`, ""},
		{
			"/openai/v1/responses", `{"client_metadata":{"repo_url":"https://x"},"input":[{"tools":[{"name":"f","type":"function"}],"type":"tool_search_output"}],"model":"m1","text":{"format":{"schema":{"properties":{"home_url":{"type":"string"},"tools":{"type":"array"}}}}}}`, "",
		},
		{"/openai/v1/chat/completions", `{"messages":[{"content":"see https://x.example"},{"content":[{"image_url":{"url":"data:image/png;base64,AA"}}]}],"model":"m1"}`, ""},
		{"/anthropic/v1/messages", `{"mcp_servers":[],"model":"m1","tools":[{"input_schema":{"properties":{"image_url":{"type":"string"},"type":{"enum":["url"]}}},"name":"Bash"},{"type":"bash_20250124"}]}`, ""},
		{"/anthropic/v1/messages", `{"messages":[{"content":[{"input":{"image_url":"https://x","source":{"type":"url","url":"https://x"}},"type":"tool_use"},{"source":"https://x","type":"search_result"}]}],"model":"m1"}`, ""},
		{"/gemini/v1beta/models/m1:generateContent", `{"contents":[{"parts":[{"functionCall":{"args":{"file_url":"https://x"}}},{"functionResponse":{"response":{"image_url":"https://x"}}}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`, ""},
	} {
		before := r.sent()
		if resp, got := r.post(test.path, test.body); resp.StatusCode != http.StatusOK || r.sent() != before+1 {
			t.Errorf("%s: %d %s", test.body, resp.StatusCode, got)
			continue
		}
		if test.want == "" {
			test.want = test.body
		}
		if _, sent := r.request(before); sent != test.want {
			t.Errorf("sent %s\nwant %s", sent, test.want)
		}
	}
}

// TestX12LookIsBounded: neither many fields nor deep nesting takes long.
func TestX12LookIsBounded(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range maxKeys + 1 {
		_, _ = fmt.Fprintf(&many, `"k%d":0,`, i)
	}
	if bad := (&call{}).look("x", json.RawMessage(`{`+many.String()+`"z":0}`), true); bad == nil {
		t.Error("an object of many fields passes")
	}
	deep := strings.Repeat(`{"url":`, 9000) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat(`}`, 9000)
	if bad := (&call{}).look("x", json.RawMessage(deep), true); bad != nil {
		t.Error(bad)
	}
	c := call{protocol: model.OpenAI}
	if _, bad := c.tools(json.RawMessage(`[` + strings.Repeat(`{"type":"function"},`, maxTools+1) + `{}]`)); bad == nil {
		t.Error("thousands of tools pass")
	}
	if kept, bad := c.tools(json.RawMessage(`7`)); kept != nil || bad != nil {
		t.Errorf("no list: %s %v", kept, bad)
	}
}

// FuzzWithin: what has been looked through is still an object, and looking again
// changes nothing and finds nothing.
func FuzzWithin(f *testing.F) {
	for _, bodies := range fetchers() {
		for _, body := range bodies {
			f.Add("{" + body + "}")
		}
	}
	f.Add(`{"tools":[{"type":"web_search"},{"type":"function","x":[{"url":{"type":"url"}}]}],"input":"text"}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, protocol := range model.Protocols() {
			fields, bad := readFields([]byte(text))
			if bad != nil {
				return
			}
			c := call{protocol: protocol, kind: kindResponses}
			if c.within(fields) != nil {
				continue
			}
			once, err := json.Marshal(fields)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if bad := c.within(fields); bad != nil {
				t.Errorf("%s passes once and then not: %v", text, bad)
			}
			if twice, _ := json.Marshal(fields); string(twice) != string(once) {
				t.Errorf("%s is %s and then %s", text, once, twice)
			}
		}
	})
}

// TestX12CountingDoesNotReachOut: a request within a request is also checked.
func TestX12CountingDoesNotReachOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{"totalTokens":1}`), confined)
	const path = "/gemini/v1beta/models/m1:countTokens"
	for body, want := range map[string]int{
		`{"generateContentRequest":{"contents":[{"parts":[{"fileData":{"fileUri":"https://x.example"}}]}]}}`: http.StatusBadRequest,
		`{"generateContentRequest":{"contents":[{"parts":[{"text":"https://x.example"}]}]}}`:                 http.StatusOK,
		`{"generateContentRequest":{"tools":[{"googleSearch":{}}]}}`:                                         http.StatusBadRequest,
		`{"generateContentRequest":[]}`: http.StatusBadRequest,
	} {
		if resp, got := r.post(path, body); resp.StatusCode != want {
			t.Errorf("%s: %d %s", body, resp.StatusCode, got)
		}
	}
}
