package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
)

const (
	// historyFile has "session" in its name, as the files do that a snapshot keeps.
	historyFile = "builtin-session.json"
	// maxHistory bounds it; older messages go first.
	maxHistory     = 4 << 20
	historyVersion = 1
)

// history is a conversation as it is kept in the workspace. The agent's processes
// can change it, as they can with any agent's session files: it is read with care
// and decides nothing but what the model sees.
type history struct {
	Version  int            `json:"version"`
	Window   int            `json:"window,omitempty"`
	Messages []chat.Message `json:"messages"`
}

// load continues the conversation of an earlier execution, if there is one.
func (s *session) load() error {
	text, err := s.env.ReadFile(historyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read conversation: %w", err)
	}
	var h history
	if err := json.Unmarshal([]byte(text), &h); err != nil || h.Version != historyVersion {
		return nil //nolint:nilerr // it is the agent's to spoil: begin again
	}
	s.messages = consistent(h.Messages)
	s.resumed = len(s.messages) > 0
	if h.Window >= leastWindow && h.Window < s.window && s.options.Window == 0 {
		s.window = h.Window
	}
	return nil
}

// saveSoon saves in the middle of a turn, unless that would take more than a
// small part of the time: a long conversation is written as a whole.
func (t *turn) saveSoon() {
	if time.Since(t.saved) >= 20*t.saving {
		t.save()
	}
}

// save keeps the conversation for later executions, without secrets. A
// conversation that cannot be kept is reported, and costs only them.
func (t *turn) save() {
	begin := time.Now()
	raw, err := t.encode()
	if err == nil {
		_, err = t.env.WriteFile(historyFile, string(raw))
	}
	if err != nil {
		t.noticef("warning", "The conversation could not be kept for later: %v", t.errText(err))
	}
	t.saved = time.Now()
	t.saving = t.saved.Sub(begin)
}

// encode returns the conversation as it is kept: as much of its end as fits.
func (t *turn) encode() ([]byte, error) {
	from, size := len(t.messages), 0
	for ; from > 0; from-- {
		raw, err := json.Marshal(t.messages[from-1])
		if err != nil {
			return nil, err
		}
		if size += len(raw) + 1; size > maxHistory-1024 {
			break // the rest is for what is around the messages
		}
	}
	for messages := consistent(t.messages[from:]); ; messages = consistent(messages[len(messages)/4+1:]) {
		raw, err := json.Marshal(history{Version: historyVersion, Window: t.window, Messages: messages})
		if err != nil {
			return nil, err
		}
		// Hiding secrets may make it longer.
		if raw = t.env.Mask().JSON(raw); len(raw) <= maxHistory {
			return raw, nil
		}
	}
}

// consistent drops what no endpoint accepts: results without their calls, calls
// without results, unknown roles, and a beginning that is not the user's.
func consistent(messages []chat.Message) []chat.Message {
	var out []chat.Message
	for i, m := range messages {
		switch m.Role {
		case chat.Assistant:
			if len(out) == 0 {
				out = append(out, chat.Message{Role: chat.User, Text: "(The beginning of the conversation was left out.)"})
			}
			m.Results = nil
			m.Calls = answered(m.Calls, following(messages, i))
			if m.Text == "" && len(m.Calls) == 0 {
				continue
			}
		case chat.User:
			m.Calls, m.Thinking = nil, nil
			if m.Results = matching(m.Results, out); m.Text == "" && len(m.Results) == 0 {
				continue
			}
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

func following(messages []chat.Message, i int) []chat.Result {
	if i+1 < len(messages) && messages[i+1].Role == chat.User {
		return messages[i+1].Results
	}
	return nil
}

// answered keeps the calls that have a result; their arguments must be objects.
func answered(calls []chat.Call, results []chat.Result) []chat.Call {
	given := firstOf(results)
	var out []chat.Call
	for _, call := range calls {
		if _, ok := given[call.ID]; ok && call.ID != "" && call.Name != "" {
			call.Arguments = object(call.Arguments)
			out = append(out, call)
		}
	}
	return out
}

// matching keeps the first result of each call of the message before.
func matching(results []chat.Result, before []chat.Message) []chat.Result {
	if len(before) == 0 {
		return nil
	}
	given := firstOf(results)
	var out []chat.Result
	for _, call := range before[len(before)-1].Calls {
		if result, ok := given[call.ID]; ok {
			out = append(out, result)
		}
	}
	return out
}

// firstOf finds results by the ids of their calls. They come from a file that
// belongs to the agent, and may be very many.
func firstOf(results []chat.Result) map[string]chat.Result {
	first := make(map[string]chat.Result, len(results))
	for _, result := range results {
		if _, ok := first[result.ID]; !ok {
			first[result.ID] = result
		}
	}
	return first
}

func object(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return json.RawMessage("{}")
	}
	return raw
}

// shortArguments cuts the long texts of old arguments; they stay an object.
func shortArguments(raw json.RawMessage) json.RawMessage {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return json.RawMessage("{}")
	}
	for key, value := range fields {
		if text, ok := value.(string); ok {
			fields[key] = cut(text, oldResult)
		}
	}
	short, err := json.Marshal(fields)
	if err != nil || len(short) > 4*oldResult {
		return json.RawMessage("{}")
	}
	return short
}
