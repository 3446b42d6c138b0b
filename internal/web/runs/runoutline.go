package runs

import (
	"cmp"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// maxOutline is how many places of a log one outline names.
const maxOutline = 50

// outlineTypes are the types of events that an outline is made of.
var outlineTypes = []lineshaft.EventType{
	lineshaft.EventMessage, lineshaft.EventToolCall, lineshaft.EventToolResult, lineshaft.EventNotice, lineshaft.EventState,
}

// outlineData is what people asked of a run, and what failed.
type outlineData struct {
	Run    *lineshaft.Run
	Places []span
	// Next is the event after which the outline continues; zero at the end of the log.
	Next int64
}

// runOutline names the turns of a run and what failed in them: on its own page, or next to the transcript.
func (s pages) runOutline(r *page.Request) error {
	run, err := s.Control.GetRun(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	after, err := resumeAfter(r)
	if err != nil {
		return err
	}
	data, calls := outlineData{Run: run}, map[string]span{}
	last, more, err := s.scan(r, run.ID, after, runs.EventMatch{Types: outlineTypes}, func(e lineshaft.Event) bool {
		if one := outlined(e, calls); one.Kind != "" || one.Failed {
			data.Places = append(data.Places, one)
		}
		return len(data.Places) < maxOutline
	})
	if err != nil {
		return err
	}
	if more {
		data.Next = last
	}
	if r.Asked() {
		return r.Fragment("runoutline", "outline", data)
	}
	p := page.Below("runs", run.Title, data)
	p.Mark, p.Icon = stateMark(run.State), stateKind(run.State)
	return r.Render("runoutline", p)
}

// beginning is the first paragraph of a text: the note about a delivery, at its end, is nothing that people asked.
func beginning(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	return text
}

// outlined is the place of an event in an outline: of a turn it has the kind. Calls are those without a result so far.
func outlined(e lineshaft.Event, calls map[string]span) span {
	one := span{Sequence: e.Sequence, Failed: wentWrong(e)}
	switch e.Type {
	case lineshaft.EventMessage:
		if d, ok := decode[lineshaft.MessageData](e); ok && d.Role == "user" {
			one.Kind, one.Name = "Prompt", beginning(d.Text)
			if d.FollowupID != "" {
				one.Kind = "Follow-up"
			}
		}
	case lineshaft.EventToolCall:
		if d, ok := decode[lineshaft.ToolCallData](e); ok {
			_, text := summary(d.Input)
			calls[d.ID] = span{Sequence: e.Sequence, Name: page.OneLine(d.Name+" "+text, 120)}
		}
	case lineshaft.EventToolResult:
		d, _ := decode[lineshaft.ToolResultData](e)
		call := calls[d.ID]
		one.Sequence, one.Name = cmp.Or(call.Sequence, e.Sequence), cmp.Or(call.Name, d.Name)
		delete(calls, d.ID)
	case lineshaft.EventState:
		d, _ := decode[lineshaft.StateData](e)
		one.Name = strings.TrimSuffix(page.StateName(d.To)+": "+d.Message, ": ")
	default:
		one.Name = eventText(e)
	}
	one.Name = cmp.Or(page.OneLine(one.Name, 120), "No text")
	return one
}
