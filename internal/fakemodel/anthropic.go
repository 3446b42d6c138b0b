package fakemodel

import (
	"net/http"
)

func readAnthropic(_ *http.Request, body object) Conversation {
	c := Conversation{Protocol: "anthropic", Model: str(body["model"]), Stream: body["stream"] == true}
	for _, tool := range list(body["tools"]) {
		c.Tools = append(c.Tools, Tool{Name: str(at(tool)["name"]), Schema: at(at(tool)["input_schema"])})
	}
	if format := at(at(body["output_config"])["format"]); format["type"] == "json_schema" {
		c.Schema = at(format["schema"])
	}
	if system := plain(body["system"]); system != "" {
		c.Messages = append(c.Messages, Message{Role: "system", Text: system})
	}
	for _, message := range list(body["messages"]) {
		content := at(message)["content"]
		m := Message{Role: str(at(message)["role"]), Text: plain(content), parts: partsOf(content)}
		for _, block := range list(content) {
			switch b := at(block); b["type"] {
			case "tool_use":
				m.Calls = append(m.Calls, Call{ID: str(b["id"]), Name: str(b["name"]), Arguments: at(b["input"])})
			case "tool_result":
				m.Results = append(m.Results, Result{CallID: str(b["tool_use_id"]), Text: plain(b["content"])})
			}
		}
		c.Messages = append(c.Messages, m)
	}
	return c
}

// usageAnthropic is the usage, in which the cached tokens are not part of the input.
func usageAnthropic(u Usage) object {
	return object{"input_tokens": u.Input - u.Cached, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": 0, "output_tokens": u.Output}
}

func blocksAnthropic(a answer) (blocks []object, stop string) {
	if a.Thought != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": a.Thought, "signature": "fake"})
	}
	if a.Text != "" || len(a.Calls) == 0 {
		blocks = append(blocks, object{"type": "text", "text": a.Text})
	}
	stop = "end_turn"
	for _, call := range a.Calls {
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": "toolu_" + call.ID, "name": call.Name, "input": call.Arguments})
	}
	return blocks, stop
}

func wholeAnthropic(a answer) any {
	blocks, stop := blocksAnthropic(a)
	return object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.conversation.Model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil, "usage": usageAnthropic(a.usage),
	}
}

func streamAnthropic(s *stream, a answer) error {
	blocks, stop := blocksAnthropic(a)
	send := func(data object) error { return s.send(str(data["type"]), data) }
	first := usageAnthropic(a.usage)
	first["output_tokens"] = 1
	start := object{"type": "message_start", "message": object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.conversation.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": first,
	}}
	events := []object{start, {"type": "ping"}}
	for i, block := range blocks {
		events = append(events, blockAnthropic(i, block)...)
	}
	events = append(events,
		object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": a.usage.Output}},
		object{"type": "message_stop"})
	for _, event := range events {
		if err := send(event); err != nil {
			return err
		}
	}
	return nil
}

// blockAnthropic is the stream of one block.
func blockAnthropic(index int, block object) []object {
	var start object
	var deltas []object
	switch block["type"] {
	case "thinking":
		start = object{"type": "thinking", "thinking": "", "signature": ""}
		deltas = []object{{"type": "thinking_delta", "thinking": block["thinking"]}, {"type": "signature_delta", "signature": block["signature"]}}
	case "tool_use":
		start = object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
		for _, piece := range pieces(encode(block["input"]), 3) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": piece})
		}
	default:
		start = object{"type": "text", "text": ""}
		for _, piece := range pieces(str(block["text"]), 8) {
			deltas = append(deltas, object{"type": "text_delta", "text": piece})
		}
	}
	events := []object{{"type": "content_block_start", "index": index, "content_block": start}}
	for _, delta := range deltas {
		events = append(events, object{"type": "content_block_delta", "index": index, "delta": delta})
	}
	return append(events, object{"type": "content_block_stop", "index": index})
}

func failAnthropic(w http.ResponseWriter, status int, kind, message string) {
	if kind == "context_length_exceeded" {
		kind = "invalid_request_error"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeJSON(w, object{"type": "error", "error": object{"type": kind, "message": message}})
}
