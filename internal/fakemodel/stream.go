package fakemodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// errCut ends a stream in its midst.
var errCut = errors.New("cut by a fault")

// stream writes server-sent events.
type stream struct {
	w     http.ResponseWriter
	ctx   context.Context // of the one request that it answers
	pace  time.Duration
	fault Fault
	sent  int
}

// send writes one event; name may be empty.
func (s *stream) send(name string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return s.raw(name, string(raw))
}

func (s *stream) raw(name, data string) error {
	if err := s.disturb(); err != nil {
		return err
	}
	if s.sent > 0 && s.pace > 0 {
		select {
		case <-time.After(s.pace):
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	s.sent++
	text := "data: " + data + "\n\n"
	if name != "" {
		text = "event: " + name + "\n" + text
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return context.Canceled // the client has gone
	}
	return http.NewResponseController(s.w).Flush()
}

// disturb is where the faults happen that come after the first event.
func (s *stream) disturb() error {
	if s.sent != 1 {
		return nil
	}
	switch s.fault.Kind {
	case HangStream:
		<-s.ctx.Done()
		return s.ctx.Err()
	case CutStream:
		cut(s.w)
		return errCut
	case Reject, Hang, Drop, TooLong: // come before the first event
	case Malformed:
		_, _ = fmt.Fprint(s.w, "data: {\"this is\": not JSON\n\n:\n\nnonsense\n\n") // the client has gone
		_ = http.NewResponseController(s.w).Flush()
		return context.Canceled
	}
	return nil
}

// pieces cuts a text into at most n parts, at the ends of characters.
func pieces(text string, n int) []string {
	runes := []rune(text)
	size := max((len(runes)+n-1)/n, 1)
	var out []string
	for len(runes) > 0 {
		end := min(size, len(runes))
		out = append(out, string(runes[:end]))
		runes = runes[end:]
	}
	return out
}

// encode is for values of maps and texts, which always encode.
func encode(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}
