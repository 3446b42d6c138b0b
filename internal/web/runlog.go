package web

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
)

// maxLog is how much of a log one file has.
const maxLog = 32 << 20

// runLog sends a run's log as text, or one event of it, to be saved: nothing that a
// browser would run or show in our name.
func (s *server) runLog(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	runID := r.PathValue("id")
	if text := r.FormValue("event"); text != "" {
		return s.oneEvent(w, r, c, text)
	}
	after, err := resumeAfter(r)
	if err != nil {
		return err
	}
	read, err := s.Control.Events(r.Context(), c, runID, after, windowEvents)
	if err != nil {
		return err
	}
	asAttachment(w, textKind, "run-"+runID+".txt")
	out, buffer := http.NewResponseController(w), bufio.NewWriter(w)
	for left := maxLog; ; {
		for _, e := range read.Events {
			n, _ := buffer.WriteString(logText(e)) // an error stays until Flush
			left -= n
		}
		if read.More && left <= 0 {
			read.More = false
			last := read.Events[len(read.Events)-1].Sequence
			_, _ = fmt.Fprintf(buffer, "\n--- the log goes on; get the rest from /runs/%s/log?after=%d\n", runID, last) // as above
		}
		_ = out.SetWriteDeadline(time.Now().Add(writeWithin)) // else the one before stays
		if err := buffer.Flush(); err != nil || !read.More {
			return nil //nolint:nilerr // a reader that went away is nobody's error
		}
		last := read.Events[len(read.Events)-1].Sequence
		if read, err = s.Control.Events(r.Context(), c, runID, last, windowEvents); err != nil {
			s.Logger.WarnContext(r.Context(), "log broken off", "err", err)
			_ = out.SetWriteDeadline(time.Unix(1, 0)) // half a file must not look whole: its end cannot be written
			return nil
		}
	}
}

// oneEvent sends the whole text of an event of which a page shows the beginning.
func (s *server) oneEvent(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, text string) error {
	sequence, err := strconv.ParseInt(text, 10, 64)
	if err != nil || sequence < 1 {
		return lineshaft.Invalid("event", "not a sequence number")
	}
	read, err := s.Control.Events(r.Context(), c, r.PathValue("id"), sequence-1, 1)
	if err != nil {
		return err
	}
	if len(read.Events) == 0 {
		return lineshaft.NotFound("event", text)
	}
	asAttachment(w, textKind, fmt.Sprintf("run-%s-%d.txt", r.PathValue("id"), sequence))
	_, _ = w.Write([]byte(eventText(read.Events[0]))) // a reader that went away is nobody's error
	return nil
}

// logText is an event in the file of a whole log. What processes wrote stands as it
// is; anything else has a line above it that says what it is.
func logText(e lineshaft.Event) string {
	if e.Type == lineshaft.EventOutput {
		return eventText(e)
	}
	return fmt.Sprintf("\n--- %d %s %s\n%s\n", e.Sequence, clock(e.Time), e.Type, eventText(e))
}

// eventText is the text of an event, whole and as it was written.
func eventText(e lineshaft.Event) string {
	switch e.Type {
	case lineshaft.EventMessage, lineshaft.EventThought:
		if d, ok := decode[lineshaft.MessageData](e); ok {
			return d.Text
		}
	case lineshaft.EventOutput:
		if d, ok := decode[lineshaft.OutputData](e); ok {
			return d.Text
		}
	case lineshaft.EventNotice:
		if d, ok := decode[lineshaft.NoticeData](e); ok {
			return d.Text
		}
	default:
	}
	return string(e.Data)
}
