package acp

import (
	"encoding/json"

	"github.com/lineshaft/lineshaft"
)

// update is a session/update of any kind, read leniently: a field that is not
// what it should be counts as left out.
type update struct {
	Kind    string          `json:"sessionUpdate"`
	Content json.RawMessage `json:"content"`
	Message string          `json:"messageId"`
	Entries json.RawMessage `json:"entries"`
	Cost    json.RawMessage `json:"cost"`
}

// update makes events of one update. Kinds that mean nothing for the log of a run,
// and those of later versions of the protocol, are ignored.
func (t *turn) update(raw json.RawMessage) {
	var params struct {
		Update json.RawMessage `json:"update"`
	}
	var u update
	if json.Unmarshal(raw, &params) != nil {
		return
	}
	lenient(params.Update, &u)
	switch u.Kind {
	case "agent_message_chunk":
		t.known.announce(t, "")
		t.text.add(lineshaft.EventMessage, u.Message, blockText(u.Content))
	case "agent_thought_chunk":
		t.known.announce(t, "")
		t.text.add(lineshaft.EventThought, u.Message, blockText(u.Content))
	case "tool_call", "tool_call_update":
		t.text.flush()
		var call callUpdate
		lenient(params.Update, &call)
		t.known.update(t, u.Kind == "tool_call", call)
	case "plan":
		t.text.flush()
		t.plan(u.Entries)
	case "usage_update":
		t.spent(u.Cost)
	}
}

// lenient decodes an object field by field, so that one odd field costs no other.
func lenient(raw json.RawMessage, into any) {
	if json.Unmarshal(raw, into) == nil {
		return
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields)
	for name, value := range fields {
		single, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err == nil {
			_ = json.Unmarshal(single, into)
		}
	}
}

// block is one piece of content.
type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	URI      string          `json:"uri"`
	Name     string          `json:"name"`
	Resource json.RawMessage `json:"resource"`
}

// blockText is the text of a block; for a block without text, a note that there was one.
func blockText(raw json.RawMessage) string {
	var b block
	lenient(raw, &b)
	switch b.Type {
	case "text":
		return b.Text
	case "resource":
		var inner block
		lenient(b.Resource, &inner)
		if inner.Text != "" {
			return inner.Text
		}
		return "[" + inner.URI + "]"
	case "resource_link":
		return "[" + b.Name + "](" + b.URI + ")"
	case "":
		return b.Text
	}
	return "[" + clip(b.Type, 20) + "]"
}

// plan reports the whole plan.
func (t *turn) plan(raw json.RawMessage) {
	var entries []struct {
		Content  string `json:"content"`
		Priority string `json:"priority"`
		Status   string `json:"status"`
	}
	if json.Unmarshal(raw, &entries) != nil {
		return
	}
	data := lineshaft.PlanData{Steps: []lineshaft.PlanStep{}}
	for _, e := range entries {
		step := lineshaft.PlanStep{Text: t.mask(e.Content), State: "pending"}
		switch e.Status {
		case "in_progress", "completed":
			step.State = e.Status
		}
		switch e.Priority {
		case "high", "medium", "low":
			step.Priority = e.Priority
		}
		data.Steps = append(data.Steps, step)
	}
	t.event(lineshaft.EventPlan, data)
}

func (t *turn) mask(s string) string { return t.session.env.Mask().String(s) }
