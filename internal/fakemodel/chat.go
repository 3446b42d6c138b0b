package fakemodel

import (
	"encoding/json"
	"net/http"
)

func readChat(_ *http.Request, body object) Conversation {
	c := Conversation{Protocol: "chat", Model: str(body["model"]), Stream: body["stream"] == true}
	c.countStream = at(body["stream_options"])["include_usage"] == true
	for _, tool := range list(body["tools"]) {
		f := at(at(tool)["function"])
		c.Tools = append(c.Tools, Tool{Name: str(f["name"]), Schema: at(f["parameters"])})
	}
	if format := at(body["response_format"]); format["type"] == "json_schema" {
		c.Schema = at(at(format["json_schema"])["schema"])
	}
	for _, message := range list(body["messages"]) {
		o := at(message)
		m := Message{Role: str(o["role"]), Text: plain(o["content"])}
		if m.Role == "developer" {
			m.Role = "system"
		}
		for _, call := range list(o["tool_calls"]) {
			f := at(at(call)["function"])
			m.Calls = append(m.Calls, Call{ID: str(at(call)["id"]), Name: str(f["name"]), Arguments: decode(f["arguments"])})
		}
		if m.Role == "tool" {
			m.Results = []Result{{CallID: str(o["tool_call_id"]), Text: m.Text}}
			m.Text = ""
		}
		c.Messages = append(c.Messages, m)
	}
	return c
}

// decode reads arguments that came as text; nil when they are no object.
func decode(text any) object {
	var arguments object
	if json.Unmarshal([]byte(str(text)), &arguments) != nil {
		return nil
	}
	return arguments
}

func usageChat(u Usage) object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": 0},
	}
}

func wholeChat(a answer) any {
	message := object{"role": "assistant", "content": a.Text}
	if a.Thought != "" {
		message["reasoning_content"] = a.Thought
	}
	finish := "stop"
	var calls []object
	for i, call := range a.Calls {
		finish = "tool_calls"
		calls = append(calls, object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": encode(call.Arguments)}})
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
		if a.Text == "" {
			message["content"] = nil
		}
	}
	return object{
		"id": a.id, "object": "chat.completion", "created": 1, "model": a.conversation.Model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish}}, "usage": usageChat(a.usage),
	}
}

func streamChat(s *stream, a answer) error {
	chunk := func(choices []object) object {
		return object{"id": a.id, "object": "chat.completion.chunk", "created": 1, "model": a.conversation.Model, "choices": choices}
	}
	deltas := []object{{"role": "assistant", "content": ""}}
	if a.Thought != "" {
		deltas = append(deltas, object{"reasoning_content": a.Thought})
	}
	for _, piece := range pieces(a.Text, 8) {
		deltas = append(deltas, object{"content": piece})
	}
	finish := "stop"
	for i, call := range a.Calls {
		finish = "tool_calls"
		deltas = append(deltas, object{"tool_calls": []object{{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""}}}})
		for _, piece := range pieces(encode(call.Arguments), 3) {
			deltas = append(deltas, object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}})
		}
	}
	for _, delta := range deltas {
		if err := s.send("", chunk([]object{{"index": 0, "delta": delta, "finish_reason": nil}})); err != nil {
			return err
		}
	}
	if err := s.send("", chunk([]object{{"index": 0, "delta": object{}, "finish_reason": finish}})); err != nil {
		return err
	}
	if a.conversation.countStream {
		last := chunk([]object{})
		last["usage"] = usageChat(a.usage)
		if err := s.send("", last); err != nil {
			return err
		}
	}
	return s.raw("", "[DONE]")
}

func failOpenAI(w http.ResponseWriter, status int, kind, message string) {
	code := any(kind)
	if kind == "authentication_error" {
		kind, code = "invalid_request_error", "invalid_api_key"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeJSON(w, object{"error": object{"message": message, "type": kind, "param": nil, "code": code}})
}
