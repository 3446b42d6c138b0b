package acp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/mask"
)

const (
	// announceTime is how long a call waits to be reported until more is known of it:
	// agents name a tool first and say later what it is to do.
	announceTime = time.Second
	// maxOpenCalls and maxOpenBytes bound what is remembered of calls that have no
	// end yet, and maxEndedCalls those of a turn that have: an agent may never end any.
	maxOpenCalls  = 10_000
	maxOpenBytes  = 16 << 20
	maxEndedCalls = 10_000
	maxCallID     = 1 << 10
)

// callUpdate is an update about a call; an empty field is nothing new.
type callUpdate struct {
	ID      string          `json:"toolCallId"`
	Kind    string          `json:"kind"`
	Title   string          `json:"title"`
	Status  string          `json:"status"`
	Input   json.RawMessage `json:"rawInput"`
	Output  json.RawMessage `json:"rawOutput"`
	Content json.RawMessage `json:"content"`
	Places  json.RawMessage `json:"locations"`
	Meta    json.RawMessage `json:"_meta"`
}

// toolCall is what is known about a call.
type toolCall struct {
	number                 int // in the order in which calls began
	id, kind, title, first string
	name                   string
	input                  json.RawMessage
	output                 json.RawMessage
	places                 json.RawMessage
	text                   string // its content so far
	running                bool   // what it says is its output: before, agents describe what they will do
	diffs                  []any
	diffBytes              int
	counted                int // bytes of it in those of the record
	exit                   *int
	since                  time.Time
	told, denied           bool

	progress *mask.Stream // of the text that was reported while it ran
	shown    string
}

// record is what is known over all turns of a session.
type record struct {
	// calls are those that have no end yet, by their ids.
	calls map[string]*toolCall
	// waiting are the calls that were not reported yet. There is hardly more than one:
	// an update about another call has them reported.
	waiting []*toolCall
	began   int  // number of the last call
	bytes   int  // what the calls hold
	crowded bool // people know that not all of this turn is shown
	// ended are the calls of this turn that have ended: later updates about them are not
	// reported, for they would look like another call.
	ended map[string]bool
	// leftOpen says that the last turn ended with calls that had not.
	leftOpen bool
	namedIDs bool    // see form
	cost     float64 // of the session so far, in dollars; negative while it is unknown
	looked   int     // calls that were visited, for tests: it must not grow with those that are open
}

func newRecord(f form) *record {
	return &record{calls: map[string]*toolCall{}, ended: map[string]bool{}, cost: -1, namedIDs: f.namedIDs}
}

// update takes in an update about a call.
func (r *record) update(t *turn, begins bool, u callUpdate) {
	u.ID = u.ID[:min(len(u.ID), maxCallID)]
	if u.ID == "" || !begins && r.ended[u.ID] {
		return
	}
	r.announce(t, u.ID)
	c := r.calls[u.ID]
	if c == nil {
		if len(r.calls) >= maxOpenCalls {
			r.crowd(t)
			return
		}
		c = r.begin(u.ID)
	}
	if r.bytes > maxOpenBytes && !u.ends() {
		r.crowd(t)
		u.Input, u.Output, u.Content, u.Places, u.Meta = nil, nil, nil, nil, nil
	}
	c.take(u)
	if !c.told && (!begins && c.hasInput() || u.Status != "" && u.Status != "pending") {
		r.announce(t, "")
	}
	switch u.Status {
	case "completed":
		r.end(t, c, lineshaft.ToolCompleted)
	case "failed":
		r.end(t, c, lineshaft.ToolFailed)
	default:
		if c.told && c.running {
			c.tellProgress(t)
		}
		r.bytes += c.weight() - c.counted
		c.counted = c.weight()
	}
}

func (u callUpdate) ends() bool { return u.Status == "completed" || u.Status == "failed" }

func (r *record) begin(id string) *toolCall {
	r.began++
	c := &toolCall{number: r.began, id: id, since: time.Now()}
	if name, _, ok := strings.Cut(id, "__"); ok && r.namedIDs {
		c.name = name
	}
	r.calls[id] = c
	r.waiting = append(r.waiting, c)
	return c
}

// crowd says once in a turn that something is not reported.
func (r *record) crowd(t *turn) {
	if !r.crowded {
		r.crowded = true
		t.event(lineshaft.EventNotice, lineshaft.NoticeData{
			Level: "warning", Text: "The agent has too many tool calls in progress at once. Some of them, or their output, are not shown.",
		})
	}
}

// weight is what is held of a call, in bytes.
func (c *toolCall) weight() int {
	return len(c.id) + len(c.title) + len(c.input) + len(c.output) + len(c.places) + len(c.text) + len(c.shown) + c.diffBytes
}

// take adds what is new.
func (c *toolCall) take(u callUpdate) {
	for _, f := range []struct {
		to   *string
		from string
	}{{&c.kind, u.Kind}, {&c.title, u.Title}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	c.first = cmp.Or(c.first, c.title)
	for _, f := range []struct{ to, from *json.RawMessage }{{&c.input, &u.Input}, {&c.output, &u.Output}, {&c.places, &u.Places}} {
		if len(*f.from) > 0 && string(*f.from) != "null" {
			*f.to = *f.from
		}
	}
	if u.Status != "" && u.Status != "pending" && !c.running {
		c.running = true
		if c.kind == "execute" {
			c.text = ""
		}
	}
	c.content(u.Content)
	c.meta(u.Meta)
}

// content replaces the content, as the protocol has it.
func (c *toolCall) content(raw json.RawMessage) {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return
	}
	var text strings.Builder
	var diffs []any
	for _, part := range parts {
		var p struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
			Path    string          `json:"path"`
			Old     string          `json:"oldText"`
			New     string          `json:"newText"`
		}
		lenient(part, &p)
		switch p.Type {
		case "content":
			text.WriteString(blockText(p.Content))
		case "diff":
			diffs = append(diffs, map[string]any{"path": p.Path, "old_text": harness.Middle(p.Old), "new_text": harness.Middle(p.New)})
		}
	}
	if text.Len() > 0 {
		c.text = text.String()
	}
	if diffs != nil {
		c.diffs, c.diffBytes = diffs, len(raw)
	}
}

// meta reads what agents say outside the protocol: the tool's own name, and the
// output and exit code of one of their terminals.
func (c *toolCall) meta(raw json.RawMessage) {
	var m struct {
		Claude struct {
			Tool string `json:"toolName"`
		} `json:"claudeCode"`
		Delta struct {
			Data string `json:"data"`
		} `json:"terminal_output_delta"`
		Output struct {
			Data string `json:"data"`
		} `json:"terminal_output"`
		Exit struct {
			Code *int `json:"exit_code"`
		} `json:"terminal_exit"`
	}
	lenient(raw, &m)
	if m.Claude.Tool != "" {
		c.name = m.Claude.Tool
	}
	c.text += m.Delta.Data + m.Output.Data
	if m.Exit.Code != nil {
		c.exit = m.Exit.Code
	}
}

func (c *toolCall) hasInput() bool {
	var input map[string]json.RawMessage
	return json.Unmarshal(c.input, &input) == nil && len(input) > 0
}

// announce reports the calls that were waiting for more, but for one.
func (r *record) announce(t *turn, but string) {
	r.tellWaiting(t, func(c *toolCall) bool { return c.id != but })
}

// grownOld reports calls that have waited long enough.
func (r *record) grownOld(t *turn, now time.Time) {
	r.tellWaiting(t, func(c *toolCall) bool {
		old := now.Sub(c.since) >= announceTime
		if old {
			t.text.flush()
		}
		return old
	})
}

func (r *record) tellWaiting(t *turn, due func(*toolCall) bool) {
	r.looked += len(r.waiting)
	r.waiting = slices.DeleteFunc(r.waiting, func(c *toolCall) bool {
		if !due(c) {
			return false
		}
		r.tell(t, c)
		return true
	})
}

func (r *record) tell(t *turn, c *toolCall) {
	c.told, c.name = true, c.toolName() // the result is that of this name, whatever is said later
	c.progress = t.session.env.Mask().Stream()
	t.event(lineshaft.EventToolCall, lineshaft.ToolCallData{
		ID: t.mask(c.id), Category: c.category(), Name: t.mask(c.toolName()), Input: t.masked(c.inputs()),
	})
}

// tellProgress emits what a running call has put out since. Agents send the whole
// each time; if that no longer begins with the earlier text, it is reported with the result only.
func (c *toolCall) tellProgress(t *turn) {
	news, goesOn := strings.CutPrefix(c.text, c.shown)
	if !goesOn || news == "" || c.kind != "execute" {
		return
	}
	if more := c.progress.Write([]byte(harness.Middle(news))); len(more) > 0 {
		t.event(lineshaft.EventOutput, lineshaft.OutputData{Stream: "stdout", Text: strings.ToValidUTF8(string(more), "\uFFFD"), ToolCallID: t.mask(c.id)})
	}
	c.shown = c.text
}

// end emits the end of a call and forgets it.
func (r *record) end(t *turn, c *toolCall, state string) {
	if c.denied && state == lineshaft.ToolFailed {
		state = lineshaft.ToolDenied
	}
	t.event(lineshaft.EventToolResult, lineshaft.ToolResultData{
		ID: t.mask(c.id), Category: c.category(), Name: t.mask(c.toolName()), State: state, Output: t.masked(c.outputs()),
	})
	r.bytes -= c.counted
	delete(r.calls, c.id)
	if len(r.ended) >= maxEndedCalls {
		clear(r.ended) // later updates about the older ones appear as another call
	}
	r.ended[c.id] = true
}

// endTurn ends the calls that the agent has left open.
func (r *record) endTurn(t *turn, stopped bool) {
	r.announce(t, "")
	r.leftOpen = len(r.calls) > 0
	open := slices.SortedFunc(maps.Values(r.calls), func(a, b *toolCall) int { return cmp.Compare(a.number, b.number) })
	for _, c := range open {
		switch {
		case c.denied:
			r.end(t, c, lineshaft.ToolDenied)
		case stopped:
			c.text = strings.TrimPrefix(c.text+"\nThe turn was ended before the tool was.", "\n")
			r.end(t, c, lineshaft.ToolFailed)
		default:
			r.end(t, c, lineshaft.ToolCompleted)
		}
	}
	clear(r.ended)
	r.crowded = false
}

// category is the published one.
func (c *toolCall) category() string {
	if c.server() != "" {
		return "integration"
	}
	switch c.kind {
	case "execute":
		return "command"
	case "read", "edit", "delete", "move":
		return "files"
	case "search", "fetch":
		return "search"
	}
	return "integration"
}

// toolName is the tool's own name where it can be known, else its kind.
func (c *toolCall) toolName() string {
	switch first := strings.TrimSpace(c.first); {
	case c.name != "":
		return clip(c.name, 120)
	case c.server() != "":
		return clip(c.server(), 120)
	case first != "" && !strings.ContainsAny(first, " \t\n/"):
		return clip(first, 120)
	case c.category() == "command":
		return "run_command"
	case c.kind != "" && c.kind != "other" && c.kind != "think":
		return c.kind
	case first != "":
		return clip(first, 120)
	}
	return "tool"
}

// server is the server and the tool that a call is for, where the agent
// says so in its input.
func (c *toolCall) server() string {
	var input struct {
		Server string `json:"server"`
		Tool   string `json:"tool"`
	}
	lenient(c.input, &input)
	if input.Tool == "" || input.Server == "" {
		return ""
	}
	return input.Server + "/" + input.Tool
}

// inputs are what the tool was called with. Agents that do not say have it in the title.
func (c *toolCall) inputs() map[string]any {
	out := object(c.input, "input")
	if _, ok := out["command"]; !ok && c.category() == "command" && c.title != "" {
		out["command"] = harness.Middle(c.title)
	}
	if len(out) == 0 && c.title != "" {
		out["title"] = harness.Middle(c.title)
	}
	var places []struct {
		Path string `json:"path"`
	}
	if c.kind != "execute" && json.Unmarshal(c.places, &places) == nil && len(places) > 0 && out["path"] == nil {
		out["path"] = places[0].Path
	}
	return out
}

// outputs are the results of a call. Raw text is preferred to the content, which may be
// decorated for a reader; the content to a raw object, which often repeats
// the same.
func (c *toolCall) outputs() map[string]any {
	out := map[string]any{}
	var raw string
	switch {
	case json.Unmarshal(c.output, &raw) == nil && raw != "":
		out["text"] = harness.Middle(raw)
	case c.text != "":
		out["text"] = harness.Middle(c.text)
	case c.rawText() != "":
		out["text"] = harness.Middle(c.rawText())
	default:
		maps.Copy(out, object(c.output, "text"))
	}
	if c.diffs != nil {
		out["diffs"] = c.diffs
	}
	if code := c.exitCode(); code != nil {
		out["exit_code"] = *code
	}
	return out
}

// rawText is the output in a raw result, under the names that agents have for it.
func (c *toolCall) rawText() string {
	var raw struct {
		Aggregated string `json:"aggregated_output"`
		Formatted  string `json:"formatted_output"`
		Output     string `json:"output"`
		Stdout     string `json:"stdout"`
		Result     struct {
			Content []json.RawMessage `json:"content"`
		} `json:"result"`
	}
	lenient(c.output, &raw)
	var result strings.Builder
	for _, block := range raw.Result.Content {
		result.WriteString(blockText(block))
	}
	return cmp.Or(raw.Aggregated, raw.Formatted, raw.Output, raw.Stdout, result.String())
}

func (c *toolCall) exitCode() *int {
	var raw struct {
		Code     *int `json:"exit_code"`
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
	}
	lenient(c.output, &raw)
	for _, code := range []*int{c.exit, raw.Code, raw.Metadata.Exit} {
		if code != nil {
			return code
		}
	}
	return nil
}

// object is a JSON object as it is; anything else under a name. If it is too long, it is
// cut as text.
func object(raw json.RawMessage, name string) map[string]any {
	if len(raw) == 0 || string(raw) == "null" {
		return map[string]any{}
	}
	var out map[string]any
	if len(raw) <= harness.MaxToolText && json.Unmarshal(raw, &out) == nil && out != nil {
		return out
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return map[string]any{name: harness.Middle(text)}
}

// masked hides secrets in all texts of an object.
func (t *turn) masked(in map[string]any) map[string]any {
	return harness.Masked(t.session.env.Mask(), in)
}
