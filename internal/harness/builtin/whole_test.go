package builtin

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
	"github.com/lineshaft/lineshaft/internal/mask"
)

// message draws any message, right or wrong.
func message(t *rapid.T) chat.Message {
	id := rapid.SampledFrom([]string{"", "a", "b", "c"})
	m := chat.Message{
		Role: rapid.SampledFrom([]string{chat.User, chat.Assistant, "system", ""}).Draw(t, "role"),
		Text: rapid.SampledFrom([]string{"", "text", strings.Repeat("long ", 300)}).Draw(t, "text"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		m.Calls = append(m.Calls, chat.Call{
			ID: id.Draw(t, "call"), Name: rapid.SampledFrom([]string{"", "read"}).Draw(t, "name"),
			Arguments: json.RawMessage(rapid.SampledFrom([]string{``, `{}`, `[1]`, `{"path":"x"}`, `{`, `null`}).Draw(t, "arguments")),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "results") {
		m.Results = append(m.Results, chat.Result{ID: id.Draw(t, "result"), Text: "result"})
	}
	return m
}

// whole says what an endpoint would find wrong with a conversation, if anything.
func whole(messages []chat.Message) string {
	for i, m := range messages {
		switch {
		case i == 0 && m.Role != chat.User:
			return "it does not begin with the user"
		case m.Role != chat.User && m.Role != chat.Assistant:
			return "role " + m.Role
		case m.Text == "" && len(m.Calls) == 0 && len(m.Results) == 0:
			return "an empty message"
		case m.Role == chat.Assistant && len(m.Results) > 0, m.Role == chat.User && len(m.Calls) > 0:
			return "calls and results are mixed up"
		}
		for _, c := range m.Calls {
			var object map[string]any
			if json.Unmarshal(c.Arguments, &object) != nil || object == nil || c.ID == "" || c.Name == "" {
				return "a call without a name or arguments"
			}
			if i+1 == len(messages) || count(messages[i+1].Results, c.ID) != count2(m.Calls, c.ID) {
				return "a call without its result"
			}
		}
		for _, r := range m.Results {
			if i == 0 || count2(messages[i-1].Calls, r.ID) == 0 {
				return "a result without its call"
			}
		}
	}
	return ""
}

func count(results []chat.Result, id string) (n int) {
	for _, r := range results {
		if r.ID == id {
			n++
		}
	}
	return n
}

func count2(calls []chat.Call, id string) (n int) {
	for _, c := range calls {
		if c.ID == id {
			n++
		}
	}
	return n
}

// Whatever is read from a workspace, what is made of it can be sent; and what can
// be sent stays as it is.
func TestR6ConversationsAreMadeWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfN(rapid.Custom(message), 0, 8).Draw(t, "messages")
		made := consistent(given)
		if wrong := whole(made); wrong != "" {
			t.Fatalf("%s: %+v", wrong, made)
		}
		if again, first := encode(t, consistent(made)), encode(t, made); again != first {
			t.Fatalf("%s, and again %s", first, again)
		}
	})
}

func encode(t *rapid.T, messages []chat.Message) string {
	raw, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A conversation that is kept has a bound, and is whole from where it begins.
func TestR6KeptConversationsAreBounded(t *testing.T) {
	t.Parallel()
	none := func() *mask.Masker { return nil }
	for name, text := range map[string]string{"plain": strings.Repeat("x", 40<<10), "quotes": strings.Repeat("\"", 40<<10), "control": strings.Repeat("\x01", 20<<10)} {
		s := &session{env: harness.Environment{Mask: none}, messages: []chat.Message{{Role: chat.User, Text: "the task"}}}
		for range 120 {
			s.messages = append(s.messages,
				chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "a", Name: "read", Arguments: json.RawMessage(`{}`)}}},
				chat.Message{Role: chat.User, Results: []chat.Result{{ID: "a", Text: text}}})
		}
		raw, err := (&turn{session: s}).encode()
		if err != nil || len(raw) > maxHistory || len(raw) < maxHistory*9/10 {
			t.Errorf("%s: %d bytes, %v", name, len(raw), err)
		}
		var kept history
		if err := json.Unmarshal(raw, &kept); err != nil || whole(kept.Messages) != "" {
			t.Errorf("%s: %v, %s", name, err, whole(kept.Messages))
		}
	}
	s := &session{env: harness.Environment{Mask: none}, messages: []chat.Message{{Role: chat.User, Text: strings.Repeat("x", 2*maxHistory)}}}
	if raw, err := (&turn{session: s}).encode(); err != nil || len(raw) > 1000 {
		t.Errorf("one long message: %d bytes, %v", len(raw), err)
	}
}

// Shortening leaves a conversation that can be sent, from wherever it begins.
func TestX6ShortenedConversationsAreWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &session{factor: 1, messages: consistent(rapid.SliceOfN(rapid.Custom(message), 0, 12).Draw(t, "messages"))}
		limit := rapid.IntRange(0, 2000).Draw(t, "limit")
		if from := s.cutAt(limit); from > 0 {
			s.messages = append([]chat.Message{{Role: chat.User, Text: "summary"}}, s.messages[from:]...)
		}
		s.shrink(rapid.IntRange(-2, len(s.messages)).Draw(t, "shrink"))
		s.cutTexts(limit)
		if wrong := whole(s.messages); wrong != "" {
			t.Fatalf("%s: %+v", wrong, s.messages)
		}
	})
}

// However output is written, its head and tail are kept, and little more.
func TestX6OutputIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kept := &gathered{limit: 40}
		var all string
		for _, piece := range rapid.SliceOf(rapid.StringN(0, 30, 60)).Draw(t, "pieces") {
			all += piece
			if n, err := kept.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		got := kept.String()
		switch {
		case !utf8.ValidString(got):
			t.Fatalf("%q is cut within a character", got)
		case len(all) <= 40 && got != all:
			t.Fatalf("%q became %q", all, got)
		case len(all) > 40 && (!strings.Contains(got, "bytes left out") || len(got) > 200):
			t.Fatalf("%d bytes became %q", len(all), got)
		}
		short := cut(all, 40)
		if !utf8.ValidString(short) || len(all) <= 40 && short != all || len(short) > 100 {
			t.Fatalf("%q became %q", all, short)
		}
	})
}

func TestX7ResultsAsText(t *testing.T) {
	t.Parallel()
	tests := map[string]*mcp.CallToolResult{
		"":                            {},
		"one\ntwo":                    {Content: []mcp.Content{&mcp.TextContent{Text: "one"}, &mcp.TextContent{Text: "two"}}},
		"[a sound, audio/x, 2 bytes]": {Content: []mcp.Content{&mcp.AudioContent{MIMEType: "audio/x", Data: []byte("ab")}}},
		"[doc: file:///d]":            {Content: []mcp.Content{&mcp.ResourceLink{Name: "doc", URI: "file:///d"}}},
		"file:///d\ninside":           {Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///d", Text: "inside"}}}},
		`{"a":1}`:                     {StructuredContent: map[string]any{"a": 1}},
		"text":                        {Content: []mcp.Content{&mcp.TextContent{Text: "text"}, &mcp.EmbeddedResource{}}, StructuredContent: map[string]any{"a": 1}},
	}
	for want, result := range tests {
		if got := resultText(result); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Old arguments that were long stay an object.
func TestX6OldArgumentsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for given, want := range map[string]string{
		`{"path":"a","content":"` + long + `"}`: `{"content":"` + cut(long, oldResult) + `","path":"a"}`,
		`{"steps":["` + long + `"]}`:            `{}`,
		`["` + long + `"]`:                      `{}`,
	} {
		want = strings.ReplaceAll(want, "\n", `\n`)
		if got := string(shortArguments(json.RawMessage(given))); got != want {
			t.Errorf("%.100s became %.900s, want %.900s", given, got, want)
		}
	}
	s := &session{messages: []chat.Message{{Role: chat.Assistant, Calls: []chat.Call{{ID: "a", Name: "write", Arguments: json.RawMessage(`{"content":"` + long + `"}`)}}}}}
	s.shrink(1)
	if n := len(s.messages[0].Calls[0].Arguments); n > 1000 {
		t.Errorf("%d bytes are left", n)
	}
}

func TestX7PolicyOfARun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		config *lineshaft.HarnessConfig
		want   Policy
	}{
		{nil, Allow},
		{&lineshaft.HarnessConfig{}, Allow},
		{&lineshaft.HarnessConfig{Permissions: lineshaft.PermissionsAllow}, Allow},
		{&lineshaft.HarnessConfig{Permissions: lineshaft.PermissionsDeny}, Deny},
		{&lineshaft.HarnessConfig{Permissions: lineshaft.PermissionsAsk}, Ask},
	} {
		job := lineshaft.Job{Config: lineshaft.AgentConfig{Harness: test.config}}
		if got := (Options{}).withDefaults().Policy(job); got != test.want {
			t.Errorf("%+v: %s, want %s", test.config, got, test.want)
		}
	}
}

func TestX7AnswersToPermission(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"allow": "allow_once", " ALLOW ": "allow_once", "Always allow this tool": "allow_always", "allow_always": "allow_always", "Yes.": "allow_once", "ok": "allow_once",
		"reject": "reject_once", "no!": "reject_once", "never": "reject_once", "yes, but slowly": "", "": "",
		"1": "allow_once", "2": "allow_always", "3": "reject_once", "always": "allow_always", "4": "",
	} {
		if got, _ := harness.Choose(permissionOptions(), answer); got.Kind != want {
			t.Errorf("%q is %q, want %q", answer, got.Kind, want)
		}
	}
	for want, call := range map[string]chat.Call{
		"shell: ls":        {Name: "shell", Arguments: json.RawMessage(`{"command":"ls"}`)},
		"write: a":         {Name: "write", Arguments: json.RawMessage(`{"path":"a","content":"x"}`)},
		`mcp__x {"a":[1]}`: {Name: "mcp__x", Arguments: json.RawMessage(`{"a":[1]}`)},
	} {
		if got := title(call); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What people see of arguments has an end, whatever is in them.
func TestX7ShownArguments(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 20_000)
	got := shown(json.RawMessage(`{"a":"` + long + `","b":["` + long + `"],"c":5}`))
	for _, key := range []string{"a", "b"} {
		if text, ok := got[key].(string); !ok || len(text) > 17_000 || !strings.Contains(text, "left out") {
			t.Errorf("%s: %.100v", key, got[key])
		}
	}
	if got["c"] != 5.0 || len(shown(json.RawMessage(`[1]`))) != 0 || shown(nil) == nil {
		t.Errorf("%v", got["c"])
	}
}

// A window is learned from what an endpoint says, or from what it did not take.
func TestX6LearnedWindows(t *testing.T) {
	t.Parallel()
	request := chat.Request{Messages: []chat.Message{{Role: chat.User, Text: strings.Repeat("word ", 7000)}}} // about 10,000 tokens
	for _, test := range []struct{ had, said, want int }{
		{200_000, 8192, 8192}, {200_000, 0, 7506}, {8000, 32_000, 6000}, {200_000, 1000, 7506}, {2100, 0, 2000},
	} {
		s := &session{window: test.had, factor: 1}
		s.learn(request, test.said)
		if s.window != test.want {
			t.Errorf("had %d, said %d: %d, want %d", test.had, test.said, s.window, test.want)
		}
		if sent := float64(estimate(request)) * s.factor; sent <= float64(s.window) {
			t.Errorf("had %d, said %d: the request is taken to fit, %v of %d", test.had, test.said, sent, s.window)
		}
	}
}

func TestX7ToolNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, name := range []string{"get", "get it", "get_it", "get.it", strings.Repeat("x", 100), strings.Repeat("x", 101), "ä"} {
		got := toolName("my server", name)
		if seen[got] || len(got) > 64 || !strings.HasPrefix(got, "mcp__my_server__") || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			t.Errorf("%q became %q", name, got)
		}
		seen[got] = true
	}
	if got := toolName("github", "list-issues"); got != "mcp__github__list-issues" {
		t.Error(got)
	}
}

// People learn what to do, by who refused and why.
func TestX12RefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"price_unknown": "choose a model that has a price", "model_not_offered": "config.model_id", "another": "lineshaft doctor", "": "check the model's name",
	} {
		result, err := failure(t.Context(), &chat.Error{Kind: chat.Refused, Status: 404, Code: code, Said: "no such thing"})
		if err != nil || !strings.Contains(result.Message, want) || !strings.Contains(result.Message, "no such thing") || strings.Contains(result.Message, "the model endpoint refused") != (code == "") {
			t.Errorf("%q: %s, %v", code, result.Message, err)
		}
	}
}
