package oneshot

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
)

// gemini is Gemini CLI: gemini -o stream-json, with the prompt on standard input.
func gemini() tongue { return tongue{args: geminiArgs, line: geminiLine} }

func geminiArgs(_ preset.Setup, session string) []string {
	args := []string{"-o", "stream-json", "--approval-mode", "yolo"}
	if session != "" {
		args = append(args, "--resume", session)
	}
	return args
}

// geminiEvent is one line.
type geminiEvent struct {
	Session    string          `json:"session_id"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	Delta      bool            `json:"delta"`
	Tool       string          `json:"tool_name"`
	ID         string          `json:"tool_id"`
	Parameters map[string]any  `json:"parameters"`
	Status     string          `json:"status"`
	Output     json.RawMessage `json:"output"`
	Severity   string          `json:"severity"`
	Message    string          `json:"message"`
	Error      struct {
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Models map[string]struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
			Total  int64 `json:"total_tokens"`
		} `json:"models"`
	} `json:"stats"`
}

func geminiLine(t *turn, kind string, raw []byte) bool {
	var e geminiEvent
	if json.Unmarshal(raw, &e) != nil {
		return false
	}
	switch kind {
	case "init":
		t.session.keep(e.Session)
	case "message":
		switch {
		case e.Role != "assistant": // our own prompt
		case e.Delta:
			t.piece(e.Content)
		default:
			t.say(e.Content)
		}
	case "thought":
		t.think(e.Content)
	case "tool_use":
		t.beginCall(e.ID, category(e.Tool), e.Tool, e.Parameters)
		t.todos(e.Tool, e.Parameters)
	case "tool_result":
		t.geminiResult(e)
	case "error":
		t.fault = first(e.Message, e.Error.Message)
		t.notice("warning", t.fault)
	case "result":
		t.geminiEnd(e)
	default:
		return false
	}
	return true
}

func (t *turn) geminiResult(e geminiEvent) {
	output := map[string]any{}
	if len(e.Output) > 0 {
		output["text"] = blocks(e.Output)
	}
	state := lineshaft.ToolCompleted
	if e.Status != "success" {
		state = lineshaft.ToolFailed
		if e.Error.Message != "" {
			output["error"] = e.Error.Message
		}
	}
	t.endCall(e.ID, state, output)
}

func (t *turn) geminiEnd(e geminiEvent) {
	for _, model := range slices.Sorted(maps.Keys(e.Stats.Models)) {
		m := e.Stats.Models[model]
		t.usage(lineshaft.UsageData{ModelID: model, InputTokens: m.Input, OutputTokens: max(m.Output, m.Total-m.Input)})
	}
	if e.Status != "success" {
		t.end(first(e.Error.Message, t.fault, "the agent stopped: "+e.Status))
		return
	}
	t.end("")
}
