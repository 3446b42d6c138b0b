package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Followup is a message that waits for, or has reached, the agent.
type Followup struct {
	ID      string
	RunID   string
	Message string
}

// InsertFollowup stores a pending message.
func (tx *Tx) InsertFollowup(ctx context.Context, f Followup, creatorUID string, at time.Time) error {
	_, err := tx.exec(ctx, `INSERT INTO followups (id, run_id, message, creator_uid, state, execution_id, created_at)
		VALUES ($1, $2, $3, $4, 'pending', '', $5)`, f.ID, f.RunID, f.Message, creatorUID, micros(at))
	if err != nil {
		return fmt.Errorf("insert follow-up: %w", err)
	}
	return nil
}

// TakeFollowup hands the oldest pending message of a run to an execution; nil if
// there is none. The run's row lock is held.
func (tx *Tx) TakeFollowup(ctx context.Context, runID, executionID string) (*Followup, error) {
	f := Followup{RunID: runID}
	err := tx.one(ctx, "SELECT id, message FROM followups WHERE run_id = $1 AND state <> 'done' AND state = 'pending' ORDER BY id LIMIT 1", []any{runID}, &f.ID, &f.Message)
	if errors.Is(err, errNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read follow-up: %w", err)
	}
	if _, err := tx.exec(ctx, "UPDATE followups SET state = 'taken', execution_id = $2 WHERE id = $1", f.ID, executionID); err != nil {
		return nil, fmt.Errorf("take follow-up: %w", err)
	}
	return &f, nil
}

// FinishFollowups marks what an execution took as done.
func (tx *Tx) FinishFollowups(ctx context.Context, runID string) error {
	_, err := tx.exec(ctx, "UPDATE followups SET state = 'done' WHERE run_id = $1 AND state <> 'done' AND state = 'taken'", runID)
	return err
}

// ReturnFollowups makes messages that a lost execution had taken pending again.
func (tx *Tx) ReturnFollowups(ctx context.Context, runID string) error {
	_, err := tx.exec(ctx, "UPDATE followups SET state = 'pending', execution_id = '' WHERE run_id = $1 AND state <> 'done' AND state = 'taken'", runID)
	return err
}

// HasPendingFollowup says whether a message waits.
func (tx *Tx) HasPendingFollowup(ctx context.Context, runID string) (bool, error) {
	var one int
	err := tx.one(ctx, "SELECT 1 FROM followups WHERE run_id = $1 AND state <> 'done' AND state = 'pending' LIMIT 1", []any{runID}, &one)
	if errors.Is(err, errNoRows) {
		return false, nil
	}
	return err == nil, err
}

// InsertAttachments stores which blobs belong to a run or one of its follow-ups.
func (tx *Tx) InsertAttachments(ctx context.Context, runID, followupID string, list []lineshaft.Attachment) error {
	for _, a := range list {
		if _, err := tx.exec(ctx, `INSERT INTO attachments (id, run_id, followup_id, file_name, mime_type, size, blob_id)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, a.ID, runID, followupID, a.FileName, a.MimeType, a.Size, a.BlobID); err != nil {
			return fmt.Errorf("insert attachment: %w", err)
		}
		if err := tx.KeepBlob(ctx, a.BlobID, runID, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// ListAttachments reads the attachments of a run's prompt (followupID "") or of a follow-up.
func (r reader) ListAttachments(ctx context.Context, runID, followupID string) ([]lineshaft.Attachment, error) {
	return r.attachments(ctx, "WHERE run_id = $1 AND followup_id = $2 ORDER BY id", runID, followupID)
}

// ListRunAttachments reads all attachments of a run.
func (r reader) ListRunAttachments(ctx context.Context, runID string) ([]lineshaft.Attachment, error) {
	return r.attachments(ctx, "WHERE run_id = $1 ORDER BY followup_id, id", runID)
}

func (r reader) attachments(ctx context.Context, where string, args ...any) ([]lineshaft.Attachment, error) {
	var found []lineshaft.Attachment
	err := r.each(ctx, "SELECT id, file_name, mime_type, size, blob_id FROM attachments "+where, args, func(scan func(...any) error) error {
		var a lineshaft.Attachment
		err := scan(&a.ID, &a.FileName, &a.MimeType, &a.Size, &a.BlobID)
		found = append(found, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read attachments: %w", err)
	}
	return found, nil
}

// DropFollowups ends all open messages of a cancelled run.
func (tx *Tx) DropFollowups(ctx context.Context, runID string) error {
	_, err := tx.exec(ctx, "UPDATE followups SET state = 'done' WHERE run_id = $1 AND state <> 'done'", runID)
	return err
}
