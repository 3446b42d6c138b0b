package oneshot

import (
	"encoding/json"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
)

// opencode is opencode: opencode run --format json. It ends without saying anything
// at the end of a turn.
func opencode() tongue {
	return tongue{before: []string{"run", "--format", "json"}, args: opencodeArgs, line: opencodeLine, endless: true}
}

func opencodeArgs(_ preset.Setup, session string) []string {
	if session == "" {
		return nil
	}
	return []string{"--session", session}
}

// opencodeEvent is one line.
type opencodeEvent struct {
	Session string `json:"sessionID"`
	Part    struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Tool   string `json:"tool"`
		CallID string `json:"callID"`
		State  struct {
			Status   string         `json:"status"`
			Input    map[string]any `json:"input"`
			Output   string         `json:"output"`
			Error    string         `json:"error"`
			Metadata struct {
				Exit *int `json:"exit"`
			} `json:"metadata"`
		} `json:"state"`
		Tokens struct {
			Total     int64 `json:"total"`
			Input     int64 `json:"input"`
			Output    int64 `json:"output"`
			Reasoning int64 `json:"reasoning"`
			Cache     struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
		Cost float64 `json:"cost"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	} `json:"error"`
}

func opencodeLine(t *turn, kind string, raw []byte) bool {
	var e opencodeEvent
	if json.Unmarshal(raw, &e) != nil {
		return false
	}
	t.session.keep(e.Session)
	switch kind {
	case "step_start":
	case "text":
		t.say(e.Part.Text)
	case "reasoning":
		t.think(e.Part.Text)
	case "tool_use":
		t.opencodeTool(e)
	case "step_finish":
		k := e.Part.Tokens
		input := k.Input + k.Cache.Read + k.Cache.Write
		t.usage(lineshaft.UsageData{ModelID: t.model, InputTokens: input, OutputTokens: max(k.Output+k.Reasoning, k.Total-input), CostMicros: micros(e.Part.Cost)})
	case "error":
		t.fault = first(e.Error.Data.Message, e.Error.Name, "the agent met an error")
		t.notice("error", t.fault)
	default:
		return false
	}
	return true
}

// opencodeTool reports a call, which is printed when it has ended.
func (t *turn) opencodeTool(e opencodeEvent) {
	p := e.Part
	t.beginCall(p.CallID, category(p.Tool), p.Tool, p.State.Input)
	t.todos(p.Tool, p.State.Input)
	output := map[string]any{}
	if p.State.Output != "" {
		output["text"] = p.State.Output
	}
	if p.State.Metadata.Exit != nil {
		output["exit_code"] = *p.State.Metadata.Exit
	}
	switch {
	case p.State.Status == "error":
		output["error"] = p.State.Error
		t.endCall(p.CallID, lineshaft.ToolFailed, output)
	case p.State.Metadata.Exit != nil && *p.State.Metadata.Exit != 0:
		t.endCall(p.CallID, lineshaft.ToolFailed, output)
	case p.State.Status == "completed":
		t.endCall(p.CallID, lineshaft.ToolCompleted, output)
	}
}
