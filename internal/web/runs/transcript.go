package runs

import (
	"encoding/json"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// item is an entry of a transcript: one event, or a tool call with all that belongs
// to it. One template renders it, for the first page and for later updates.
type item struct {
	RunID    string
	Sequence int64
	Time     time.Time
	// Kind is message, thought, tool, output, plan, question, notice, artifact, state,
	// usage or other; Class narrows it down.
	Kind  string
	Class string
	// Who spoke, or another short word before the text.
	Who  string
	Text page.Shown
	// HTML is the text where it is more than plain.
	HTML     template.HTML
	Steps    []lineshaft.PlanStep
	Options  []lineshaft.PermissionOption
	Tool     *tool
	Artifact *lineshaft.ArtifactData
	State    lineshaft.RunState
	Usage    *lineshaft.UsageData
	// Took is how long a model call lasted, where that is known.
	Took time.Duration
}

// Classes are those of its element: what it is, and by which filters of the page it is shown.
func (i item) Classes() string {
	shows := []string{i.Kind}
	if i.Class != "" {
		shows = append(shows, i.Class)
	}
	if i.Kind == "message" || i.Kind == "question" {
		shows = append(shows, "k-messages")
	}
	if i.Tool != nil && i.Tool.RanCommand {
		shows = append(shows, "k-commands")
	}
	if i.Tool != nil && (len(i.Tool.Diffs) > 0 || slices.ContainsFunc(i.Tool.Rows, func(r toolRow) bool { return len(r.Diffs) > 0 })) {
		shows = append(shows, "k-edits")
	}
	if i.wrong() {
		shows = append(shows, "k-errors")
	}
	return strings.Join(shows, " ")
}

// wrong says that something did not go as it should.
func (i item) wrong() bool {
	switch i.Kind {
	case "tool":
		return i.Tool.State == lineshaft.ToolFailed || i.Tool.State == lineshaft.ToolDenied
	case "notice":
		return i.Class == "bad" || i.Class == "warn"
	case "state":
		return i.State == lineshaft.Failed || i.State == lineshaft.Errored
	}
	return false
}

// Clock is the time of day.
func (i item) Clock() string { return i.Time.UTC().Format("15:04:05") }

// transcript turns events into items. It belongs to one stretch of a log: an earlier part of a
// tool call is not in it; the rest then comes as a continued call.
type transcript struct {
	run       string
	mayAnswer bool
	markdown  func(string) template.HTML
	items     []item
	calls     map[string]int // the place of each call in items
	// handed is when the agent got something to think about; zero when that is not known.
	handed time.Time
}

// transcribe makes the items of a stretch of a run's log.
func (s pages) transcribe(runID string, mayAnswer bool, events []lineshaft.Event) []item {
	t := transcript{run: runID, mayAnswer: mayAnswer, markdown: s.Markdown, calls: map[string]int{}}
	for _, e := range events {
		t.add(e)
	}
	for i := range t.items {
		if t.items[i].Tool != nil {
			t.items[i].Tool.settle()
		}
	}
	return t.items
}

func (t *transcript) add(e lineshaft.Event) {
	i := item{RunID: t.run, Sequence: e.Sequence, Time: e.Time, Kind: "other", Who: string(e.Type)}
	read, ok := readers()[e.Type]
	if !ok || !read(t, &i, e) {
		i.Text = page.ShowText(string(e.Data)) // an event that this version does not know is still there
	}
	if i.Kind != "" {
		t.items = append(t.items, i)
	}
}

// reader fills in an item from an event. It leaves Kind empty when the event went into an item
// before, and says no to data that it cannot read.
type reader func(*transcript, *item, lineshaft.Event) bool

// reads makes a reader of a function for the data of one type.
func reads[T any](fill func(*transcript, *item, lineshaft.Event, T)) reader {
	return func(t *transcript, i *item, e lineshaft.Event) bool {
		data, ok := decode[T](e)
		if ok {
			fill(t, i, e, data)
		}
		return ok
	}
}

func readers() map[lineshaft.EventType]reader {
	return map[lineshaft.EventType]reader{
		lineshaft.EventMessage:    reads((*transcript).message),
		lineshaft.EventThought:    reads((*transcript).thought),
		lineshaft.EventToolCall:   reads((*transcript).toolCall),
		lineshaft.EventToolResult: reads((*transcript).toolResult),
		lineshaft.EventOutput:     reads((*transcript).output),
		lineshaft.EventPlan:       reads((*transcript).plan),
		lineshaft.EventPermission: reads((*transcript).question),
		lineshaft.EventNotice:     reads((*transcript).notice),
		lineshaft.EventArtifact:   reads((*transcript).artifact),
		lineshaft.EventState:      reads((*transcript).state),
		lineshaft.EventUsage:      reads((*transcript).usage),
	}
}

func decode[T any](e lineshaft.Event) (data T, ok bool) {
	return data, json.Unmarshal(e.Data, &data) == nil
}

func (t *transcript) message(i *item, e lineshaft.Event, d lineshaft.MessageData) {
	i.Kind, i.Class, i.Who = "message", "system", "System"
	switch d.Role {
	case "user":
		t.handed = e.Time
		i.Class, i.Who = "user", "Prompt"
		if e.Sequence > 2 {
			i.Who = "Follow-up"
		}
	case "assistant":
		i.Class, i.Who = "assistant", "Agent"
	}
	i.Text = page.ShowText(d.Text)
	i.HTML = t.markdown(i.Text.Text)
}

func (t *transcript) thought(i *item, _ lineshaft.Event, d lineshaft.MessageData) {
	i.Kind, i.Text, i.Who = "thought", page.ShowText(d.Text), page.OneLine(d.Text, 100)
	i.HTML = t.markdown(i.Text.Text)
}

func (t *transcript) plan(i *item, _ lineshaft.Event, d lineshaft.PlanData) {
	i.Kind, i.Steps = "plan", d.Steps[:min(len(d.Steps), 200)]
	for n := range i.Steps {
		i.Steps[n].Text = lineshaft.CutBytes(page.Plain(i.Steps[n].Text), 2000)
	}
}

func (t *transcript) question(i *item, _ lineshaft.Event, d lineshaft.PermissionData) {
	i.Kind, i.Text = "question", page.ShowText(d.Title)
	switch {
	case strings.HasPrefix(d.Decision, "allow"):
		i.Class, i.Who = "decided", "Allowed"
	case d.Decision != "":
		i.Class, i.Who = "decided", "Rejected"
	default:
		i.Class, i.Who = "open", "The agent asks"
		if t.mayAnswer {
			i.Options = d.Options[:min(len(d.Options), 32)]
		}
	}
}

func (t *transcript) notice(i *item, _ lineshaft.Event, d lineshaft.NoticeData) {
	i.Kind, i.Text, i.Who = "notice", page.ShowText(d.Text), "Note"
	switch d.Level {
	case "warning":
		i.Class, i.Who = "warn", "Warning"
	case "error":
		i.Class, i.Who = "bad", "Error"
	}
}

func (t *transcript) artifact(i *item, _ lineshaft.Event, d lineshaft.ArtifactData) {
	i.Kind, i.Artifact, i.Text = "artifact", &d, page.ShowText(d.URL)
	i.Who = pullRequest(d.URL)
	d.FileName = page.OneLine(d.FileName, 300)
	address, safe := page.SafeLink(d.URL)
	if d.URL = address; !safe {
		d.URL = ""
	}
}

func (t *transcript) state(i *item, e lineshaft.Event, d lineshaft.StateData) {
	t.handed = time.Time{}
	if d.To == lineshaft.InProgress {
		t.handed = e.Time
	}
	i.Kind, i.State, i.Text = "state", d.To, page.ShowText(d.Message)
	i.Class = "to-" + strings.ToLower(string(d.To))
	if d.To.Terminal() || d.To == lineshaft.Queued || d.To == lineshaft.Claimed {
		i.Class += " over"
		t.stopCalls(e.Time)
	}
	if i.Who = ""; d.To == lineshaft.Claimed { // said once
		i.Who = page.OneLine(d.Worker, 80)
	}
}

// stopCalls ends the calls that have no result: their execution is over.
func (t *transcript) stopCalls(at time.Time) {
	for _, i := range t.items {
		if i.Tool != nil && i.Tool.State == lineshaft.ToolRunning {
			i.Tool.State, i.Tool.Ended = toolStopped, at
		}
	}
}

// usage ends a model call. It began when the agent last got something: a prompt or a result.
func (t *transcript) usage(i *item, e lineshaft.Event, d lineshaft.UsageData) {
	i.Kind, i.Usage = "usage", &d
	if !t.handed.IsZero() {
		i.Took = max(e.Time.Sub(t.handed), 0)
	}
	t.handed = e.Time
	d.ModelID = page.OneLine(d.ModelID, 100)
}

// output goes into its call; what the agent itself wrote is an item of its own, with what it
// wrote just before.
func (t *transcript) output(i *item, e lineshaft.Event, d lineshaft.OutputData) {
	row := toolRow{RunID: t.run, Sequence: e.Sequence, Stream: streamName(d.Stream), Text: page.ShowText(d.Text)}
	call := t.into(i, d.ToolCallID)
	begins := len(call.Rows) == 0 || strings.HasSuffix(call.Rows[len(call.Rows)-1].Text.Text, "\n")
	row.Line = begins && strings.HasSuffix(row.Text.Text, "\n")
	call.Rows = append(call.Rows, row)
}

func streamName(name string) string {
	if name == "stderr" {
		return name
	}
	return "stdout"
}

// into finds the call that an event belongs to. When it began before this stretch, the
// item becomes its continuation.
func (t *transcript) into(i *item, callID string) *tool {
	if i.Tool != nil {
		return i.Tool
	}
	if at, ok := t.calls[callID]; ok && (callID != "" || at == len(t.items)-1) {
		i.Kind = ""
		return t.items[at].Tool
	}
	i.Kind, i.Class = "tool", "continued"
	i.Tool = &tool{ID: callID, Continued: true, Name: "Output"}
	t.calls[callID] = len(t.items)
	return i.Tool
}

func (t *transcript) toolCall(i *item, e lineshaft.Event, d lineshaft.ToolCallData) {
	i.Kind, i.Tool = "tool", newTool(d)
	i.Tool.Began = e.Time
	t.calls[d.ID] = len(t.items)
}

func (t *transcript) toolResult(i *item, e lineshaft.Event, d lineshaft.ToolResultData) {
	call := t.into(i, d.ID)
	call.end(t.run, e.Sequence, d)
	call.Ended, t.handed = e.Time, e.Time
}
