package oneshot

import (
	"encoding/json"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
)

// claude is Claude Code: claude -p --output-format stream-json.
func claude() tongue { return tongue{args: claudeArgs, line: claudeLine} }

func claudeArgs(setup preset.Setup, session string) []string {
	args := []string{"-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"}
	if setup.ToolsFile != "" {
		args = append(args, "--mcp-config", setup.ToolsFile, "--strict-mcp-config")
	}
	if session != "" {
		args = append(args, "--resume", session)
	}
	return args
}

// claudeEvent is one line.
type claudeEvent struct {
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Parent  string `json:"parent_tool_use_id"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	IsError bool     `json:"is_error"`
	Result  string   `json:"result"`
	Errors  []string `json:"errors"`
	Model   string   `json:"model"`
	Usage   struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Read    int64 `json:"cache_read_input_tokens"`
		Written int64 `json:"cache_creation_input_tokens"`
	} `json:"usage"`
	Cost float64 `json:"total_cost_usd"`
}

func claudeLine(t *turn, kind string, raw []byte) bool {
	var e claudeEvent
	if json.Unmarshal(raw, &e) != nil {
		return false
	}
	switch kind {
	case "system":
		if e.Subtype == "init" {
			t.session.keep(e.Session)
			t.model = first(e.Model, t.model)
		}
		return true
	case "assistant":
		t.claudeBlocks(e)
		return true
	case "user":
		t.claudeResults(e)
		return true
	case "result":
		t.claudeEnd(e)
		return true
	case "rate_limit_event", "stream_event", "control_response", "keep_alive":
		return true
	}
	return false
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    map[string]any  `json:"input"`
	CallID   string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	IsError  bool            `json:"is_error"`
}

func (t *turn) claudeBlocks(e claudeEvent) {
	var content []claudeBlock
	if json.Unmarshal(e.Message.Content, &content) != nil {
		t.say(blocks(e.Message.Content))
		return
	}
	for _, b := range content {
		switch b.Type {
		case "text":
			if e.Parent == "" { // what helpers of the agent say comes with their result
				t.say(b.Text)
			}
		case "thinking":
			t.think(b.Thinking)
		case "tool_use":
			t.beginCall(b.ID, category(b.Name), b.Name, b.Input)
			t.todos(b.Name, b.Input)
		}
	}
}

// todos makes a plan of the tool that keeps a list of things to do.
func (t *turn) todos(name string, input map[string]any) {
	items, _ := input["todos"].([]any)
	if len(items) == 0 || name != "TodoWrite" && name != "todowrite" && name != "write_todos" {
		return
	}
	var steps []lineshaft.PlanStep
	for _, item := range items {
		step, _ := item.(map[string]any)
		word := func(key string) string { s, _ := step[key].(string); return s }
		state := word("status")
		if !slices.Contains([]string{"pending", "in_progress", "completed"}, state) {
			state = "completed" // cancelled ones are also done
		}
		steps = append(steps, lineshaft.PlanStep{Text: first(word("content"), word("description")), State: state, Priority: word("priority")})
	}
	t.plan(steps)
}

func (t *turn) claudeResults(e claudeEvent) {
	var content []claudeBlock
	_ = json.Unmarshal(e.Message.Content, &content) // a text is the user's own
	for _, b := range content {
		if b.Type != "tool_result" {
			continue
		}
		state := lineshaft.ToolCompleted
		if b.IsError {
			state = lineshaft.ToolFailed
		}
		t.endCall(b.CallID, state, map[string]any{"text": blocks(b.Content)})
	}
}

func (t *turn) claudeEnd(e claudeEvent) {
	// The tokens are those of the turn, the cost is that of the whole session.
	u := e.Usage
	spent := t.session.since(0, 0, e.Cost)
	spent.ModelID, spent.InputTokens, spent.OutputTokens = t.model, u.Input+u.Read+u.Written, u.Output
	t.usage(spent)
	if e.IsError || e.Subtype != "success" {
		reason := e.Result
		if len(e.Errors) > 0 {
			reason = first(reason, e.Errors[0])
		}
		t.end(first(reason, "the agent stopped: "+e.Subtype))
		return
	}
	t.session.keep(e.Session)
	t.end("")
}
