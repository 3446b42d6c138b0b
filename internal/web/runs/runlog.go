package runs

import (
	"bufio"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// maxLog is how much of a log one file has.
const maxLog = 32 << 20

// runLog sends a run's log as text, or one event of it, to be saved: nothing that a
// browser would run or show in our name.
func (s pages) runLog(r *page.Request) error {
	runID := r.PathValue("id")
	if text := r.FormValue("event"); text != "" {
		return s.oneEvent(r, text)
	}
	after, err := resumeAfter(r)
	if err != nil {
		return err
	}
	read, err := s.Control.Events(r.Context(), r.Caller, runID, after, windowEvents)
	if err != nil {
		return err
	}
	page.AsAttachment(r.W, page.TextKind, "run-"+runID+".txt")
	out, buffer := http.NewResponseController(r.W), bufio.NewWriter(r.W)
	for left := maxLog; ; {
		for _, e := range read.Events {
			n, _ := buffer.WriteString(logText(e)) // an error stays until Flush
			left -= n
		}
		if read.More && left <= 0 {
			read.More = false
			last := read.Events[len(read.Events)-1].Sequence
			_, _ = fmt.Fprintf(buffer, "\n--- the log continues; get the rest from /runs/%s/log?after=%d\n", runID, last) // as above
		}
		_ = out.SetWriteDeadline(time.Now().Add(page.WriteWithin)) // else the one before stays
		if err := buffer.Flush(); err != nil || !read.More {
			return nil //nolint:nilerr // a reader that went away is nobody's error
		}
		last := read.Events[len(read.Events)-1].Sequence
		if read, err = s.Control.Events(r.Context(), r.Caller, runID, last, windowEvents); err != nil {
			s.Logger.WarnContext(r.Context(), "log broken off", "err", err)
			_ = out.SetWriteDeadline(time.Unix(1, 0)) // half a file must not look whole: its end cannot be written
			return nil
		}
	}
}

// oneEvent sends the whole text of an event of which a page shows the beginning.
func (s pages) oneEvent(r *page.Request, text string) error {
	sequence, err := strconv.ParseInt(text, 10, 64)
	if err != nil || sequence < 1 {
		return lineshaft.Invalid("event", "not a sequence number")
	}
	read, err := s.Control.Events(r.Context(), r.Caller, r.PathValue("id"), sequence-1, 1)
	if err != nil {
		return err
	}
	if len(read.Events) == 0 {
		return lineshaft.NotFound("event", text)
	}
	whole := eventText(read.Events[0])
	if r.FormValue("shown") != "" {
		page.AsText(r.W)
		whole = page.Plain(whole) // as the page has its beginning
	} else {
		page.AsAttachment(r.W, page.TextKind, fmt.Sprintf("run-%s-%d.txt", r.PathValue("id"), sequence))
	}
	_, _ = r.W.Write([]byte(whole)) // a reader that went away is nobody's error
	return nil
}

// logText is an event in the file of a whole log. What processes wrote is unchanged;
// anything else has a line above it that says what it is.
func logText(e lineshaft.Event) string {
	if e.Type == lineshaft.EventOutput {
		return eventText(e)
	}
	return fmt.Sprintf("\n--- %d %s %s\n%s\n", e.Sequence, page.Clock(e.Time), e.Type, eventText(e))
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

// artifactContent sends a file that a run made. It is asked for with the reader's
// session each time: a link that needs no session could be passed on.
func (s pages) artifactContent(r *page.Request) error {
	uid := r.PathValue("uid")
	a, err := s.Control.Artifact(r.Context(), r.Caller, uid)
	if err != nil {
		return err
	}
	if a.RunID != r.PathValue("id") || a.BlobID == "" {
		return lineshaft.NotFound("artifact", uid)
	}
	return s.sendFile(r, a.BlobID, a.FileName, a.SizeBytes)
}

// attachmentContent sends a file that came with a run or a follow-up.
func (s pages) attachmentContent(r *page.Request) error {
	list, err := s.Control.Attachments(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.ID == r.PathValue("uid") {
			return s.sendFile(r, a.BlobID, a.FileName, a.Size)
		}
	}
	return lineshaft.NotFound("attachment", r.PathValue("uid"))
}

// sendFile sends a file to be saved. Its declared kind does not matter: agents
// and strangers wrote it, and no browser is to show or run it in our name (S-4).
func (s pages) sendFile(r *page.Request, blobID, name string, size int64) error {
	blob, err := s.Control.OpenBlob(r.Context(), blobID)
	if err != nil {
		return err
	}
	defer func() { _ = blob.Close() }()
	h := r.W.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", savedAs(name))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Length", strconv.FormatInt(size, 10)) // a file that breaks off does not look whole
	if _, err := io.Copy(slowWriter{r.W, http.NewResponseController(r.W)}, blob); err != nil {
		s.Logger.WarnContext(r.Context(), "download broken off", "err", err)
	}
	return nil
}

// savedAs names a file for anyone who saves it; a name that cannot be encoded is left out.
func savedAs(name string) string {
	if text := mime.FormatMediaType("attachment", map[string]string{"filename": name}); name != "" && text != "" {
		return text
	}
	return "attachment"
}

// slowWriter gives each piece its time, and not the whole.
type slowWriter struct {
	w   io.Writer
	out *http.ResponseController
}

// Write sends a piece.
func (s slowWriter) Write(p []byte) (int, error) {
	_ = s.out.SetWriteDeadline(time.Now().Add(page.WriteWithin)) // else the one before stays
	return s.w.Write(p)
}
