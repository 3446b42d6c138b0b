package acp

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/mask"
)

const (
	// textTime and textBytes bound how much of a message waits for its end: a long
	// answer comes in parts, cut at the ends of lines where there are any.
	textTime  = 5 * time.Second
	textBytes = 16 << 10
)

// text joins the chunks of a message or a thought.
type text struct {
	masker *mask.Masker
	event  func(lineshaft.EventType, any)

	kind   lineshaft.EventType
	id     string
	stream *mask.Stream
	buffer []byte
	since  time.Time // of the oldest byte in the buffer
}

func newText(masker *mask.Masker, event func(lineshaft.EventType, any)) *text {
	return &text{masker: masker, event: event}
}

// add takes a chunk. One of another kind or another message ends the present one.
func (t *text) add(kind lineshaft.EventType, id, chunk string) {
	if t.stream == nil || t.kind != kind || t.id != id {
		t.flush()
		t.kind, t.id, t.stream = kind, id, t.masker.Stream()
	}
	if len(t.buffer) == 0 {
		t.since = time.Now()
	}
	t.buffer = append(t.buffer, t.stream.Write([]byte(chunk))...)
	if len(t.buffer) >= textBytes {
		t.part()
	}
}

func (t *text) flush() {
	if t.stream == nil {
		return
	}
	t.buffer = append(t.buffer, t.stream.Flush()...)
	t.say(len(t.buffer))
	t.stream, t.buffer = nil, nil
}

// grownOld emits what has waited too long.
func (t *text) grownOld(now time.Time) {
	if len(t.buffer) > 0 && now.Sub(t.since) >= textTime {
		t.part()
	}
}

// part emits as much as makes sense alone.
func (t *text) part() {
	n := bytes.LastIndexByte(t.buffer, '\n') + 1
	if n == 0 {
		n = bytes.LastIndexByte(t.buffer, ' ') + 1
	}
	if n == 0 {
		n = whole(t.buffer)
	}
	t.say(n)
}

// whole is the length without a character at the end whose rest is to come.
func whole(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if i := len(text) - n; utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}

func (t *text) say(n int) {
	said := strings.ToValidUTF8(string(t.buffer[:n]), "\uFFFD")
	t.buffer = append(t.buffer[:0], t.buffer[n:]...)
	t.since = time.Now()
	if strings.TrimSpace(said) == "" {
		return
	}
	data := lineshaft.MessageData{Text: said}
	if t.kind == lineshaft.EventMessage {
		data.Role = "assistant"
	}
	t.event(t.kind, data)
}
