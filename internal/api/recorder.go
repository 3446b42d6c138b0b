package api

import (
	"net/http"
	"slices"
	"time"
)

// pieceBytes is how much of an answer a reader must take within writeTimeout.
const pieceBytes = 256 << 10

// recorder remembers what was answered, for the log, and keeps the connection's
// deadlines in order.
type recorder struct {
	http.ResponseWriter
	status  int
	bytes   int64
	aborted bool
	// work takes the processor for a long answer, and rest gives it back. An answer without
	// work has none to take, and one without rest does not have it now.
	work func() (rest func())
	rest func()
	// until is when the whole answer must have been taken; zero is any time.
	until time.Time
}

// deadline is when the next piece must have been taken.
func (w *recorder) deadline() time.Time {
	at := time.Now().Add(writeTimeout)
	if !w.until.IsZero() && w.until.Before(at) {
		return w.until
	}
	return at
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. It gives the reader writeTimeout for each
// piece: however long an answer is, a reader that stops reading is let go.
func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.pause() { // the reader may be slow, and others need not wait for it
		defer w.resume()
	}
	written := 0
	for piece := range slices.Chunk(p, pieceBytes) {
		_ = w.control().SetWriteDeadline(w.deadline())
		n, err := w.ResponseWriter.Write(piece)
		written += n
		w.bytes += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// resume takes the processor for the answer.
func (w *recorder) resume() { w.rest = w.work() }

// pause gives it back, if the answer has it.
func (w *recorder) pause() bool {
	if w.rest == nil {
		return false
	}
	w.rest()
	w.rest = nil
	return true
}

// flush sends what was written so far.
func (w *recorder) flush() error {
	_ = w.control().SetWriteDeadline(w.deadline())
	return w.control().Flush()
}

// control reaches the connection. Writers without one, as in tests, refuse
// deadlines; that is why their errors are dropped here.
func (w *recorder) control() *http.ResponseController {
	return http.NewResponseController(w.ResponseWriter)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// abort breaks the connection off, so that a reader of half an answer sees an
// error instead of an end.
func (w *recorder) abort() {
	w.aborted = true
	_ = w.control().SetWriteDeadline(time.Unix(1, 0))
}

// release takes the deadline off again: the connection may be kept for a request
// that is not ours.
func (w *recorder) release() {
	if !w.aborted {
		_ = w.control().SetWriteDeadline(time.Time{})
	}
}

// recorderOf finds the recorder below other wrappers.
func recorderOf(w http.ResponseWriter) *recorder {
	for {
		switch inner := w.(type) {
		case *recorder:
			return inner
		case interface{ Unwrap() http.ResponseWriter }:
			w = inner.Unwrap()
		default:
			return &recorder{ResponseWriter: w}
		}
	}
}
