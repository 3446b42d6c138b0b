package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Followup is a message that waits for, or has reached, the agent.
type Followup struct {
	ID      string
	RunID   string
	Message string
}

// InsertFollowup stores a message that waits. The caller saves the head.
func (tx *Tx) InsertFollowup(ctx context.Context, h *RunHead, f Followup, creatorUID string, at time.Time) error {
	h.Unread++
	return tx.do(ctx, "insert follow-up", `INSERT INTO followups (id, run_id, message, creator_uid, state, execution_id, created_at)
		VALUES ($1, $2, $3, $4, 'pending', '', $5)`, f.ID, h.ID, f.Message, creatorUID, micros(at))
}

// FollowupTimes are when the messages of a run came, in their order.
func (r reader) FollowupTimes(ctx context.Context, runID string) ([]time.Time, error) {
	const query = "SELECT created_at FROM followups WHERE run_id = $1 ORDER BY id"
	return collect(ctx, r, "read times of follow-ups", query, []any{runID}, func(scan rowScan) (*time.Time, error) {
		at := &time.Time{}
		return at, scan(toTime(at))
	})
}

// TakeFollowup hands the oldest pending message of a run to its newest execution;
// nil if there is none. The caller saves the head.
func (tx *Tx) TakeFollowup(ctx context.Context, h *RunHead) (*Followup, error) {
	if h.Unread == 0 {
		return nil, nil
	}
	f := Followup{RunID: h.ID}
	err := tx.one(ctx, "SELECT id, message FROM followups WHERE run_id = $1 AND state <> 'done' AND state = 'pending' ORDER BY id LIMIT 1", []any{h.ID}, &f.ID, &f.Message)
	if err != nil {
		return nil, fmt.Errorf("read follow-up: %w", err)
	}
	if _, err := tx.exec(ctx, "UPDATE followups SET state = 'taken', execution_id = $2 WHERE id = $1", f.ID, h.ExecutionID); err != nil {
		return nil, fmt.Errorf("take follow-up: %w", err)
	}
	h.Unread, h.Taken = h.Unread-1, true
	return &f, nil
}

// TakenFollowup reads the message that a run's execution is working on; nil if that is
// the prompt. Answers to its questions do not count.
func (tx *Tx) TakenFollowup(ctx context.Context, runID string) (*Followup, error) {
	f := Followup{RunID: runID}
	found, err := tx.look(ctx, "read taken follow-up",
		"SELECT id, message FROM followups WHERE run_id = $1 AND state <> 'done' AND state = 'taken' AND answers = '' LIMIT 1", []any{runID}, &f.ID, &f.Message)
	if !found {
		return nil, err
	}
	return &f, nil
}

// FinishFollowups marks what an execution took as done. The caller saves the head.
func (tx *Tx) FinishFollowups(ctx context.Context, h *RunHead) error {
	if !h.Taken {
		return nil
	}
	h.Taken = false
	_, err := tx.exec(ctx, "UPDATE followups SET state = 'done' WHERE run_id = $1 AND state <> 'done' AND state = 'taken'", h.ID)
	return err
}

// ReturnFollowups makes what a lost execution had taken wait again, including the
// answer to its last question. The caller saves the head.
func (tx *Tx) ReturnFollowups(ctx context.Context, h *RunHead) error {
	if !h.Taken {
		return nil
	}
	n, err := tx.exec(ctx, "UPDATE followups SET state = 'pending', execution_id = '', answers = '' WHERE run_id = $1 AND state <> 'done' AND state = 'taken'", h.ID)
	h.Unread, h.Taken = h.Unread+int(n), false
	return err
}

// InsertAttachments stores which blobs belong to a run or one of its follow-ups.
func (tx *Tx) InsertAttachments(ctx context.Context, runID, followupID string, files []lineshaft.Attachment) error {
	return tx.attach(ctx, followupID, slices.Repeat([]string{runID}, len(files)), files)
}

// AttachFiles gives each file to the run at the same place of the list.
func (tx *Tx) AttachFiles(ctx context.Context, runIDs []string, files []lineshaft.Attachment) error {
	return tx.attach(ctx, "", runIDs, files)
}

func (tx *Tx) attach(ctx context.Context, followupID string, runIDs []string, files []lineshaft.Attachment) error {
	rows := inserts{into: "attachments (id, run_id, followup_id, file_name, mime_type, size, blob_id)"}
	for i, a := range files {
		rows.row(a.ID, runIDs[i], followupID, a.FileName, a.MimeType, a.Size, a.BlobID)
	}
	if err := tx.sendRows(ctx, &rows); err != nil {
		return err
	}
	for i, a := range files {
		if err := tx.keepAttached(ctx, runIDs[i], a); err != nil {
			return err
		}
	}
	return nil
}

// keepAttached keeps the blob of an attachment; a payload is kept while something
// refers to it.
func (tx *Tx) keepAttached(ctx context.Context, runID string, a lineshaft.Attachment) error {
	if strings.HasPrefix(a.BlobID, payloadPrefix) {
		return nil
	}
	return tx.KeepBlob(ctx, a.BlobID, runID, time.Time{})
}

// ListAttachments reads the attachments of a run's prompt (followupID "") or of a follow-up.
func (r reader) ListAttachments(ctx context.Context, runID, followupID string) ([]lineshaft.Attachment, error) {
	return r.attachments(ctx, "WHERE run_id = $1 AND followup_id = $2 ORDER BY id", runID, followupID)
}

// Attached says whether a blob is an attachment of a run.
func (r reader) Attached(ctx context.Context, runID, blobID string) (bool, error) {
	return r.exists(ctx, "look for attachment", "SELECT 1 FROM attachments WHERE blob_id = $1 AND run_id = $2 LIMIT 1", blobID, runID)
}

// ListRunAttachments reads all attachments of a run.
func (r reader) ListRunAttachments(ctx context.Context, runID string) ([]lineshaft.Attachment, error) {
	return r.attachments(ctx, "WHERE run_id = $1 ORDER BY followup_id, id", runID)
}

func (r reader) attachments(ctx context.Context, where string, args ...any) ([]lineshaft.Attachment, error) {
	return collect(ctx, r, "read attachments",
		"SELECT id, file_name, mime_type, size, blob_id FROM attachments "+where, args, func(scan rowScan) (*lineshaft.Attachment, error) {
			a := &lineshaft.Attachment{}
			return a, scan(&a.ID, &a.FileName, &a.MimeType, &a.Size, &a.BlobID)
		})
}

// DropFollowups ends all open messages of a cancelled run. The caller saves the head.
func (tx *Tx) DropFollowups(ctx context.Context, h *RunHead) error {
	if h.Unread == 0 && !h.Taken {
		return nil
	}
	h.Unread, h.Taken = 0, false
	_, err := tx.exec(ctx, "UPDATE followups SET state = 'done' WHERE run_id = $1 AND state <> 'done'", h.ID)
	return err
}
