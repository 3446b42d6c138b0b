package web

import (
	"encoding/json"
	"html/template"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// item is an entry of a transcript: one event, or a tool call with all that belongs
// to it. One template renders it, for the first page and for what comes later.
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
	Text shown
	// HTML is the text where it is more than plain.
	HTML     template.HTML
	Steps    []lineshaft.PlanStep
	Options  []lineshaft.PermissionOption
	Tool     *tool
	Artifact *lineshaft.ArtifactData
	State    lineshaft.RunState
	Usage    *lineshaft.UsageData
}

// Clock is the time of day.
func (i item) Clock() string { return i.Time.UTC().Format("15:04:05") }

// transcript turns events into items. It belongs to one stretch of a log: what a tool
// did before is not in it, and then comes as a continued call.
type transcript struct {
	run       string
	mayAnswer bool
	markdown  func(string) template.HTML
	items     []item
	calls     map[string]int // the place of each call in items
}

// transcribe makes the items of a stretch of a run's log.
func (s *server) transcribe(runID string, mayAnswer bool, events []lineshaft.Event) []item {
	t := transcript{run: runID, mayAnswer: mayAnswer, markdown: s.markdown, calls: map[string]int{}}
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
		i.Text = show(string(e.Data)) // an event that this version does not know is still there
	}
	if i.Kind != "" {
		t.items = append(t.items, i)
	}
}

// readers fill in an item from an event of each type. They leave Kind empty when the
// event went into an item before, and say no to data that they cannot read.
func readers() map[lineshaft.EventType]func(*transcript, *item, lineshaft.Event) bool {
	return map[lineshaft.EventType]func(*transcript, *item, lineshaft.Event) bool{
		lineshaft.EventMessage:    (*transcript).message,
		lineshaft.EventThought:    (*transcript).thought,
		lineshaft.EventToolCall:   (*transcript).toolCall,
		lineshaft.EventToolResult: (*transcript).toolResult,
		lineshaft.EventOutput:     (*transcript).output,
		lineshaft.EventPlan:       (*transcript).plan,
		lineshaft.EventPermission: (*transcript).question,
		lineshaft.EventNotice:     (*transcript).notice,
		lineshaft.EventArtifact:   (*transcript).artifact,
		lineshaft.EventState:      (*transcript).state,
		lineshaft.EventUsage:      (*transcript).usage,
	}
}

func decode[T any](e lineshaft.Event) (data T, ok bool) {
	return data, json.Unmarshal(e.Data, &data) == nil
}

func (t *transcript) message(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.MessageData](e)
	if !ok {
		return false
	}
	i.Kind, i.Class, i.Who = "message", "system", "System"
	switch d.Role {
	case "user":
		i.Class, i.Who = "user", "Prompt"
		if e.Sequence > 2 {
			i.Who = "Follow-up"
		}
	case "assistant":
		i.Class, i.Who = "assistant", "Agent"
	}
	i.Text = show(d.Text)
	i.HTML = t.markdown(i.Text.Text)
	return true
}

func (t *transcript) thought(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.MessageData](e)
	if ok {
		i.Kind, i.Text, i.Who = "thought", show(d.Text), oneLine(d.Text, 100)
		i.HTML = t.markdown(i.Text.Text)
	}
	return ok
}

func (t *transcript) plan(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.PlanData](e)
	if ok {
		i.Kind = "plan"
		i.Steps = d.Steps[:min(len(d.Steps), 200)]
		for n := range i.Steps {
			i.Steps[n].Text = lineshaft.CutBytes(plain(i.Steps[n].Text), 2000)
		}
	}
	return ok
}

func (t *transcript) question(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.PermissionData](e)
	if !ok {
		return false
	}
	i.Kind, i.Text = "question", show(d.Title)
	if d.Decision != "" {
		i.Class, i.Who = "decided", "Rejected"
		if strings.HasPrefix(d.Decision, "allow") {
			i.Who = "Allowed"
		}
		return true
	}
	i.Class, i.Who = "open", "The agent asks"
	if t.mayAnswer {
		i.Options = d.Options[:min(len(d.Options), 32)]
	}
	return true
}

func (t *transcript) notice(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.NoticeData](e)
	if ok {
		i.Kind, i.Text, i.Who = "notice", show(d.Text), "Note"
		switch d.Level {
		case "warning":
			i.Class, i.Who = "warn", "Warning"
		case "error":
			i.Class, i.Who = "bad", "Error"
		}
	}
	return ok
}

func (t *transcript) artifact(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.ArtifactData](e)
	if ok {
		i.Kind, i.Artifact = "artifact", &d
		d.FileName = oneLine(d.FileName, 300)
		address, safe := safeLink(d.URL)
		if i.Text = show(d.URL); safe {
			d.URL = address
		} else {
			d.URL = ""
		}
	}
	return ok
}

func (t *transcript) state(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.StateData](e)
	if ok {
		i.Kind, i.State, i.Text = "state", d.To, show(d.Message)
		i.Class = "to-" + strings.ToLower(string(d.To))
		if d.To.Terminal() || d.To == lineshaft.Queued || d.To == lineshaft.Claimed {
			i.Class += " over"
			t.stopCalls()
		}
		if i.Who = ""; d.To == lineshaft.Claimed { // said once
			i.Who = oneLine(d.Worker, 80)
		}
	}
	return ok
}

// stopCalls ends the calls that have no result: their execution is over.
func (t *transcript) stopCalls() {
	for _, i := range t.items {
		if i.Tool != nil && i.Tool.State == lineshaft.ToolRunning {
			i.Tool.State = toolStopped
		}
	}
}

func (t *transcript) usage(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.UsageData](e)
	if ok {
		i.Kind, i.Usage = "usage", &d
		d.ModelID = oneLine(d.ModelID, 100)
	}
	return ok
}

// output goes into its call; what the agent itself wrote stands alone, with what it
// wrote just before.
func (t *transcript) output(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.OutputData](e)
	if !ok {
		return false
	}
	row := toolRow{RunID: t.run, Sequence: e.Sequence, Stream: streamName(d.Stream), Text: show(d.Text)}
	call := t.into(i, d.ToolCallID)
	row.Line = strings.HasSuffix(row.Text.Text, "\n") && (len(call.Rows) == 0 || strings.HasSuffix(call.Rows[len(call.Rows)-1].Text.Text, "\n"))
	call.Rows = append(call.Rows, row)
	return true
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

func (t *transcript) toolCall(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.ToolCallData](e)
	if !ok {
		return false
	}
	i.Kind = "tool"
	i.Tool = newTool(d)
	t.calls[d.ID] = len(t.items)
	return true
}

func (t *transcript) toolResult(i *item, e lineshaft.Event) bool {
	d, ok := decode[lineshaft.ToolResultData](e)
	if ok {
		t.into(i, d.ID).end(t.run, e.Sequence, d)
	}
	return ok
}
