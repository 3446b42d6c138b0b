package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/mask"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// runToken finds tokens of runs: an agent knows its own, and the log must not (S-2).
var runToken = regexp.MustCompile(`ls_run_[A-Za-z0-9_-]+`)

// ReportRun puts what an agent reports about its own run into the run's log, and returns
// the uid of the artifact if it reported one. The secrets of the run are masked.
func (s *Runs) ReportRun(ctx context.Context, c lineshaft.Caller, runID string, r lineshaft.RunReport) (artifactUID string, err error) {
	if err := c.Need(lineshaft.PermissionReport); err != nil {
		return "", err
	}
	if err := ownRun(c, runID); err != nil {
		return "", err
	}
	if err := r.Validate(); err != nil {
		return "", err
	}
	var full error
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		h, err := s.reporting(ctx, tx, c)
		if err != nil {
			return err
		}
		hide, err := s.masker(ctx, tx, runID)
		if err != nil {
			return err
		}
		draft := hide.draft(reportDraft(r, s.Store.Now()))
		if full, err = s.countReport(ctx, tx, h, draft); err != nil || full != nil {
			return err
		}
		drafts, err := s.takeEvents(ctx, tx, h, []lineshaft.Draft{draft})
		if err != nil {
			return err
		}
		artifactUID = artifactOf(drafts[0])
		tx.Wake(stream.RunTopic(runID))
		return tx.SaveRun(ctx, h, drafts...)
	})
	if err == nil {
		err = full
	}
	return artifactUID, err
}

// countReport counts a report against the caps of its execution. Full is why it
// is refused; the first time the log also says so.
func (s *Runs) countReport(ctx context.Context, tx *store.Tx, h *store.RunHead, draft lineshaft.Draft) (full, err error) {
	within, first, err := tx.CountReport(ctx, h.ExecutionID, int64(len(draft.Data)), s.Cfg.OutputEvents, s.Cfg.OutputBytes)
	if err != nil || within {
		return nil, err
	}
	full = lineshaft.Conflict("this execution has reported %d bytes or %d events already; it cannot report more", s.Cfg.OutputBytes, s.Cfg.OutputEvents)
	if !first {
		return full, nil
	}
	tx.Wake(stream.RunTopic(h.ID))
	return full, tx.SaveRun(ctx, h, lineshaft.NewDraft(lineshaft.EventNotice, s.Store.Now(), lineshaft.NoticeData{Level: "warning", Text: fmt.Sprintf(
		"The limit of %d bytes or %d events is reached: what the agent reports from here on is not kept.", s.Cfg.OutputBytes, s.Cfg.OutputEvents)}))
}

// ReportArtifact stores a file that an agent reports as an artifact of its own run.
func (s *Runs) ReportArtifact(ctx context.Context, c lineshaft.Caller, runID string, n lineshaft.NewArtifact, content io.Reader) (*lineshaft.Artifact, error) {
	if err := c.Need(lineshaft.PermissionReport); err != nil {
		return nil, err
	}
	if err := ownRun(c, runID); err != nil {
		return nil, err
	}
	if err := n.Validate(); err != nil {
		return nil, err
	}
	// A caller that may not report stores nothing, not even for a while.
	var left int64
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if _, err = s.reporting(ctx, tx, c); err != nil {
			return err
		}
		left, err = s.artifactRoom(ctx, tx, runID)
		return err
	})
	if err != nil {
		return nil, err
	}
	if left == 0 {
		return nil, s.errArtifactsFull(runID)
	}
	blobID, size, err := s.Store.PutBlob(ctx, content, min(lineshaft.MaxArtifactBytes, left))
	if lineshaft.CodeOf(err) == lineshaft.CodePayloadTooLarge && left < lineshaft.MaxArtifactBytes {
		err = s.errArtifactsFull(runID)
	}
	if err != nil {
		return nil, err
	}
	var a lineshaft.Artifact
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		h, err := s.reporting(ctx, tx, c)
		if err != nil {
			return err
		}
		left, err := s.artifactRoom(ctx, tx, runID)
		if err != nil {
			return err
		}
		if size > left { // another one came in between
			return s.errArtifactsFull(runID)
		}
		hide, err := s.masker(ctx, tx, runID)
		if err != nil {
			return err
		}
		uid, at := s.Store.NewID()
		a = lineshaft.Artifact{
			UID: uid, RunID: runID, Type: cmp.Or(n.Type, lineshaft.ArtifactFile), CreatedAt: at, BlobID: blobID, SizeBytes: size,
			FileName: hide.text(n.FileName), FilePath: hide.text(n.FileName), MimeType: n.MimeType, Title: hide.text(n.Title), Description: hide.text(n.Description),
		}
		draft := lineshaft.NewDraft(lineshaft.EventArtifact, at, lineshaft.ArtifactData{UID: uid, Type: string(a.Type), FileName: a.FileName})
		tx.Wake(stream.RunTopic(runID))
		if err := tx.KeepBlob(ctx, blobID, runID, time.Time{}); err != nil {
			return err
		}
		if err := tx.InsertArtifact(ctx, h, a); err != nil {
			return err
		}
		return tx.SaveRun(ctx, h, draft)
	})
	if err != nil {
		s.Store.DropLooseBlob(ctx, blobID)
		return nil, err
	}
	return &a, nil
}

// ownRun lets only an agent report, and only on its own run.
func ownRun(c lineshaft.Caller, runID string) error {
	if c.Role != lineshaft.RoleRun || c.RunID != runID {
		return lineshaft.Denied("only the agent of run %s may report on it, with the run token that it has in LINESHAFT_RUN_TOKEN", lineshaft.Clip(runID, 100))
	}
	return nil
}

// reporting locks the run of a run token whose execution still holds it, within the
// bounds of what agents may report.
func (s *Runs) reporting(ctx context.Context, tx *store.Tx, c lineshaft.Caller) (*store.RunHead, error) {
	h, err := tx.LockRun(ctx, c.RunID)
	if err != nil {
		return nil, err
	}
	if h.ExecutionID != c.KeyID || !h.State.Held() {
		return nil, lineshaft.Denied("run %s no longer belongs to this token's execution; it cannot report anything", c.RunID)
	}
	if h.LastSequence >= lineshaft.MaxReportedEvents {
		return nil, lineshaft.Conflict("the log of run %s has %d events already; it cannot report more", c.RunID, h.LastSequence)
	}
	_, err = s.ownArtifactRoom(ctx, tx, c.RunID)
	return h, err
}

func reportDraft(r lineshaft.RunReport, at time.Time) lineshaft.Draft {
	switch r.Kind {
	case lineshaft.ReportMessage:
		return lineshaft.NewDraft(lineshaft.EventMessage, at, lineshaft.MessageData{Role: "assistant", Text: r.Text})
	case lineshaft.ReportPlan:
		return lineshaft.NewDraft(lineshaft.EventPlan, at, lineshaft.PlanData{Steps: r.Steps})
	case lineshaft.ReportPullRequest:
		return lineshaft.NewDraft(lineshaft.EventArtifact, at, lineshaft.ArtifactData{Type: string(lineshaft.ArtifactPullRequest), URL: r.URL})
	case lineshaft.ReportReference:
		return lineshaft.NewDraft(lineshaft.EventArtifact, at, lineshaft.ArtifactData{Type: string(lineshaft.ArtifactReference), URL: r.URL})
	case lineshaft.ReportNotice:
	}
	return lineshaft.NewDraft(lineshaft.EventNotice, at, lineshaft.NoticeData{Level: cmp.Or(r.Level, "info"), Text: r.Text})
}

// hider hides the secrets of a run.
type hider struct{ secrets *mask.Masker }

// masker opens the secrets that a run may know. One that is gone or cannot be opened
// hides nothing, and was not given to the run either.
func (s *Runs) masker(ctx context.Context, tx *store.Tx, runID string) (hider, error) {
	body, err := tx.GetRunBody(ctx, runID)
	if err != nil {
		return hider{}, err
	}
	values := map[string]string{}
	for _, name := range body.Config.NamedSecrets() {
		secret, err := base.OrNil(tx.GetSecret(ctx, name))
		if err != nil {
			return hider{}, err
		}
		if secret == nil {
			continue
		}
		if value, err := s.secrets.OpenSealed(secrets.SecretSeal(name), secret.Sealed); err == nil {
			values[name] = string(value)
		}
	}
	if len(values) == 0 {
		return hider{}, nil
	}
	return hider{mask.New(values)}, nil
}

func (h hider) text(text string) string {
	if h.secrets != nil {
		text = h.secrets.String(text)
	}
	return runToken.ReplaceAllString(text, "***")
}

func (h hider) draft(d lineshaft.Draft) lineshaft.Draft {
	if h.secrets != nil {
		d.Data = h.secrets.JSON(d.Data)
	}
	d.Data = runToken.ReplaceAll(d.Data, []byte("***"))
	return d
}

// artifactOf is the artifact that an event reports; empty if it is another event, or
// the artifact was known before.
func artifactOf(d lineshaft.Draft) string {
	var data lineshaft.ArtifactData
	if d.Type != lineshaft.EventArtifact || json.Unmarshal(d.Data, &data) != nil {
		return ""
	}
	return data.UID
}
