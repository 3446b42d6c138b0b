package harness

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/mask"
)

const (
	// maxText is the longest text of one output event; longer lines are split.
	maxText = 64 << 10
	// gather is how long output waits for more, so that a chatty program
	// makes events of many lines each.
	gather = 50 * time.Millisecond
)

// Output turns what a program writes into output events. Lines that come close
// together share an event; a line is split only when it is longer than 64 KiB or
// when its end does not come; characters and secrets are never split. What is
// written to one stream after something on the other comes after it.
type Output struct {
	emit       Emit
	now        func() time.Time
	toolCallID string

	mu     sync.Mutex
	stdout stream
	stderr stream
	closed bool
	wg     sync.WaitGroup // the timers
}

// stream is one of the two. Its buffer holds masked text that was not emitted yet.
type stream struct {
	out    *Output
	name   string
	mask   *mask.Stream
	buffer []byte
	timer  *time.Timer
	// quietSince is when the last event was emitted: output after a pause goes out at once.
	quietSince time.Time
}

// NewOutput makes the writers for one program. toolCallID says which tool call it
// belongs to; empty for the agent itself.
func (e Environment) NewOutput(emit Emit, toolCallID string) *Output {
	o := &Output{emit: emit, now: e.Now, toolCallID: toolCallID}
	o.stdout = stream{out: o, name: "stdout", mask: e.Mask().Stream()}
	o.stderr = stream{out: o, name: "stderr", mask: e.Mask().Stream()}
	return o
}

// Stdout is the writer for standard output.
func (o *Output) Stdout() io.Writer { return &o.stdout }

// Stderr is the writer for standard error.
func (o *Output) Stderr() io.Writer { return &o.stderr }

// Close emits the rest. It is called when the program has ended.
func (o *Output) Close() {
	o.mu.Lock()
	o.closed = true
	for _, s := range []*stream{&o.stdout, &o.stderr} {
		s.buffer = append(s.buffer, s.mask.Flush()...)
		s.flush(everything)
		s.disarm()
	}
	o.mu.Unlock()
	o.wg.Wait()
}

// Write takes the next piece. It blocks while events cannot be passed on.
func (s *stream) Write(p []byte) (int, error) {
	o := s.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return len(p), nil
	}
	o.other(s).flush(wholeLines)
	s.buffer = append(s.buffer, s.mask.Write(p)...)
	if time.Since(s.quietSince) >= gather || len(s.buffer) >= maxText {
		s.flush(wholeLines)
	}
	s.arm()
	return len(p), nil
}

func (o *Output) other(s *stream) *stream {
	if s == &o.stdout {
		return &o.stderr
	}
	return &o.stdout
}

func (s *stream) arm() {
	if s.timer != nil || len(s.buffer) == 0 {
		return
	}
	s.out.wg.Add(1)
	s.timer = time.AfterFunc(gather, func() {
		defer s.out.wg.Done()
		s.out.mu.Lock()
		defer s.out.mu.Unlock()
		s.timer = nil
		if s.out.closed {
			return
		}
		if !s.flush(wholeLines) {
			s.flush(wholeCharacters) // a prompt or a progress line whose end does not come
		}
		s.arm()
	})
}

func (s *stream) disarm() {
	if s.timer != nil && s.timer.Stop() {
		s.out.wg.Done()
	}
	s.timer = nil
}

// extent says how much of a buffer may go out.
type extent int

const (
	wholeLines extent = iota
	wholeCharacters
	everything
)

// flush emits what the extent allows and says whether that was anything.
func (s *stream) flush(extent extent) bool {
	done := 0
	for {
		n := cut(s.buffer[done:], extent)
		if n == 0 {
			break
		}
		text := string(s.buffer[done : done+n])
		done += n
		s.out.emit(lineshaft.NewDraft(lineshaft.EventOutput, s.out.now(), lineshaft.OutputData{
			Stream: s.name, Text: text, ToolCallID: s.out.toolCallID,
		}))
	}
	if done == 0 {
		return false
	}
	s.buffer = append(s.buffer[:0], s.buffer[done:]...)
	s.quietSince = time.Now()
	return true
}

// cut says how many bytes the next event takes; zero to wait for more.
func cut(buffer []byte, extent extent) int {
	head := buffer[:min(len(buffer), maxText)]
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		return i + 1
	}
	full := len(buffer) >= maxText
	switch {
	case extent == everything && !full:
		return len(head)
	case extent == wholeLines && !full:
		return 0
	}
	return len(head) - partial(head)
}

// partial is the number of bytes at the end that may begin a character whose
// rest is still to come.
func partial(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// MaxToolText is the longest text of a tool's input or result; a longer one keeps its beginning
// and its end.
const MaxToolText = 64 << 10

// Middle leaves out the middle of a text that is too long.
func Middle(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= MaxToolText {
		return text
	}
	const half = MaxToolText / 2
	return strings.ToValidUTF8(text[:half], "") + "\n… (left out) …\n" + strings.ToValidUTF8(text[len(text)-half:], "")
}

// Masked hides secrets in all texts of an object.
func Masked(m *mask.Masker, in map[string]any) map[string]any {
	out := map[string]any{}
	if raw, err := json.Marshal(in); err == nil {
		_ = json.Unmarshal(m.JSON(raw), &out) // masked JSON is JSON
	}
	return out
}
