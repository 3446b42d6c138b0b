package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/lineshaft/lineshaft"
)

// What a signed download token is for.
const (
	kindArtifact   = "artifact"
	kindAttachment = "attachment"
	kindTranscript = "transcript"
	// kindConversation is the transcripts of all runs of a conversation that its reader sees.
	kindConversation = "conversation"
)

type redirectOutput struct {
	Location     string `header:"Location" doc:"A time-limited address that needs no key."`
	CacheControl string `header:"Cache-Control"`
	NoSniff      string `header:"X-Content-Type-Options"`
}

// redirect leads to a download. The address is relative to the server, so it works
// under whatever name the client reached it.
func (s *server) redirect(kind, id string) *redirectOutput {
	token, _ := s.Control.SignDownload(kind, id, downloadTTL)
	return &redirectOutput{Location: downloadPath(token), CacheControl: "no-store", NoSniff: "nosniff"}
}

func downloadPath(token string) string { return Prefix + "/agent/downloads/" + url.PathEscape(token) }

func (s *server) getRunTranscript(ctx context.Context, in *RunPath) (*redirectOutput, error) {
	run, err := s.Control.GetRun(ctx, callerOf(ctx), in.RunID)
	if err != nil {
		return nil, err
	}
	return s.redirect(kindTranscript, run.ID), nil
}

func (s *server) getConversationTranscript(ctx context.Context, in *ConversationPath) (*redirectOutput, error) {
	caller := callerOf(ctx)
	run, err := s.Control.RunByConversation(ctx, caller, in.ConversationID)
	if err != nil {
		return nil, err
	}
	return s.redirect(kindConversation, sightOf(caller, run.ConversationID)), nil
}

// sightOf names a conversation and what of it a caller may see.
func sightOf(c lineshaft.Caller, conversationID string) string {
	return strings.Join([]string{conversationID, string(c.Role), c.RunID, strings.Join(c.FactoryUIDs, ",")}, "/")
}

// seenRuns are the runs of a conversation within a sight, from the first to the last.
func (s *server) seenRuns(ctx context.Context, sight string) iter.Seq2[string, error] {
	parts := append(strings.SplitN(sight, "/", 4), "", "", "")
	c := signedCaller()
	c.Role, c.RunID = lineshaft.Role(parts[1]), parts[2]
	if parts[3] != "" || c.Role == lineshaft.RoleRun {
		c.FactoryUIDs = strings.Split(parts[3], ",")
	}
	return func(yield func(string, error) bool) {
		for from := ""; ; {
			runs, next, err := s.Control.ListConversation(ctx, c, parts[0], from, conversationRuns)
			if err != nil {
				yield("", err)
				return
			}
			for _, runID := range runs {
				if !yield(runID, nil) {
					return
				}
			}
			if from = next; from == "" {
				return
			}
		}
	}
}

type downloadInput struct {
	Token string `path:"token" doc:"From a redirect or a download_url."`
}

// signedCaller reads on behalf of a token: its maker was allowed to see the thing, and
// the token names that thing alone.
func signedCaller() lineshaft.Caller {
	return lineshaft.Caller{
		Principal: lineshaft.Principal{UID: "download", Type: lineshaft.ServiceAccount, DisplayName: "signed download"},
		Role:      lineshaft.RoleViewer,
	}
}

func (s *server) getDownload(ctx context.Context, in *downloadInput) (*streamOutput, error) {
	grant, err := s.Control.OpenDownload(ctx, in.Token)
	if err != nil {
		return nil, err
	}
	switch grant.Kind {
	case kindTranscript:
		return s.transcript(ctx, grant.ID, one(grant.ID)), nil
	case kindConversation:
		name, _, _ := strings.Cut(grant.ID, "/")
		return s.transcript(ctx, name, s.seenRuns(ctx, grant.ID)), nil
	case kindArtifact:
		a, err := s.Control.ArtifactByLink(ctx, grant.ID)
		if err != nil {
			return nil, err
		}
		return s.file(ctx, a.BlobID, fileInfo{a.FileName, a.MimeType, a.SizeBytes})
	case kindAttachment:
		runID, id, _ := strings.Cut(grant.ID, "/")
		list, err := s.Control.Attachments(ctx, signedCaller(), runID)
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			if a.ID == id {
				return s.file(ctx, a.BlobID, fileInfo{a.FileName, a.MimeType, a.Size})
			}
		}
	}
	return nil, lineshaft.NotFound("download", "token")
}

type fileInfo struct {
	name string
	kind string
	size int64
}

// file sends a stored blob. Its opening is what can fail with a problem; later
// errors break the connection off.
func (s *server) file(ctx context.Context, blobID string, info fileInfo) (*streamOutput, error) {
	blob, err := s.Control.OpenBlob(ctx, blobID)
	if err != nil {
		return nil, err
	}
	return s.attachment(ctx, info, func(w *recorder) error {
		defer func() { _ = blob.Close() }()
		_, err := io.Copy(w, blob)
		return err
	}), nil
}

// transcript sends the event logs of runs, one JSON object per line.
func (s *server) transcript(ctx context.Context, name string, runs iter.Seq2[string, error]) *streamOutput {
	info := fileInfo{name: "transcript-" + name + ".jsonl", kind: "application/x-ndjson", size: -1}
	return s.attachment(ctx, info, func(w *recorder) error {
		// It has no turn, since it may take its reader minutes and holds one stretch at a
		// time; but it leaves a processor to the others, as every long answer does.
		w.work = func() func() { return s.Control.Work(ctx) }
		w.resume()
		defer w.pause()
		out := bufio.NewWriterSize(w, 64<<10)
		left := maxTranscript
		for runID, err := range runs {
			if err == nil {
				err = s.writeLog(ctx, out, runID, &left)
			}
			if err != nil {
				return err
			}
			if left <= 0 {
				break
			}
		}
		return out.Flush()
	})
}

func one(runID string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield(runID, nil) }
}

// writeLog writes the log of a run, or as much of it as is left of a transcript.
func (s *server) writeLog(ctx context.Context, out io.Writer, runID string, left *int) error {
	var line []byte
	limit := stretchEvents
	for after := int64(0); ; {
		page, err := s.Control.Transcript(ctx, runID, after, limit)
		if err != nil {
			return err
		}
		// A stretch of long events ends at its bytes: the store need not measure a
		// thousand to give a few.
		limit = min(stretchEvents, 2*len(page.Events))
		for i := range page.Events {
			after = page.Events[i].Sequence
			line = append(appendEvent(line[:0], &page.Events[i]), '\n')
			if _, err := out.Write(line); err != nil {
				return err
			}
			*left -= len(line)
		}
		switch {
		case !page.More:
			return nil
		case *left <= 0:
			return transcriptGoesOn(out, runID, after)
		}
	}
}

// maxTranscript is how long a transcript becomes; a log may be longer.
const maxTranscript = 128 << 20

// transcriptGoesOn is the last line of a transcript that is not whole.
func transcriptGoesOn(w io.Writer, runID string, after int64) error {
	text := fmt.Sprintf("the transcript ends here at %d bytes; the events after %d are at /agent/runs/%s/events?after=%d", maxTranscript, after, runID, after)
	line, err := marshal(RunEvent{Type: string(lineshaft.EventNotice), Sequence: after, Data: json.RawMessage(textObject("level", "warning", "text", text))})
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// appendEvent writes an event as one line of JSON. Data that is already on one line is
// copied: to look through a hundred megabytes again takes a second.
func appendEvent(dst []byte, e *lineshaft.Event) []byte {
	data := e.Data
	plain := len(data) > 1 && data[0] == '{' && data[len(data)-1] == '}' && bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0
	event := *e
	if plain {
		event.Data = nil
	}
	line, err := marshal(wireEvent(&event))
	if err != nil || !plain { // wireEvent lets only valid JSON through
		return append(dst, line...)
	}
	dst = append(dst, line[:len(line)-len("{}}")]...) // the data is what an event ends with
	return append(append(dst, data...), '}')
}

// attachment answers with a file that no browser will run or show in our name (S-4).
func (s *server) attachment(ctx context.Context, info fileInfo, write func(*recorder) error) *streamOutput {
	return &streamOutput{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		rec := recorderOf(w)
		header := rec.Header()
		header.Set("Content-Type", contentType(info.kind))
		header.Set("Content-Disposition", disposition(info.name))
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
		header.Set("Cache-Control", "private, no-store")
		if info.size >= 0 {
			header.Set("Content-Length", strconv.FormatInt(info.size, 10))
		}
		rec.WriteHeader(http.StatusOK)
		if err := write(rec); err != nil {
			s.Logger.WarnContext(ctx, "download broken off", "err", err, "trace_id", infoFrom(ctx).traceID)
			rec.abort()
		}
	}}
}

func contentType(kind string) string {
	if _, _, err := mime.ParseMediaType(kind); err != nil {
		return "application/octet-stream"
	}
	return kind
}

// disposition names the file for anyone who saves it; a name that cannot be encoded
// is left out.
func disposition(name string) string {
	if text := mime.FormatMediaType("attachment", map[string]string{"filename": name}); name != "" && text != "" {
		return text
	}
	return "attachment"
}
