package oneshot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/harness/oneshot"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

func TestMain(m *testing.M) {
	if code, ok := harnesstest.Supervise(context.Background()); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// actor is a program that says what a test has written down for it, and notes how
// it was called.
const actor = `echo "$@" >>args.txt; cat >prompt.txt; env >env.txt
n=$(wc -l <args.txt); . ./say-$n.sh`

// play is an agent whose turns are written down: the lines of each, and the code.
type play struct {
	t       *testing.T
	env     harness.Environment
	log     *harnesstest.Log
	session harness.Session
}

func begin(t *testing.T, agent string, turns ...string) *play {
	t.Helper()
	p := &play{t: t, log: harnesstest.NewLog()}
	p.env = harnesstest.Environment(t, sandbox.NewNone(harnesstest.Options()), lineshaft.Job{Config: lineshaft.AgentConfig{
		Harness: &lineshaft.HarnessConfig{Type: agent, Mode: lineshaft.ModeCommand, Command: []string{"/bin/sh", "-c", actor, agent}},
	}})
	p.env.Access = func(model.Protocol) (harness.Access, bool) {
		return harness.Access{URL: "http://127.0.0.1:1", Key: "throw-away-key", Model: "fake-1"}, true
	}
	for i, script := range turns {
		if err := os.WriteFile(filepath.Join(p.env.Dir, fmt.Sprintf("say-%d.sh", i+1)), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.open()
	return p
}

func (p *play) open() {
	p.t.Helper()
	var err error
	if p.session, err = oneshot.New(oneshot.Options{}).Open(p.t.Context(), p.env); err != nil {
		p.t.Fatal(err)
	}
}

// say is a script that prints lines.
func say(lines ...string) string { return "cat <<'END'\n" + strings.Join(lines, "\n") + "\nEND\n" }

func (p *play) turn(turn lineshaft.Turn) lineshaft.TurnResult {
	p.t.Helper()
	result, err := p.session.Turn(p.t.Context(), turn, p.log.Emit)
	if err != nil {
		p.t.Fatal(err)
	}
	return result
}

func (p *play) file(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.env.Dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// told is one line for each event, short.
func (p *play) told() string {
	var out []string
	for _, d := range p.log.Drafts("") {
		out = append(out, string(d.Type)+" "+string(d.Data))
	}
	return strings.Join(out, "\n")
}

func (p *play) want(text string) {
	p.t.Helper()
	if got := p.told(); got != text {
		p.t.Errorf("told\n%s\nwant\n%s", got, text)
	}
}

const (
	claudeInit  = `{"type":"system","subtype":"init","session_id":"c-1","model":"fake-1","tools":["Bash"]}`
	claudeGood  = `{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"c-1","total_cost_usd":0.5,"usage":{"input_tokens":10,"cache_read_input_tokens":3,"cache_creation_input_tokens":2,"output_tokens":5}}`
	codexStart  = `{"type":"thread.started","thread_id":"x-1"}`
	geminiStart = `{"type":"init","session_id":"g-1","model":"m"}`
)

func TestX6ClaudeLines(t *testing.T) {
	t.Parallel()
	p := begin(t, "claude", say(claudeInit,
		`{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"well"},{"type":"text","text":"I run it."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"out.txt","is_error":false}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t2","name":"mcp__a__ping","input":{}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"no"}],"is_error":true}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t3","name":"TodoWrite","input":{"todos":[{"content":"one","status":"in_progress"}]}}]}}`,
		`{"type":"surprise","x":1}`, "plain words",
		`{"type":"assistant","parent_tool_use_id":"t3","message":{"content":[{"type":"text","text":"a helper speaks"}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"`+harnesstest.Token+` done"}]}}`, claudeGood))
	if result := p.turn(lineshaft.Turn{Message: "go"}); result.State != lineshaft.Succeeded {
		t.Errorf("result %+v", result)
	}
	var kept []string
	for _, line := range strings.Split(p.told(), "\n") {
		if !strings.HasPrefix(line, "output ") {
			kept = append(kept, line)
		}
	}
	want := `thought {"text":"well"}
message {"role":"assistant","text":"I run it."}
tool_call {"id":"t1","category":"command","name":"Bash","input":{"command":"ls"}}
tool_result {"id":"t1","category":"command","name":"Bash","state":"completed","output":{"text":"out.txt"}}
tool_call {"id":"t2","category":"integration","name":"mcp__a__ping","input":{}}
tool_result {"id":"t2","category":"integration","name":"mcp__a__ping","state":"failed","output":{"text":"no"}}
tool_call {"id":"t3","category":"integration","name":"TodoWrite","input":{"todos":[{"content":"one","status":"in_progress"}]}}
plan {"steps":[{"text":"one","state":"in_progress"}]}
message {"role":"assistant","text":"***LINESHAFT_RUN_TOKEN*** done"}
usage {"model_id":"fake-1","input_tokens":15,"output_tokens":5,"cost_micros":500000}
tool_result {"id":"t3","category":"integration","name":"TodoWrite","state":"failed","output":{"text":"The turn was ended before the tool was."}}`
	if got := strings.Join(kept, "\n"); got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
	if got := p.log.Text("stdout"); got != "{\"type\":\"surprise\",\"x\":1}\nplain words\n" {
		t.Errorf("output %q", got)
	}
	if got := p.file("args.txt"); got != "-p --output-format stream-json --verbose --dangerously-skip-permissions\n" {
		t.Errorf("arguments %q", got)
	}
	if p.file("prompt.txt") != "go" || !strings.Contains(p.file("env.txt"), "ANTHROPIC_API_KEY=throw-away-key\n") {
		t.Errorf("prompt %q, env %s", p.file("prompt.txt"), p.file("env.txt"))
	}
}

func TestX6CodexLines(t *testing.T) {
	t.Parallel()
	p := begin(t, "codex", say(codexStart,
		`{"type":"item.completed","item":{"id":"item_0","type":"error","message":"unknown model"}}`, `{"type":"turn.started"}`,
		`{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls","aggregated_output":"a\n","exit_code":2,"status":"failed"}}`,
		`{"type":"item.completed","item":{"id":"item_2","type":"mcp_tool_call","server":"s","tool":"ping","arguments":{"text":"x"},"result":{"content":[{"type":"text","text":"pong"}]},"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"item_3","type":"todo_list","items":[{"text":"a","completed":true},{"text":"b","completed":false},{"text":"c","completed":false}]}}`,
		`{"type":"item.completed","item":{"id":"item_4","type":"reasoning","text":"hm"}}`,
		`{"type":"item.completed","item":{"id":"item_5","type":"agent_message","text":"done"}}`,
		`{"type":"turn.completed","usage":{"input_tokens":22,"output_tokens":14}}`),
		say(codexStart, `{"type":"turn.completed","usage":{"input_tokens":30,"output_tokens":20}}`))
	if result := p.turn(lineshaft.Turn{Message: "go"}); result.State != lineshaft.Succeeded {
		t.Errorf("result %+v", result)
	}
	p.turn(lineshaft.Turn{Message: "on", FollowupID: "f"})
	p.want(`notice {"level":"warning","text":"unknown model"}
tool_call {"id":"codex-1-1-item_1","category":"command","name":"run_command","input":{"command":"ls"}}
tool_result {"id":"codex-1-1-item_1","category":"command","name":"run_command","state":"failed","output":{"exit_code":2,"text":"a\n"}}
tool_call {"id":"codex-1-1-item_2","category":"integration","name":"s/ping","input":{"text":"x"}}
tool_result {"id":"codex-1-1-item_2","category":"integration","name":"s/ping","state":"completed","output":{"text":"pong"}}
plan {"steps":[{"text":"a","state":"completed"},{"text":"b","state":"in_progress"},{"text":"c","state":"pending"}]}
thought {"text":"hm"}
message {"role":"assistant","text":"done"}
usage {"model_id":"fake-1","input_tokens":22,"output_tokens":14}
usage {"model_id":"fake-1","input_tokens":8,"output_tokens":6}`)
	lines := strings.Split(p.file("args.txt"), "\n")
	if !strings.HasPrefix(lines[0], "exec -c ") || !strings.HasSuffix(lines[0], "--dangerously-bypass-approvals-and-sandbox -") || !strings.HasSuffix(lines[1], " resume x-1 -") {
		t.Errorf("arguments %q", lines)
	}
}

func TestX6GeminiLines(t *testing.T) {
	t.Parallel()
	p := begin(t, "gemini", say(geminiStart, `{"type":"message","role":"user","content":"go"}`,
		`{"type":"tool_use","tool_name":"run_shell_command","tool_id":"1","parameters":{"command":"ls"}}`,
		`{"type":"tool_result","tool_id":"1","status":"error","output":"no","error":{"type":"x","message":"it failed"}}`,
		`{"type":"message","role":"assistant","content":"All ","delta":true}`, `{"type":"message","role":"assistant","content":"done.","delta":true}`,
		`{"type":"result","status":"success","stats":{"models":{"m":{"total_tokens":40,"input_tokens":22,"output_tokens":14}}}}`))
	if result := p.turn(lineshaft.Turn{Message: "go"}); result.State != lineshaft.Succeeded {
		t.Errorf("result %+v", result)
	}
	p.want(`tool_call {"id":"1","category":"command","name":"run_shell_command","input":{"command":"ls"}}
tool_result {"id":"1","category":"command","name":"run_shell_command","state":"failed","output":{"error":"it failed","text":"no"}}
message {"role":"assistant","text":"All done."}
usage {"model_id":"m","input_tokens":22,"output_tokens":18}`)
}

func TestX6OpencodeLines(t *testing.T) {
	t.Parallel()
	p := begin(t, "opencode", say(`{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}`,
		`{"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","tool":"bash","callID":"1","state":{"status":"completed","input":{"command":"ls"},"output":"a\n","metadata":{"exit":0}}}}`,
		`{"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","tool":"read","callID":"2","state":{"status":"error","input":{},"error":"not there"}}}`,
		`{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"total":20,"input":9,"output":7,"reasoning":1,"cache":{"read":2,"write":1}},"cost":0.25}}`,
		`{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"done"}}`), say(`{"type":"text","sessionID":"ses_1","part":{"text":"more"}}`))
	if result := p.turn(lineshaft.Turn{Message: "go"}); result.State != lineshaft.Succeeded {
		t.Errorf("result %+v", result)
	}
	p.want(`tool_call {"id":"1","category":"command","name":"bash","input":{"command":"ls"}}
tool_result {"id":"1","category":"command","name":"bash","state":"completed","output":{"exit_code":0,"text":"a\n"}}
tool_call {"id":"2","category":"files","name":"read","input":{}}
tool_result {"id":"2","category":"files","name":"read","state":"failed","output":{"error":"not there"}}
usage {"model_id":"lineshaft/fake-1","input_tokens":12,"output_tokens":8,"cost_micros":250000}
message {"role":"assistant","text":"done"}`)
	p.turn(lineshaft.Turn{Message: "on", FollowupID: "f"})
	if got := p.file("args.txt"); got != "run --format json\nrun --format json --session ses_1\n" {
		t.Errorf("arguments %q", got)
	}
}

// The end of a turn is what the agent and its program say together.
func TestX6Outcomes(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, agent, script, says string }{
		{"claude says error", "claude", say(claudeInit, `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["the model is gone"]}`) + "exit 1", "the model is gone"},
		{"claude says nothing", "claude", say(claudeInit), "ended before its turn did"},
		{"claude exits badly after a good end", "claude", say(claudeInit, claudeGood) + "exit 9", "exited with code 9"},
		{"codex fails", "codex", say(codexStart, `{"type":"error","message":"trying again"}`, `{"type":"turn.failed","error":{"message":"no credit"}}`) + "exit 1", "no credit"},
		{"codex is cut off", "codex", say(codexStart, `{"type":"error","message":"trying again"}`) + "exit 1", "code 1: trying again"},
		{"gemini fails", "gemini", say(geminiStart, `{"type":"result","status":"error","error":{"message":"quota"}}`), "quota"},
		{"opencode has an error", "opencode", say(`{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"bad key"}}}`), "bad key"},
		{"opencode says nothing", "opencode", "exit 0", "ended before its turn did"},
		{"a complaint on standard error", "gemini", "echo no such model >&2; exit 3", "code 3: no such model"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, test.agent, test.script)
			result := p.turn(lineshaft.Turn{Message: "go"})
			if result.State != lineshaft.Failed || result.Code != lineshaft.CodeAgentProcessFailed || !strings.Contains(result.Message, test.says) {
				t.Errorf("result %+v", result)
			}
		})
	}
}

// TestX12KeylessAgentsSayWhatToDo: only if the worker has no endpoint, and only if a key is what is missing.
func TestX12KeylessAgentsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault           string
		keyless, hinted bool
	}{
		{"Not logged in · Please run /login", true, true},
		{"Not logged in · Please run /login", false, false},
		{"Invalid API key", true, true},
		{"401 Unauthorized", true, true},
		{"authentication_error", true, true},
		{"the model is gone", true, false},
		{"tests of the login page fail", true, false},
		{"cannot write the changelog in docs", true, false},
		{"git says: Author identity unknown", true, false},
	} {
		p := begin(t, "claude", say(claudeInit, `{"type":"result","subtype":"success","is_error":true,"result":"`+test.fault+`"}`)+"exit 1")
		if test.keyless {
			p.env.Access = nil
			p.open()
		}
		result := p.turn(lineshaft.Turn{Message: "go"})
		if hinted := strings.Contains(result.Message, "LINESHAFT_ANTHROPIC_API_KEY"); !strings.Contains(result.Message, test.fault) || hinted != test.hinted {
			t.Errorf("%+v: %+v", test, result)
		}
	}
}

// A later execution continues the session, and its counts.
func TestR6SessionIsKept(t *testing.T) {
	t.Parallel()
	p := begin(t, "claude", say(claudeInit, claudeGood), say(claudeInit, claudeGood))
	p.turn(lineshaft.Turn{Message: "go"})
	p.open()
	p.turn(lineshaft.Turn{Message: "on", FollowupID: "f"})
	if name := "claude-session.json"; !strings.Contains(name, workspace.SessionWord) || p.file(".lineshaft/"+name) == "" {
		t.Errorf("%s is not part of a snapshot", name)
	}
	lines := strings.Split(p.file("args.txt"), "\n")
	if strings.Contains(lines[0], "--resume") || !strings.HasSuffix(lines[1], "--resume c-1") {
		t.Errorf("arguments %q", lines)
	}
	var cost int64
	for _, d := range p.log.Drafts(lineshaft.EventUsage) {
		var u lineshaft.UsageData
		if err := json.Unmarshal(d.Data, &u); err != nil {
			t.Fatal(err)
		}
		cost += u.CostMicros
	}
	if cost != 500_000 { // the agent reports the sum of its session each time
		t.Errorf("cost %d", cost)
	}
}

// When the session is gone, the agent begins a new one and people learn of it.
func TestR6SessionIsGone(t *testing.T) {
	t.Parallel()
	p := begin(t, "claude", say(claudeInit, claudeGood), "echo no conversation c-1 >&2; exit 1", say(claudeInit, claudeGood))
	p.turn(lineshaft.Turn{Message: "go"})
	if result := p.turn(lineshaft.Turn{Message: "on", FollowupID: "f"}); result.State != lineshaft.Succeeded {
		t.Errorf("result %+v", result)
	}
	notices := p.log.Drafts(lineshaft.EventNotice)
	if len(notices) != 2 || !strings.Contains(string(notices[0].Data), "no conversation c-1") || !strings.Contains(string(notices[1].Data), "gets the transcript") {
		t.Errorf("notices %s", notices)
	}
	if lines := strings.Split(p.file("args.txt"), "\n"); strings.Contains(lines[2], "c-1") {
		t.Errorf("arguments %q", lines)
	}
}

func TestR8Interrupt(t *testing.T) {
	t.Parallel()
	p := begin(t, "claude", say(claudeInit, `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}`, "up")+"sleep 1000", say(claudeInit, claudeGood))
	cause := errors.New("interrupted by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := p.session.Turn(ctx, lineshaft.Turn{Message: "go"}, p.log.Emit)
		ended <- err
	}()
	p.log.Await(t, "up")
	cancel(cause)
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("turn ended with %v", err)
	}
	if results := p.log.Drafts(lineshaft.EventToolResult); len(results) != 1 || !strings.Contains(string(results[0].Data), `"failed"`) {
		t.Errorf("results %s", results)
	}
	if result := p.turn(lineshaft.Turn{Message: "on", FollowupID: "f"}); result.State != lineshaft.Succeeded {
		t.Errorf("result %+v", result)
	}
	if lines := strings.Split(p.file("args.txt"), "\n"); !strings.HasSuffix(lines[1], "--resume c-1") {
		t.Errorf("arguments %q", lines)
	}
}

func TestX6OpenRefuses(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]lineshaft.HarnessConfig{
		"harness.type":        {Type: "goose"},
		"harness.permissions": {Type: "claude", Permissions: lineshaft.PermissionsAsk},
	} {
		env := harness.Environment{Job: lineshaft.Job{Config: lineshaft.AgentConfig{Harness: &config}}}
		if _, err := oneshot.New(oneshot.Options{}).Open(t.Context(), env); lineshaft.CodeOf(err) != lineshaft.CodeFeatureNotAvailable || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	env := harness.Environment{Job: lineshaft.Job{Config: lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "codex"}}}}
	if _, err := oneshot.New(oneshot.Options{Policy: lineshaft.PermissionsDeny}).Open(t.Context(), env); lineshaft.CodeOf(err) != lineshaft.CodeFeatureNotAvailable {
		t.Errorf("the server's policy: %v", err)
	}
}

// Long lines and texts are cut, and what is not JSON comes out as it is.
func TestX7LongLines(t *testing.T) {
	t.Parallel()
	p := begin(t, "gemini", say(geminiStart)+`head -c 17000000 /dev/zero | tr '\0' x; echo
printf '{"type":"tool_use","tool_name":"read_file","tool_id":"1","parameters":{"a":"'; head -c 200000 /dev/zero | tr '\0' y; echo '"}}'
echo '{"type":"tool_result","tool_id":"1","status":"success"}'
printf '{"type":"result","status":"success"}'`)
	if result := p.turn(lineshaft.Turn{Message: "go"}); result.State != lineshaft.Succeeded {
		t.Errorf("result %+v", result)
	}
	calls := p.log.Drafts(lineshaft.EventToolCall)
	if len(calls) != 1 || len(calls[0].Data) > 70_000 || !strings.Contains(string(calls[0].Data), "left out") {
		t.Errorf("%d calls", len(calls))
	}
	if notices := p.log.Drafts(lineshaft.EventNotice); len(notices) != 1 || p.log.Text("stdout") != "" {
		t.Errorf("notices %s, output of %d bytes", notices, len(p.log.Text("stdout")))
	}
}
