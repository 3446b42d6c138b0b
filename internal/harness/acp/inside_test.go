package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
)

// The queue keeps the order, holds up who says too much, and lets go at its end.
func TestX6ACPQueue(t *testing.T) {
	t.Parallel()
	q := newQueue()
	if _, ok := q.pop(); ok {
		t.Error("an empty queue gave something")
	}
	for range maxQueued {
		q.push(item{update: json.RawMessage("x")})
	}
	var pushing sync.WaitGroup
	pushing.Go(func() { q.push(item{update: json.RawMessage("last")}) })
	q.put(item{end: &end{}}) // an end never waits
	for i := range maxQueued {
		if it, ok := q.pop(); !ok || string(it.update) != "x" {
			t.Fatalf("item %d is %+v, %t", i, it, ok)
		}
	}
	pushing.Wait()
	var rest []string
	for it, ok := q.pop(); ok; it, ok = q.pop() {
		rest = append(rest, string(it.update))
	}
	if len(rest) != 2 || rest[0]+rest[1] != "last" || q.bytes != 0 {
		t.Errorf("the rest is %q, %d bytes", rest, q.bytes)
	}
	q.push(item{update: make(json.RawMessage, maxQueuedBytes)})
	pushing.Go(func() { q.push(item{update: json.RawMessage("x")}) })
	q.close()
	pushing.Wait()
	q.push(item{update: json.RawMessage("x")})
	if _, ok := q.pop(); ok {
		t.Error("a closed queue gave something")
	}
}

// What ends a turn withdraws its question, also when it ends the asking first.
func TestR8ACPInterruptIsNoAnswer(t *testing.T) {
	t.Parallel()
	_, log, turn := bare(t)
	q := newQuestion(json.RawMessage(`{"toolCall":{"toolCallId":"1"},"options":[{"optionId":"no","kind":"reject_once"}]}`))
	turn.questions, turn.asking = []*question{q}, true
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	turn.answered(ctx, &answer{question: q, err: ctx.Err()})
	turn.close()
	if got := <-q.outcome; got != cancelled() || len(log.Drafts("")) > 0 {
		t.Errorf("outcome %+v, events %+v; want the question withdrawn without a word", got, log.Drafts(""))
	}
}

// Lines are found wherever the pieces are cut; a long one costs only itself.
func TestX6ACPWire(t *testing.T) {
	t.Parallel()
	const said = `{"method":"session/update","params":{"n":1}}` + "\n" + `{"id":1,"result":{}}` + "\r\n\n  noise  \n" + `{"method":"other"}` + "\n"
	for size := 1; size <= len(said); size += 7 {
		var calls, noise bytes.Buffer
		w := &wire{queue: newQueue(), calls: &calls, noise: &noise, tooLong: func(bool) { t.Error("too long") }}
		for rest := []byte(said); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := w.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		it, ok := w.queue.pop()
		if !ok || string(it.update) != `{"n":1}` || calls.String() != `{"id":1,"result":{}}`+"\n" || noise.String() != "noise\n" {
			t.Errorf("pieces of %d: %+v, calls %q, noise %q", size, it, &calls, &noise)
		}
		if _, more := w.queue.pop(); more {
			t.Error("there is another update")
		}
	}
	var long []bool
	w := &wire{queue: newQueue(), calls: io.Discard, noise: io.Discard, tooLong: func(harmless bool) { long = append(long, harmless) }}
	for _, head := range []string{`{"method":"session/update",`, `{"id":7,`} {
		for _, part := range []string{head, strings.Repeat(" ", maxLine), strings.Repeat(" ", maxLine), "}\n" + `{"method":"session/update","params":[]}` + "\n"} {
			if _, err := io.WriteString(w, part); err != nil {
				t.Fatal(err)
			}
		}
		if it, ok := w.queue.pop(); !ok || string(it.update) != "[]" {
			t.Errorf("after a long line: %+v, %t", it, ok)
		}
	}
	if len(long) != 2 || !long[0] || long[1] {
		t.Errorf("long lines %v", long)
	}
}

// A long message is reported in parts, at the ends of lines or words.
func TestX6ACPTextGrowsOld(t *testing.T) {
	t.Parallel()
	_, log, turn := bare(t)
	defer turn.close()
	now := time.Now()
	steps := []struct {
		chunk string
		later time.Duration
		want  string
	}{
		{"one\ntwo th", time.Second, ""},
		{"", textTime + time.Second, "one\n"},
		{"ree four", 2*textTime + 2*time.Second, "one\n|two three "},
		{"five" + "\xc3", 3*textTime + 3*time.Second, "one\n|two three |fourfive"},
	}
	for i, step := range steps {
		if step.chunk != "" {
			turn.text.add(lineshaft.EventMessage, "", step.chunk)
		}
		turn.text.grownOld(now.Add(step.later))
		var got []string
		for _, d := range log.Drafts(lineshaft.EventMessage) {
			var data lineshaft.MessageData
			if err := json.Unmarshal(d.Data, &data); err != nil {
				t.Fatal(err)
			}
			got = append(got, data.Text)
		}
		if joined := strings.Join(got, "|"); joined != step.want {
			t.Errorf("step %d: %q, want %q", i, joined, step.want)
		}
	}
}

// A call whose input does not come is still reported after a while.
func TestX6ACPCallGrowsOld(t *testing.T) {
	t.Parallel()
	_, log, turn := bare(t)
	defer turn.close()
	turn.update(json.RawMessage(`{"update":{"sessionUpdate":"tool_call","toolCallId":"a","title":"bash","kind":"execute","status":"pending"}}`))
	turn.known.grownOld(turn, time.Now())
	if n := len(log.Drafts("")); n != 0 {
		t.Errorf("%d events at once", n)
	}
	turn.known.grownOld(turn, time.Now().Add(2*announceTime))
	turn.known.grownOld(turn, time.Now().Add(3*announceTime))
	if n := len(log.Drafts(lineshaft.EventToolCall)); n != 1 {
		t.Errorf("%d events later", n)
	}
}

func TestX6ACPDescribe(t *testing.T) {
	t.Parallel()
	tests := map[string]error{
		"plain":                        errors.New("plain"),
		"Oops (code -32603)":           &sdk.RequestError{Code: -32603, Message: "Oops"},
		"Oops: because (code 1)":       &sdk.RequestError{Code: 1, Message: "Oops", Data: map[string]any{"details": "because"}},
		"Oops: it is (code 1)":         &sdk.RequestError{Code: 1, Message: "Oops", Data: "it is"},
		`Oops: {"a":[1]} (code 1)`:     &sdk.RequestError{Code: 1, Message: "Oops", Data: map[string]any{"a": []int{1}}},
		"Oops (code 2)":                &sdk.RequestError{Code: 2, Message: "Oops", Data: map[string]any{"message": "Oops"}},
		strings.Repeat("é", 500) + "…": errors.New(strings.Repeat("é", 700)),
	}
	for want, err := range tests {
		if got := describe(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// An option of an agent is chosen by what is wished, wherever it is.
func TestX6ACPPick(t *testing.T) {
	t.Parallel()
	groups := json.RawMessage(`[{"value":"a"},{"name":"g","options":[{"value":"p/b"},{"value":"c"},7]},"odd"]`)
	tests := []struct {
		category, current string
		wishes            []string
		want              string
	}{
		{"model", "a", []string{"b"}, "p/b"},
		{"model", "a", []string{"p/b"}, "p/b"},
		{"model", "p/b", []string{"b"}, ""},
		{"mode", "a", []string{"b"}, ""},
		{"mode", "a", []string{"x", "c", "a"}, "c"},
		{"mode", "a", []string{""}, ""},
		{"mode", "a", nil, ""},
	}
	for _, test := range tests {
		current, err := json.Marshal(test.current)
		if err != nil {
			t.Fatal(err)
		}
		o := option{Category: test.category, Current: current, Values: groups}
		if got := pick(o, test.category, test.wishes); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
		if got := pick(o, "other", test.wishes); got != "" {
			t.Errorf("another category: %q", got)
		}
	}
}

// An update of one odd field loses no other.
func TestX6ACPLenient(t *testing.T) {
	t.Parallel()
	var u callUpdate
	lenient(json.RawMessage(`{"toolCallId":"`+harnesstest.Token+`","title":{},"kind":7,"status":"completed"}`), &u)
	if u.ID != harnesstest.Token || u.Status != "completed" || u.Title != "" || u.Kind != "" {
		t.Errorf("%+v", u)
	}
	for _, odd := range []string{"", "null", "[]", "7", "{", `{"a"}`} {
		var none callUpdate
		lenient(json.RawMessage(odd), &none)
		if none.ID != "" {
			t.Errorf("%s: %+v", odd, none)
		}
	}
}

// A program that does not speak the protocol is reported with the way to run it.
func TestX6ACPOtherMode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"claude": `harness.mode to "command"`, "acp": `harness.type to "command"`, "goose": `harness.type to "command"`} {
		if got := (&launch{form: form{name: name}}).otherMode(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if program, install := Program("codex"); program != "codex-acp" || !strings.Contains(install, "npm install -g") {
		t.Errorf("codex: %s, %s", program, install)
	}
	if program, install := Program("shell"); program != "" || install != "" {
		t.Errorf("shell: %s, %s", program, install)
	}
}
