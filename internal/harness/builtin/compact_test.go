package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/builtin"
	"github.com/lineshaft/lineshaft/internal/model"
)

func openErr(t *testing.T, env harness.Environment) (harness.Session, error) {
	t.Helper()
	return builtin.New(quick()).Open(t.Context(), env)
}

// size is about the tokens of a request.
func size(request object) int { return len(encode(request)) / 4 }

// paired says whether every result of a request has its call before it.
func paired(t *testing.T, request object) {
	t.Helper()
	open := map[string]bool{}
	messages, _ := request["messages"].([]any)
	for _, one := range messages {
		message, _ := one.(object)
		calls, _ := message["tool_calls"].([]any)
		for _, c := range calls {
			id, _ := c.(object)["id"].(string)
			open[id] = true
		}
		if id, ok := message["tool_call_id"].(string); ok {
			if !open[id] {
				t.Errorf("a result without its call: %v", message)
			}
			delete(open, id)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without results: %v", open)
	}
}

// Old results are cut first, without asking the model.
func TestX6BuiltinCutsOldResults(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI)
	e.counts = true
	options := quick()
	options.Window = 20_000
	a := start(t, options, e)
	a.write(t, "big", strings.Repeat("0123456789abcde\n", 1000)) // about 4,500 tokens
	var calls []reply
	for range 5 {
		calls = append(calls, use("read", object{"path": "big"}))
	}
	a.results(t, e, calls...)
	notices := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice)
	if len(notices) == 0 || !strings.Contains(notices[0].Text, "old tool results were cut") {
		t.Errorf("notices %+v", notices)
	}
	for i, request := range e.asked() {
		paired(t, request)
		if n := size(request); n > 20_000 {
			t.Errorf("request %d has about %d tokens", i, n)
		}
	}
	if len(e.asked()) != 6 {
		t.Errorf("%d requests", len(e.asked()))
	}
}

// A long conversation is summarised by the model; the task is not forgotten.
func TestX6BuiltinSummarises(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI)
	e.counts = true
	options := quick()
	options.Window = 12_000
	a := start(t, options, e)
	var script []reply
	for i := range 5 {
		script = append(script, reply{text: fmt.Sprintf("step %d: %s", i, strings.Repeat("word ", 1500)), calls: []call{{"list", "{}"}}})
	}
	script = append(script, say("THE SUMMARY"), reply{text: "after it", calls: []call{{"list", "{}"}}})
	e.script = append(script, say("done"))
	a.do(t, "the very first task")
	notices := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice)
	if len(notices) != 1 || !strings.Contains(notices[0].Text, "replaced by a summary") {
		t.Fatalf("notices %+v", notices)
	}
	last := e.last()
	if !strings.Contains(last, "THE SUMMARY") || !strings.Contains(last, "the very first task") || strings.Contains(last, "step 0:") || !strings.Contains(last, "after it") {
		t.Errorf("request %.3000s", last)
	}
	for _, m := range data[lineshaft.MessageData](t, a, lineshaft.EventMessage) {
		if strings.Contains(m.Text, "SUMMARY") {
			t.Error("the summary is shown as if the agent said it")
		}
	}
	for _, request := range e.asked() {
		paired(t, request)
	}
	if n := size(e.asked()[len(e.asked())-1]); n > 12_000 {
		t.Errorf("the last request has about %d tokens", n)
	}
}

// The endpoint knows its window best.
func TestX6BuiltinLearnsTheWindow(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		long := reply{status: 400, body: `{"error":{"message":"prompt is too long: 30000 tokens > 8000 maximum context length"}}`}
		e := serve(t, protocol)
		e.counts = true
		a := start(t, quick(), e)
		var script []reply
		for i := range 4 {
			script = append(script, reply{text: fmt.Sprintf("step %d: %s", i, strings.Repeat("word ", 1500)), calls: []call{{"list", "{}"}}})
		}
		e.script = append(script, long, say("THE SUMMARY"), say("done"))
		a.do(t, "x")
		if n := size(e.asked()[len(e.asked())-1]); n > 8000 || !strings.Contains(e.last(), "THE SUMMARY") {
			t.Errorf("the last request has about %d tokens", n)
		}
		if n := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, "window of 8000 tokens") {
			t.Errorf("notices %+v", n)
		}
		if kept := a.read(t, ".lineshaft/builtin-session.json"); !strings.Contains(kept, `"window":8000`) {
			t.Error("the window is not kept")
		}
	})
}

// One message that alone does not fit is cut; when nothing helps, the run says so.
func TestX6BuiltinTooLongForAll(t *testing.T) {
	t.Parallel()
	long := reply{status: 400, body: `{"error":{"code":"context_length_exceeded","message":"too long"}}`}
	e := serve(t, model.OpenAI, long, long, long)
	a := start(t, quick(), e)
	result, err := a.session.Turn(t.Context(), lineshaft.Turn{Message: strings.Repeat("a long task ", 50_000)}, a.Emit)
	if err != nil || result.State != lineshaft.Failed || result.Code != lineshaft.CodePayloadTooLarge || !strings.Contains(result.Message, "larger one") {
		t.Errorf("%+v, %v", result, err)
	}
	sizes := []int{size(e.asked()[0]), size(e.asked()[1]), size(e.asked()[2])}
	if sizes[0] <= sizes[1] || sizes[1] <= sizes[2] {
		t.Errorf("the requests have about %v tokens", sizes)
	}
}

// A summary that cannot be had is replaced by the shortened record.
func TestX6BuiltinSummaryRefused(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI)
	e.counts = true
	options := quick()
	options.Window = 12_000
	a := start(t, options, e)
	var script []reply
	for i := range 5 {
		script = append(script, reply{text: fmt.Sprintf("step %d: %s", i, strings.Repeat("word ", 1500)), calls: []call{{"list", "{}"}}})
	}
	e.script = append(script, reply{status: 400, body: `{"error":{"message":"no"}}`}, say("done"))
	a.do(t, "the very first task")
	if last := e.last(); !strings.Contains(last, "the very first task") || !strings.Contains(last, "What happened") {
		t.Errorf("request %.2000s", last)
	}
}
