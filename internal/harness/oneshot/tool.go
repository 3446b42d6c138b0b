package oneshot

import (
	"encoding/json"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// maxCalls is how many calls of a turn are shown: the log of an execution has no
// room for more, and each is remembered until the turn ends.
const maxCalls = 50_000

// toolCall is what is known about a call.
type toolCall struct {
	number         int // in the order in which calls began
	category, name string
	output         map[string]any // nil when it has ended
}

// beginCall reports a call, once.
func (t *turn) beginCall(id, category, name string, input map[string]any) {
	t.flush()
	if _, known := t.calls[id]; known || id == "" {
		return
	}
	if len(t.calls) >= maxCalls {
		if !t.crowded {
			t.crowded = true
			t.notice("warning", "The agent has called more tools in this turn than can be shown. Further calls are not.")
		}
		return
	}
	t.calls[id] = toolCall{number: len(t.calls), category: category, name: name, output: map[string]any{}}
	t.event(lineshaft.EventToolCall, lineshaft.ToolCallData{ID: id, Category: category, Name: t.mask(name), Input: t.masked(input)})
}

func (t *turn) endCall(id, state string, output map[string]any) {
	t.flush()
	c, known := t.calls[id]
	if !known || c.output == nil {
		return
	}
	t.calls[id] = toolCall{number: c.number, category: c.category, name: c.name}
	t.event(lineshaft.EventToolResult, lineshaft.ToolResultData{ID: id, Category: c.category, Name: t.mask(c.name), State: state, Output: t.masked(output)})
}

// masked hides secrets in all texts of an object and cuts it when it is too long.
func (t *turn) masked(in map[string]any) map[string]any {
	short := map[string]any{}
	for key, value := range in {
		switch v := value.(type) {
		case string:
			short[key] = harness.Middle(v)
		case bool, float64, int, nil:
			short[key] = v
		default:
			raw, err := json.Marshal(v)
			if err == nil && len(raw) > harness.MaxToolText {
				value = harness.Middle(string(raw))
			}
			short[key] = value
		}
	}
	return harness.Masked(t.session.env.Mask(), short)
}

// category is the published one of a tool, by its name.
func category(name string) string {
	switch lower := strings.ToLower(name); lower {
	case "bash", "run_shell_command", "shell", "exec_command", "bashoutput", "killshell":
		return "command"
	case "read", "write", "edit", "multiedit", "notebookedit", "read_file", "read_many_files", "write_file", "replace", "list", "ls", "list_directory", "patch", "apply_patch":
		return "files"
	case "grep", "glob", "search", "websearch", "webfetch", "web_search", "web_fetch", "google_web_search", "grep_search", "search_file_content", "codesearch":
		return "search"
	case "skill", "activate_skill":
		return "skill"
	}
	return "integration"
}

func text(output map[string]any) string {
	s, _ := output["text"].(string)
	return s
}

// blocks is the text of a content field: a text, or a list of parts that have one.
func blocks(raw json.RawMessage) string {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var texts []string
	for _, part := range parts {
		if part.Text != "" {
			texts = append(texts, part.Text)
		} else if part.Type != "" && part.Type != "text" {
			texts = append(texts, "("+part.Type+")")
		}
	}
	return strings.Join(texts, "\n")
}

// micros is an amount in dollars as millionths.
func micros(dollars float64) int64 {
	if dollars <= 0 || dollars > 1e9 {
		return 0
	}
	return int64(dollars*1e6 + 0.5)
}

// first is the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}
