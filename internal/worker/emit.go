package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// said is what an execution's agent has said so far.
type said struct {
	mu     sync.Mutex
	bytes  int64
	events int
	full   bool
	past   int // events of the agent that were kept past the caps
	// pulls look for pull requests, one for each stream of each tool call.
	pulls map[string]*workspace.PullRequests
	// found are the pull requests already announced.
	found map[string]bool
}

// emit is the harness.Emit of every turn.
func (e *execution) emit(draft lineshaft.Draft) {
	if draft.Type == lineshaft.EventOutput {
		e.started() // a program may print before its start is known here
	}
	draft = e.masked(draft)
	e.watch.saw(draft)
	draft = e.fit(draft)
	if draft.Type == lineshaft.EventUsage && e.gate.counts() {
		return // the same again
	}
	for _, d := range e.admit(draft, false) {
		e.outbox.put(e.life, d)
	}
}

// masked is a second net below the harnesses: output was masked across the edges
// of its pieces, and everything else should have been.
func (e *execution) masked(draft lineshaft.Draft) lineshaft.Draft {
	if draft.Type != lineshaft.EventOutput {
		draft.Data = e.mask().JSON(draft.Data)
	}
	return draft
}

// admit counts an event against the caps and returns what to send for it. What
// the worker counted itself is kept past them: the control plane acts on it.
func (e *execution) admit(draft lineshaft.Draft, own bool) []lineshaft.Draft {
	s := &e.said
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events++
	s.bytes += int64(len(draft.Data))
	config := e.worker.config
	if s.events <= config.OutputEvents && s.bytes <= config.OutputBytes && !s.full || own {
		out := []lineshaft.Draft{draft}
		for _, url := range s.pullRequests(draft) {
			out = append(out, e.pullRequest(url))
		}
		return out
	}
	var out []lineshaft.Draft
	if !s.full {
		s.full = true
		out = append(out, e.noticeDraft("warning", fmt.Sprintf(
			"The output limit of %d bytes or %d events is reached: what the agent says from here on is not kept.",
			config.OutputBytes, config.OutputEvents)))
	}
	if draft.Type == lineshaft.EventUsage && s.past < pastEvents && len(draft.Data) <= pastBytes {
		s.past++
		out = append(out, draft)
	}
	return out
}

// What an agent says it consumed is also kept past the caps, or its run would look
// free; but an agent can say so at will. Questions to people do not pass through
// here: each waits for its answer.
const (
	pastEvents = 100
	pastBytes  = 4 << 10
)

// pullRequests looks for new addresses in what the agent said.
func (s *said) pullRequests(draft lineshaft.Draft) []string {
	switch draft.Type {
	case lineshaft.EventOutput, lineshaft.EventMessage, lineshaft.EventToolResult:
	default:
		return nil
	}
	var data struct {
		Role       string `json:"role"`
		Stream     string `json:"stream"`
		Text       string `json:"text"`
		ToolCallID string `json:"tool_call_id"`
		ID         string `json:"id"`
	}
	if err := json.Unmarshal(draft.Data, &data); err != nil || data.Role == "user" {
		return nil
	}
	if draft.Type == lineshaft.EventToolResult {
		return s.endStreams(data.ID+" stdout", data.ID+" stderr")
	}
	key := data.ToolCallID + " " + data.Stream
	if s.pulls == nil {
		s.pulls, s.found = map[string]*workspace.PullRequests{}, map[string]bool{}
	}
	if s.pulls[key] == nil {
		s.pulls[key] = &workspace.PullRequests{}
	}
	found := s.pulls[key].Add(data.Text)
	if draft.Type == lineshaft.EventMessage {
		found = append(found, s.pulls[key].Flush()...) // a message is whole
	}
	return s.fresh(found)
}

func (s *said) endStreams(keys ...string) []string {
	var found []string
	for _, key := range keys {
		if p := s.pulls[key]; p != nil {
			found = append(found, p.Flush()...)
			delete(s.pulls, key)
		}
	}
	return s.fresh(found)
}

// fresh leaves out what was found in another stream before.
func (s *said) fresh(urls []string) []string {
	var fresh []string
	for _, url := range urls {
		if !s.found[url] {
			s.found[url] = true
			fresh = append(fresh, url)
		}
	}
	return fresh
}

// endTurn gives the addresses that the end of the turn completes.
func (s *said) endTurn() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endStreams(slices.Collect(maps.Keys(s.pulls))...)
}

// count says how much was said.
func (s *said) count() (events int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events, s.bytes
}

// pullRequest announces an artifact; the control plane gives it its uid.
func (e *execution) pullRequest(url string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventArtifact, e.worker.config.Now(), lineshaft.ArtifactData{
		Type: string(lineshaft.ArtifactPullRequest), URL: url,
	})
}

func (e *execution) notice(level, text string) {
	e.outbox.put(e.life, e.noticeDraft(level, text))
}

func (e *execution) noticeDraft(level, text string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventNotice, e.worker.config.Now(), lineshaft.NoticeData{Level: level, Text: e.mask().String(text)})
}

// maxEvent is the size of the largest event. Events travel whole, and the control
// plane takes no call of any size.
const maxEvent = 1 << 20

// fit makes an event small enough to be sent: its long texts are cut. An event that is too
// large without long texts is left out, and a notice says so.
func (e *execution) fit(draft lineshaft.Draft) lineshaft.Draft {
	if len(draft.Data) <= maxEvent {
		return draft
	}
	size := len(draft.Data)
	decoder := json.NewDecoder(bytes.NewReader(draft.Data))
	decoder.UseNumber()
	var data any
	if decoder.Decode(&data) == nil {
		for most := maxEvent / 2; most >= 1<<10; most /= 4 {
			data = cutTexts(data, most)
			if raw, err := json.Marshal(data); err == nil && len(raw) <= maxEvent {
				draft.Data = raw
				return draft
			}
		}
	}
	return e.leftOut(draft.Type, size)
}

// leftOut replaces an event that cannot be sent.
func (e *execution) leftOut(kind lineshaft.EventType, size int) lineshaft.Draft {
	return e.noticeDraft("warning", fmt.Sprintf("An event of type %s with %d bytes was left out: it is too large.", kind, size))
}

// cutTexts cuts the texts in decoded JSON that are longer than most.
func cutTexts(value any, most int) any {
	switch v := value.(type) {
	case string:
		return cutText(v, most)
	case []any:
		for i := range v {
			v[i] = cutTexts(v[i], most)
		}
	case map[string]any:
		for key := range v {
			v[key] = cutTexts(v[key], most)
		}
	}
	return value
}

// cutMark is at the end of a text that was cut.
const cutMark = "… (cut)"

func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return lineshaft.CutBytes(text, most-len(cutMark)) + cutMark
}
