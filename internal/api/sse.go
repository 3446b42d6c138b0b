package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/sse"
)

// EncodeSSE writes an event as a Server-Sent Event whose id is its sequence. The
// stream keeps the result and sends it to every follower of the run.
func EncodeSSE(e lineshaft.Event) []byte {
	return encodeFrame(fmt.Sprint(e.Sequence), wireEvent(&e))
}

// encodeFrame writes one frame.
func encodeFrame(id string, event RunEvent) []byte {
	data, err := marshal(event)
	if err != nil { // wireEvent lets only valid JSON through
		data = []byte("{}")
	}
	return sse.Append(nil, id, event.Type, data)
}

// flusher is where a stream goes: the recorder, which bounds how long a write may
// take, or a buffer in tests.
type flusher interface {
	io.Writer
	flush() error
}

// pump sends what next gives until it gives io.EOF. When next has nothing for a
// while, a comment keeps proxies and readers from giving up.
func pump(ctx context.Context, out flusher, pause time.Duration, next func(context.Context) ([]byte, error)) error {
	send := func(data []byte) error {
		if _, err := out.Write(data); err != nil {
			return fmt.Errorf("write stream: %w", err)
		}
		return out.flush()
	}
	if err := send([]byte(sse.Retry)); err != nil {
		return err
	}
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, pause)
		batch, err := next(wait)
		cancel()
		if len(batch) > 0 {
			if err := send(batch); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			if err := send([]byte(sse.Beat)); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return ctx.Err()
}
