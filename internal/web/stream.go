package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/sse"
)

const (
	// heartbeat keeps a quiet stream from being taken for a broken one.
	heartbeat = 15 * time.Second
	// writeWithin is how long a reader may take for each piece of a long answer.
	writeWithin = 30 * time.Second
	// recheckEvery is how soon a stream notices that its session is over.
	recheckEvery = 2 * time.Second
)

// messages is an answer of Server-Sent Events.
type messages struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

func beginMessages(w http.ResponseWriter) messages {
	sse.Begin(w.Header())
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // nothing more is to be read
	return messages{w, out}
}

// message writes one with its data as JSON; id and event may be empty.
func (m messages) message(id, event string, data any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // it is HTML
	if err := encoder.Encode(data); err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return m.raw(string(sse.Append(nil, id, event, text.Bytes())))
}

func (m messages) raw(text string) error {
	if err := m.out.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	if _, err := io.WriteString(m.w, text); err != nil {
		return err
	}
	return m.out.Flush()
}

// whileLive ends with the session of the reader and with the server: the browser
// comes back by itself, and is sent to sign in where it must.
func (s *server) whileLive(ctx context.Context, c lineshaft.Caller) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	go func() {
		defer end()
		ticker := time.NewTicker(recheckEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.Stopping:
				return
			case <-ticker.C:
			}
			if lineshaft.CodeOf(s.Control.Recheck(ctx, c)) == lineshaft.CodeAuthenticationRequired {
				return
			}
		}
	}()
	return ctx, end
}
