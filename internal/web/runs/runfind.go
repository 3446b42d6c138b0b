package runs

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// scanStretches is how many stretches of a log one request looks at; each is bounded in events and bytes.
	scanStretches = 16
	scanEvents    = 5000
	// scanBytes is how much data one request looks through for words, and a stretch more at most.
	scanBytes = 24 << 20
	// maxMatches is how many places one answer names.
	maxMatches = 1000
	maxFind    = 200
)

// scan goes through what matches in a log after a sequence, until see says no or a request has
// looked at enough. It returns how far it came, and whether the log continues there.
func (s pages) scan(
	r *page.Request, runID string, after int64, match runs.EventMatch, see func(lineshaft.Event) bool,
) (last int64, more bool, err error) {
	last = after
	looked := int64(0)
	for range scanStretches {
		found, err := s.Control.FindEvents(r.Context(), r.Caller, runID, last, match, scanEvents)
		if err != nil {
			return last, false, err
		}
		for i, e := range found.Events {
			if !see(e) {
				return e.Sequence, found.More || i < len(found.Events)-1, nil
			}
		}
		looked += found.Looked
		if last = found.Last; !found.More || looked > scanBytes {
			return last, found.More, nil
		}
	}
	return last, true, nil
}

// finder looks for events: of a kind, with a text, or both.
type finder struct {
	text, only string
	// word is a part of the text as it was typed.
	word string
}

func newFinder(text, only string) finder {
	text = strings.TrimSpace(text)
	return finder{text: strings.ToLower(text), only: only, word: longestWord(text)}
}

// foundEvents are places in a log.
type foundEvents struct {
	Matches []int64 `json:"matches"`
	// Next is the event to continue after; zero when all were read.
	Next int64 `json:"next,omitempty"`
}

// runFind names the events of a log that have a text or are of a kind. A page without scripts
// is led to the first of them.
func (s pages) runFind(r *page.Request) error {
	after, err := resumeAfter(r)
	if err != nil {
		return err
	}
	f := newFinder(r.FormValue("q"), r.FormValue("only"))
	if len(f.text) > maxFind || strings.ContainsRune(f.text, 0) {
		return lineshaft.Invalid("q", "this is too long, or not valid text")
	}
	if !slices.Contains([]string{"", "messages", "commands", "edits", "errors"}, f.only) {
		return lineshaft.Invalid("only", "choose messages, commands, edits or errors")
	}
	asked := r.Header.Get("Accept") == "application/json"
	found := foundEvents{Matches: []int64{}}
	last, more, err := s.scan(r, r.PathValue("id"), after, f.match(), func(e lineshaft.Event) bool {
		if f.fits(e) {
			found.Matches = append(found.Matches, e.Sequence)
		}
		return len(found.Matches) < maxMatches && (asked || len(found.Matches) == 0)
	})
	if err != nil {
		return err
	}
	if more {
		found.Next = last
	}
	if !asked {
		return s.goToMatch(r, f, found)
	}
	r.W.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(r.W).Encode(found)
}

// goToMatch leads to the first match, or back with the words that were not found.
func (s pages) goToMatch(r *page.Request, f finder, found foundEvents) error {
	values := url.Values{"find": {r.FormValue("q")}}
	at := page.Under("runs", r.PathValue("id"))
	switch {
	case len(found.Matches) > 0:
		sequence := strconv.FormatInt(found.Matches[0], 10)
		values.Set("at", sequence)
		at = page.WithQuery(at, values) + "#e" + sequence
	case found.Next > 0:
		values = url.Values{"q": {r.FormValue("q")}, "only": {f.only}, "after": {strconv.FormatInt(found.Next, 10)}}
		at = page.WithQuery(at+"/find", values)
	default:
		values.Set("none", "1")
		at = page.WithQuery(at, values)
	}
	http.Redirect(r.W, r.Request, at, http.StatusSeeOther)
	return nil
}

// maxWord is how much of a word the database compares: that takes as long as the log times the word.
const maxWord = 8

// longestWord is the longest part of a text that is ASCII letters and digits, or the beginning of
// it. An event that has the text has it too, in some case: JSON could only write it as an escape,
// and reports are stored without those.
func longestWord(text string) (longest string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		if len(word) > len(longest) {
			longest = word
		}
	}
	return longest[:min(len(longest), maxWord)]
}

// match is what the database can say about the events that fit: it leaves out most of the others.
func (f finder) match() (m runs.EventMatch) {
	switch f.only {
	case "messages":
		m.Types = []lineshaft.EventType{lineshaft.EventMessage, lineshaft.EventPermission}
	case "commands":
		m.Types = []lineshaft.EventType{lineshaft.EventToolCall, lineshaft.EventOutput}
		if f.text == "" {
			m.Types = m.Types[:1]
		}
	case "edits":
		m.Types = editTypes
	case "errors":
		m.Types = []lineshaft.EventType{lineshaft.EventToolResult, lineshaft.EventNotice, lineshaft.EventState}
		m.Words = failureWords
	}
	if f.word != "" {
		m.Words = []string{f.word}
	}
	return m
}

func (f finder) fits(e lineshaft.Event) bool {
	return f.ofKind(e) && (f.text == "" || strings.Contains(strings.ToLower(searchedText(e)), f.text))
}

// ofKind says whether an event is of the kind to find. The output of a command belongs
// to it when words are searched for, and is not a place of its own otherwise.
func (f finder) ofKind(e lineshaft.Event) bool {
	switch f.only {
	case "":
		return true
	case "messages":
		return e.Type == lineshaft.EventMessage || e.Type == lineshaft.EventPermission
	case "commands":
		if e.Type == lineshaft.EventOutput {
			return f.text != ""
		}
		d, ok := decode[lineshaft.ToolCallData](e)
		return ok && e.Type == lineshaft.EventToolCall && newTool(d).RanCommand
	case "edits":
		return len(editsOf(e)) > 0
	}
	return wentWrong(e)
}

// failureWords are in the data of each event that reports a failure: the states that
// lineshaft.ToolState reads as one, the levels of notices, and the states of runs.
var failureWords = []string{"failed", "denied", "error", "warning", "cancel", "timeout", "rejected"}

// wentWrong says whether an event reports a failure.
func wentWrong(e lineshaft.Event) bool {
	switch e.Type {
	case lineshaft.EventToolResult:
		d, ok := decode[lineshaft.ToolResultData](e)
		state := lineshaft.ToolState(d.State)
		return ok && (state == lineshaft.ToolFailed || state == lineshaft.ToolDenied)
	case lineshaft.EventNotice:
		d, ok := decode[lineshaft.NoticeData](e)
		return ok && (d.Level == "error" || d.Level == "warning")
	case lineshaft.EventState:
		d, ok := decode[lineshaft.StateData](e)
		return ok && (d.To == lineshaft.Failed || d.To == lineshaft.Errored)
	default:
		return false
	}
}

// editTypes are the types of events that report edits.
var editTypes = []lineshaft.EventType{lineshaft.EventToolCall, lineshaft.EventToolResult}

// editsOf are the changes of files that an event reports.
func editsOf(e lineshaft.Event) []diff {
	switch e.Type {
	case lineshaft.EventToolCall:
		if d, ok := decode[lineshaft.ToolCallData](e); ok {
			return diffsOf(d.Input)
		}
	case lineshaft.EventToolResult:
		if d, ok := decode[lineshaft.ToolResultData](e); ok {
			return resultDiffs(d.Output)
		}
	default:
	}
	return nil
}

// searchedText is all that can be read of an event.
func searchedText(e lineshaft.Event) string {
	switch e.Type {
	case lineshaft.EventMessage, lineshaft.EventThought, lineshaft.EventOutput, lineshaft.EventNotice:
		return eventText(e)
	default:
	}
	var data any
	if json.Unmarshal(e.Data, &data) != nil {
		return string(e.Data)
	}
	var out strings.Builder
	writeTexts(&out, data)
	return out.String()
}

// writeTexts writes the texts in a value of JSON, one to a line.
func writeTexts(out *strings.Builder, value any) {
	switch value := value.(type) {
	case string:
		out.WriteString(value)
		out.WriteByte('\n')
	case []any:
		for _, one := range value {
			writeTexts(out, one)
		}
	case map[string]any:
		for _, one := range value {
			writeTexts(out, one)
		}
	}
}
