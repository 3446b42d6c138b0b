package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsontext"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// maxSnapshotBytes bounds a workspace snapshot.
const maxSnapshotBytes = 512 << 20

func errNotYours() error {
	return lineshaft.Conflict("this execution no longer holds the run; end it and send no more reports")
}

// Report takes batches of events from executions. The result has an error for each
// report that was refused; the others are durable. Reports that come at the same time share
// a transaction, with each other and with ends of turns.
func (s *Runs) Report(ctx context.Context, reports []lineshaft.Report) ([]error, error) {
	w := &said{reports: reports}
	if err := s.says.Do(ctx, w, s.take); err != nil {
		return nil, err
	}
	if w.err == nil {
		s.endSpentTrees(ctx, w.trees)
	}
	return w.refused, w.err
}

// takeReports adds the reports of one call to the batch.
func (s *Runs) takeReports(ctx context.Context, tx *store.Tx, b *batch, w *said) error {
	w.refused, w.trees = make([]error, len(w.reports)), nil
	for i, r := range w.reports {
		err := s.takeReport(ctx, tx, b, r)
		if w.refused[i] = err; err != nil && lineshaft.CodeOf(err) != lineshaft.CodeConflict {
			return err
		}
	}
	return nil
}

// batch is a set of executions with their runs locked, to be written back at once.
type batch struct {
	heads      map[string]*store.RunHead
	executions map[string]*store.Execution
	events     map[string][]lineshaft.Draft // by run
	changed    map[string]bool              // executions to write back
	used       map[string]lineshaft.Usage   // of the runs, before this
}

func (s *Runs) lockExecutions(ctx context.Context, tx *store.Tx, refs []lineshaft.ExecutionRef) (*batch, error) {
	executions, heads, err := tx.LockExecutions(ctx, refs)
	if err != nil {
		return nil, err
	}
	b := &batch{heads: heads, executions: executions, events: map[string][]lineshaft.Draft{}, changed: map[string]bool{}, used: map[string]lineshaft.Usage{}}
	for runID, h := range heads {
		b.used[runID] = h.Usage
	}
	return b, nil
}

// current returns an execution and its run if it still holds it.
func (b *batch) current(ref lineshaft.ExecutionRef) (*store.Execution, *store.RunHead, error) {
	e := b.executions[ref.ExecutionID]
	if e == nil || !e.Named(ref) || !e.EndedAt.IsZero() {
		return nil, nil, errNotYours()
	}
	h := b.heads[e.RunID]
	if h == nil || h.ExecutionID != e.ID || !h.State.Held() {
		return e, h, errNotYours()
	}
	return e, h, nil
}

func (b *batch) save(ctx context.Context, tx *store.Tx) error {
	var heads []*store.RunHead
	var events [][]lineshaft.Draft
	for runID, h := range b.heads {
		if drafts, touched := b.events[runID]; touched {
			heads, events = append(heads, h), append(events, drafts)
			tx.Wake(stream.RunTopic(runID))
		}
	}
	if len(heads) > 0 {
		if err := tx.SaveRuns(ctx, heads, events); err != nil {
			return err
		}
	}
	var executions []*store.Execution
	for executionID := range b.changed {
		executions = append(executions, b.executions[executionID])
	}
	if len(executions) == 0 {
		return nil
	}
	return tx.SaveExecutions(ctx, executions)
}

// takeReport adds one report to the batch.
func (s *Runs) takeReport(ctx context.Context, tx *store.Tx, b *batch, r lineshaft.Report) error {
	e, h, err := b.current(r.ExecutionRef)
	if err != nil {
		return err
	}
	if r.First > e.LastNumber+1 {
		return lineshaft.Conflict("events %d to %d of execution %s are missing", e.LastNumber+1, r.First-1, e.ID)
	}
	skip := e.LastNumber + 1 - r.First
	late := skip > 0 && skip >= int64(len(r.Events)) // a later one was here: what it marks is no longer so
	drafts := b.events[h.ID]
	now := s.Store.Now()
	if r.Started && h.State == lineshaft.Claimed {
		began, err := h.Begin(e.WorkerID, now)
		if err != nil {
			return err
		}
		e.StartedAt, drafts = now, append(drafts, began)
		tx.Wake(stream.StatesTopic)
	}
	if skip < int64(len(r.Events)) {
		fresh := r.Events[max(skip, 0):]
		e.LastNumber += int64(len(fresh))
		taken, err := s.takeEvents(ctx, tx, h, fresh)
		if err != nil {
			return err
		}
		drafts = append(drafts, taken...)
	}
	if !late {
		drafts = append(drafts, s.takeBlocking(tx, h, r, now)...)
	}
	b.events[h.ID], b.changed[e.ID] = drafts, true
	return nil
}

// takeBlocking moves a run whose agent began or stopped waiting for an answer.
func (s *Runs) takeBlocking(tx *store.Tx, h *store.RunHead, r lineshaft.Report, now time.Time) []lineshaft.Draft {
	var to lineshaft.RunState
	switch {
	case r.Blocked && h.State == lineshaft.InProgress:
		to = lineshaft.Blocked
	case r.Unblocked && h.State == lineshaft.Blocked:
		to = lineshaft.InProgress
	default:
		return nil
	}
	moved, err := h.Move(to, lineshaft.StatusMessage{}, "", now)
	if err != nil { // both moves are legal
		return nil
	}
	tx.Wake(stream.StatesTopic)
	return []lineshaft.Draft{moved}
}

// takeEvents handles events that matter to the run itself. The report stays unchanged:
// it may be processed again after a conflict, or sent again.
func (s *Runs) takeEvents(ctx context.Context, tx *store.Tx, h *store.RunHead, reported []lineshaft.Draft) ([]lineshaft.Draft, error) {
	drafts := make([]lineshaft.Draft, len(reported))
	var used usages
	for i, draft := range reported {
		draft = clean(draft)
		drafts[i] = draft
		switch draft.Type {
		case lineshaft.EventUsage:
			used.take(draft)
		case lineshaft.EventArtifact:
			taken, err := s.takeArtifact(ctx, tx, h, draft)
			if err != nil {
				return nil, err
			}
			drafts[i] = taken
		default: // for readers only
		}
	}
	return drafts, used.save(ctx, tx, h)
}

// clean replaces what a worker must not, or cannot, put into a run's log: moves of the
// run, which only the control plane reports, and data that no reader could decode. Words are
// looked for in the data as it is written, so no letter stays an escape.
func clean(d lineshaft.Draft) lineshaft.Draft {
	if d.Type != lineshaft.EventState && json.Valid(d.Data) && utf8.Valid(d.Data) {
		d.Data = jsontext.PlainLetters(d.Data)
		return d
	}
	return lineshaft.NewDraft(lineshaft.EventNotice, d.Time, lineshaft.NoticeData{
		Level: "warning", Text: fmt.Sprintf("an event of type %q that cannot be shown was left out", d.Type),
	})
}

// takeArtifact stores an artifact that has an address, such as a pull request,
// once for each address. Others are for readers only.
func (s *Runs) takeArtifact(ctx context.Context, tx *store.Tx, h *store.RunHead, draft lineshaft.Draft) (lineshaft.Draft, error) {
	var data lineshaft.ArtifactData
	_ = json.Unmarshal(draft.Data, &data) // what cannot be read has no address
	if data.URL == "" || len(data.URL) > 2048 || data.UID != "" ||
		strings.ContainsRune(data.URL, 0) || !slices.Contains(lineshaft.ArtifactTypes(), lineshaft.ArtifactType(data.Type)) {
		return draft, nil
	}
	known, err := tx.HasArtifactURL(ctx, h.ID, data.URL)
	if err != nil || known {
		return draft, err
	}
	data.UID, _ = s.Store.NewID()
	err = tx.InsertArtifact(ctx, h, lineshaft.Artifact{UID: data.UID, Type: lineshaft.ArtifactType(data.Type), URL: data.URL})
	return lineshaft.NewDraft(lineshaft.EventArtifact, draft.Time, data), err
}

// Upload stores a file that an execution leaves: an artifact, or the snapshot of
// its workspace.
func (s *Runs) Upload(ctx context.Context, ref lineshaft.ExecutionRef, u lineshaft.Upload, r io.Reader) (string, error) {
	limit, err := s.uploadLimit(ctx, ref, u)
	if err != nil {
		return "", err
	}
	blobID, size, err := s.Store.PutBlob(ctx, r, limit)
	if err != nil {
		return "", fmt.Errorf("store %s: %w", u.Kind, err)
	}
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.lockExecutions(ctx, tx, []lineshaft.ExecutionRef{ref})
		if err != nil {
			return err
		}
		e, h, err := b.current(ref)
		if err != nil {
			return err
		}
		if u.Kind == lineshaft.BlobSnapshot {
			e.SnapshotID = blobID
			if err := tx.KeepBlob(ctx, blobID, h.ID, s.Store.Now().Add(s.Cfg.SnapshotKeep)); err != nil {
				return err
			}
			return tx.SaveExecutions(ctx, []*store.Execution{e})
		}
		left, err := s.uploadRoom(ctx, tx, h.ID)
		if err != nil {
			return err
		}
		if size > left { // another one came in between
			return s.errTooLarge(h.ID)
		}
		draft, err := s.keepArtifact(ctx, tx, h, u, blobID, size)
		if err != nil {
			return err
		}
		tx.Wake(stream.RunTopic(h.ID))
		return tx.SaveRun(ctx, h, draft)
	})
	if err != nil {
		s.Store.DropLooseBlob(ctx, blobID)
		return "", err
	}
	return blobID, nil
}

// uploadLimit is how large a file may be for a run that has others already.
func (s *Runs) uploadLimit(ctx context.Context, ref lineshaft.ExecutionRef, u lineshaft.Upload) (limit int64, err error) {
	if u.Kind == lineshaft.BlobSnapshot {
		return maxSnapshotBytes, nil
	}
	found, err := s.Store.GetExecutions(ctx, []lineshaft.ExecutionRef{ref})
	if err != nil {
		return 0, err
	}
	e := found[ref.ExecutionID]
	if e == nil {
		return 0, errNotYours()
	}
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		limit, err = s.uploadRoom(ctx, tx, e.RunID)
		return err
	})
	return min(limit, lineshaft.MaxArtifactBytes), err
}

func (s *Runs) keepArtifact(ctx context.Context, tx *store.Tx, h *store.RunHead, u lineshaft.Upload, blobID string, size int64) (lineshaft.Draft, error) {
	uid, at := s.Store.NewID()
	a := lineshaft.Artifact{
		UID: uid, Type: lineshaft.ArtifactFile, BlobID: blobID, FileName: u.FileName, FilePath: u.FilePath, MimeType: u.MimeType, SizeBytes: size,
	}
	draft := lineshaft.NewDraft(lineshaft.EventArtifact, at, lineshaft.ArtifactData{UID: uid, Type: string(a.Type), FileName: u.FileName})
	if err := tx.KeepBlob(ctx, blobID, h.ID, time.Time{}); err != nil {
		return draft, err
	}
	return draft, tx.InsertArtifact(ctx, h, a)
}

// Download opens a blob of the run that an execution holds.
func (s *Runs) Download(ctx context.Context, ref lineshaft.ExecutionRef, blobID string) (io.ReadCloser, error) {
	found, err := s.Store.GetExecutions(ctx, []lineshaft.ExecutionRef{ref})
	if err != nil {
		return nil, err
	}
	e := found[ref.ExecutionID]
	if e == nil || !e.EndedAt.IsZero() {
		return nil, errNotYours()
	}
	if blobID == lineshaft.TranscriptBlob {
		return s.transcriptFor(ctx, e)
	}
	mine, err := s.ownsBlob(ctx, e.RunID, blobID)
	if err != nil {
		return nil, err
	}
	if !mine {
		return nil, errNotYours()
	}
	return s.Store.OpenBlob(ctx, blobID)
}

// ownsBlob says whether a run may read a blob: its own, one of the run that it
// continues, or the body of its delivery.
func (s *Runs) ownsBlob(ctx context.Context, runID, blobID string) (bool, error) {
	if attached, err := s.Store.Attached(ctx, runID, blobID); err != nil || attached {
		return attached, err
	}
	owner, _, err := s.Store.BlobRun(ctx, blobID)
	if err != nil || owner == "" || owner == runID {
		return err == nil && owner == runID, err
	}
	continues, err := s.Store.ContinuedBy(ctx, runID)
	return owner == continues, err
}
