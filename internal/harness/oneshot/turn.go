package oneshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

const (
	// maxLine is the longest line that is read; agents put whole files into one.
	maxLine = 16 << 20
	// maxMessage is how much of a message that comes in pieces is gathered.
	maxMessage = 64 << 10
)

// turn reads what an agent prints in one turn and makes events of it. It is the
// writer of the program's standard output, which one goroutine writes to.
type turn struct {
	session *session
	number  int    // of the turn in its execution
	model   string // as asked for
	emit    harness.Emit
	output  *harness.Output
	// over is called when the agent has said that the turn has ended.
	over func()

	rest    []byte // of a line whose end has not come
	tooLong bool   // the rest of this line is skipped
	said    strings.Builder
	calls   map[string]toolCall
	crowded bool // people know that not all calls are shown
	stderr  tailText

	began, ended bool
	fault        string // why it was not good
}

func newTurn(s *session, emit harness.Emit) *turn {
	s.turns++
	return &turn{session: s, number: s.turns, emit: emit, over: func() {}, calls: map[string]toolCall{}}
}

// unique makes an id that begins again in each turn unique in the run.
func (t *turn) unique(id string) string {
	return fmt.Sprintf("%s-%d-%d-%s", t.session.agent.Name, t.session.env.Job.Number, t.number, id)
}

// Write takes the next piece of output.
func (t *turn) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, after, whole := bytes.Cut(p, []byte{'\n'})
		p = after
		if len(t.rest)+len(line) > maxLine {
			t.tooLong, t.rest = true, nil
		}
		if !t.tooLong {
			t.rest = append(t.rest, line...)
		}
		if whole {
			t.endLine()
		}
	}
	return n, nil
}

func (t *turn) endLine() {
	line := t.rest
	t.rest = nil
	if t.tooLong {
		t.tooLong = false
		t.notice("warning", "The agent printed a line of more than 16 MB. It was left out.")
		return
	}
	t.take(line)
}

// take understands one line, or passes it on as it is.
func (t *turn) take(line []byte) {
	var head struct {
		Type string `json:"type"`
	}
	if bytes.HasPrefix(line, []byte{'{'}) && json.Unmarshal(line, &head) == nil && head.Type != "" && t.session.line(t, head.Type, line) {
		t.began = true
		return
	}
	if len(bytes.TrimSpace(line)) > 0 {
		_, _ = t.output.Stdout().Write(append(line, '\n')) // it never fails
	}
}

// finish is called when the program is gone.
func (t *turn) finish() {
	if len(t.rest) > 0 || t.tooLong {
		t.endLine()
	}
	t.flush()
	for _, id := range t.open() {
		c := t.calls[id]
		c.output["text"] = strings.TrimPrefix(text(c.output)+"\nThe turn was ended before the tool was.", "\n")
		t.endCall(id, lineshaft.ToolFailed, c.output)
	}
}

// open are the calls that have no end yet, in the order in which they began.
func (t *turn) open() []string {
	var ids []string
	for id, c := range t.calls {
		if c.output != nil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(t.calls[a].number, t.calls[b].number) })
	return ids
}

// end notes that the turn is over. An empty fault is a good end.
func (t *turn) end(fault string) {
	t.flush()
	t.fault = fault
	if !t.ended {
		t.ended = true
		t.over()
	}
}

func (t *turn) event(kind lineshaft.EventType, data any) { t.session.event(t.emit, kind, data) }

func (t *turn) mask(s string) string { return t.session.env.Mask().String(s) }

func (t *turn) notice(level, text string) {
	t.event(lineshaft.EventNotice, lineshaft.NoticeData{Level: level, Text: lineshaft.Clip(t.mask(text), 2000)})
}

func (t *turn) say(text string) {
	t.flush()
	t.message(text)
}

func (t *turn) message(text string) {
	if strings.TrimSpace(text) != "" {
		t.event(lineshaft.EventMessage, lineshaft.MessageData{Role: "assistant", Text: t.mask(strings.ToValidUTF8(text, "\uFFFD"))})
	}
}

func (t *turn) piece(text string) {
	if t.said.Len()+len(text) > maxMessage {
		t.flush()
	}
	t.said.WriteString(text)
}

func (t *turn) flush() {
	text := t.said.String()
	t.said.Reset()
	t.message(text)
}

func (t *turn) think(text string) {
	t.flush()
	if strings.TrimSpace(text) != "" {
		t.event(lineshaft.EventThought, lineshaft.MessageData{Text: t.mask(text)})
	}
}

func (t *turn) plan(steps []lineshaft.PlanStep) {
	t.flush()
	for i := range steps {
		steps[i].Text = t.mask(steps[i].Text)
	}
	t.event(lineshaft.EventPlan, lineshaft.PlanData{Steps: steps})
}

func (t *turn) usage(data lineshaft.UsageData) {
	t.flush()
	if data.InputTokens != 0 || data.OutputTokens != 0 || data.CostMicros != 0 {
		t.event(lineshaft.EventUsage, data)
	}
}

// tailText keeps the end of what was written.
type tailText struct{ text []byte }

const maxTail = 600

func (t *tailText) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.text), "")) }

// tail passes on and remembers the end.
type tail struct {
	to   io.Writer
	last *tailText
}

func (w tail) Write(p []byte) (int, error) {
	w.last.text = append(w.last.text, p...)
	w.last.text = w.last.text[max(0, len(w.last.text)-maxTail):]
	return w.to.Write(p)
}
