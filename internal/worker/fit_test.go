package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

func message(text string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Role: "assistant", Text: text})
}

// narrowControl takes no call with more than most bytes of events, as a server or
// a proxy on the way does.
type narrowControl struct {
	*fakeControl
	most int
}

func (n *narrowControl) Report(ctx context.Context, reports []lineshaft.Report) ([]error, error) {
	size := 0
	for _, report := range reports {
		for _, draft := range report.Events {
			size += len(draft.Data)
		}
	}
	if size > n.most {
		return nil, &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: "the body is too large"}
	}
	return n.fakeControl.Report(ctx, reports)
}

// narrow runs one execution whose agent emits, and gives its end.
func narrow(t *testing.T, most int, say func(emit harness.Emit)) (*narrowControl, lineshaft.TurnResult) {
	t.Helper()
	c := &narrowControl{newControl(t), most}
	agent := scripted{func(_ context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
		say(emit)
		return done()
	}}
	w, err := New(Config{WorkerID: "w1", DataDir: t.TempDir(), Harnesses: harness.Set{Harnesses: []harness.Harness{agent}, Default: "scripted"}}, c)
	if err != nil {
		t.Fatal(err)
	}
	c.jobs <- job("a", "")
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	result := c.ended("a", 1)
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	return c, result
}

// One large event does not turn a good run into a bad one. Each of these is larger
// than the limit.
func TestX3LargeEventsAreCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, result := narrow(t, 2<<20, func(emit harness.Emit) {
			emit(message("before"))
			emit(message(strings.Repeat("ä", 5<<18)))
			emit(lineshaft.NewDraft(lineshaft.EventToolResult, time.Now(), lineshaft.ToolResultData{ID: "1", Output: map[string]any{"list": make([]int, 5<<18)}}))
			emit(lineshaft.NewDraft(lineshaft.EventToolResult, time.Now(), lineshaft.ToolResultData{ID: "2", Output: map[string]any{"a": strings.Repeat("\x00", 3<<17), "n": 1 << 60}}))
			emit(message("after"))
		})
		if result.State != lineshaft.Succeeded {
			t.Errorf("result %+v", result)
		}
		texts := c.texts("a", lineshaft.EventMessage)
		if len(texts) != 3 || texts[0] != "before" || texts[2] != "after" || len(texts[1]) < maxEvent/4 || !strings.HasSuffix(texts[1], "ä"+cutMark) {
			t.Errorf("%d messages, %.20q", len(texts), texts)
		}
		if got := c.texts("a", lineshaft.EventNotice); len(got) != 1 || !strings.Contains(got[0], "tool_result") || !strings.Contains(got[0], "left out") {
			t.Errorf("notices %q", got)
		}
		run, unlock := c.lock("a")
		defer unlock()
		for _, d := range run.events {
			if len(d.Data) > maxEvent {
				t.Errorf("%s has %d bytes", d.Type, len(d.Data))
			}
			if d.Type == lineshaft.EventToolResult && (!json.Valid(d.Data) || !strings.Contains(string(d.Data), fmt.Sprint(1<<60))) {
				t.Errorf("result %.100s", d.Data)
			}
		}
	})
}

// A control plane that takes less than that loses only what it does not take.
func TestX3TooLargeReportsShrink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, result := narrow(t, 2000, func(emit harness.Emit) {
			for i := range 100 {
				emit(message(fmt.Sprint(i, strings.Repeat("x", 100))))
				if i == 50 {
					emit(message(strings.Repeat("y", 3000)))
				}
			}
		})
		if result.State != lineshaft.Succeeded {
			t.Errorf("result %+v", result)
		}
		texts := c.texts("a", lineshaft.EventMessage)
		if len(texts) != 100 {
			t.Errorf("%d messages", len(texts))
		}
		for i, text := range texts {
			if !strings.HasPrefix(text, fmt.Sprint(i, "x")) {
				t.Errorf("message %d is %.10q", i, text)
			}
		}
		if got := c.texts("a", lineshaft.EventNotice); len(got) != 1 || !strings.Contains(got[0], "left out") {
			t.Errorf("notices %q", got)
		}
	})
}

// What is small and still called too large cannot be fixed.
func TestX3TooLargeAtAnySizeEndsTheExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if _, result := narrow(t, 0, func(emit harness.Emit) { emit(message("x")) }); result.State != lineshaft.Errored {
			t.Errorf("result %+v", result)
		}
	})
}

// An agent decides how often it asks a policy and says what it consumed: neither is
// a way around the caps.
func TestR9OutputCapsHoldForAllThatAgentsMake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{OutputEvents: 5}, scripted{func(_ context.Context, _ harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			for range 3000 {
				emit(lineshaft.NewDraft(lineshaft.EventPermission, time.Now(), lineshaft.PermissionData{Title: "may I", Decision: "allow"}))
				emit(lineshaft.NewDraft(lineshaft.EventUsage, time.Now(), lineshaft.UsageData{InputTokens: 1}))
				emit(lineshaft.NewDraft(lineshaft.EventArtifact, time.Now(), lineshaft.ArtifactData{URL: "x"}))
			}
			emit(lineshaft.NewDraft(lineshaft.EventUsage, time.Now(), lineshaft.UsageData{ModelID: strings.Repeat("m", 1<<16)}))
			return done()
		}})
		c.jobs <- job("a", "")
		c.ended("a", 1)
		kinds := map[lineshaft.EventType]int{}
		run, unlock := c.lock("a")
		defer unlock()
		for _, d := range run.events {
			kinds[d.Type]++
		}
		if kinds[lineshaft.EventPermission] != 2 || kinds[lineshaft.EventArtifact] != 1 || kinds[lineshaft.EventUsage] != 2+pastEvents || kinds[lineshaft.EventNotice] != 1 {
			t.Errorf("events %v", kinds)
		}
	})
}
