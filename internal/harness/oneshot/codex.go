package oneshot

import (
	"encoding/json"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
)

// codex is Codex: codex exec --json. Its own sandbox is for machines without one.
func codex() tongue { return tongue{before: []string{"exec"}, args: codexArgs, line: codexLine} }

func codexArgs(_ preset.Setup, session string) []string {
	args := []string{"--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}
	if session != "" {
		args = append(args, "resume", session)
	}
	return append(args, "-") // the prompt is on standard input
}

// codexEvent is one line.
type codexEvent struct {
	Thread  string    `json:"thread_id"`
	Item    codexItem `json:"item"`
	Message string    `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

type codexItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Message   string          `json:"message"`
	Command   string          `json:"command"`
	Output    string          `json:"aggregated_output"`
	ExitCode  *int            `json:"exit_code"`
	Status    string          `json:"status"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    struct {
		Content json.RawMessage `json:"content"`
	} `json:"result"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
	Changes []any  `json:"changes"`
	Query   string `json:"query"`
	Items   []struct {
		Text      string `json:"text"`
		Completed bool   `json:"completed"`
	} `json:"items"`
}

func codexLine(t *turn, kind string, raw []byte) bool {
	var e codexEvent
	if json.Unmarshal(raw, &e) != nil {
		return false
	}
	switch kind {
	case "thread.started":
		t.session.keep(e.Thread)
		return true
	case "turn.started":
		return true
	case "item.started", "item.updated", "item.completed":
		return t.codexItem(kind, e.Item)
	case "turn.completed":
		spent := t.session.since(e.Usage.Input, e.Usage.Output, 0) // it counts the whole session
		spent.ModelID = t.model
		t.usage(spent)
		t.end("")
		return true
	case "turn.failed":
		t.end(first(e.Error.Message, e.Message, t.fault, "the agent could not finish its turn"))
		return true
	case "error":
		// A warning, or why the turn is about to fail.
		t.fault = first(e.Message, e.Error.Message)
		t.notice("warning", t.fault)
		return true
	}
	return false
}

// codexItem is one thing that the agent does.
func (t *turn) codexItem(kind string, item codexItem) bool {
	done := kind == "item.completed"
	switch item.Type {
	case "agent_message":
		if done {
			t.say(item.Text)
		}
	case "reasoning":
		if done {
			t.think(item.Text)
		}
	case "error":
		if done {
			t.notice("warning", item.Message)
		}
	case "todo_list":
		t.codexPlan(item)
	case "command_execution":
		t.codexCall(item, done, "command", "run_command", map[string]any{"command": item.Command}, item.Output)
	case "mcp_tool_call":
		input := map[string]any{}
		if json.Unmarshal(item.Arguments, &input) != nil {
			input = map[string]any{"input": string(item.Arguments)}
		}
		t.codexCall(item, done, "integration", item.Server+"/"+item.Tool, input, first(item.Error.Message, blocks(item.Result.Content)))
	case "file_change":
		t.codexCall(item, done, "files", "apply_patch", map[string]any{"changes": item.Changes}, "")
	case "web_search":
		t.codexCall(item, done, "search", "web_search", map[string]any{"query": item.Query}, "")
	default:
		return false
	}
	return true
}

// codexCall reports a call and, when it is done, its result. Ids begin again in each
// turn, so the turn's own number keeps them apart.
func (t *turn) codexCall(item codexItem, done bool, category, name string, input map[string]any, output string) {
	id := t.unique(item.ID)
	t.beginCall(id, category, name, input)
	if !done {
		return
	}
	result := map[string]any{}
	if strings.TrimSpace(output) != "" {
		result["text"] = output
	}
	if item.ExitCode != nil {
		result["exit_code"] = *item.ExitCode
	}
	state := lineshaft.ToolCompleted
	switch {
	case item.Status == "declined":
		state = lineshaft.ToolDenied
	case item.Status == "failed" || item.ExitCode != nil && *item.ExitCode != 0:
		state = lineshaft.ToolFailed
	}
	t.endCall(id, state, result)
}

func (t *turn) codexPlan(item codexItem) {
	var steps []lineshaft.PlanStep
	open := true
	for _, i := range item.Items {
		state := "pending"
		switch {
		case i.Completed:
			state = "completed"
		case open:
			state, open = "in_progress", false
		}
		steps = append(steps, lineshaft.PlanStep{Text: i.Text, State: state})
	}
	t.plan(steps)
}
