package web

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
)

// artifactContent sends a file that a run made. It is asked for with the reader's
// session each time: a link that works by itself could be passed on.
func (s *server) artifactContent(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	uid := r.PathValue("uid")
	a, err := s.Control.Artifact(r.Context(), c, uid)
	if err != nil {
		return err
	}
	if a.RunID != r.PathValue("id") || a.BlobID == "" {
		return lineshaft.NotFound("artifact", uid)
	}
	return s.sendFile(r.Context(), w, a.BlobID, a.FileName, a.SizeBytes)
}

// attachmentContent sends a file that came with a run or a follow-up.
func (s *server) attachmentContent(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	list, err := s.Control.Attachments(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.ID == r.PathValue("uid") {
			return s.sendFile(r.Context(), w, a.BlobID, a.FileName, a.Size)
		}
	}
	return lineshaft.NotFound("attachment", r.PathValue("uid"))
}

// sendFile sends a file to be saved. What kind it says it is does not matter: agents
// and strangers wrote it, and no browser is to show or run it in our name (S-4).
func (s *server) sendFile(ctx context.Context, w http.ResponseWriter, blobID, name string, size int64) error {
	blob, err := s.Control.OpenBlob(ctx, blobID)
	if err != nil {
		return err
	}
	defer func() { _ = blob.Close() }()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", savedAs(name))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Length", strconv.FormatInt(size, 10)) // a file that breaks off does not look whole
	if _, err := io.Copy(slowWriter{w, http.NewResponseController(w)}, blob); err != nil {
		s.Logger.WarnContext(ctx, "download broken off", "err", err)
	}
	return nil
}

// savedAs names a file for whoever saves it; a name that cannot be told is left out.
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
	_ = s.out.SetWriteDeadline(time.Now().Add(writeWithin)) // else the one before stays
	return s.w.Write(p)
}
