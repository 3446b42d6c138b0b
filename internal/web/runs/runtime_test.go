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

// I-2: a call that waits for an answer of people is no time of tools, but it is still one of the slowest.
func TestI2ACallThatWaitsForPeople(t *testing.T) {
	t.Parallel()
	all := newSpanner()
	for _, e := range []lineshaft.Event{
		after(0, 1, lineshaft.EventState, `{"to":"INPROGRESS"}`), after(0, 2, lineshaft.EventToolCall, `{"id":"a","name":"bash","input":{"command":"git push"}}`),
		after(2, 3, lineshaft.EventState, `{"to":"BLOCKED"}`), after(32, 4, lineshaft.EventState, `{"to":"INPROGRESS"}`),
		after(35, 5, lineshaft.EventToolResult, `{"id":"a"}`),
	} {
		all.add(e)
	}
	data := timeOf(all.finish(time.Unix(1035, 0)))
	if want := []spent{{"ask", "Waiting for an answer", 30 * time.Second}, {"tool", "Tools", 5 * time.Second}}; !slices.Equal(slices.DeleteFunc(data.Sums, func(s spent) bool { return s.Kind == "model" }), want) || data.Slowest[0].Took() != 35*time.Second {
		t.Errorf("%+v", data)
	}
}

// I-2, X-14: the set-up says how it began, and each of its steps is there with what it cost.
func TestI2SpansOfSetUp(t *testing.T) {
	t.Parallel()
	step := func(seconds int, sequence int64, environment string) lineshaft.Event {
		return after(seconds, sequence, lineshaft.EventNotice, `{"level":"info","text":"x","environment":{`+environment+`}}`)
	}
	for name, tc := range map[string]struct {
		steps []lineshaft.Event
		want  string
	}{
		"cold": {[]lineshaft.Event{
			step(2, 3, `"step":"cold","reason":"nothing like it was prepared"`), step(6, 4, `"step":"clone","name":"acme/shop","took_seconds":4`),
			step(30, 5, `"step":"command","name":"npm ci","took_seconds":24`),
		}, "setup Set-up: cold: nothing like it was prepared #2 30s|step Clone of acme/shop #4 4s|step Set-up command: npm ci #5 24s"},
		"warm": {
			[]lineshaft.Event{step(3, 3, `"step":"warm","layer":"4f0c9a1b7d2e","took_seconds":0.5`)},
			"setup Set-up: warm, on layer 4f0c9a1b7d2e #2 30s|step Files of layer 4f0c9a1b7d2e #3 500ms",
		},
		"newer": {[]lineshaft.Event{
			step(3, 3, `"step":"files","layer":"4f0c","took_seconds":1`), step(5, 4, `"step":"checkout","name":"acme/shop","took_seconds":2`),
			step(9, 5, `"step":"refresh","name":"npm install","took_seconds":4`), step(9, 6, `"step":"newer","layer":"4f0c","took_seconds":7`),
		}, "setup Set-up: warm, on layer 4f0c of an earlier commit #2 30s|step Files of layer 4f0c #3 1s|" +
			"step Check-out of acme/shop #4 2s|step Refresh command: npm install #5 4s"},
		"warm, then cold": {[]lineshaft.Event{
			step(3, 3, `"step":"files","layer":"4f0c","took_seconds":1`), step(4, 4, `"step":"cold","reason":"it was damaged"`),
		}, "setup Set-up: cold: it was damaged #2 30s|step Files of layer 4f0c #3 1s"},
		"what a worker with another clock says": {[]lineshaft.Event{
			step(4, 3, `"step":"clone","name":"a/b","took_seconds":1e300`), step(-9, 4, `"step":"command","name":"c","took_seconds":-3`),
			step(5, 5, `"step":"later","took_seconds":1`), step(5, 6, `"step":"kept","layer":"4f0c","took_seconds":1`),
		}, "setup Set-up #2 30s|step Clone of a/b #3 2s"},
	} {
		all := newSpanner()
		all.add(after(0, 1, lineshaft.EventState, `{"to":"QUEUED"}`))
		all.add(after(2, 2, lineshaft.EventState, `{"to":"CLAIMED"}`))
		all.add(after(32, 9, lineshaft.EventState, `{"to":"INPROGRESS"}`))
		places := all.setUps(time.Unix(5000, 0))
		if len(places) != 1 || all.spans[places[0]].Sequence != 2 || all.spans[places[0]].last != 9 {
			t.Fatalf("the set-ups are %v of %+v", places, all.spans)
		}
		all.explain(places[0], tc.steps)
		list := all.finish(time.Unix(1032, 0))
		if got := strings.TrimPrefix(spansText(list), "wait Waiting for a worker #1 2s|"); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
		if data := timeOf(list); data.Sums[1] != (spent{"setup", "Set-up", 30 * time.Second}) || len(data.Sums) != 2 {
			t.Errorf("%s: steps are added to what they are a part of: %+v", name, data.Sums)
		}
	}
}

// H-14: of a run with many set-ups the longest are explained, the present one among them.
func TestI2SetUpsAreBounded(t *testing.T) {
	t.Parallel()
	all := newSpanner()
	for i := range 3 * setUpsRead {
		all.add(after(100*i, int64(2*i+1), lineshaft.EventState, `{"to":"CLAIMED"}`))
		all.add(after(100*i+i, int64(2*i+2), lineshaft.EventState, `{"to":"INPROGRESS"}`))
	}
	all.add(after(9000, 900, lineshaft.EventState, `{"to":"CLAIMED"}`))
	places := all.setUps(time.Unix(20_000, 0))
	if len(places) != setUpsRead || all.spans[places[0]].Sequence != 900 || all.spans[places[0]].last != 0 || all.spans[places[1]].Sequence != 59 {
		t.Errorf("%d are read: %v", len(places), places)
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

func TestI2LongLogsAreReadLessOften(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		state  lineshaft.RunState
		events int64
		want   int
	}{{lineshaft.InProgress, 10, 10}, {lineshaft.Blocked, longLog + 1, 60}, {lineshaft.Failed, 10, 0}, {lineshaft.Succeeded, longLog + 1, 0}} {
		if got := againAfter(test.state, test.events); got != test.want {
			t.Errorf("%s with %d events: again after %d s, want %d", test.state, test.events, got, test.want)
		}
	}
}
