package fakemodel

import (
	"cmp"
	"net/http"
	"path"
	"strings"
)

func readGemini(r *http.Request, body object) Conversation {
	model, method, _ := strings.Cut(path.Base(r.URL.Path), ":")
	c := Conversation{Protocol: "gemini", Model: model, Stream: method == "streamGenerateContent"}
	for _, tool := range list(body["tools"]) {
		for _, function := range list(at(tool)["functionDeclarations"]) {
			f := at(function)
			schema := at(f["parametersJsonSchema"])
			if schema == nil {
				schema = at(f["parameters"])
			}
			c.Tools = append(c.Tools, Tool{Name: str(f["name"]), Schema: schema})
		}
	}
	config := at(body["generationConfig"])
	for _, name := range []string{"responseJsonSchema", "responseSchema"} {
		if schema := at(config[name]); schema != nil {
			c.Schema = schema
		}
	}
	if system := plain(at(body["systemInstruction"])["parts"]); system != "" {
		c.Messages = append(c.Messages, Message{Role: "system", Text: system})
	}
	for _, content := range list(body["contents"]) {
		c.Messages = append(c.Messages, messageGemini(at(content)))
	}
	return c
}

func messageGemini(content object) Message {
	m := Message{Role: str(content["role"]), Text: plain(content["parts"]), parts: partsOf(content["parts"])}
	switch m.Role {
	case "model":
		m.Role = "assistant"
	case "":
		m.Role = "user"
	}
	for _, part := range list(content["parts"]) {
		if call := at(at(part)["functionCall"]); call != nil {
			m.Calls = append(m.Calls, Call{ID: str(call["id"]), Name: str(call["name"]), Arguments: at(call["args"])})
		}
		if result := at(at(part)["functionResponse"]); result != nil {
			m.Results = append(m.Results, Result{CallID: str(result["id"]), Text: encode(result["response"])})
		}
	}
	return m
}

func chunkGemini(a answer, parts []object, last bool) object {
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	chunk := object{"candidates": []object{candidate}, "modelVersion": a.conversation.Model, "responseId": a.id}
	if last {
		candidate["finishReason"] = "STOP"
		u := a.usage
		chunk["usageMetadata"] = object{
			"promptTokenCount": u.Input, "cachedContentTokenCount": u.Cached,
			"candidatesTokenCount": u.Output, "totalTokenCount": u.Input + u.Output,
		}
	}
	return chunk
}

func partsGemini(a answer, n int) []object {
	var parts []object
	if a.Thought != "" {
		parts = append(parts, object{"text": a.Thought, "thought": true})
	}
	for _, piece := range pieces(a.Text, n) {
		parts = append(parts, object{"text": piece})
	}
	for _, call := range a.Calls {
		parts = append(parts, object{"functionCall": object{"id": call.ID, "name": call.Name, "args": call.Arguments}})
	}
	return parts
}

func wholeGemini(a answer) any { return chunkGemini(a, partsGemini(a, 1), true) }

func streamGemini(s *stream, a answer) error {
	parts := partsGemini(a, 8)
	if len(parts) == 0 {
		parts = []object{{"text": ""}}
	}
	for i, part := range parts {
		if err := s.send("", chunkGemini(a, []object{part}, i == len(parts)-1)); err != nil {
			return err
		}
	}
	return nil
}

func failGemini(w http.ResponseWriter, status int, kind, message string) {
	words := map[string]string{"authentication_error": "UNAUTHENTICATED", "rate_limit_error": "RESOURCE_EXHAUSTED", "api_error": "INTERNAL"}
	word := cmp.Or(words[kind], "INVALID_ARGUMENT")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeJSON(w, object{"error": object{"code": status, "message": message, "status": word}})
}
