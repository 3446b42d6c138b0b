package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
)

// permission is a request for permission with long texts.
func permission(id int, length int) string {
	long := strings.Repeat("x", length)
	options := fmt.Sprintf(`{"optionId":"yes","name":"Y%s","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"},{"optionId":"%s","kind":"allow_once"}`, long, long)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s","options":[%s],`+
		`"toolCall":{"toolCallId":"c","title":"T%s","rawInput":{"command":"I%s"},"content":[{"type":"content","content":"%s"}],"_meta":{"x":"%s"}}}}`, id, options, long, long, long, long)
}

// What an open request holds is bounded, and what people have to know is in it.
func TestX6ACPLongRequestsAreShortened(t *testing.T) {
	t.Parallel()
	var calls bytes.Buffer
	w := &wire{queue: newQueue(), calls: &calls, noise: io.Discard, misuse: func(why string) { t.Error(why) }}
	for _, line := range []string{permission(7, 1<<20), fmt.Sprintf(`{"id":8,"method":"fs/read","params":{"x":"%s"}}`, strings.Repeat("x", 1<<20)), permission(9, 1)} {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(calls.String()), "\n")
	if len(lines) != 3 || len(lines[0]) > 6*harness.MaxToolText || len(lines[1]) > 200 || lines[2] != permission(9, 1) {
		t.Fatalf("%d lines, %d and %d bytes", len(lines), len(lines[0]), len(lines[1]))
	}
	var m struct {
		ID     int             `json:"id"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &m); err != nil || m.ID != 7 {
		t.Fatalf("%d, %v", m.ID, err)
	}
	q := newQuestion(m.Params)
	if q.call.ID != "c" || !strings.HasPrefix(q.call.Title, "Tx") || !strings.Contains(string(q.call.Input), "Ixx") || len(q.options) != 2 || q.options[1].ID != "no" {
		t.Errorf("%.300s", lines[0])
	}
	if got := (item{question: q}).size(); got != len(m.Params) {
		t.Errorf("size %d", got)
	}
}

// An agent that asks and does not read the answers is ended, not listened to for ever.
func TestX6ACPUnansweredRequestsAreBounded(t *testing.T) {
	t.Parallel()
	var calls bytes.Buffer
	var why []string
	w := &wire{queue: newQueue(), calls: &calls, noise: io.Discard, misuse: func(text string) { why = append(why, text) }}
	ask := func(n int) {
		for i := range n {
			if _, err := io.WriteString(w, permission(i, 1)+"\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	to := answers{io.Discard, w}
	for range 3 {
		ask(maxUnanswered)
		for range maxUnanswered {
			for _, message := range []string{`{"id":1,"result":{}}`, `{"id":1,"method":"session/prompt"}`} {
				if _, err := io.WriteString(to, message); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	ask(maxUnanswered)
	passed := strings.Count(calls.String(), "\n")
	if len(why) != 0 || passed != 4*maxUnanswered {
		t.Fatalf("%q, %d passed on", why, passed)
	}
	ask(1)
	if len(why) != 1 || strings.Count(calls.String(), "\n") != passed {
		t.Errorf("%q", why)
	}
	ask(3) // it is being ended already
	w = &wire{queue: newQueue(), calls: &calls, noise: io.Discard, misuse: w.misuse}
	_, _ = io.WriteString(w, `{"id":"`+strings.Repeat("x", maxID)+`","method":"m"}`+"\n")
	if len(why) != 2 || !strings.Contains(why[1], "id") {
		t.Errorf("%q", why)
	}
}

// People see at most so many questions; the agent's others are rejected at once.
func TestX6ACPOpenQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := bare(t)
		s.launch.policy = lineshaft.PermissionsAsk
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var m struct {
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal([]byte(permission(1, 1)), &m); err != nil {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		ask := func(n int) {
			for range n {
				asking.Go(func() { _, _ = s.handle(ctx, sdk.ClientMethodSessionRequestPermission, m.Params) })
			}
			synctest.Wait()
		}
		ask(maxQuestions)
		for range 3 {
			got, problem := s.handle(ctx, sdk.ClientMethodSessionRequestPermission, m.Params)
			if problem != nil || got != selected("no") {
				t.Errorf("answered %+v, %v", got, problem)
			}
		}
		questions, notices := 0, 0
		for i, ok := s.queue.pop(); ok; i, ok = s.queue.pop() {
			switch {
			case i.question != nil:
				questions++
				i.question.give(cancelled())
			case i.draft != nil:
				notices++
			}
		}
		if questions != maxQuestions || notices != 1 {
			t.Errorf("%d questions, %d notices", questions, notices)
		}
		asking.Wait()
		ask(1) // there is room again
		if i, ok := s.queue.pop(); !ok || i.question == nil {
			t.Error("a later question was rejected")
		}
		cancel()
		asking.Wait()
	})
}

// A policy answers at once, however many ask at the same time.
func TestX6ACPPolicyAnswersMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, turn := bare(t)
		var asking sync.WaitGroup
		for range 4 * maxQuestions {
			asking.Go(func() {
				got, problem := s.handle(t.Context(), sdk.ClientMethodSessionRequestPermission, json.RawMessage(`{"options":[{"optionId":"y","kind":"allow_once"}]}`))
				if problem != nil || got != selected("y") {
					t.Errorf("answered %+v, %v", got, problem)
				}
			})
		}
		synctest.Wait()
		turn.drain(t.Context())
		asking.Wait()
	})
}

// An agent may misbehave before its start is known here.
func TestX6ACPKillBeforeTheStartIsKnown(t *testing.T) {
	t.Parallel()
	a := &agent{}
	a.kill("too much")
	if a.fault != "too much" {
		t.Errorf("fault %q", a.fault)
	}
}

// opened is a turn in which the agent has begun calls and ended none.
func opened(t *testing.T, calls int) (*turn, *harnesstest.Log) {
	t.Helper()
	_, log, turn := bare(t)
	t.Cleanup(turn.close)
	for i := range calls {
		turn.update(fmt.Appendf(nil, `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"%d","title":"x","kind":"read","status":"pending"}}`, i))
	}
	return turn, log
}

// What an update costs does not grow with the calls that are open.
func TestH14ACPOpenCallsAreNotWalked(t *testing.T) {
	t.Parallel()
	const calls = 5000
	turn, log := opened(t, calls)
	turn.known.grownOld(turn, time.Now())
	turn.finish(false)
	if got := turn.known.looked; got > 3*calls {
		t.Errorf("%d calls were looked at for %d", got, calls)
	}
	results := log.Drafts(lineshaft.EventToolResult)
	if begun := log.Drafts(lineshaft.EventToolCall); len(begun) != calls || len(results) != calls {
		t.Fatalf("%d calls, %d results", len(begun), len(results))
	}
	for i, result := range results {
		if want := fmt.Sprintf(`{"id":"%d",`, i); !strings.HasPrefix(string(result.Data), want) {
			t.Fatalf("result %d is %s", i, result.Data)
		}
	}
}

// An agent that opens calls without end fills neither the memory nor the log.
func TestH14ACPOpenCallsAreBounded(t *testing.T) {
	t.Parallel()
	turn, log := opened(t, maxOpenCalls+1000)
	if got := len(turn.known.calls); got != maxOpenCalls {
		t.Errorf("%d calls are open", got)
	}
	// There is room again for others when one ends.
	for _, update := range []string{
		`{"sessionUpdate":"tool_call_update","toolCallId":"7","status":"completed"}`,
		`{"sessionUpdate":"tool_call","toolCallId":"late","title":"late","status":"completed"}`,
	} {
		turn.update(json.RawMessage(`{"sessionId":"s","update":` + update + `}`))
	}
	turn.finish(false)
	if got := len(log.Drafts(lineshaft.EventToolResult)); got != maxOpenCalls+1 {
		t.Errorf("%d results", got)
	}
	notices := log.Drafts(lineshaft.EventNotice)
	if len(notices) != 1 || !strings.Contains(string(notices[0].Data), "too many tool calls") {
		t.Errorf("%d notices", len(notices))
	}
	if turn.known.bytes != 0 {
		t.Errorf("%d bytes are held of nothing", turn.known.bytes)
	}
}

// What open calls hold is bounded in bytes, and their ends are reported all the same.
func TestH14ACPOpenCallsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	_, log, turn := bare(t)
	t.Cleanup(turn.close)
	long := strings.Repeat("x", 1<<20)
	for i := range 24 {
		turn.update(fmt.Appendf(nil, `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"%d","rawInput":{"a":"%s"},"title":"x","status":"in_progress"}}`, i, long))
	}
	if got := turn.known.bytes; got > maxOpenBytes+2<<20 {
		t.Errorf("%d bytes are held", got)
	}
	for i := range 24 {
		turn.update(fmt.Appendf(nil, `{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"%d","status":"completed"}}`, i))
	}
	if got := len(log.Drafts(lineshaft.EventToolResult)); got != 24 || turn.known.bytes != 0 || len(log.Drafts(lineshaft.EventNotice)) != 1 {
		t.Errorf("%d results, %d bytes held", got, turn.known.bytes)
	}
}
