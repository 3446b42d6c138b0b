package chat

import (
	"bytes"
	"encoding/json"
	"testing"
)

// sound says whether an answer can be put into a conversation.
func sound(t *testing.T, answer Answer) {
	t.Helper()
	for _, call := range answer.Message.Calls {
		var object map[string]any
		if err := json.Unmarshal(call.Arguments, &object); err != nil || object == nil {
			t.Errorf("arguments %q", call.Arguments)
		}
	}
	if _, err := json.Marshal(answer.Message); err != nil {
		t.Error(err)
	}
}

// Whatever an endpoint sends, reading it ends well and gives something that can
// be sent back.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"b","input":{"x":1}}}`))
	f.Add([]byte(`{"type":"content_block_start","index":-1,"content_block":{"type":"text","text":"b"}}` + "\n" + `{"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"x"}}`))
	f.Add([]byte(`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{"}},{"index":-5,"id":"x"}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1}}`))
	f.Add([]byte(`{"error":"x"}`))
	f.Add([]byte(`[DONE]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		anthropic := anthropicReader{sink: func(Delta) {}, blocks: map[int]*anthropicPart{}}
		openAI := openAIReader{sink: func(Delta) {}}
		for line := range bytes.Lines(text) {
			_, _ = anthropic.take(line) // an error is one way to end well
			_, _ = openAI.take(line)
		}
		sound(t, anthropic.answer())
		sound(t, openAI.answer())
	})
}
