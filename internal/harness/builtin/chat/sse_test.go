package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// all reads a stream to its end.
func all(r io.Reader) ([]string, error) {
	var out []string
	for stream := newEvents(r); ; {
		data, err := stream.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(data))
	}
}

func TestX6Events(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"data: a\n\ndata: b\n\n":                  {"a", "b"},
		"data:a\r\n\r\n":                          {"a"},
		": comment\nevent: x\nid: 1\ndata: a\n\n": {"a"},
		"data: a\ndata: b\n\n":                    {"a\nb"},
		"data: \n\n":                              {""},
		"\n\n\ndata: a\n\n\n\n":                   {"a"},
		"event: x\n\ndata: a\n\n":                 {"a"},
		"data: a\n\ndata: cut":                    {"a"},
		"data: a\n\ndata: cut\n":                  {"a"},
		"data:  a \n\n":                           {" a "},
		"":                                        nil,
	}
	for text, want := range tests {
		got, err := all(strings.NewReader(text))
		if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestX6EventsHaveALimit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"data: " + strings.Repeat("x", 100<<10), strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 100)} {
		stream := newEvents(strings.NewReader(text))
		stream.limit = 64 << 10
		if _, err := stream.next(); !errors.Is(err, errTooLong) {
			t.Errorf("%v", err)
		}
	}
	if _, err := all(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a broken stream: %v", err)
	}
}

// However a stream is cut into pieces, and however lines end, the events are the same.
func TestX6EventsInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[a-z€ ]{0,40}`), 0, 10).Draw(t, "events")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		var text strings.Builder
		for _, event := range want {
			text.WriteString("event: e" + end + "data: " + event + end + end)
		}
		text.WriteString("data: never ends")
		got, err := all(&pieces{rest: []byte(text.String()), size: func() int { return rapid.IntRange(1, 30).Draw(t, "piece") }})
		if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) && len(want)+len(got) > 0 {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	})
}

type pieces struct {
	rest []byte
	size func() int
}

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(to, p.rest[:min(p.size(), len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: a\r\n\ndata: b\n\n"))
	f.Add([]byte("event: x\ndata:\ndata:y\n\n:"))
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err1 := all(bytes.NewReader(text))
		single, err2 := all(iotest.OneByteReader(bytes.NewReader(text)))
		if fmt.Sprintf("%q %v", whole, err1) != fmt.Sprintf("%q %v", single, err2) {
			t.Errorf("whole %q %v, byte by byte %q %v", whole, err1, single, err2)
		}
	})
}

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
