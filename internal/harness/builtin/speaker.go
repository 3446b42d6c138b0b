package builtin

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
	"github.com/lineshaft/lineshaft/internal/mask"
)

const (
	// An event of a message waits until it has that many bytes, or for that long.
	gatherBytes = 2 << 10
	gatherTime  = 500 * time.Millisecond
	// longWord is when a text without a gap is cut all the same.
	longWord = 8 << 10
)

// speakers show an answer while it comes: what is said and what is thought.
type speakers struct {
	turn *turn
	// mute is for answers that are not for people.
	mute  bool
	said  speaker
	mused speaker
}

func (t *turn) show() *speakers {
	now := t.env.Now()
	return &speakers{
		turn:  t,
		said:  speaker{turn: t, kind: lineshaft.EventMessage, role: chat.Assistant, mask: t.env.Mask().Stream(), last: now},
		mused: speaker{turn: t, kind: lineshaft.EventThought, mask: t.env.Mask().Stream(), last: now},
	}
}

// add takes the next piece. What was said before a thought is shown before it.
func (s *speakers) add(d chat.Delta) {
	if s.mute {
		return
	}
	own, other := &s.said, &s.mused
	if d.Kind == chat.DeltaThought {
		own, other = other, own
	}
	other.end()
	own.add(d.Text)
}

func (s *speakers) end() {
	s.mused.end()
	s.said.end()
}

// discard forgets what was not shown yet, and gives the words about what was.
func (s *speakers) discard() string {
	shown, mute := s.said.shown || s.mused.shown, s.mute
	*s = *s.turn.show()
	s.mute = mute
	if shown {
		return "The answer above is not complete and does not count: "
	}
	return ""
}

// speaker gathers one kind of text into events. A word is not cut, because the
// events are searched for addresses.
type speaker struct {
	turn   *turn
	kind   lineshaft.EventType
	role   string
	mask   *mask.Stream
	buffer []byte
	last   time.Time
	shown  bool
}

func (s *speaker) add(text string) {
	s.buffer = append(s.buffer, s.mask.Write([]byte(text))...)
	if len(s.buffer) < gatherBytes && s.turn.env.Now().Sub(s.last) < gatherTime {
		return
	}
	s.flush(bytes.LastIndexAny(s.buffer, " \n\t") + 1)
	if len(s.buffer) > longWord {
		s.flush(len(s.buffer) - unfinished(s.buffer))
	}
}

func (s *speaker) end() {
	s.buffer = append(s.buffer, s.mask.Flush()...)
	s.flush(len(s.buffer))
}

func (s *speaker) flush(n int) {
	if n == 0 {
		return
	}
	s.turn.emit(lineshaft.NewDraft(s.kind, s.turn.env.Now(), lineshaft.MessageData{Role: s.role, Text: string(s.buffer[:n])}))
	s.buffer = append(s.buffer[:0], s.buffer[n:]...)
	s.last, s.shown = s.turn.env.Now(), true
}

// unfinished is the number of bytes at the end that begin a character.
func unfinished(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(text[len(text)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
