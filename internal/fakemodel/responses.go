package fakemodel

import (
	"net/http"
	"strings"
)

func readResponses(_ *http.Request, body object) Conversation {
	c := Conversation{Protocol: "responses", Model: str(body["model"]), Stream: body["stream"] == true}
	for _, tool := range list(body["tools"]) {
		c.Tools = append(c.Tools, toolsResponses(at(tool))...)
	}
	if format := at(at(body["text"])["format"]); format["type"] == "json_schema" {
		c.Schema = at(format["schema"])
	}
	if text := str(body["instructions"]); text != "" {
		c.Messages = append(c.Messages, Message{Role: "system", Text: text})
	}
	if text := str(body["input"]); text != "" {
		c.Messages = append(c.Messages, Message{Role: "user", Text: text})
	}
	for _, item := range list(body["input"]) {
		if m, ok := messageResponses(at(item)); ok {
			c.Messages = append(c.Messages, m)
		}
	}
	return c
}

// toolsResponses are the tools of one entry, which may be a group of them.
func toolsResponses(tool object) []Tool {
	switch tool["type"] {
	case "function":
		return []Tool{{Name: str(tool["name"]), Schema: at(tool["parameters"])}}
	case "local_shell":
		return []Tool{{Name: "local_shell"}}
	}
	var out []Tool
	for _, inner := range list(tool["tools"]) {
		for _, t := range toolsResponses(at(inner)) {
			t.Namespace = str(tool["name"])
			out = append(out, t)
		}
	}
	return out
}

func messageResponses(item object) (Message, bool) {
	switch kind := str(item["type"]); {
	case item["role"] != nil:
		role := str(item["role"])
		if role == "developer" {
			role = "system"
		}
		return Message{Role: role, Text: plain(item["content"])}, true
	case strings.HasSuffix(kind, "_call_output"):
		return Message{Role: "tool", Results: []Result{{CallID: str(item["call_id"]), Text: output(item["output"])}}}, true
	case strings.HasSuffix(kind, "_call"):
		return Message{Role: "assistant", Calls: []Call{{ID: str(item["call_id"]), Name: str(item["name"]), Arguments: decode(item["arguments"])}}}, true
	}
	return Message{}, false
}

// output is the text of a tool's output, which may be a text, parts or an object.
func output(v any) string {
	if text := plain(v); text != "" {
		return text
	}
	return encode(v)
}

func itemsResponses(a answer) []object {
	var items []object
	if a.Thought != "" {
		items = append(items, object{"type": "reasoning", "id": "rs_" + a.id, "summary": []object{{"type": "summary_text", "text": a.Thought}}})
	}
	if a.Text != "" || len(a.Calls) == 0 {
		items = append(items, object{
			"type": "message", "id": "msg_" + a.id, "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": a.Text, "annotations": []any{}}},
		})
	}
	for _, call := range a.Calls {
		item := object{"type": "function_call", "id": "fc_" + call.ID, "call_id": call.ID, "name": call.Name, "arguments": encode(call.Arguments), "status": "completed"}
		if call.Namespace != "" {
			item["namespace"] = call.Namespace
		}
		if call.Name == "local_shell" {
			item = object{
				"type": "local_shell_call", "id": "ls_" + call.ID, "call_id": call.ID, "status": "completed",
				"action": object{"type": "exec", "command": call.Arguments["command"], "env": object{}},
			}
		}
		items = append(items, item)
	}
	return items
}

func wholeResponses(a answer) any {
	u := a.usage
	return object{
		"id": "resp_" + a.id, "object": "response", "created_at": 1, "model": a.conversation.Model, "status": "completed", "output": itemsResponses(a),
		"usage": object{
			"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.Cached},
			"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": u.Input + u.Output,
		},
	}
}

func streamResponses(s *stream, a answer) error {
	begun := object{"id": "resp_" + a.id, "object": "response", "created_at": 1, "model": a.conversation.Model, "status": "in_progress", "output": []any{}}
	events := []object{{"type": "response.created", "response": begun}}
	for i, item := range itemsResponses(a) {
		events = append(events, itemResponses(i, item)...)
	}
	events = append(events, object{"type": "response.completed", "response": wholeResponses(a)})
	for i, event := range events {
		event["sequence_number"] = i
		if err := s.send(str(event["type"]), event); err != nil {
			return err
		}
	}
	return nil
}

// itemResponses is the stream of one item.
func itemResponses(index int, item object) []object {
	var deltas []object
	added := item
	switch item["type"] {
	case "message":
		added = object{"type": "message", "id": item["id"], "role": "assistant", "status": "in_progress", "content": []any{}}
		content, _ := item["content"].([]object)
		for _, piece := range pieces(str(content[0]["text"]), 8) {
			deltas = append(deltas, object{"type": "response.output_text.delta", "item_id": item["id"], "output_index": index, "content_index": 0, "delta": piece})
		}
	case "reasoning":
		added = object{"type": "reasoning", "id": item["id"], "summary": []any{}}
		summary, _ := item["summary"].([]object)
		deltas = append(deltas,
			object{"type": "response.reasoning_summary_part.added", "item_id": item["id"], "output_index": index, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}},
			object{"type": "response.reasoning_summary_text.delta", "item_id": item["id"], "output_index": index, "summary_index": 0, "delta": summary[0]["text"]})
	case "function_call":
		for _, piece := range pieces(str(item["arguments"]), 3) {
			deltas = append(deltas, object{"type": "response.function_call_arguments.delta", "item_id": item["id"], "output_index": index, "delta": piece})
		}
	}
	events := append([]object{{"type": "response.output_item.added", "output_index": index, "item": added}}, deltas...)
	return append(events, object{"type": "response.output_item.done", "output_index": index, "item": item})
}
