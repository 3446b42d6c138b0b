package api

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// pageBytes is where a page ends, whatever its rows are (H-14).
const pageBytes = 8 << 20

// The weights of long answers, in pieces of about 8 MiB: what they take while they are made.
const (
	weightPage         = 1
	weightRun          = 3
	weightList         = 3
	weightDefinition   = 4
	weightConversation = 5
)

// takeTurn waits until a long answer may be made. The turn ends with the request, which has
// longTimeout to be read, and the processor is given back during each write: a slow reader
// must not keep others waiting.
func (s *server) takeTurn(ctx context.Context, weight int) error {
	info := infoFrom(ctx)
	if info.release != nil {
		return nil
	}
	release, err := s.Control.Turn(ctx, info.caller, weight)
	if err != nil {
		return err
	}
	info.release = release
	if info.rec != nil {
		info.rec.until, info.rec.work = time.Now().Add(longTimeout), func() func() { return s.Control.Work(ctx) }
		info.rec.resume()
	}
	return nil
}

// longTimeout is how long the reader of a long answer may take.
const longTimeout = 2 * time.Minute

// written is an answer that writes itself piece by piece: the whole of it is not in memory
// a second time as text.
type written interface {
	writeJSON(out *jsonWriter)
}

// jsonWriter writes JSON whose frame is known. The first error ends it.
type jsonWriter struct {
	out   *bufio.Writer
	err   error
	comma bool
}

func newJSONWriter(w io.Writer) *jsonWriter { return &jsonWriter{out: bufio.NewWriterSize(w, 64<<10)} }

// frame writes a piece of the frame unchanged. The item after it gets no comma.
func (w *jsonWriter) frame(text string) {
	if w.err == nil {
		_, w.err = w.out.WriteString(text)
	}
	w.comma = false
}

// close writes the end of a list or of an object, which is an item of what is around it.
func (w *jsonWriter) close(text string) {
	w.frame(text)
	w.comma = true
}

// next puts the comma between items.
func (w *jsonWriter) next() {
	if w.comma {
		w.frame(",")
	}
}

func (w *jsonWriter) item(v any) {
	w.next()
	if w.err != nil {
		return
	}
	text, err := marshal(v)
	if w.err = err; err == nil {
		_, w.err = w.out.Write(text)
	}
	w.comma = true
}

func (w *jsonWriter) field(name string, v any) {
	w.next()
	w.frame(`"` + name + `":`)
	w.item(v)
}

func (w *jsonWriter) optional(name, text string) {
	if text != "" {
		w.field(name, text)
	}
}

func (w *jsonWriter) list(name string) {
	w.next()
	w.frame(`"` + name + `":[`)
}

func (w *jsonWriter) finish() error {
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}

// jsonStream answers with JSON that is written while it is read. An error breaks the
// connection off: half an answer must not look like a whole one.
func (s *server) jsonStream(ctx context.Context, write func(*jsonWriter)) *streamOutput {
	return &streamOutput{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		rec := recorderOf(w)
		rec.Header().Set("Content-Type", "application/json")
		rec.WriteHeader(http.StatusOK)
		out := newJSONWriter(rec)
		write(out)
		if err := out.finish(); err != nil {
			s.Logger.InfoContext(ctx, "answer broken off", "err", err, "trace_id", infoFrom(ctx).traceID)
			rec.abort()
		}
	}}
}
