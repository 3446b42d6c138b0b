package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// uploadTime is how long the worker tries to store a turn's files: a run must
// not hang because its artifacts cannot be kept.
const uploadTime = 2 * time.Minute

// openWorkspace finds, restores or makes the folder, and says which in the log.
func (e *execution) openWorkspace(ctx context.Context) error {
	request := workspace.OpenRequest{RunID: e.job.RunID, Number: e.job.Number, Keep: e.job.Resumed, Preparing: !e.job.Prepare.Empty()}
	if from := e.job.Continues; from != nil {
		request.From, request.FromNumber = from.RunID, from.Executions
	}
	request.Layer = func(id string) (workspace.Layer, bool) { return e.worker.layerFor(ctx, id, e.slot) }
	ws, err := e.worker.workspaces.Open(ctx, request)
	if err != nil {
		return err
	}
	e.workspace = ws
	e.preparing = !ws.Kept() && !e.job.Prepare.Empty()
	level, text := "info", "A new, empty workspace was created."
	switch {
	case ws.Adopted():
		text = "The workspace of run " + request.From + ", whose conversation this run continues, is still here and is used again."
	case ws.Kept():
		text = "The workspace of the execution before is still here and is used again."
	case e.job.Snapshot != "":
		if level, text, err = e.restore(ctx); err != nil {
			return err
		}
	case e.job.Continues != nil:
		text = "Run " + request.From + ", whose conversation this run continues, left no files in its workspace, or they are gone: a new, empty workspace was created."
	case e.job.Resumed:
		text = "The execution before left no files in its workspace, or they are gone: a new, empty workspace was created."
	}
	e.notice(level, text)
	if e.job.Continues != nil && e.job.Continues.OtherAgent {
		return ws.ForgetSessions(ctx)
	}
	return nil
}

// restore unpacks the job's snapshot. A snapshot that cannot be fetched or read leaves an
// empty workspace and a warning.
func (e *execution) restore(ctx context.Context) (level, text string, err error) {
	how := ""
	err = e.unpack(ctx, e.workspace.Restore)
	if needs, ok := errors.AsType[*workspace.BaseError](err); ok {
		how, err = e.restoreOn(ctx, needs.Base)
		if err != nil && ctx.Err() == nil {
			err = errors.Join(err, e.workspace.Clear(ctx))
		}
	}
	before := "the executions before" // the last of them may have left none, and said so
	if e.job.Continues != nil {
		before = "run " + e.job.Continues.RunID + ", whose conversation this run continues"
	}
	switch {
	case err == nil:
		return "info", "The workspace was restored from the newest snapshot of " + before + how + ".", e.prepared()
	case ctx.Err() != nil || diskFull(err): // an empty workspace would take the place of the snapshot
		return "", "", err
	}
	e.warn(ctx, "restore snapshot", err)
	return "warning", "The newest snapshot of " + before + " could not be restored: a new, empty workspace was created.", nil
}

// restoreOn takes the base of a snapshot, and unpacks the difference onto it. An interrupted
// download leaves neither, so every try begins with the base.
func (e *execution) restoreOn(ctx context.Context, base workspace.Base) (how string, err error) {
	err = persist(ctx, func(ctx context.Context) error {
		if how, err = e.takeBase(ctx, base); err != nil {
			return final("the environment of the snapshot cannot be had", err)
		}
		return e.download(ctx, e.workspace.RestoreOn)
	})
	return ", " + how, err
}

// unpack gives the job's snapshot to who restores it.
func (e *execution) unpack(ctx context.Context, restore func(context.Context, io.Reader) error) error {
	return persist(ctx, func(ctx context.Context) error { return e.download(ctx, restore) })
}

func (e *execution) download(ctx context.Context, restore func(context.Context, io.Reader) error) error {
	blob, err := e.worker.control.Download(ctx, e.job.ExecutionRef, e.job.Snapshot)
	if err != nil {
		return err
	}
	defer func() { _ = blob.Close() }()
	source := &tracked{Reader: blob}
	if err = restore(ctx, source); err == nil || source.err != nil {
		return err
	}
	return final("the snapshot cannot be unpacked", err)
}

// final makes an error that another try would not fix.
func final(message string, cause error) error {
	return &lineshaft.Error{Code: lineshaft.CodeInvalidRequest, Message: message, Cause: cause}
}

// tracked remembers the error of a source, to distinguish a bad transport from bad content.
type tracked struct {
	io.Reader
	err error
}

// Read reads from the source.
func (t *tracked) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

// prepare makes the workspace ready for a turn, with the turn's files in it. The
// turn before may have removed what is ours.
func (e *execution) prepare(ctx context.Context, turn lineshaft.Turn) error {
	if e.workspace == nil {
		return nil
	}
	e.stored = false
	if err := e.workspace.Prepare(); err != nil {
		return err
	}
	return e.place(ctx, turn.Attachments)
}

// place puts files that came with a message into the workspace.
func (e *execution) place(ctx context.Context, files []lineshaft.Attachment) error {
	if e.workspace == nil {
		return nil
	}
	for _, a := range files {
		err := persist(ctx, func(ctx context.Context) error {
			blob, err := e.worker.control.Download(ctx, e.job.ExecutionRef, a.BlobID)
			if err != nil {
				return err
			}
			defer func() { _ = blob.Close() }()
			source := &tracked{Reader: blob}
			err = e.workspace.Place(ctx, a.FileName, source, max(a.Size, lineshaft.MaxAttachmentBytes))
			if err == nil || source.err != nil {
				return err
			}
			return final("the file cannot be written", err)
		})
		if err != nil {
			return &lineshaft.Error{
				Code: lineshaft.CodeEnvironmentSetupFailed, Cause: err,
				Message: fmt.Sprintf("attachment %q could not be placed in the workspace", a.FileName),
			}
		}
	}
	return nil
}

// storeFiles uploads what a turn left, artifacts and a snapshot: whether the
// execution ends now is only known afterwards. Errors are logged and
// do not change the outcome of the turn.
func (e *execution) storeFiles() {
	if e.workspace == nil || e.preparing || e.noRoom || e.life.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(e.life, uploadTime)
	defer cancel()
	ctx, span := e.worker.config.Tracer.Start(ctx, spanStore, tracing.Options{})
	e.storeArtifacts(ctx)
	err := e.storeSnapshot(ctx)
	span.End(err)
	switch {
	case err == nil || e.life.Err() != nil:
	case gone(err):
		e.endLife(errLost)
	default:
		e.warn(ctx, "store snapshot", err)
		e.notice("warning", "The snapshot of the workspace could not be stored: a follow-up finds its files only while this worker keeps them.")
	}
}

func (e *execution) storeArtifacts(ctx context.Context) {
	told := map[string]bool{}
	tell := func(text string) {
		if !told[text] && len(told) < maxArtifactNotices {
			told[text] = true
			e.notice("warning", text)
		}
	}
	err := persist(ctx, func(ctx context.Context) error {
		notices, err := e.workspace.Artifacts(ctx, func(a workspace.Artifact, content io.Reader) error {
			err := e.uploadArtifact(ctx, a, content)
			if err != nil && refused(err) && !gone(err) {
				tell(refusal(a, err))
				return nil
			}
			return err
		})
		for _, text := range notices {
			tell(text)
		}
		return err
	})
	switch {
	case err == nil || e.life.Err() != nil:
	case gone(err):
		e.endLife(errLost)
	default:
		e.warn(ctx, "store artifacts", err)
		tell("Some artifacts could not be stored.")
	}
}

// maxArtifactNotices is how many artifacts a turn explains that were not stored.
const maxArtifactNotices = 50

// refusal says that the server did not take an artifact, and why if it said so.
func refusal(a workspace.Artifact, err error) string {
	text := fmt.Sprintf("Artifact %q was refused by the server", a.Path)
	if public, ok := errors.AsType[*lineshaft.Error](err); ok && public.Message != "" {
		text += ": " + public.Message
	}
	return text + "."
}

func (e *execution) uploadArtifact(ctx context.Context, a workspace.Artifact, content io.Reader) error {
	_, err := e.worker.control.Upload(ctx, e.job.ExecutionRef, lineshaft.Upload{
		Kind: lineshaft.BlobArtifact, FileName: e.mask().String(a.Name()), FilePath: e.mask().String(a.Path), MimeType: a.MimeType,
	}, content)
	return err
}

func (e *execution) storeSnapshot(ctx context.Context) error {
	empty, err := e.workspace.Empty()
	if err != nil || empty {
		return err
	}
	measured, err := e.workspace.Measure(ctx)
	if errors.Is(err, workspace.ErrTooLarge) {
		e.notice("warning", "No snapshot was taken: the workspace is too large. A follow-up finds its files only while this worker keeps them.")
		return nil
	}
	if err != nil {
		return err
	}
	if measured.Print == e.snapshot {
		e.stored = len(measured.Notices) == 0
		return nil
	}
	for _, text := range measured.Notices {
		e.notice("warning", text)
	}
	err = persist(ctx, func(ctx context.Context) error { return e.uploadSnapshot(ctx, measured) })
	if err == nil {
		e.snapshot, e.stored = measured.Print, len(measured.Notices) == 0
	}
	return err
}

// uploadSnapshot packs and sends at the same time: nothing is stored twice.
func (e *execution) uploadSnapshot(ctx context.Context, measured workspace.Measured) error {
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := e.workspace.Snapshot(ctx, measured, w)
		_ = w.CloseWithError(err)
		packed <- err
	}()
	_, err := e.worker.control.Upload(ctx, e.job.ExecutionRef, lineshaft.Upload{
		Kind: lineshaft.BlobSnapshot, FileName: "workspace.tar.gz", MimeType: "application/gzip",
	}, r)
	unread := errors.New("the upload has ended")
	_ = r.CloseWithError(unread)
	if packErr := <-packed; packErr != nil && !errors.Is(packErr, unread) && ctx.Err() == nil {
		return final("the workspace cannot be packed", packErr)
	}
	return err
}

// release gives the workspace back: kept for a follow-up if there is anything in it.
func (e *execution) release() {
	if e.workspace == nil {
		return
	}
	ctx := context.WithoutCancel(e.life)
	var until time.Time
	idle := e.idleTime()
	keep := idle > 0 && !e.preparing && (!e.noRoom || e.workspace.Kept())
	if empty, err := e.workspace.Empty(); keep && (err != nil || !empty) {
		until = e.worker.config.Now().Add(idle)
	}
	if e.stored {
		e.workspace.Stored()
	}
	if err := e.workspace.Release(ctx, until); err != nil {
		e.warn(ctx, "release workspace", err)
	}
	e.worker.sweepBy(until)
}

// warn logs trouble that does not change the outcome, with its private cause.
func (e *execution) warn(ctx context.Context, step string, err error) {
	attrs := []any{"step", step, "run_id", e.job.RunID, "execution_id", e.job.ExecutionID, "err", err}
	if public, ok := errors.AsType[*lineshaft.Error](err); ok && public.Cause != nil {
		attrs = append(attrs, "cause", public.Cause)
	}
	e.worker.logger.WarnContext(ctx, "execution had trouble", attrs...)
}
