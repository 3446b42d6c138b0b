package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func newServer(tb testing.TB) pages {
	tb.Helper()
	look, err := page.NewLook(Room())
	if err != nil {
		tb.Fatal(err)
	}
	return pages{page.NewSite(page.Deps{Logger: slog.New(slog.DiscardHandler)}, look)}
}

// told is an event of any type with any data.
func told(sequence int64, kind lineshaft.EventType, data string) lineshaft.Event {
	return lineshaft.Event{Sequence: sequence, Type: kind, Time: time.Unix(0, 0), Data: json.RawMessage(data)}
}

// html is what a page shows of some events.
func (s pages) html(tb testing.TB, mayAnswer bool, events ...lineshaft.Event) string {
	tb.Helper()
	var out bytes.Buffer
	if err := s.Execute(&out, "run", "items", s.transcribe("r", mayAnswer, events)); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// I-2: a call whose execution is over does not run any more.
func TestI2CallStopsWithItsExecution(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	call := told(3, lineshaft.EventToolCall, `{"id":"c1","name":"shell","input":{"command":"sleep 99"}}`)
	if text := s.html(t, true, call, told(4, lineshaft.EventState, `{"to":"INPROGRESS"}`)); !strings.Contains(text, ">running</span>") {
		t.Error("a call of a live execution is not running")
	}
	for _, to := range []string{"CANCELLED", "ERROR", "FAILED", "SUCCEEDED", "QUEUED", "CLAIMED"} {
		text := s.html(t, true, call, told(4, lineshaft.EventState, `{"to":"`+to+`"}`))
		if !strings.Contains(text, `<span class="tag idle">stopped</span>`) || strings.Contains(text, ">running<") || !strings.Contains(text, " over") {
			t.Errorf("%s: %s", to, text)
		}
	}
	result := told(4, lineshaft.EventToolResult, `{"id":"c1","state":"completed"}`)
	if text := s.html(t, true, call, result, told(5, lineshaft.EventState, `{"to":"SUCCEEDED"}`)); !strings.Contains(text, ">completed<") {
		t.Error("a call with a result lost it")
	}
	// Agents have their own words for it, and pages and the API read them alike.
	for state, want := range map[string]string{"error": "failed", "timeout": "failed", "rejected": "denied", "done": "completed"} {
		result := told(4, lineshaft.EventToolResult, `{"id":"c1","state":"`+state+`"}`)
		if text := s.html(t, true, call, result); !strings.Contains(text, ">"+want+"<") {
			t.Errorf("%s is not shown as %s: %s", state, want, text)
		}
	}
	// In an earlier part of the log the result may be in a later one.
	run := &lineshaft.Run{ID: "r", State: lineshaft.Cancelled}
	if items := s.stretch(lineshaft.Caller{}, run, []lineshaft.Event{call}, window{}); items[0].Tool.State != "" {
		t.Errorf("in an earlier part it is %q", items[0].Tool.State)
	}
}

// I-2, X-7: every kind of event is shown in a readable way, and no event is left out.
func TestI2EachKindOfEvent(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, tc := range []struct {
		kind lineshaft.EventType
		data string
		want []string
	}{
		{lineshaft.EventMessage, `{"role":"user","text":"**do** it"}`, []string{"message user", "Follow-up", "<strong>do</strong>"}},
		{lineshaft.EventMessage, `{"role":"assistant","text":"see <b>"}`, []string{"message assistant", "Agent", "&lt;b&gt;"}},
		{lineshaft.EventMessage, `{"role":"odd","text":"x"}`, []string{"message system"}},
		{lineshaft.EventThought, `{"text":"hm\nwell"}`, []string{"<details>", "Thought", "hm well"}},
		{lineshaft.EventPlan, `{"steps":[{"text":"a","state":"completed"},{"text":"b","state":"in_progress"},{"text":"c","state":"pending"}]}`, []string{`"did"`, `"doing"`, `"todo"`, "in progress: "}},
		{lineshaft.EventPermission, `{"title":"rm x","options":[{"id":"y\"","name":"Allow <it>","kind":"allow_once"}]}`, []string{"question open", "The agent asks", `value="y&#34;"`, "Allow &lt;it&gt;", "/runs/r/followups"}},
		{lineshaft.EventPermission, `{"title":"ls","decision":"allow"}`, []string{"question decided", "Allowed"}},
		{lineshaft.EventPermission, `{"title":"ls","decision":"denied"}`, []string{"Rejected"}},
		{lineshaft.EventNotice, `{"level":"error","text":"<i>"}`, []string{"notice bad", "Error", "&lt;i&gt;"}},
		{lineshaft.EventNotice, `{"level":"warning","text":"w"}`, []string{"notice warn"}},
		{lineshaft.EventArtifact, `{"artifact_type":"PULL_REQUEST","url":"https://x.example/1"}`, []string{`href="https://x.example/1"`, `rel="noopener noreferrer nofollow"`, "pull_request"}},
		{lineshaft.EventArtifact, `{"url":"https://x.example/b/pull/815"}`, []string{`href="https://x.example/b/pull/815"`, ">Pull request #815<"}},
		{lineshaft.EventArtifact, `{"url":"https://x.example/-/merge_requests/9"}`, []string{">Merge request !9<"}},
		{lineshaft.EventArtifact, `{"artifact_type":"EXTERNAL_REFERENCE","url":"javascript:alert(1)"}`, []string{"<bdi>javascript:alert(1)</bdi>"}},
		{lineshaft.EventArtifact, `{"artifact_type":"FILE","filename":"a<b>.txt"}`, []string{"a&lt;b&gt;.txt"}},
		{lineshaft.EventState, `{"to":"CLAIMED","worker":"box","message":"m"}`, []string{"state to-claimed", "<b>Claimed</b>", "on <bdi>box</bdi>", "<bdi>m</bdi>"}},
		{lineshaft.EventUsage, `{"input_tokens":1,"output_tokens":1}`, []string{">1 token in, 1 out<"}},
		{lineshaft.EventUsage, `{"model_id":"m","input_tokens":1234,"output_tokens":4,"cost_micros":20000}`, []string{"1,234 tokens in, 4 out, $0.02", "<bdi>m</bdi>"}},
		{lineshaft.EventOutput, `{"stream":"stderr","text":"alone"}`, []string{`class="out stderr"`, ">alone</span>"}},
		{lineshaft.EventToolCall, `{"id":"c","name":"bash","input":{"command":"a\nb"}}`, []string{`data-call="c"`, "<bdi class=\"summary\">a b</bdi>", "running", "a\nb</pre>"}},
		{lineshaft.EventToolResult, `{"id":"c","name":"bash","state":"denied","output":{"error":"no"}}`, []string{"data-continued", `class="tag warn">denied`, ">no</p>"}},
		{"unheard_of", `{"a":"<b>"}`, []string{"unheard_of", "{&#34;a&#34;:&#34;&lt;b&gt;&#34;}"}},
		{lineshaft.EventPlan, `[]`, []string{"item other", "[]"}},
		{lineshaft.EventPermission, `7`, []string{"item other"}},
		{lineshaft.EventToolCall, `"x"`, []string{"item other"}},
		{lineshaft.EventState, `nonsense`, []string{"nonsense"}},
	} {
		got := s.html(t, true, told(7, tc.kind, tc.data))
		for _, want := range append(tc.want, `data-seq="7"`) {
			if !strings.Contains(got, want) {
				t.Errorf("%s %s lacks %q:\n%s", tc.kind, tc.data, want, got)
			}
		}
		if n := strings.Count(got, "data-seq="); n != 1 {
			t.Errorf("%s is shown %d times", tc.kind, n)
		}
	}
}

// S-3: who may not answer gets no buttons.
func TestS3QuestionsWithoutButtons(t *testing.T) {
	t.Parallel()
	got := newServer(t).html(t, false, told(1, lineshaft.EventPermission, `{"title":"t","options":[{"id":"a","name":"Allow","kind":"allow_once"}]}`))
	if strings.Contains(got, "<form") || strings.Contains(got, "<button") {
		t.Errorf("a reader gets buttons:\n%s", got)
	}
}

// I-2: output and result go into their call, wherever they come in the log.
func TestI2OutputBelongsToItsCall(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	items := s.transcribe("r", false, []lineshaft.Event{
		told(1, lineshaft.EventOutput, `{"stream":"stdout","text":"late\n","tool_call_id":"before"}`),
		told(2, lineshaft.EventToolCall, `{"id":"a","name":"bash","input":{"command":"x"}}`),
		told(3, lineshaft.EventToolCall, `{"id":"b","name":"bash","input":{"command":"y"}}`),
		told(4, lineshaft.EventOutput, `{"stream":"stdout","text":"of a\n","tool_call_id":"a"}`),
		told(5, lineshaft.EventOutput, `{"stream":"stdout","text":"of b","tool_call_id":"b"}`),
		told(6, lineshaft.EventOutput, `{"stream":"stdout","text":" more\n","tool_call_id":"b"}`),
		told(7, lineshaft.EventToolResult, `{"id":"a","name":"bash","state":"completed","output":{"exit_code":0}}`),
		told(8, lineshaft.EventToolResult, `{"id":"b","name":"bash","state":"failed","output":{"exit_code":3}}`),
		told(9, lineshaft.EventToolResult, `{"id":"before","name":"make","state":"completed","output":{}}`),
		told(10, lineshaft.EventOutput, `{"stream":"stdout","text":"own\n"}`),
		told(11, lineshaft.EventOutput, `{"stream":"stdout","text":"own 2\n"}`),
		told(12, lineshaft.EventNotice, `{"level":"info","text":"n"}`),
		told(13, lineshaft.EventOutput, `{"stream":"stdout","text":"own 3\n"}`),
	})
	var shape []string
	for _, i := range items {
		line := i.Kind
		if i.Tool != nil {
			line = fmt.Sprintf("%s %s", i.Tool.Name, i.Tool.State)
			for _, row := range i.Tool.Rows {
				line += fmt.Sprintf(" %d", row.Sequence)
				if row.Line {
					line += "l"
				}
			}
		}
		shape = append(shape, line)
	}
	want := "make completed 1l 9|bash completed 4l 7|bash failed 5 6 8|Output  10l 11l|notice|Output  13l"
	if got := strings.Join(shape, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if items[2].Tool.Rows[2].Error != "exit code 3" {
		t.Errorf("the result of b is %+v", items[2].Tool.Rows[2])
	}
}

// A call that is done folds when there is much of it.
func TestI2CallsFold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		call tool
		open bool
	}{
		"it works":          {tool{State: lineshaft.ToolRunning}, true},
		"it failed":         {tool{State: lineshaft.ToolFailed}, true},
		"it says little":    {tool{State: lineshaft.ToolCompleted, Rows: []toolRow{{Text: page.ShowText("ok")}}}, true},
		"it says nothing":   {tool{State: lineshaft.ToolCompleted}, false},
		"it says much":      {tool{State: lineshaft.ToolCompleted, Rows: []toolRow{{Text: page.ShowText(strings.Repeat("x", foldBytes+1))}}}, false},
		"it wrote often":    {tool{State: lineshaft.ToolCompleted, Rows: make([]toolRow, foldRows+1)}, false},
		"it changed a file": {tool{State: lineshaft.ToolCompleted, Diffs: []diff{{}}}, true},
	} {
		if tc.call.settle(); tc.call.Open != tc.open {
			t.Errorf("%s: open %t", name, tc.call.Open)
		}
	}
}

// S-4: of texts without end a page shows the beginning, and says where the rest is.
func TestS4LongTextsAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	long, err := json.Marshal(strings.Repeat("é<", 8*page.MaxShown))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []lineshaft.Event{
		told(3, lineshaft.EventMessage, `{"role":"assistant","text":`+string(long)+`}`),
		told(3, lineshaft.EventOutput, `{"stream":"stdout","text":`+string(long)+`}`),
		told(3, lineshaft.EventToolCall, `{"id":"c","name":`+string(long)+`,"input":{"command":`+string(long)+`,"other":`+string(long)+`}}`),
		told(3, lineshaft.EventToolResult, `{"id":"c","name":"x","state":"completed","output":{"text":`+string(long)+`}}`),
		told(3, lineshaft.EventToolCall, `{"id":"c","name":"edit","input":{"path":"p","old":"a","new":`+string(long)+`}}`),
		told(3, lineshaft.EventNotice, `{"level":"info","text":`+string(long)+`}`),
		told(3, "odd", string(long)),
	} {
		if got := s.html(t, true, e); len(got) > 8*page.MaxShown {
			t.Errorf("%s with texts of %d bytes becomes %d bytes", e.Type, 24*page.MaxShown, len(got))
		}
	}
	if got := s.html(t, true, told(3, lineshaft.EventMessage, `{"role":"assistant","text":`+string(long)+`}`)); !strings.Contains(got, `href="/runs/r/log?event=3"`) {
		t.Error("nothing leads to the whole text")
	}
}

// I-2: the state on a page is not older than the log below it.
func TestI2StateOfAPageIsThatOfItsLog(t *testing.T) {
	t.Parallel()
	state := func(to lineshaft.RunState, message string) lineshaft.Event {
		raw, err := json.Marshal(lineshaft.StateData{To: to, Message: message})
		if err != nil {
			t.Fatal(err)
		}
		return lineshaft.Event{Type: lineshaft.EventState, Data: raw}
	}
	output := lineshaft.Event{Type: lineshaft.EventOutput, Data: json.RawMessage(`{"stream":"stdout","text":"x"}`)}
	for name, tc := range map[string]struct {
		events  []lineshaft.Event
		state   lineshaft.RunState
		message string
	}{
		"nothing is told":     {[]lineshaft.Event{output}, lineshaft.Claimed, "preparing"},
		"the same is told":    {[]lineshaft.Event{state(lineshaft.Claimed, ""), output}, lineshaft.Claimed, "preparing"},
		"a newer one is told": {[]lineshaft.Event{state(lineshaft.Claimed, ""), state(lineshaft.InProgress, "at work"), output}, lineshaft.InProgress, "at work"},
		"it cannot be read":   {[]lineshaft.Event{{Type: lineshaft.EventState, Data: json.RawMessage(`[]`)}}, lineshaft.Claimed, "preparing"},
	} {
		run := &lineshaft.Run{State: lineshaft.Claimed, Status: lineshaft.StatusMessage{Message: "preparing"}}
		if catchUp(run, tc.events); run.State != tc.state || run.Status.Message != tc.message {
			t.Errorf("%s: %s %q", name, run.State, run.Status.Message)
		}
	}
}

// S-4: whatever an event holds, the page is whole, shows it once and runs nothing.
func FuzzTranscript(f *testing.F) {
	s := newServer(f)
	for _, kind := range []lineshaft.EventType{
		lineshaft.EventMessage, lineshaft.EventThought, lineshaft.EventToolCall, lineshaft.EventToolResult, lineshaft.EventOutput, lineshaft.EventPlan,
		lineshaft.EventUsage, lineshaft.EventPermission, lineshaft.EventArtifact, lineshaft.EventNotice, lineshaft.EventState, "other",
	} {
		f.Add(string(kind), `{"role":"user","text":"<script>alert(1)</script>","title":"</li>","url":"javascript:alert(1)","steps":[{}],"options":[{}],"id":"a\"b","name":"<i>","state":"completed"}`)
		f.Add(string(kind), `{"id":"x","input":{"old":"a","new":"b","path":"<p>","edits":[{"old_string":"x"},3]},"output":{"diffs":[{"path":"a","old_text":"b","new_text":"<script"}],"exit_code":3,"text":7}}`)
		f.Add(string(kind), `[]`)
	}
	f.Fuzz(func(t *testing.T, kind, data string) {
		got := s.html(t, true, told(5, lineshaft.EventType(kind), data), told(6, lineshaft.EventOutput, `{"stream":"stdout","text":"end","tool_call_id":"x"}`))
		checkSafe(t, got)
		if len(got) > 64<<10+64*len(data) {
			t.Errorf("%d bytes become %d", len(data), len(got))
		}
		if strings.Count(got, `data-seq="5"`) != 1 || strings.Count(got, `data-seq="6"`) != 1 {
			t.Errorf("an event is missing or there twice:\n%s", got)
		}
	})
}
