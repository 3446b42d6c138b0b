package runs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// after is an event a number of seconds after the first.
func after(seconds int, sequence int64, kind lineshaft.EventType, data string) lineshaft.Event {
	e := told(sequence, kind, data)
	e.Time = time.Unix(int64(1000+seconds), 0)
	return e
}

func spansText(list []span) string {
	var texts []string
	for _, one := range list {
		text := fmt.Sprintf("%s %s #%d %s", one.Kind, one.Name, one.Sequence, one.Took())
		if one.Failed {
			text += " failed"
		}
		if one.Now {
			text += " now"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "|")
}

// I-2: where the time of a run went: waits, set-up, model and tools.
func TestI2Spans(t *testing.T) {
	t.Parallel()
	events := []lineshaft.Event{
		after(0, 1, lineshaft.EventState, `{"to":"QUEUED"}`),
		after(2, 2, lineshaft.EventState, `{"to":"CLAIMED"}`),
		after(5, 3, lineshaft.EventState, `{"to":"INPROGRESS"}`),
		after(9, 4, lineshaft.EventUsage, `{"model_id":"m-1"}`),
		after(9, 5, lineshaft.EventToolCall, `{"id":"a","name":"bash","input":{"command":"make"}}`),
		after(10, 6, lineshaft.EventToolCall, `{"id":"b","name":"read","input":{"path":"x"}}`),
		after(12, 7, lineshaft.EventToolResult, `{"id":"b"}`),
		after(19, 8, lineshaft.EventToolResult, `{"id":"a","state":"failed"}`),
		after(20, 9, lineshaft.EventState, `{"to":"BLOCKED"}`),
		after(50, 10, lineshaft.EventState, `{"to":"INPROGRESS"}`),
		after(51, 11, lineshaft.EventToolCall, `{"id":"c","name":"bash","input":{"command":"sleep"}}`),
	}
	all := newSpanner()
	for _, e := range events {
		all.add(e)
	}
	const past = "wait Waiting for a worker #1 2s|setup Set-up #2 3s|model m-1 #4 4s|tool bash make #5 10s failed|tool read x #6 2s|" +
		"model Agent #9 1s|ask Waiting for an answer #9 30s|model Agent #11 1s|"
	live := all.finish(events[0].Time.Add(60 * time.Second))
	if got := spansText(live); got != past+"tool bash sleep #11 9s now" {
		t.Errorf("live: %s", got)
	}
	all = newSpanner()
	for _, e := range append(events, after(57, 12, lineshaft.EventState, `{"to":"CANCELLED"}`)) {
		all.add(e)
	}
	if got := spansText(all.finish(time.Unix(5000, 0))); got != past+"tool bash sleep #11 6s" {
		t.Errorf("cancelled: %s", got)
	}
	data := timeOf(live)
	if data.All != time.Minute || data.Slowest[0].Kind != "ask" || len(data.Slowest) != slowest || data.Sums[3] != (spent{"model", "Model", 6 * time.Second}) {
		t.Errorf("added up: %+v", data)
	}
	if data.Spans[0].X != "0.0" || data.Spans[0].W != "33.3" || data.Spans[1].X != "33.3" {
		t.Errorf("placed: %+v", data.Spans[:2])
	}
}

// H-14: however many calls there are, the longest are drawn and no more.
func TestI2SpansAreBounded(t *testing.T) {
	t.Parallel()
	all := newSpanner()
	for i := range 3 * maxSpans {
		id := fmt.Sprint(i)
		all.add(after(2*i, int64(2*i+1), lineshaft.EventToolCall, `{"id":"`+id+`","name":"bash"}`))
		end := after(2*i, int64(2*i+2), lineshaft.EventToolResult, `{"id":"`+id+`"}`)
		end.Time = end.Time.Add(time.Duration(i) * time.Millisecond)
		all.add(end)
	}
	list := all.finish(time.Unix(0, 0))
	if len(list) != maxSpans || slices.ContainsFunc(list, func(s span) bool { return s.Kind == "tool" && s.Took() < time.Second/2 }) {
		t.Errorf("%d spans, of them the first %+v", len(list), list[0])
	}
}

// I-2: what is found in a log, by words and by kind.
func TestI2Finder(t *testing.T) {
	t.Parallel()
	events := []lineshaft.Event{
		told(1, lineshaft.EventState, `{"to":"QUEUED"}`),
		told(2, lineshaft.EventMessage, `{"role":"user","text":"Find the \"Needle\"\nplease"}`),
		told(3, lineshaft.EventToolCall, `{"id":"a","category":"command","name":"bash","input":{"command":"grep needle"}}`),
		told(4, lineshaft.EventOutput, `{"stream":"stdout","text":"a NEEDLE <b>","tool_call_id":"a"}`),
		told(5, lineshaft.EventToolResult, `{"id":"a","state":"error","output":{"text":"no <needle>"}}`),
		told(6, lineshaft.EventToolCall, `{"id":"b","category":"files","name":"edit","input":{"path":"a.go","old":"x","new":"y"}}`),
		told(7, lineshaft.EventNotice, `{"level":"warning","text":"low"}`),
		told(8, lineshaft.EventNotice, `{"level":"info","text":"needle"}`),
		told(9, lineshaft.EventState, `{"to":"FAILED"}`),
	}
	for _, tc := range []struct{ text, only, want string }{
		{"needle", "", "[2 3 4 5 8]"},
		{`"needle"`, "", "[2]"},
		{"<needle>", "", "[5]"},
		{"", "messages", "[2]"},
		{"", "commands", "[3]"},
		{"needle", "commands", "[3 4]"},
		{"", "edits", "[6]"},
		{"", "errors", "[5 7 9]"},
		{"needle", "errors", "[5]"},
	} {
		var found []int64
		f := newFinder(tc.text, tc.only)
		for _, e := range events {
			if !f.fits(e) {
				continue
			}
			found = append(found, e.Sequence)
			if !passes(f.match(), e) {
				t.Errorf("%q in %q: the database leaves out %d", tc.text, tc.only, e.Sequence)
			}
		}
		if got := fmt.Sprint(found); got != tc.want {
			t.Errorf("%q in %q: %s, want %s", tc.text, tc.only, got, tc.want)
		}
	}
}

// passes is what the database makes of a match; TestR9FindEvents holds it to that.
func passes(m runs.EventMatch, e lineshaft.Event) bool {
	return (len(m.Types) == 0 || slices.Contains(m.Types, e.Type)) && (len(m.Words) == 0 || slices.ContainsFunc(m.Words, func(word string) bool {
		return strings.Contains(strings.ToLower(string(e.Data)), strings.ToLower(word))
	}))
}

// I-2: whatever counts as a failure passes the database too.
func TestI2EveryFailureIsFound(t *testing.T) {
	t.Parallel()
	failures := newFinder("", "errors")
	events := []lineshaft.Event{
		told(0, lineshaft.EventNotice, `{"level":"error"}`), told(0, lineshaft.EventNotice, `{"level":"warning"}`),
		told(0, lineshaft.EventState, `{"to":"FAILED"}`), told(0, lineshaft.EventState, `{"to":"ERROR"}`),
	}
	for _, state := range []string{"failed", "denied", "error", "errored", "cancelled", "canceled", "timeout", "rejected"} {
		events = append(events, told(0, lineshaft.EventToolResult, `{"state":"`+state+`"}`))
	}
	for _, e := range events {
		if !failures.fits(e) || !passes(failures.match(), e) {
			t.Errorf("%s: a failure %v, found %v", e.Data, failures.fits(e), passes(failures.match(), e))
		}
	}
}

// The part of a text that the database looks for is written in one way only.
func TestI2LongestWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "needle": "needle", `a "Needle" <x>`: "Needle", "İstanbul": "stanbul", "über": "ber", "日本": "", "exit 404": "exit", "a_b%c1": "c1",
		"x connection": "connecti",
	} {
		if got := longestWord(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
