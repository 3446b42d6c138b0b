package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/acp"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
)

const token = harnesstest.Token

// updates are some of an agent's, and the events that they become.
type updates struct {
	name    string
	updates []string
	want    string
}

func (u updates) check(t *testing.T) {
	t.Run(u.name, func(t *testing.T) {
		t.Parallel()
		if got := acp.Story(t, u.updates...); got != u.want {
			t.Errorf("got\n%s, want\n%s", got, u.want)
		}
	})
}

// Tool calls, as the agents of the presets send them.
func TestX6ACPToolCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []updates{
		{
			"a call that is told whole",
			[]string{`{"sessionUpdate":"tool_call","toolCallId":"a","title":"Read notes","kind":"read","status":"completed","locations":[{"path":"/w/notes"}],"content":[{"type":"content","content":{"type":"text","text":"x"}}]}`},
			`tool_call {"id":"a","category":"files","name":"read","input":{"path":"/w/notes","title":"Read notes"}}
tool_result {"id":"a","category":"files","name":"read","state":"completed","output":{"text":"x"}}
`,
		},
		{
			"an edit",
			[]string{`{"sessionUpdate":"tool_call","toolCallId":"a","title":"write","kind":"edit","status":"completed","rawInput":{"file":"x"},"content":[{"type":"diff","path":"x","oldText":null,"newText":"new"}]}`},
			`tool_call {"id":"a","category":"files","name":"write","input":{"file":"x"}}
tool_result {"id":"a","category":"files","name":"write","state":"completed","output":{"diffs":[{"new_text":"new","old_text":"","path":"x"}]}}
`,
		},
		{
			"a tool of a server, and one that fails",
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"a","title":"mcp.s.t","kind":"execute","status":"in_progress","rawInput":{"server":"s","tool":"t","arguments":{"k":1}}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"failed","rawOutput":{"result":{"content":[{"type":"text","text":"no"}]}}}`,
			},
			`tool_call {"id":"a","category":"integration","name":"s/t","input":{"arguments":{"k":1},"server":"s","tool":"t"}}
tool_result {"id":"a","category":"integration","name":"s/t","state":"failed","output":{"text":"no"}}
`,
		},
		{
			"a running command: what is new of its output, and its exit code",
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"a","title":"make all","kind":"execute","status":"pending","content":[{"type":"content","content":{"type":"text","text":"builds it"}}]}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"one\n"}}]}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"one\ntwo\n"}}]}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"something else"}}]}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","rawOutput":{"metadata":{"exit":2},"output":"all"}}`,
			},
			`tool_call {"id":"a","category":"command","name":"run_command","input":{"command":"make all"}}
output {"stream":"stdout","text":"one\n","tool_call_id":"a"}
output {"stream":"stdout","text":"two\n","tool_call_id":"a"}
tool_result {"id":"a","category":"command","name":"run_command","state":"completed","output":{"exit_code":2,"text":"something else"}}
`,
		},
		{
			"a terminal of the agent's",
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"a","title":"ls","kind":"execute","status":"in_progress","rawInput":{"command":"ls"},"content":[{"type":"terminal","terminalId":"a"}]}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","_meta":{"terminal_output_delta":{"data":"x ` + token + `"}}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","_meta":{"terminal_exit":{"exit_code":0}}}`,
			},
			`tool_call {"id":"a","category":"command","name":"ls","input":{"command":"ls"}}
output {"stream":"stdout","text":"x ***LINESHAFT_RUN_TOKEN***","tool_call_id":"a"}
tool_result {"id":"a","category":"command","name":"ls","state":"completed","output":{"exit_code":0,"text":"x ***LINESHAFT_RUN_TOKEN***"}}
`,
		},
		{
			"the name and the result beside the protocol; secrets",
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"a","title":"Terminal","kind":"execute","rawInput":{},"_meta":{"claudeCode":{"toolName":"Bash"}}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","title":"echo","rawInput":{"command":"echo ` + token + `"},"content":[{"type":"content","content":{"type":"text","text":"says it"}}]}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","rawOutput":"` + token + `"}`,
			},
			`tool_call {"id":"a","category":"command","name":"Bash","input":{"command":"echo ***LINESHAFT_RUN_TOKEN***"}}
tool_result {"id":"a","category":"command","name":"Bash","state":"completed","output":{"text":"***LINESHAFT_RUN_TOKEN***"}}
`,
		},
	} {
		test.check(t)
	}
}

func TestX6ACPCallsAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, test := range []updates{
		{
			"one without an end",
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"a","title":"grep","kind":"search","status":"pending"}`,
				`{"sessionUpdate":"tool_call","toolCallId":"b","title":"web","kind":"fetch","status":"pending"}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"b","status":"completed"}`,
			},
			`tool_call {"id":"a","category":"search","name":"grep","input":{"title":"grep"}}
tool_call {"id":"b","category":"search","name":"web","input":{"title":"web"}}
tool_result {"id":"b","category":"search","name":"web","state":"completed","output":{}}
tool_result {"id":"a","category":"search","name":"grep","state":"completed","output":{}}
`,
		},
		{
			"a message in between, and an end that nobody began",
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"a","title":"move it","kind":"move","status":"pending","rawInput":["x"]}`,
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"meanwhile"}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"z","status":"failed","rawOutput":[1]}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","rawOutput":{"stdout":"moved"}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed"}`,
			},
			`tool_call {"id":"a","category":"files","name":"move","input":{"input":"[\"x\"]"}}
message {"role":"assistant","text":"meanwhile"}
tool_call {"id":"z","category":"integration","name":"tool","input":{}}
tool_result {"id":"z","category":"integration","name":"tool","state":"failed","output":{"text":"[1]"}}
tool_result {"id":"a","category":"files","name":"move","state":"completed","output":{"text":"moved"}}
`,
		},
	} {
		test.check(t)
	}
}

// The other kinds, and what is odd.
func TestX6ACPUpdates(t *testing.T) {
	t.Parallel()
	for _, test := range []updates{
		{
			"a plan",
			[]string{`{"sessionUpdate":"plan","entries":[{"content":"look ` + token + `","priority":"high","status":"in_progress"},{"content":"leap","priority":"odd","status":"odd"}]}`, `{"sessionUpdate":"plan","entries":7}`},
			`plan {"steps":[{"text":"look ***LINESHAFT_RUN_TOKEN***","state":"in_progress","priority":"high"},{"text":"leap","state":"pending"}]}
`,
		},
		{
			"a secret in two chunks, messages with ids, content that is no text",
			[]string{
				`{"sessionUpdate":"agent_message_chunk","messageId":"1","content":{"type":"text","text":"` + token[:10] + `"}}`,
				`{"sessionUpdate":"agent_message_chunk","messageId":"1","content":{"type":"text","text":"` + token[10:] + `"}}`,
				`{"sessionUpdate":"agent_message_chunk","messageId":"2","content":{"type":"resource_link","name":"n","uri":"u"}}`,
				`{"sessionUpdate":"agent_message_chunk","messageId":"2","content":{"type":"image","data":"AAAA"}}`,
				`{"sessionUpdate":"agent_message_chunk","messageId":"2","content":{"type":"resource","resource":{"uri":"u","text":"t"}}}`,
				`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"not said by the agent"}}`,
			},
			`message {"role":"assistant","text":"***LINESHAFT_RUN_TOKEN***"}
message {"role":"assistant","text":"[n](u)[image]t"}
`,
		},
		{
			"odd fields",
			[]string{`{"sessionUpdate":"tool_call","toolCallId":"a","title":7,"kind":["x"],"status":"in_progress","rawInput":"text","content":"x","_meta":[]}`},
			`tool_call {"id":"a","category":"integration","name":"tool","input":{"input":"text"}}
tool_result {"id":"a","category":"integration","name":"tool","state":"completed","output":{}}
`,
		},
		{"nothing for the log", []string{`{"sessionUpdate":"available_commands_update","availableCommands":[]}`, `{"sessionUpdate":"current_mode_update","currentModeId":"x"}`}, ""},
	} {
		test.check(t)
	}
}

// A long message comes in parts, a long result without its middle.
func TestX6ACPLongTexts(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("é", 2500) + "\n"
	chunk, err := json.Marshal(strings.Repeat(line, 8))
	if err != nil {
		t.Fatal(err)
	}
	got := acp.Story(t, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":`+string(chunk)+`}}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"end"}}`)
	if n := strings.Count(got, "message {"); n != 2 || !strings.Contains(got, `{"role":"assistant","text":"end"}`) || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d messages: %.300s", n, got)
	}
	long, err := json.Marshal(strings.Repeat("ü", 100<<10))
	if err != nil {
		t.Fatal(err)
	}
	got = acp.Story(t, `{"sessionUpdate":"tool_call","toolCallId":"a","status":"completed","rawInput":{"x":`+string(long)+`},"rawOutput":`+string(long)+`}`)
	if len(got) > 150<<10 || strings.Count(got, "(left out)") != 2 || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
}

// What agents reported of their consumption, as it was captured from them.
func TestX6ACPUsage(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, cost, answer, want string }{
		{"per turn", "", `{"usage":{"inputTokens":22,"outputTokens":14,"cachedReadTokens":5,"cachedWriteTokens":1,"totalTokens":42}}`, `{"model_id":"m","input_tokens":28,"output_tokens":14}`},
		{"with the cached ones among the others", "", `{"usage":{"inputTokens":22,"outputTokens":14,"cachedReadTokens":5,"thoughtTokens":3,"totalTokens":36}}`, `{"model_id":"m","input_tokens":22,"output_tokens":14}`},
		{"a quota", "", `{"_meta":{"quota":{"model_usage":[{"model":"g"}],"token_count":{"input_tokens":22,"output_tokens":14}}}}`, `{"model_id":"g","input_tokens":22,"output_tokens":14}`},
		{"a cost alone", `{"amount":0.000552,"currency":"USD"}`, `{}`, `{"model_id":"m","input_tokens":0,"output_tokens":0,"cost_micros":552}`},
		{"another currency", `{"amount":5,"currency":"EUR"}`, `{}`, ""},
		{"nothing", "", `{"usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}`, ""},
		{"nonsense", `"much"`, `{"usage":{"inputTokens":-5,"outputTokens":"x"},"_meta":7}`, ""},
	}
	log := harnesstest.NewLog()
	for _, test := range tests {
		env := environment(t, none())
		env.Job.Config.ModelID = "m"
		session := open(t, env, acp.Options{})
		before := len(log.Drafts(lineshaft.EventUsage))
		orders := []string{"answer " + test.answer}
		if test.cost != "" {
			orders = append(orders, `update {"sessionUpdate":"usage_update","size":1,"used":1,"cost":`+test.cost+`}`)
		}
		good(t, session, log, orders...)
		got := ""
		if all := log.Drafts(lineshaft.EventUsage); len(all) > before {
			got = string(all[before].Data)
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// A cost counts for the whole session: each turn is charged with what it added,
// also in a later execution.
func TestX6ACPCostAddsUp(t *testing.T) {
	t.Parallel()
	costs := func(log *harnesstest.Log) string {
		var out []string
		for _, d := range log.Drafts(lineshaft.EventUsage) {
			out = append(out, string(d.Data))
		}
		return strings.Join(out, "")
	}
	spend := func(amount string) string {
		return `update {"sessionUpdate":"usage_update","cost":{"amount":` + amount + `,"currency":"USD"}}`
	}
	log, env := handOff(t, none(), []string{"resume"}, []string{"resume"})
	session, err := acp.New(acp.Options{}).Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	good(t, session, log, spend("1.5"))
	good(t, session, log, spend("1.75"))
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := harnesstest.NewLog()
	good(t, open(t, env, acp.Options{}), later, spend("2"))
	if got := costs(log); !strings.Contains(got, `"cost_micros":1500000`) || !strings.Contains(got, `"cost_micros":250000`) {
		t.Errorf("costs %s", got)
	}
	if got := costs(later); !strings.Contains(got, `"cost_micros":250000`) {
		t.Errorf("costs of the later execution %s", got)
	}
}

// FuzzUpdates feeds the output of an agent: nothing in it may bring us down, and
// every event is valid.
func FuzzUpdates(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"a","status":"completed","content":[{"type":"diff"}]}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"plan","entries":[{}]}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"usage_update","cost":{"amount":1e308,"currency":"USD"}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"options":[{"kind":"allow_once"}],"toolCall":{}}}`,
		`{"jsonrpc":"2.0","id":{},"result":[]}`, "\xff\xfe", "{}\n{}\n", `{"id":null,"method":""}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if err := acp.Digest(t, line); err != nil {
			t.Fatal(err)
		}
	})
}
