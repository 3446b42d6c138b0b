package builtin_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/builtin"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// counted are options that note the pauses instead of making them.
func counted(pauses *[]time.Duration) builtin.Options {
	return builtin.Options{Wait: func(ctx context.Context, pause time.Duration) bool {
		*pauses = append(*pauses, pause)
		return ctx.Err() == nil
	}}
}

func status(code int) reply { return reply{status: code, body: `{"error":{"message":"not now"}}`} }

func TestX13BuiltinTriesAgain(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		var pauses []time.Duration
		busy := status(http.StatusTooManyRequests)
		busy.after = "7"
		e := serve(t, protocol, busy, status(500), status(529), reply{text: "half an ans", cut: true}, status(503), say("whole"))
		a := start(t, counted(&pauses), e)
		a.do(t, "x")
		if len(pauses) != 5 || pauses[0] != 7*time.Second {
			t.Fatalf("pauses %v", pauses)
		}
		for i, pause := range pauses[1:] {
			if most := time.Second << (i + 1); pause < most/2 || pause > most {
				t.Errorf("pause %d is %v, want %v to %v", i+2, pause, most/2, most)
			}
		}
		if notices := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice); len(notices) != 5 || !strings.Contains(notices[0].Text, "status 429: not now") || !strings.Contains(notices[0].Text, "Try 2 of 6 in 7s") {
			t.Errorf("notices %+v", notices)
		}
		// The text of the cut answer was not shown yet, so it is not shown at all.
		if messages := data[lineshaft.MessageData](t, a, lineshaft.EventMessage); len(messages) != 1 || messages[0].Text != "whole" {
			t.Errorf("messages %+v", messages)
		}
		for i, request := range e.asked() {
			if encode(request) != encode(e.asked()[0]) {
				t.Errorf("try %d asked something else", i+1)
			}
		}
	})
}

// What people saw of an answer that was cut is followed by a notice.
func TestX13BuiltinCutAnswerIsVoid(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("many words ", 400)
	e := serve(t, model.Anthropic, reply{text: long, cut: true}, say("whole"), say("second"))
	a := start(t, quick(), e)
	a.do(t, "x")
	var kinds []string
	for _, d := range a.Drafts("") {
		kinds = append(kinds, string(d.Type))
	}
	if got := strings.Join(kinds, " "); got != "message notice message usage" {
		t.Errorf("events %s", got)
	}
	if n := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice); !strings.HasPrefix(n[0].Text, "The answer above is not complete and does not count: ") {
		t.Errorf("notice %+v", n)
	}
	a.do(t, "y")
	if strings.Contains(e.last(), "many words") {
		t.Error("the cut answer is part of the conversation")
	}
}

func TestX13BuiltinGivesUp(t *testing.T) {
	t.Parallel()
	times := func(n int, r reply) (out []reply) {
		for range n {
			out = append(out, r)
		}
		return out
	}
	late := status(429)
	late.after = "3600"
	tests := map[string]struct {
		script []reply
		asked  int
		code   lineshaft.Code
		says   []string
	}{
		"busy":         {times(6, status(429)), 6, lineshaft.CodeUnavailable, []string{"status 429: not now", "run fewer agents", "follow-up"}},
		"broken":       {times(6, status(500)), 6, lineshaft.CodeUnavailable, []string{"status 500: not now", "log"}},
		"cut":          {times(6, reply{text: "x", cut: true}), 6, lineshaft.CodeUnavailable, []string{"cut off", "lineshaft doctor"}},
		"much later":   {[]reply{late}, 1, lineshaft.CodeUnavailable, []string{"429"}},
		"key":          {[]reply{{status: 401, body: `{"error":{"message":"invalid key ` + harnesstest.Token + `"}}`}}, 1, lineshaft.CodeNotAuthorized, []string{"invalid key", "check the key"}},
		"may not":      {[]reply{status(403)}, 1, lineshaft.CodeNotAuthorized, []string{"not now"}},
		"budget":       {[]reply{{status: 403, body: `{"code":"budget_exceeded","detail":"1,000 of 1,000 tokens"}`}}, 1, lineshaft.CodeBudgetExceeded, []string{"1,000 of 1,000 tokens", "raise it"}},
		"no such name": {[]reply{{status: 404, body: `{"error":{"message":"no model-1"}}`}}, 1, lineshaft.CodeAgentProcessFailed, []string{"no model-1", "model's name"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocols(t, func(t *testing.T, protocol model.Protocol) {
				e := serve(t, protocol, slices.Concat(test.script, []reply{say("well again")})...)
				a := start(t, quick(), e)
				a.fails(t, test.code, test.says...)
				if got := len(e.asked()); got != test.asked {
					t.Errorf("asked %d times", got)
				}
				a.do(t, "go on")
			})
		})
	}
}

// A budget that ends in the middle of the work.
func TestX7BuiltinBudgetInTheMiddle(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI, use("write", object{"path": "a", "content": "1"}), reply{status: 402, body: `{"error":{"code":"budget_exceeded","message":"spent"}}`})
	a := start(t, quick(), e)
	a.fails(t, lineshaft.CodeBudgetExceeded, "spent")
	if a.read(t, "a") != "1" {
		t.Error("the work before is gone")
	}
}

func TestX13BuiltinDeadEndpoint(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	e := &endpoint{protocol: model.Anthropic, url: "http://" + listener.Addr().String()}
	var pauses []time.Duration
	start(t, counted(&pauses), e).fails(t, lineshaft.CodeUnavailable, "no connection to the model endpoint", "lineshaft doctor")
	if len(pauses) != 5 {
		t.Errorf("pauses %v", pauses)
	}
}

func TestX13BuiltinSlowEndpoint(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		options := quick()
		options.Tries, options.Idle = 3, 20*time.Millisecond
		slow := reply{text: "I", hang: true}
		a := start(t, options, serve(t, protocol, slow, slow, slow))
		a.fails(t, lineshaft.CodeUnavailable, "the endpoint sent nothing")
	})
}

func TestR8BuiltinInterruptBetweenTries(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted by the test")
	options := builtin.Options{Wait: func(context.Context, time.Duration) bool { cancel(cause); return false }}
	a := start(t, options, serve(t, model.OpenAI, status(500), say("x")))
	if _, err := a.session.Turn(ctx, lineshaft.Turn{Message: "x"}, a.Emit); !errors.Is(err, cause) {
		t.Errorf("ended with %v", err)
	}
}

// The real pause ends with its context and with its time.
func TestR8BuiltinPauses(t *testing.T) {
	t.Parallel()
	options := builtin.Options{FirstPause: time.Millisecond}
	start(t, options, serve(t, model.OpenAI, status(500), status(500), say("x"))).do(t, "x")

	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted by the test")
	e := serve(t, model.OpenAI, status(500))
	a := start(t, builtin.Options{FirstPause: time.Hour}, e)
	ended := make(chan error)
	go func() {
		_, err := a.session.Turn(ctx, lineshaft.Turn{Message: "x"}, func(d lineshaft.Draft) {
			if a.Emit(d); d.Type == lineshaft.EventNotice {
				cancel(cause)
			}
		})
		ended <- err
	}()
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("ended with %v", err)
	}
}

// A supervisor that dies of a lost lease is the platform's matter, not the model's.
func TestX1BuiltinPassesOnWhatEndsARun(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI, use("shell", object{"command": "true"}), say("never"))
	env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
	broken := errors.New("no sandbox")
	env.WriteFile = func(name, _ string) (string, error) {
		if name == "command.sh" {
			return "", broken
		}
		return "", nil
	}
	a := open(t, quick(), env)
	if _, err := a.session.Turn(t.Context(), lineshaft.Turn{Message: "x"}, a.Emit); !errors.Is(err, broken) {
		t.Errorf("ended with %v", err)
	}
	if results := data[lineshaft.ToolResultData](t, a, lineshaft.EventToolResult); len(results) != 1 || results[0].State != lineshaft.ToolFailed {
		t.Errorf("results %+v", results)
	}
}
