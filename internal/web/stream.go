package web

import (
	"context"
	"net/http"
	"time"

	"github.com/lineshaft/lineshaft"
)

const (
	// heartbeat keeps a quiet stream from being taken for a broken one.
	heartbeat = 15 * time.Second
	// writeWithin is how long a reader may take for each piece of a long answer.
	writeWithin = 30 * time.Second
	// recheckEvery is how soon a stream notices that its session is over.
	recheckEvery = 2 * time.Second
)

// beginStream makes an answer one of Server-Sent Events.
func beginStream(w http.ResponseWriter) *http.ResponseController {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // nothing more is to be read
	return out
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
