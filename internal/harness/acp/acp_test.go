package acp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/acp"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// One process serves all turns; chunks become whole messages in the right order,
// and what comes after the answer of a turn is not lost.
func TestX6ACPTurns(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, environment(t, s), acp.Options{})
		good(t, session, log, "think hm", "think  well", "say Hello", "say , wor", "say ld", `update {"sessionUpdate":"tool_call","toolCallId":"1","title":"bash","kind":"execute","status":"pending","rawInput":{}}`,
			`update {"sessionUpdate":"tool_call_update","toolCallId":"1","title":"ls","rawInput":{"command":"ls"},"status":"in_progress"}`,
			`update {"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"a b"}}]}`,
			"say Done", "late !")
		want := `thought {"text":"hm well"}
message {"role":"assistant","text":"Hello, world"}
tool_call {"id":"1","category":"command","name":"bash","input":{"command":"ls"}}
tool_result {"id":"1","category":"command","name":"bash","state":"completed","output":{"text":"a b"}}
message {"role":"assistant","text":"Done!"}
`
		if got := story(log); got != want {
			t.Errorf("story\n%s, want\n%s; stderr %q", got, want, log.Text("stderr"))
		}
		again := harnesstest.NewLog()
		good(t, session, again, "history")
		if got := strings.Join(messages(again), "|"); !strings.Contains(got, "say Done") || !strings.HasSuffix(got, "history\n") {
			t.Errorf("the second turn is not in the same session: %q", got)
		}
		if got := log.Text("stderr"); !strings.Contains(got, `client can {"auth":{"terminal":false},"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}`) && !strings.Contains(got, "client can {") {
			t.Errorf("stderr %q", got)
		}
	})
}

func TestX6ACPStopReasons(t *testing.T) {
	t.Parallel()
	tests := []struct {
		order string
		state lineshaft.RunState
		says  string
	}{
		{`answer {"stopReason":"end_turn"}`, lineshaft.Succeeded, ""},
		{`answer {"stopReason":"max_tokens"}`, lineshaft.Failed, "limit of tokens"},
		{`answer {"stopReason":"max_turn_requests"}`, lineshaft.Failed, "limit of model requests"},
		{`answer {"stopReason":"refusal"}`, lineshaft.Failed, "refused"},
		{`answer {"stopReason":"cancelled"}`, lineshaft.Cancelled, "cancelled"},
		{`answer {"stopReason":"bored"}`, lineshaft.Failed, `"bored"`},
		{`fail the model is lsr_0123456789abcdefSECRET`, lineshaft.Failed, "Internal error: the model is ***LINESHAFT_RUN_TOKEN*** (code -32603)"},
	}
	log := harnesstest.NewLog()
	session := open(t, environment(t, none()), acp.Options{})
	for _, test := range tests {
		result := do(t, session, log, test.order)
		if result.State != test.state || !strings.Contains(result.Message, test.says) || result.Dead || (result.State == lineshaft.Failed) != (result.Code == lineshaft.CodeAgentProcessFailed) {
			t.Errorf("%s: %+v", test.order, result)
		}
	}
	good(t, session, log, "say still here")
}

// Noise on standard output, lines without a meaning, too long messages and odd
// text never break a session.
func TestX6ACPGarbage(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, environment(t, s, "noisy"), acp.Options{})
		good(t, session, log,
			"raw npm WARN something", "raw {not json}", "raw [1,2]", "raw {}", `raw {"jsonrpc":"2.0","id":99,"result":{}}`, `raw {"jsonrpc":"2.0","method":"_vendor/thing","params":{}}`,
			`raw {"jsonrpc":"2.0","id":"x","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}`,
			`raw {"jsonrpc":"2.0","method":"session/update","params":7}`, `raw {"jsonrpc":"2.0","method":"session/update"}`,
			`update {"sessionUpdate":"from_the_future","x":1}`, `update {"sessionUpdate":7}`, `update []`, `update {"sessionUpdate":"tool_call"}`,
			`raw {"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"od\xffd "}}}}`,
			"big 11000000", "say and on")
		// The big one between them may take so long that they become two messages.
		if got := strings.Join(messages(log), ""); got != "od\uFFFDd and on" {
			t.Errorf("messages %.200q", got)
		}
		for _, noise := range []string{"Welcome to the agent!\n", "npm WARN something\n", "{not json}\n", "[1,2]\n", "{}\n"} {
			if !strings.Contains(log.Text("stdout"), noise) {
				t.Errorf("%q is not in the output %q", noise, log.Text("stdout"))
			}
		}
		if got := log.Text("stderr"); !strings.Contains(got, "loading ***LINESHAFT_RUN_TOKEN***") {
			t.Errorf("stderr %q", got)
		}
		if got := strings.Join(texts(log, lineshaft.EventNotice), "|"); !strings.Contains(got, "more than 10 MB") {
			t.Errorf("notices %q", got)
		}
	})
}

// An answer that is too long cannot be left out: the turn fails, and the next one
// continues in a new process.
func TestX6ACPAnswerTooLong(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	session := open(t, environment(t, none(), "load"), acp.Options{})
	if result := do(t, session, log, "say before", "bigreply 11000000"); result.State != lineshaft.Failed || !strings.Contains(result.Message, "more than 10 MB") {
		t.Errorf("result %+v", result)
	}
	good(t, session, log, "history")
	if got := strings.Join(messages(log), "|"); !strings.Contains(got, "say before") || strings.Contains(got, "replayed") {
		t.Errorf("messages %q", got)
	}
}

// Many updates: nothing is lost, and memory does not bound them.
func TestX6ACPFlood(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	session := open(t, environment(t, none()), acp.Options{})
	slow := func(d lineshaft.Draft) {
		if d.Type == lineshaft.EventMessage && len(log.Drafts(lineshaft.EventMessage)) == 0 {
			<-time.After(200 * time.Millisecond) // a slow receiver: the agent is held up
		}
		log.Emit(d)
	}
	result, err := session.Turn(t.Context(), lineshaft.Turn{Message: "many 60000"}, slow)
	if err != nil || result.State != lineshaft.Succeeded {
		t.Fatalf("result %+v, %v", result, err)
	}
	if got := strings.Join(messages(log), ""); got != strings.Repeat("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", 6000) {
		t.Errorf("%d bytes of messages came", len(got))
	}
	if n := len(messages(log)); n < 2 || n > 60 {
		t.Errorf("%d messages", n)
	}
}

// An agent that ends in its turn fails it with the way it ended; the next turn
// starts it again.
func TestX6ACPAgentDies(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		session := open(t, environment(t, s, "resume"), acp.Options{})
		result := do(t, session, log, `update {"sessionUpdate":"tool_call","toolCallId":"1","title":"ls","kind":"execute"}`, "say last words", "exit 7")
		if result.State != lineshaft.Failed || !strings.Contains(result.Message, "exited with code 7") || result.Dead {
			t.Errorf("result %+v", result)
		}
		if got := story(log); !strings.Contains(got, "last words") || !strings.Contains(got, `"state":"failed"`) {
			t.Errorf("story %s", got)
		}
		good(t, session, log, "say up again", "history")
		if got := strings.Join(messages(log), "|"); !strings.Contains(got, "up again") || !strings.Contains(got, "exit 7") {
			t.Errorf("messages %q", got)
		}
		if got := log.Text("stderr"); !strings.Contains(got, "session/resume of session-") {
			t.Errorf("stderr %q", got)
		}
	})
}

// Agents that do not come up say why, in bounded time.
func TestX6ACPDoesNotStart(t *testing.T) {
	t.Parallel()
	tests := []struct{ flag, says string }{
		{"mute", "did not answer initialize within 300ms"},
		{"mute", `set harness.type to "command"`},
		{"dies", "exited with code 3"},
		{"future", `version "7"`},
		{"auth", "wants to be logged in (Log in, Key)"},
	}
	for _, test := range tests {
		t.Run(test.flag, func(t *testing.T) {
			t.Parallel()
			log := harnesstest.NewLog()
			options := acp.Options{}
			if test.flag == "mute" {
				options.StartTime = 300 * time.Millisecond
			}
			session := open(t, environment(t, none(), test.flag), options)
			result, err := session.Turn(t.Context(), lineshaft.Turn{Message: "say x"}, log.Emit)
			if message := result.Message + lineshaftMessage(err); !strings.Contains(message, test.says) || result.State == lineshaft.Succeeded {
				t.Errorf("%+v, %v; stderr %q", result, err, log.Text("stderr"))
			}
			if test.flag == "dies" && log.Text("stderr") != "cannot find my configuration\n" {
				t.Errorf("stderr %q", log.Text("stderr"))
			}
		})
	}
}

// TestX12ACPWantsAKey: an agent that notices only in its first turn that it has no key says what to do, by its kind.
func TestX12ACPWantsAKey(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"claude": "(Authentication required (code -32000)): start the server or worker with LINESHAFT_ANTHROPIC_API_KEY and --model NAME",
		"gemini": "`lineshaft secret create GEMINI_API_KEY --access runs` and start the run with --secret GEMINI_API_KEY",
		"acp":    "give its key to the run as a secret",
	} {
		env := environment(t, none())
		env.Job.Config.Harness.Type = kind
		result := do(t, open(t, env, acp.Options{}), harnesstest.NewLog(), "login")
		if result.State != lineshaft.Failed || !strings.Contains(result.Message, want) {
			t.Errorf("%s: %+v", kind, result)
		}
	}
}

func lineshaftMessage(err error) string {
	if lineshaft.CodeOf(err) == lineshaft.CodeAgentProcessFailed {
		return err.Error()
	}
	return ""
}

func TestX6ACPNotInstalled(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		for name, says := range map[string]string{
			"claude": "npm install -g @agentclientprotocol/claude-agent-acp", "codex": "npm install -g @agentclientprotocol/codex-acp",
			"gemini": "npm install -g @google/gemini-cli", "opencode": "npm install -g opencode-ai", "goose": "install goose", "acp": "harness.command",
		} {
			env := environment(t, s)
			env.Env = []string{"PATH=/nowhere", "HOME=" + env.Dir}
			env.Start = func(ctx context.Context, p harness.Program) (*sandbox.Process, error) {
				return s.Start(ctx, sandbox.Spec{Dir: env.Dir, Command: p.Command, Env: append(env.Env, p.Env...), Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr})
			}
			env.Job.Config.Harness = &lineshaft.HarnessConfig{Type: name}
			_, err := acp.New(acp.Options{}).Open(t.Context(), env)
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", name, err)
			}
			if absent := lineshaft.CodeOf(err) == lineshaft.CodeAgentProcessFailed; absent != (name != "acp") {
				t.Errorf("%s: code %s", name, lineshaft.CodeOf(err))
			}
		}
	})
}
