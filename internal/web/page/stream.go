package page

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
	// heartbeat keeps a quiet stream from being mistaken for a broken one.
	Heartbeat = 15 * time.Second
	// writeWithin is how long a reader may take for each piece of a long answer.
	WriteWithin = 30 * time.Second
	// recheckEvery is how soon a stream notices that its session is over.
	recheckEvery = 2 * time.Second
)

// Messages is an answer of Server-Sent Events.
type Messages struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

// BeginMessages begins such an answer.
func (r *Request) BeginMessages() Messages {
	sse.Begin(r.W.Header())
	out := http.NewResponseController(r.W)
	_ = out.SetReadDeadline(time.Time{}) // nothing more is to be read
	return Messages{r.W, out}
}

// Message writes one with its data as JSON; id and event may be empty.
func (m Messages) Message(id, event string, data any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // it is HTML
	if err := encoder.Encode(data); err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return m.Raw(string(sse.Append(nil, id, event, text.Bytes())))
}

// Raw writes text of the protocol.
func (m Messages) Raw(text string) error {
	if err := m.out.SetWriteDeadline(time.Now().Add(WriteWithin)); err != nil {
		return err
	}
	if _, err := io.WriteString(m.w, text); err != nil {
		return err
	}
	return m.out.Flush()
}

// WhileLive ends with the session of the reader and with the server: the browser
// reconnects, and is sent to sign in where it must.
func (s *Site) WhileLive(ctx context.Context, c lineshaft.Caller) (context.Context, context.CancelFunc) {
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
