package runs

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/skill"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// StartRun queues the run of a request; triggers have a starter of their own. When it
// returns, the run is durable.
func (s *Runs) StartRun(ctx context.Context, c lineshaft.Caller, req lineshaft.NewRun, idem *base.Idempotency) (Started, error) {
	if err := c.Need(lineshaft.PermissionRunsStart); err != nil {
		return Started{}, err
	}
	ctx, span := s.Cfg.Tracer.Start(ctx, base.SpanStart, tracing.Options{})
	req.TraceParent = tracing.Parent(ctx)
	started, factoryUID, err := s.startRequested(ctx, c, req, idem)
	base.NoteStart(span, started.RunID, factoryUID, req.Source)
	span.Bool("lineshaft.replayed", started.Replayed)
	span.End(err)
	return started, err
}

// startRequested is StartRun; it also returns the factory.
func (s *Runs) startRequested(ctx context.Context, c lineshaft.Caller, req lineshaft.NewRun, idem *base.Idempotency) (started Started, factoryUID string, err error) {
	if c.Role == lineshaft.RoleRun && req.ParentRunID == "" {
		req.ParentRunID = c.RunID // an agent's runs are its run's children
	}
	if err := req.Validate(); err != nil {
		return Started{}, factoryUID, err
	}
	kept := Started{Replayed: true}
	if replayed, err := s.Replay(ctx, c, idem, &kept); err != nil || replayed {
		return kept, "", err
	}
	foreseen, parent, err := s.foresee(ctx, c, &req)
	if err != nil {
		return Started{}, parent.FactoryUID, err
	}
	factoryUID = foreseen.factoryUID
	if req.Skills, err = s.skillsOf(ctx, foreseen, parent); err != nil {
		return Started{}, factoryUID, err
	}
	attachments, err := s.storeAttachments(ctx, req.Attachments)
	if err != nil {
		return Started{}, factoryUID, err
	}
	// Asked before, so that the answer that is kept has it.
	full := s.atCapacity(ctx, foreseen.config.WorkerHost, factoryUID)
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		started = Started{}
		replayed, err := s.Idempotently(ctx, tx, c, idem, &started, func() (err error) {
			started, err = s.startRun(ctx, tx, c, req, attachments)
			started.AtCapacity = full && started.State == lineshaft.Queued
			return err
		})
		started.Replayed = replayed
		return err
	})
	if err != nil {
		return Started{}, factoryUID, err
	}
	return started, factoryUID, nil
}

// foresee shapes a run before its transaction, by the present state: most requests that
// cannot be granted end here. The lineage is never nil.
func (s *Runs) foresee(ctx context.Context, c lineshaft.Caller, req *lineshaft.NewRun) (runShape, *store.Lineage, error) {
	if err := s.findContinued(ctx, c, req); err != nil {
		return runShape{}, &store.Lineage{}, err
	}
	parent, err := s.checkReferences(ctx, c, *req)
	if err != nil {
		return runShape{}, parent, err
	}
	if err := s.secrets.CheckSecrets(ctx, c, req.Config); err != nil {
		return runShape{}, parent, err
	}
	shape, err := s.shapeRun(ctx, s.Store, c, *req, parent)
	return shape, parent, err
}

// checkReferences looks at the parent that a request names, outside the transaction,
// and returns what is known of it by then.
func (s *Runs) checkReferences(ctx context.Context, c lineshaft.Caller, req lineshaft.NewRun) (*store.Lineage, error) {
	parent := &store.Lineage{}
	if req.ParentRunID != "" {
		run, err := s.visibleRun(ctx, c, req.ParentRunID)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			return parent, lineshaft.Invalid("parent_run_id", "no run %q that your key may see", req.ParentRunID)
		}
		if err != nil {
			return parent, err
		}
		if err := mayGrow(c, run); err != nil {
			return parent, err
		}
		parent = &store.Lineage{RootRunID: run.RootRunID, FactoryUID: run.FactoryUID, Body: store.RunBody{Config: run.Config, Skills: run.Skills}}
	}
	return parent, nil
}

// mayGrow says whether a caller may add a run below another: an agent to what it sees,
// others to what they may continue.
func mayGrow(c lineshaft.Caller, run *lineshaft.Run) error {
	if c.Role == lineshaft.RoleRun {
		return nil
	}
	return mayChange(c, run.ID, run.Creator.UID)
}

func (s *Runs) storeAttachments(ctx context.Context, files []lineshaft.NewAttachment) ([]lineshaft.Attachment, error) {
	var stored []lineshaft.Attachment
	for _, file := range files {
		blob, size, err := s.Store.PutBlob(ctx, bytes.NewReader(file.Data), lineshaft.MaxAttachmentBytes)
		if err != nil {
			return nil, err
		}
		attachmentID, _ := s.Store.NewID()
		stored = append(stored, lineshaft.Attachment{ID: attachmentID, FileName: file.FileName, MimeType: file.MimeType, Size: size, BlobID: blob})
	}
	return stored, nil
}

// startRun starts the run of a request, which may be anyone's.
func (s *Runs) startRun(ctx context.Context, tx *store.Tx, c lineshaft.Caller, req lineshaft.NewRun, attachments []lineshaft.Attachment) (Started, error) {
	n, budget, err := s.NewRun(ctx, tx, c, req)
	if err != nil {
		return Started{}, err
	}
	b := s.NewStarter(tx)
	started, err := b.Start(ctx, RunStart{
		Caller: c, FactoryUID: n.Head.FactoryUID, Budget: budget, traced: true,
		Draft: func() (*store.NewRun, []lineshaft.Attachment) { return n, attachments },
	})
	if err != nil {
		return Started{}, err
	}
	return started, b.Flush(ctx)
}

// NewRun fills in a run from a request: configuration, lineage, times; and says what its
// factory may spend. The caller has checked the request and the runs and secrets that it
// names.
func (s *Runs) NewRun(
	ctx context.Context, tx *store.Tx, c lineshaft.Caller, req lineshaft.NewRun,
) (*store.NewRun, lineshaft.Budget, error) {
	var budget lineshaft.Budget
	parent := &store.Lineage{}
	if req.ParentRunID != "" {
		var err error
		if parent, err = s.parentOf(ctx, tx, req.ParentRunID); err != nil {
			return nil, budget, err
		}
	}
	shape, err := s.shapeRun(ctx, tx, c, req, parent)
	if err != nil {
		return nil, budget, err
	}
	if !c.MaySeeFactory(shape.factoryUID) {
		return nil, budget, lineshaft.Denied("your key is limited to some factories; start the run in one of them, or use another key")
	}
	if shape.Factory != nil {
		budget = shape.Factory.DailyBudget
	}
	n := s.DraftRun(c, req, shape.config, shape.origins)
	n.Head.FactoryUID, n.Outside = shape.factoryUID, shape.outside || req.Again != nil && (req.Again.Pinned || req.Again.Outside)
	if req.ParentRunID != "" {
		if err := s.joinTree(ctx, tx, c, n, parent); err != nil {
			return nil, budget, err
		}
	}
	if err := s.lockStart(ctx, tx, c, n, req); err != nil {
		return nil, budget, err
	}
	if err := numberRerun(ctx, tx, n, req.Again); err != nil {
		return n, budget, err
	}
	return n, budget, continueRun(ctx, tx, n, req)
}

// lockStart locks what a new run needs, and checks what must not change until it is
// written.
func (s *Runs) lockStart(ctx context.Context, tx *store.Tx, c lineshaft.Caller, n *store.NewRun, req lineshaft.NewRun) error {
	before := []string{c.RunID, n.Head.ParentRunID, req.Continues}
	if req.Again != nil {
		before = append(before, req.Again.RerunOf)
	}
	before = slices.DeleteFunc(before, func(runID string) bool { return runID == "" })
	var names []string
	if req.Continues != "" {
		names = append(names, conversationLock+n.ConversationID)
	}
	if err := tx.LockAhead(ctx, KeyOf(n), names, before); err != nil {
		return err
	}
	if c.Role == lineshaft.RoleRun {
		if err := holdsRun(ctx, tx, c); err != nil {
			return err
		}
	}
	if n.Head.ParentRunID == "" {
		return nil
	}
	return s.checkChildren(ctx, tx, n.Head.ParentRunID)
}

// DraftRun makes the run of a request whose configuration is resolved.
func (s *Runs) DraftRun(c lineshaft.Caller, req lineshaft.NewRun, config lineshaft.AgentConfig, origins map[string]string) *store.NewRun {
	runID, at := s.Store.NewID()
	n := &store.NewRun{
		Title: req.Title, Source: req.Source, CreatedAt: at, ConversationID: req.ConversationID, RootRunID: runID, AgentUID: req.AgentUID, TraceParent: req.TraceParent,
		Body: store.RunBody{Prompt: req.Prompt, Submitted: req.Prompt, Config: config, Origins: origins, Request: req.Config, Metadata: req.Metadata, Skills: req.Skills},
		Head: store.RunHead{RunLife: lineshaft.RunLife{
			ID: runID, State: lineshaft.Queued, WorkerHost: config.WorkerHost, CreatorUID: c.Principal.UID, UpdatedAt: at, QueuedAt: at,
			QueueDeadline: at.Add(minutes(config.QueueTimeoutMinutes)), MaxAttempts: *config.MaxAttempts, ParentRunID: req.ParentRunID,
			Status: lineshaft.StatusMessage{Message: "waiting for a worker"},
		}},
	}
	if n.Title == "" {
		n.Title = titleOf(req.Prompt, config.Skills)
	}
	if n.Body.FiredBy = req.FiredBy; req.FiredBy != nil {
		n.ScheduleID = req.FiredBy.ScheduleID
	}
	n.SessionID, _ = s.Store.NewID()
	if n.ConversationID == "" {
		n.ConversationID, _ = s.Store.NewID()
	}
	return n
}

// FirstEvents begin the log of a new run.
func FirstEvents(n *store.NewRun) []lineshaft.Draft {
	queued := lineshaft.StateEvent(n.CreatedAt, "", n.Head.State, n.Head.Status, "")
	if n.Body.Prompt == "" && len(n.Body.Config.Skills) > 0 {
		return []lineshaft.Draft{queued} // nobody said anything; the skill is the prompt
	}
	return []lineshaft.Draft{
		queued,
		lineshaft.NewDraft(lineshaft.EventMessage, n.CreatedAt, lineshaft.MessageData{Role: "user", Text: n.Body.Prompt}),
	}
}

// holdsRun makes sure, under the run's row lock, that a run token's execution still
// holds its run: what is cancelled with its descendants gets no new ones.
func holdsRun(ctx context.Context, tx *store.Tx, c lineshaft.Caller) error {
	h, err := tx.LockRun(ctx, c.RunID)
	if err != nil {
		return err
	}
	if h.ExecutionID != c.KeyID || !h.State.Held() {
		return lineshaft.Denied("run %s no longer belongs to this token's execution; it cannot start anything", c.RunID)
	}
	return nil
}

func (s *Runs) defaults() lineshaft.AgentConfig {
	idle, timeout, stall, queue, attempts := lineshaft.DefaultIdleMinutes, lineshaft.DefaultTimeoutMinutes, lineshaft.DefaultStallMinutes, lineshaft.DefaultQueueMinutes, 1
	config, _ := lineshaft.Resolve(lineshaft.Layer{Config: s.Cfg.Defaults}, lineshaft.Layer{Config: lineshaft.AgentConfig{
		WorkerHost: lineshaft.HostedWorker, IdleTimeoutMinutes: &idle, TimeoutMinutes: &timeout, StallMinutes: &stall,
		QueueTimeoutMinutes: &queue, MaxAttempts: &attempts,
	}})
	return config
}

func minutes(n *int) time.Duration { return time.Duration(*n) * time.Minute }

// visibleRun reads a run if the caller may see it; otherwise it does not exist.
func (s *Runs) visibleRun(ctx context.Context, c lineshaft.Caller, runID string) (*lineshaft.Run, error) {
	if !id.Valid(runID) {
		return nil, lineshaft.NotFound("run", runID)
	}
	run, err := s.Store.GetRun(ctx, runID)
	if err != nil {
		return nil, err
	}
	visible, err := base.MaySee(ctx, s.Store, c, run.ID, run.FactoryUID)
	if err != nil || visible {
		return run, err
	}
	return nil, lineshaft.NotFound("run", runID)
}

// MayChange says whether a caller may continue or end a run that it sees, for pages
// that show no button in vain.
func MayChange(c lineshaft.Caller, run *lineshaft.Run) bool {
	return mayChange(c, run.ID, run.Creator.UID) == nil
}

// mayChange says whether a caller may continue or end a run: its own, or any with
// the permission to manage runs.
func mayChange(c lineshaft.Caller, runID, creatorUID string) error {
	switch {
	case c.Role.May(lineshaft.PermissionRunsManage):
		return nil
	case c.Role == lineshaft.RoleRun && runID != c.RunID && strings.HasPrefix(creatorUID, base.RunPrincipalPrefix):
		return nil // below its own run, as maySee found, and started by an agent, not by a person
	case c.Role == lineshaft.RoleMember && creatorUID == c.Principal.UID:
		return nil
	}
	if c.Role == lineshaft.RoleRun {
		return lineshaft.Denied("a run token can continue and end only the runs that agents started below its own run; ask a manager")
	}
	return lineshaft.Denied("this is not your run; ask a manager")
}

// GetRun reads one run in full.
func (s *Runs) GetRun(ctx context.Context, c lineshaft.Caller, runID string) (*lineshaft.Run, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	run, err := s.visibleRun(ctx, c, runID)
	if err != nil {
		return nil, err
	}
	if run.Usage != (lineshaft.Usage{}) {
		if run.UsageByModel, err = s.Store.ListUsage(ctx, runID); err != nil {
			return nil, err
		}
	}
	if run.RerunOf == "" && c.Role != lineshaft.RoleRun {
		if run.Reruns, err = s.Store.ListReruns(ctx, runID, shownReruns); err != nil {
			return nil, err
		}
	}
	return run, s.explainWaiting(ctx, []*lineshaft.Run{run})
}

// shownReruns is how many reruns the first run names.
const shownReruns = 100

// ExplainRun says for each configuration value which layer gave it.
func (s *Runs) ExplainRun(ctx context.Context, c lineshaft.Caller, runID string) (map[string]string, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if _, err := s.visibleRun(ctx, c, runID); err != nil {
		return nil, err
	}
	body, err := s.Store.GetRunBody(ctx, runID)
	if err != nil {
		return nil, err
	}
	return body.Origins, nil
}

// RunByReference finds the newest run that reported an artifact with this address.
func (s *Runs) RunByReference(ctx context.Context, c lineshaft.Caller, url string) (string, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return "", err
	}
	runID, err := s.Store.RunByURL(ctx, url)
	if err != nil {
		return "", err
	}
	if _, err = s.visibleRun(ctx, c, runID); lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return "", lineshaft.NotFound("reference", url)
	}
	return runID, err
}

// DeleteRun removes an ended run from every list at once; its rows go in the background.
func (s *Runs) DeleteRun(ctx context.Context, c lineshaft.Caller, runID string) error {
	if err := c.Need(lineshaft.PermissionRunsManage); err != nil {
		return err
	}
	run, err := s.visibleRun(ctx, c, runID)
	if err != nil {
		return err
	}
	if err := mayChange(c, run.ID, run.Creator.UID); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		if !h.State.Terminal() {
			return lineshaft.Conflict("run %s is %s; cancel it and wait until it has ended before deleting it", runID, h.State)
		}
		if h.Hold.Has(lineshaft.HoldExecution) || h.SandboxRunning {
			ending := lineshaft.Conflict("run %s is %s and its processes are still ending; delete it in a few seconds", runID, h.State)
			ending.Retryable, ending.RetryAfter = true, time.Second
			return ending
		}
		if live, err := tx.LiveOfConversation(ctx, run.ConversationID); err != nil {
			return err
		} else if live != nil {
			return lineshaft.Conflict("run %s continues the conversation of run %s and is %s; wait until it has ended, or cancel it, before deleting this one", live.ID, runID, live.State)
		}
		tx.Wake(stream.RunTopic(runID))
		if err := s.notify.FanOutRun(ctx, tx, h); err != nil {
			return err
		}
		if err := tx.DeleteRun(ctx, runID); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "run.delete", "run", runID, nil)
	})
}

func titleOf(prompt string, skills []string) string {
	if strings.TrimSpace(prompt) != "" || len(skills) == 0 {
		return lineshaft.TitleFrom(prompt)
	}
	ref, err := lineshaft.ParseSkillRef(skills[0])
	if err != nil {
		return lineshaft.TitleFrom(skills[0])
	}
	return lineshaft.TitleFrom(path.Base(strings.TrimSuffix(ref.Target, "/"+lineshaft.SkillFile)))
}

// followupText is what a run says that becomes a follow-up of another. Skills are not
// repeated, but one without a prompt has nothing else to say.
func followupText(n *store.NewRun) string {
	switch {
	case n.Body.Prompt != "" || len(n.Body.Config.Skills) == 0:
		return n.Body.Prompt
	case len(n.Body.Skills) > 0:
		return skill.Compose("", n.Body.Skills, "")
	}
	return "Use the skill " + strings.Join(n.Body.Config.Skills, ", then ") + "."
}

// Started answers StartRun and Rerun.
type Started struct {
	RunID string             `json:"run_id"`
	State lineshaft.RunState `json:"state"`
	// AtCapacity is true when no worker slot was free; the run waits.
	AtCapacity bool `json:"at_capacity"`
	// Replayed says that the answer was kept from an earlier call with the same key.
	Replayed bool `json:"-"`
	// FollowedUp says that a live run with the same concurrency key was given the prompt.
	FollowedUp bool `json:"-"`
}

// FollowupResult answers Followup. FollowupID is empty when the text became part
// of the prompt.
type FollowupResult struct {
	RunID      string                    `json:"run_id"`
	FollowupID string                    `json:"followup_id"`
	Outcome    lineshaft.FollowupOutcome `json:"outcome"`
	Replayed   bool                      `json:"-"`
}

// CancelResult answers Cancel.
type CancelResult struct {
	RunID    string `json:"run_id"`
	Replayed bool   `json:"-"`
}
