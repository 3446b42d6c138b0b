package fakemodel

import (
	"net/http"
	"strings"
)

// api is one of the languages, at one of its paths.
type api struct {
	name string
	// fixed is the answer of a path that asks no model.
	fixed  func(models []string) any
	read   func(r *http.Request, body object) Conversation
	whole  func(answer) any
	stream func(*stream, answer) error
	fail   func(w http.ResponseWriter, status int, kind, message string)
}

// answer is a reply on its way.
type answer struct {
	Reply
	conversation Conversation
	id           string
	usage        Usage
}

// route finds the API of a path. The beginning of the path does not matter, so
// that clients may put any version before it.
func route(r *http.Request) (api, bool) {
	path := r.URL.Path
	gemini := api{name: "gemini", read: readGemini, whole: wholeGemini, stream: streamGemini, fail: failGemini}
	anthropic := api{name: "anthropic", read: readAnthropic, whole: wholeAnthropic, stream: streamAnthropic, fail: failAnthropic}
	openai := api{name: "chat", read: readChat, whole: wholeChat, stream: streamChat, fail: failOpenAI}
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		switch {
		case strings.Contains(path, "/v1beta"):
			gemini.fixed = geminiModels
			return gemini, true
		case r.Header.Get("Anthropic-Version") != "":
			anthropic.fixed = models
			return anthropic, true
		}
		openai.fixed = models
		return openai, true
	case r.Method != http.MethodPost:
		return api{}, false
	case strings.HasSuffix(path, "/chat/completions"):
		return openai, true
	case strings.HasSuffix(path, "/responses"):
		return api{name: "responses", read: readResponses, whole: wholeResponses, stream: streamResponses, fail: failOpenAI}, true
	case strings.HasSuffix(path, "/messages"):
		return anthropic, true
	case strings.HasSuffix(path, "/messages/count_tokens"):
		anthropic.fixed = func([]string) any { return object{"input_tokens": TextUsage().Input} }
		return anthropic, true
	case strings.HasSuffix(path, ":countTokens"):
		gemini.fixed = func([]string) any { return object{"totalTokens": TextUsage().Input} }
		return gemini, true
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini, true
	}
	return api{}, false
}

func models(names []string) any {
	var data []object
	for _, name := range names {
		data = append(data, object{"id": name, "object": "model", "type": "model", "display_name": name, "created": 1, "owned_by": "fake"})
	}
	return object{"object": "list", "data": data, "has_more": false}
}

func geminiModels(names []string) any {
	var data []object
	for _, name := range names {
		data = append(data, object{"name": "models/" + name, "displayName": name, "supportedGenerationMethods": []string{"generateContent"}})
	}
	return object{"models": data}
}
