package builtin_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/builtin"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// The whole loop: thought, plan, file, command, last word; in both protocols and
// in every sandbox.
func TestX6BuiltinDoesATask(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
			e := serve(t, protocol,
				reply{thought: "first a plan", calls: []call{{"plan", `{"steps":[{"text":"write","state":"in_progress","priority":"high"}]}`}}},
				use("write", object{"path": "src/hello.sh", "content": "echo hello from $0\n"}),
				reply{text: "Now I run it.", calls: []call{{"shell", `{"command":"sh src/hello.sh; id -u >who; echo oops >&2; exit 3"}`}}},
				use("edit", object{"path": "src/hello.sh", "old": "hello", "new": "goodbye"}),
				reply{calls: []call{{"read", `{"path":"src/hello.sh"}`}, {"list", `{"depth":2}`}, {"search", `{"pattern":"good.*from"}`}}},
				say("Done: see https://github.com/o/r/pull/7 for it."),
			)
			job := lineshaft.Job{Number: 2, Config: lineshaft.AgentConfig{BasePrompt: "Be brief."}}
			a := open(t, quick(), environment(t, s, e, job))
			a.do(t, "make hello")

			if got := a.read(t, "src/hello.sh"); got != "echo goodbye from $0\n" {
				t.Errorf("file %q", got)
			}
			first := encode(e.asked()[0])
			if !strings.Contains(first, `Be brief.\n\nmake hello`) || !strings.Contains(first, "built-in agent") {
				t.Errorf("the first request %s", first)
			}
			for _, word := range []string{"echo goodbye from $0", "src/hello.sh:1: echo goodbye from", "[the command exited with code 3]", "hello from src/hello.sh", "oops"} {
				if !strings.Contains(e.last(), word) {
					t.Errorf("the model was not told %q: %s", word, e.last())
				}
			}
			if got := data[lineshaft.PlanData](t, a, lineshaft.EventPlan); len(got) != 1 || got[0].Steps[0] != (lineshaft.PlanStep{Text: "write", State: "in_progress", Priority: "high"}) {
				t.Errorf("plan %+v", got)
			}
			if got := data[lineshaft.MessageData](t, a, lineshaft.EventThought); len(got) != 1 || got[0].Text != "first a plan" {
				t.Errorf("thoughts %+v", got)
			}
			if got := data[lineshaft.MessageData](t, a, lineshaft.EventMessage); len(got) != 2 || got[1].Role != "assistant" || !strings.Contains(got[1].Text, "pull/7 for it.") {
				t.Errorf("messages %+v", got)
			}
			checkTools(t, a)
			if got := data[lineshaft.UsageData](t, a, lineshaft.EventUsage); len(got) != 6 || got[0] != (lineshaft.UsageData{ModelID: "model-1", InputTokens: 10, OutputTokens: 5}) {
				t.Errorf("usage %+v", got)
			}
		})
	})
}

func checkTools(t *testing.T, a *agent) {
	t.Helper()
	calls := data[lineshaft.ToolCallData](t, a, lineshaft.EventToolCall)
	results := data[lineshaft.ToolResultData](t, a, lineshaft.EventToolResult)
	want := []string{"files write completed", "command shell failed", "files edit completed", "files read completed", "files list completed", "search search completed"}
	if len(calls) != len(want) || len(results) != len(want) {
		t.Fatalf("%d calls, %d results", len(calls), len(results))
	}
	for i, result := range results {
		if got := result.Category + " " + result.Name + " " + result.State; got != want[i] || calls[i].ID != result.ID || calls[i].Category != result.Category || !strings.HasPrefix(result.ID, "builtin-2-") {
			t.Errorf("tool %d: %q, %+v", i, got, calls[i])
		}
	}
	if code, _ := results[1].Output["exit_code"].(float64); code != 3 {
		t.Errorf("output of the command %v", results[1].Output)
	}
	if calls[0].Input["path"] != "src/hello.sh" {
		t.Errorf("input %v", calls[0].Input)
	}
	for _, out := range data[lineshaft.OutputData](t, a, lineshaft.EventOutput) {
		if out.ToolCallID != calls[1].ID {
			t.Errorf("output %+v", out)
		}
	}
	if !strings.Contains(a.Text("stdout"), "hello from src/hello.sh") || a.Text("stderr") != "oops\n" {
		t.Errorf("stdout %q, stderr %q", a.Text("stdout"), a.Text("stderr"))
	}
}

func TestR6BuiltinFollowupGoesOn(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		e := serve(t, protocol, use("write", object{"path": "a", "content": "1"}), say("one"), say("two"))
		a := start(t, quick(), e)
		a.do(t, "first")
		result, err := a.session.Turn(t.Context(), lineshaft.Turn{Message: "second", FollowupID: "f"}, a.Emit)
		if err != nil || result.State != lineshaft.Succeeded {
			t.Fatalf("%+v, %v", result, err)
		}
		for _, word := range []string{"first", "Made a with 1 bytes.", "one", "second"} {
			if !strings.Contains(e.last(), word) {
				t.Errorf("the follow-up does not see %q: %s", word, e.last())
			}
		}
	})
}

// An interrupt in the middle of a command ends it; the conversation stays whole
// and the next turn continues.
func TestR8BuiltinInterrupt(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
			e := serve(t, protocol,
				reply{calls: []call{{"shell", `{"command":"echo up; sleep 1000"}`}, {"write", `{"path":"never","content":"x"}`}}},
				say("going on"),
			)
			a := open(t, quick(), environment(t, s, e, lineshaft.Job{}))
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("interrupted by the test")
			ended := make(chan error)
			go func() {
				_, err := a.session.Turn(ctx, lineshaft.Turn{Message: "work"}, a.Emit)
				ended <- err
			}()
			a.Await(t, "up")
			cancel(cause)
			if err := <-ended; !errors.Is(err, cause) {
				t.Fatalf("turn ended with %v", err)
			}
			calls, results := a.Drafts(lineshaft.EventToolCall), data[lineshaft.ToolResultData](t, a, lineshaft.EventToolResult)
			if len(calls) != 1 || len(results) != 1 || results[0].State != lineshaft.ToolFailed {
				t.Errorf("%d calls, results %+v", len(calls), results)
			}
			a.do(t, "something else")
			mark := `"tool_result"`
			if protocol == model.OpenAI {
				mark = `"role":"tool"`
			}
			if last := e.last(); !strings.Contains(last, "Not run: the turn was interrupted.") || !strings.Contains(last, "something else") {
				t.Errorf("the conversation is not whole: %s", last)
			}
			if got := strings.Count(e.last(), mark); got != 2 {
				t.Errorf("%d results for 2 calls: %s", got, e.last())
			}
		})
	})
}

// An interrupt while the model speaks.
func TestR8BuiltinInterruptOfAnAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted by the test")
	e := serve(t, model.OpenAI, reply{text: "I will", hang: true, first: func() { cancel(cause) }}, say("fine"))
	a := start(t, quick(), e)
	if _, err := a.session.Turn(ctx, lineshaft.Turn{Message: "one"}, a.Emit); !errors.Is(err, cause) {
		t.Fatalf("turn ended with %v", err)
	}
	a.do(t, "two")
	if last := e.last(); !strings.Contains(last, `"one"`) || !strings.Contains(last, `"two"`) || strings.Contains(last, "I will") {
		t.Errorf("conversation %s", last)
	}
}

func TestX6BuiltinStopsAtItsCalls(t *testing.T) {
	t.Parallel()
	e := serve(t, model.Anthropic, use("list", object{}), use("list", object{}), use("list", object{}), say("done"))
	options := quick()
	options.MaxCalls = 3
	a := start(t, options, e)
	a.fails(t, lineshaft.CodeAgentProcessFailed, "asked 3 times", "follow-up")
	a.do(t, "go on")
}

func TestX6BuiltinGoesOnAfterItsLength(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		e := serve(t, protocol,
			reply{text: "half of ", length: true},
			reply{calls: []call{{"write", `{"path":"a","content":"cut o`}}, length: true},
			say("the rest"))
		a := start(t, quick(), e)
		a.do(t, "write a lot")
		if last := e.last(); !strings.Contains(last, "cut at its greatest length") || !strings.Contains(last, "not a JSON object") {
			t.Errorf("conversation %s", last)
		}
	})
}

// Some models stop without a word: they are asked again, and then believed.
func TestX6BuiltinEmptyAnswers(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		e := serve(t, protocol, use("list", object{}), say(""), say("there is a file"), say(" "), say(""))
		a := start(t, quick(), e)
		a.do(t, "look")
		if !strings.Contains(e.last(), "Your answer was empty.") || len(e.asked()) != 3 {
			t.Errorf("%d requests, the last %s", len(e.asked()), e.last())
		}
		a.do(t, "look again")
		if len(e.asked()) != 5 {
			t.Errorf("%d requests", len(e.asked()))
		}
	})
}

// Servers of local models give calls no ids, or the same one to all.
func TestX6BuiltinCallsGetIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "call_0"} {
		e := serve(t, model.OpenAI, reply{calls: []call{{"list", "{}"}, {"list", "{}"}}, sameID: &id}, say("done"))
		a := start(t, quick(), e)
		a.do(t, "x")
		paired(t, e.asked()[1])
		if got := strings.Count(e.last(), `"role":"tool"`); got != 2 {
			t.Errorf("%d results: %s", got, e.last())
		}
	}
}

func TestR6BuiltinNamesAttachments(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI, say("done"))
	a := start(t, quick(), e)
	turn := lineshaft.Turn{Message: "see the file", Attachments: []lineshaft.Attachment{{FileName: "report.pdf"}}}
	if _, err := a.session.Turn(t.Context(), turn, a.Emit); err != nil || !strings.Contains(e.last(), `workspace:\n- report.pdf`) {
		t.Errorf("%v, request %s", err, e.last())
	}
}

// A text without gaps is cut at characters, and one that comes slowly is shown in
// pieces.
func TestX7BuiltinShowsWhatComes(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("€", 9000)
	a := start(t, quick(), serve(t, model.OpenAI, say(text)))
	a.do(t, "x")
	var got string
	for _, m := range data[lineshaft.MessageData](t, a, lineshaft.EventMessage) {
		got += m.Text
	}
	if got != text {
		t.Errorf("%d bytes, want %d", len(got), len(text))
	}

	e := serve(t, model.OpenAI, reply{thought: "hm and hm", text: "one two three"})
	env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
	now := time.Now()
	env.Now = func() time.Time { now = now.Add(time.Second); return now } // slowly
	a = open(t, quick(), env)
	a.do(t, "x")
	var said []string
	for _, d := range a.Drafts("") {
		said = append(said, string(d.Type)+" "+string(d.Data))
	}
	want := []string{
		`thought {"text":"hm and "}`, `thought {"text":"hm"}`, `message {"role":"assistant","text":"one two "}`, `message {"role":"assistant","text":"three"}`,
	}
	if len(said) != 5 || strings.Join(said[:4], "\n") != strings.Join(want, "\n") {
		t.Errorf("events %q", said)
	}
}

func TestX6BuiltinPassesOnTheEffort(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI, say("done"))
	job := lineshaft.Job{Config: lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "oz", ReasoningLevel: "high", ModelID: "other"}}}
	open(t, quick(), environment(t, sandbox.NewNone(harnesstest.Options()), e, job)).do(t, "x")
	if got := e.asked()[0]["reasoning_effort"]; got != "high" {
		t.Errorf("effort %v", got)
	}
}

func TestX6BuiltinPlans(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI)
	a := start(t, quick(), e)
	step := func(text, state, priority string) object {
		return object{"text": text, "state": state, "priority": priority}
	}
	var many []object
	for range 101 {
		many = append(many, step("x", "pending", ""))
	}
	told := a.results(t, e,
		use("plan", object{"steps": []object{step("one", "completed", "high"), step(strings.Repeat("two ", 1000), "pending", "urgent")}}),
		use("plan", object{"steps": many}), use("plan", object{"steps": []object{step("", "pending", "")}}), use("plan", object{"steps": "all"}), use("plan", object{"steps": []object{}}))
	for i, want := range []string{"The plan is shown.", "may have 100 steps", "has no text", "do not fit", "The plan is shown."} {
		if !strings.Contains(told[i], want) {
			t.Errorf("plan %d: %q, want %q", i, told[i], want)
		}
	}
	plans := data[lineshaft.PlanData](t, a, lineshaft.EventPlan)
	if len(plans) != 2 || plans[0].Steps[0].Priority != "high" || plans[0].Steps[1].Priority != "" || len(plans[0].Steps[1].Text) > 1100 {
		t.Errorf("plans %+v", plans)
	}
	if len(a.Drafts(lineshaft.EventToolCall)) != 0 {
		t.Error("a plan is shown as a tool call too")
	}
}

func TestX6BuiltinUnknownTools(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI, use("fly", object{}), use("shell", object{"command": 5}), use("shell", object{"command": " "}), use("plan", object{"steps": []object{{"text": "x", "state": "?"}}}), say("done"))
	a := start(t, quick(), e)
	a.do(t, "x")
	for _, word := range []string{`there is no tool \"fly\"`, "do not fit the tool", "command is empty", "state of a step"} {
		if !strings.Contains(e.last(), word) {
			t.Errorf("%q was not said: %s", word, e.last())
		}
	}
}

func TestX6BuiltinCommandLimits(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		e := serve(t, model.OpenAI,
			use("shell", object{"command": "echo up; sleep 1000", "timeout_seconds": 0.3}),
			use("shell", object{"command": "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done"}),
			say("done"))
		a := open(t, quick(), environment(t, s, e, lineshaft.Job{}))
		a.do(t, "x")
		if last := e.last(); !strings.Contains(last, "ended after 300ms") || !strings.Contains(last, "bytes left out") ||
			!strings.Contains(last, `line 0\n`) || !strings.Contains(last, `line 8999\n`) || len(last) > 80<<10 {
			t.Errorf("%d bytes: %s", len(last), last[:min(len(last), 2000)])
		}
	})
}

// Secrets reach neither the log nor the model nor the kept conversation.
func TestS2BuiltinMasksSecrets(t *testing.T) {
	t.Parallel()
	e := serve(t, model.Anthropic,
		reply{text: "it is " + harnesstest.Token, thought: "hm " + harnesstest.Token, calls: []call{{"shell", `{"command":"printf %s $LINESHAFT_RUN_TOKEN; echo ` + harnesstest.Token + ` >f"}`}}},
		use("read", object{"path": "f"}), use("search", object{"pattern": "lsr"}), use("fly", object{"to": harnesstest.Token}),
		say("done"))
	a := start(t, quick(), e)
	a.do(t, "x")
	if all := a.all(); strings.Contains(all, harnesstest.Token) || strings.Count(all, "***LINESHAFT_RUN_TOKEN***") != 5 {
		t.Errorf("events %s", all)
	}
	// What the model itself said it knows; results are masked.
	if got := strings.Count(e.last(), harnesstest.Token); got != 3 {
		t.Errorf("%d times in %s", got, e.last())
	}
	if kept := a.read(t, ".lineshaft/builtin-session.json"); strings.Contains(kept, harnesstest.Token) || !strings.Contains(kept, "***LINESHAFT_RUN_TOKEN***") {
		t.Errorf("kept %s", kept)
	}
}

func TestX7BuiltinPolicy(t *testing.T) {
	t.Parallel()
	script := func() []reply {
		return []reply{
			use("list", object{}), use("shell", object{"command": "echo ran >ran"}), use("write", object{"path": "w", "content": "x"}), say("done"),
		}
	}
	t.Run("deny", func(t *testing.T) {
		t.Parallel()
		options := quick()
		options.Policy = func(lineshaft.Job) builtin.Policy { return builtin.Deny }
		a := start(t, options, serve(t, model.OpenAI, script()...))
		a.do(t, "x")
		var states []string
		for _, r := range data[lineshaft.ToolResultData](t, a, lineshaft.EventToolResult) {
			states = append(states, r.State)
		}
		if got := strings.Join(states, " "); got != "completed denied denied" || a.Text("stdout") != "" {
			t.Errorf("states %s", got)
		}
		if got := data[lineshaft.PermissionData](t, a, lineshaft.EventPermission); len(got) != 2 || got[0].Decision != "denied" || got[0].Title != "shell: echo ran >ran" {
			t.Errorf("permissions %+v", got)
		}
	})
	for answer, want := range map[string]string{
		"Allow": "completed completed", "reject": "denied denied", "use another name": "denied denied", "yes": "completed completed",
		"1": "completed completed", "3": "denied denied", "never": "denied denied",
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			options := quick()
			options.Policy = func(lineshaft.Job) builtin.Policy { return builtin.Ask }
			e := serve(t, model.OpenAI, script()...)
			env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
			asked := 0
			env.Ask = func(_ context.Context, q lineshaft.PermissionData) (string, error) {
				if asked++; len(q.Options) != 3 || q.ToolCallID == "" || q.Decision != "" {
					t.Errorf("question %+v", q)
				}
				return answer, nil
			}
			a := open(t, options, env)
			a.do(t, "x")
			results := data[lineshaft.ToolResultData](t, a, lineshaft.EventToolResult)
			if got := results[1].State + " " + results[2].State; got != want || asked != 2 {
				t.Errorf("states %s, asked %d times", got, asked)
			}
			said := map[string]string{"completed": "allowed", "denied": "denied"}[results[1].State]
			if got := data[lineshaft.PermissionData](t, a, lineshaft.EventPermission); len(got) != 2 || got[0].Decision != said || got[0].ToolCallID != results[1].ID {
				t.Errorf("decisions %+v", got)
			}
			if answer == "use another name" && !strings.Contains(e.last(), "said: use another name") {
				t.Errorf("the model was not told: %s", e.last())
			}
		})
	}
}

func TestX7BuiltinAlwaysAllowed(t *testing.T) {
	t.Parallel()
	options := quick()
	options.Policy = func(lineshaft.Job) builtin.Policy { return builtin.Ask }
	write := use("write", object{"path": "w", "content": "x"})
	env := environment(t, sandbox.NewNone(harnesstest.Options()), serve(t, model.OpenAI, write, write, write, say("done")), lineshaft.Job{})
	asked := 0
	env.Ask = func(context.Context, lineshaft.PermissionData) (string, error) { asked++; return "always", nil }
	open(t, options, env).do(t, "x")
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// A number that no answer has is a slip: people are notified, and asked again.
func TestX7BuiltinAsksAgain(t *testing.T) {
	t.Parallel()
	options := quick()
	options.Policy = func(lineshaft.Job) builtin.Policy { return builtin.Ask }
	write := use("write", object{"path": "w", "content": "x"})
	env := environment(t, sandbox.NewNone(harnesstest.Options()), serve(t, model.OpenAI, write, say("done")), lineshaft.Job{})
	answers := []string{"7", "0", "1"}
	env.Ask = func(context.Context, lineshaft.PermissionData) (string, error) {
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}
	a := open(t, options, env)
	a.do(t, "x")
	if got := data[lineshaft.PermissionData](t, a, lineshaft.EventPermission); len(answers) != 0 || len(got) != 1 || got[0].Decision != "allowed" {
		t.Errorf("answers left %v, decisions %+v", answers, got)
	}
	if got := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice); len(got) != 2 || !strings.Contains(got[0].Text, "There is no answer 7: it is a number from 1 to 3") {
		t.Errorf("notices %+v", got)
	}
}

func TestX6BuiltinChoosesAModel(t *testing.T) {
	t.Parallel()
	both := []model.Protocol{model.Anthropic, model.OpenAI}
	tests := map[string]struct {
		there  []protocolModel
		wanted string
		path   string
		code   lineshaft.Code
	}{
		"nothing":            {nil, "", "", lineshaft.CodeFeatureNotAvailable},
		"only openai":        {[]protocolModel{{both[1], "m"}}, "claude-x", "/chat/completions", ""},
		"both, none asked":   {[]protocolModel{{both[0], "a"}, {both[1], "o"}}, "", "/v1/messages", ""},
		"both, claude asked": {[]protocolModel{{both[0], "claude-x"}, {both[1], "claude-x"}}, "claude-x", "/v1/messages", ""},
		"both, other asked":  {[]protocolModel{{both[0], "gpt-x"}, {both[1], "gpt-x"}}, "gpt-x", "/chat/completions", ""},
		"one has a name":     {[]protocolModel{{both[0], ""}, {both[1], "o"}}, "", "/chat/completions", ""},
		"no name":            {[]protocolModel{{both[1], ""}}, "", "", lineshaft.CodeInvalidRequest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := serve(t, model.OpenAI)
			env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{Config: lineshaft.AgentConfig{ModelID: test.wanted}})
			env.Access = func(protocol model.Protocol) (harness.Access, bool) {
				for _, p := range test.there {
					if p.protocol == protocol {
						return harness.Access{URL: e.url + "/", Key: "k", Model: p.model}, true
					}
				}
				return harness.Access{}, false
			}
			var path string
			next := env.Reach
			env.Reach = roundTrip(func(r *http.Request) (*http.Response, error) { path = r.URL.Path; return next.RoundTrip(r) })
			session, err := builtin.New(quick()).Open(t.Context(), env)
			if test.code != "" {
				if lineshaft.CodeOf(err) != test.code {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _ = session.Turn(t.Context(), lineshaft.Turn{Message: "x"}, harnesstest.NewLog().Emit) // the script is empty
			if err := session.Close(t.Context()); err != nil || path != test.path {
				t.Errorf("path %q, %v", path, err)
			}
		})
	}
}

type protocolModel struct {
	protocol model.Protocol
	model    string
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A long answer comes in several events; no address is cut.
func TestX7BuiltinMessagesInChunks(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("see https://example.com/some/where and ", 200)
	e := serve(t, model.OpenAI, reply{text: text})
	a := start(t, quick(), e)
	a.do(t, "x")
	var got string
	messages := data[lineshaft.MessageData](t, a, lineshaft.EventMessage)
	for _, m := range messages {
		got += m.Text
		if strings.Contains(m.Text, "https") && strings.Count(m.Text, "https://example.com/some/where") != strings.Count(m.Text, "https") {
			t.Errorf("an address is cut: %q", m.Text)
		}
	}
	if got != text || len(messages) < 1 {
		t.Errorf("%d bytes in %d messages", len(got), len(messages))
	}
	if builtin.New(builtin.Options{}).Name() != "builtin" {
		t.Error("name")
	}
}
