package control

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// StartRun queues a run. Everything that starts one ends here: when it returns,
// the run is durable.
func (s *Service) StartRun(ctx context.Context, c lineshaft.Caller, req lineshaft.NewRun, idem *Idempotency) (Started, error) {
	ctx, span := s.cfg.Tracer.Start(ctx, spanStart, tracing.Options{})
	req.TraceParent = tracing.Parent(ctx)
	started, factoryUID, err := s.startRequested(ctx, c, req, idem)
	noteStart(span, started.RunID, factoryUID, req.Source)
	span.Bool("lineshaft.replayed", started.Replayed)
	span.End(err)
	return started, err
}

// startRequested is StartRun; it tells the factory too.
func (s *Service) startRequested(ctx context.Context, c lineshaft.Caller, req lineshaft.NewRun, idem *Idempotency) (started Started, factoryUID string, err error) {
	if c.Role == lineshaft.RoleRun && req.ParentRunID == "" {
		req.ParentRunID = c.RunID // an agent's runs are its run's children
	}
	if err := req.Validate(); err != nil {
		return Started{}, factoryUID, err
	}
	kept := Started{Replayed: true}
	if replayed, err := s.replay(ctx, c, idem, &kept); err != nil || replayed {
		return kept, "", err
	}
	parent, err := s.checkReferences(ctx, c, req)
	if err != nil {
		return Started{}, parent.FactoryUID, err
	}
	if err := s.checkSecrets(ctx, c, req.Config); err != nil {
		return Started{}, parent.FactoryUID, err
	}
	foreseen, err := s.shapeRun(ctx, s.store, c, req, parent)
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
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		started = Started{}
		replayed, err := s.idempotently(ctx, tx, c, idem, &started, func() (err error) {
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

// checkReferences looks at the runs that a request names, outside the transaction,
// and returns what is known of the parent by then.
func (s *Service) checkReferences(ctx context.Context, c lineshaft.Caller, req lineshaft.NewRun) (*store.Lineage, error) {
	parent := &store.Lineage{}
	if req.ParentRunID != "" {
		run, err := s.visibleRun(ctx, c, req.ParentRunID)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			return parent, lineshaft.Invalid("parent_run_id", "no run %q that your key may see", req.ParentRunID)
		}
		if err := errors.Join(err, mayExtend(c, run)); err != nil {
			return parent, err
		}
		parent = &store.Lineage{RootRunID: run.RootRunID, FactoryUID: run.FactoryUID, Body: store.RunBody{Config: run.Config, Skills: run.Skills}}
	}
	if req.ConversationID == "" {
		return parent, nil
	}
	run, err := s.RunByConversation(ctx, c, req.ConversationID)
	return parent, errors.Join(err, mayExtend(c, run))
}

// mayExtend says whether a caller may add a run below another or to its
// conversation: an agent to what it sees, others to what they may continue.
func mayExtend(c lineshaft.Caller, run *lineshaft.Run) error {
	if run == nil || c.Role == lineshaft.RoleRun {
		return nil
	}
	return mayChange(c, run.ID, run.Creator.UID)
}

func (s *Service) storeAttachments(ctx context.Context, files []lineshaft.NewAttachment) ([]lineshaft.Attachment, error) {
	var stored []lineshaft.Attachment
	for _, file := range files {
		blob, size, err := s.store.PutBlob(ctx, bytes.NewReader(file.Data), lineshaft.MaxAttachmentBytes)
		if err != nil {
			return nil, err
		}
		attachmentID, _ := s.store.NewID()
		stored = append(stored, lineshaft.Attachment{ID: attachmentID, FileName: file.FileName, MimeType: file.MimeType, Size: size, BlobID: blob})
	}
	return stored, nil
}

func (s *Service) startRun(ctx context.Context, tx *store.Tx, c lineshaft.Caller, req lineshaft.NewRun, attachments []lineshaft.Attachment) (Started, error) {
	n, err := s.newRun(ctx, tx, c, req)
	if err != nil {
		return Started{}, err
	}
	return s.placeRun(ctx, tx, c, n, attachments)
}

// placeRun writes a run, or does what its concurrency rule says instead.
func (s *Service) placeRun(ctx context.Context, tx *store.Tx, c lineshaft.Caller, n *store.NewRun, attachments []lineshaft.Attachment) (Started, error) {
	if err := s.settleSkills(ctx, tx, n); err != nil {
		return Started{}, err
	}
	if live, err := s.enterConcurrency(ctx, tx, c, n, attachments); err != nil || live != nil {
		if err != nil {
			return Started{}, err
		}
		return *live, nil
	}
	if err := s.growTree(ctx, tx, n); err != nil {
		return Started{}, err
	}
	n.Body.Files = len(attachments)
	if c.Role == lineshaft.RoleRun {
		if err := tx.PutPrincipal(ctx, c.Principal, n.CreatedAt); err != nil {
			return Started{}, err
		}
	}
	if err := errors.Join(
		tx.InsertRun(ctx, n, firstEvents(n)),
		tx.InsertAttachments(ctx, n.Head.ID, "", attachments),
		s.audit(ctx, tx, c, "run.create", "run", n.Head.ID, map[string]string{"source": string(n.Source)}),
	); err != nil {
		return Started{}, err
	}
	tx.Wake(stream.QueueTopic(n.Head.WorkerHost))
	tx.Wake(stream.StatesTopic)
	return Started{RunID: n.Head.ID, State: n.Head.State}, nil
}

// newRun fills in a run from a request: configuration, lineage, times. The caller
// has checked the request and the runs and secrets that it names.
func (s *Service) newRun(ctx context.Context, tx *store.Tx, c lineshaft.Caller, req lineshaft.NewRun) (*store.NewRun, error) {
	if c.Role == lineshaft.RoleRun {
		if err := holdsRun(ctx, tx, c); err != nil {
			return nil, err
		}
	}
	parent := &store.Lineage{}
	if req.ParentRunID != "" {
		var err error
		if parent, err = s.parentOf(ctx, tx, req.ParentRunID); err != nil {
			return nil, err
		}
	}
	shape, err := s.shapeRun(ctx, tx, c, req, parent)
	if err != nil {
		return nil, err
	}
	if !c.MaySeeFactory(shape.factoryUID) {
		return nil, lineshaft.Denied("your key is limited to some factories; start the run in one of them, or use another key")
	}
	if err := s.checkBudget(ctx, tx, shape.factory); err != nil {
		return nil, err
	}
	n := s.draftRun(c, req, shape.config, shape.origins)
	n.Head.FactoryUID = shape.factoryUID
	if req.ParentRunID == "" {
		return n, nil
	}
	return n, s.joinTree(ctx, tx, c, n, parent)
}

// draftRun makes the run of a request whose configuration is resolved.
func (s *Service) draftRun(c lineshaft.Caller, req lineshaft.NewRun, config lineshaft.AgentConfig, origins map[string]string) *store.NewRun {
	runID, at := s.store.NewID()
	n := &store.NewRun{
		Title: req.Title, Source: req.Source, CreatedAt: at, ConversationID: req.ConversationID, RootRunID: runID, AgentUID: req.AgentUID, TraceParent: req.TraceParent,
		Body: store.RunBody{Prompt: req.Prompt, Submitted: req.Prompt, Config: config, Origins: origins, Request: req.Config, Metadata: req.Metadata, Skills: req.Skills},
		Head: store.RunHead{
			ID: runID, State: lineshaft.Queued, WorkerHost: config.WorkerHost, CreatorUID: c.Principal.UID, UpdatedAt: at, QueuedAt: at,
			QueueDeadline: at.Add(minutes(config.QueueTimeoutMinutes)), MaxAttempts: *config.MaxAttempts, ParentRunID: req.ParentRunID,
			Status: lineshaft.StatusMessage{Message: "waiting for a worker"},
		},
	}
	if n.Title == "" {
		n.Title = titleOf(req.Prompt, config.Skills)
	}
	if n.Body.FiredBy = req.FiredBy; req.FiredBy != nil {
		n.ScheduleID = req.FiredBy.ScheduleID
	}
	n.SessionID, _ = s.store.NewID()
	if n.ConversationID == "" {
		n.ConversationID, _ = s.store.NewID()
	}
	return n
}

// firstEvents begin the log of a new run.
func firstEvents(n *store.NewRun) []lineshaft.Draft {
	queued := stateDraft(n.CreatedAt, "", n.Head.State, n.Head.Status, "")
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
		return lineshaft.Denied("run %s does not belong to this token's execution any more; it can start nothing", c.RunID)
	}
	return nil
}

// defaults is the widest layer of a run's configuration.
func (s *Service) defaults() lineshaft.AgentConfig {
	idle, timeout, stall, queue, attempts := lineshaft.DefaultIdleMinutes, lineshaft.DefaultTimeoutMinutes, lineshaft.DefaultStallMinutes, lineshaft.DefaultQueueMinutes, 1
	config, _ := lineshaft.Resolve(lineshaft.Layer{Config: s.cfg.Defaults}, lineshaft.Layer{Config: lineshaft.AgentConfig{
		WorkerHost: lineshaft.HostedWorker, IdleTimeoutMinutes: &idle, TimeoutMinutes: &timeout, StallMinutes: &stall,
		QueueTimeoutMinutes: &queue, MaxAttempts: &attempts,
	}})
	return config
}

func minutes(n *int) time.Duration { return time.Duration(*n) * time.Minute }

func stateDraft(at time.Time, from, to lineshaft.RunState, status lineshaft.StatusMessage, worker string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventState, at, lineshaft.StateData{
		From: from, To: to, Message: status.Message, ErrorCode: status.ErrorCode, Worker: worker,
	})
}

// visibleRun reads a run if the caller may see it; otherwise it does not exist.
func (s *Service) visibleRun(ctx context.Context, c lineshaft.Caller, runID string) (*lineshaft.Run, error) {
	if !id.Valid(runID) {
		return nil, lineshaft.NotFound("run", runID)
	}
	run, err := s.store.GetRun(ctx, runID)
	if err != nil {
		return nil, err
	}
	visible, err := maySee(ctx, s.store, c, run.ID, run.FactoryUID)
	if err != nil {
		return nil, err
	}
	if !visible {
		return nil, lineshaft.NotFound("run", runID)
	}
	return run, nil
}

// maySee says whether a caller's key reaches a run: any of its factories, or for a
// run's own token its run and what is below it.
func maySee(ctx context.Context, r ancestry, c lineshaft.Caller, runID, factoryUID string) (bool, error) {
	if c.Role == lineshaft.RoleRun {
		if runID == c.RunID {
			return true, nil
		}
		return r.IsAncestor(ctx, c.RunID, runID)
	}
	return c.MaySeeFactory(factoryUID), nil
}

// ancestry is met by the store and by a transaction.
type ancestry interface {
	IsAncestor(ctx context.Context, ancestor, runID string) (bool, error)
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
	case c.Role == lineshaft.RoleRun && runID != c.RunID && strings.HasPrefix(creatorUID, runPrincipalPrefix):
		return nil // below its own run, as maySee found, and started by an agent, not by a person
	case c.Role == lineshaft.RoleMember && creatorUID == c.Principal.UID:
		return nil
	}
	if c.Role == lineshaft.RoleRun {
		return lineshaft.Denied("a run token continues and ends the runs that agents started below its own run, and no others; a manager may do it")
	}
	return lineshaft.Denied("this is not your run; a manager may do it")
}

// GetRun reads one run in full.
func (s *Service) GetRun(ctx context.Context, c lineshaft.Caller, runID string) (*lineshaft.Run, error) {
	run, err := s.visibleRun(ctx, c, runID)
	if err != nil {
		return nil, err
	}
	if run.Usage != (lineshaft.Usage{}) {
		if run.UsageByModel, err = s.store.ListUsage(ctx, runID); err != nil {
			return nil, err
		}
	}
	return run, s.explainWaiting(ctx, []*lineshaft.Run{run})
}

// ExplainRun tells for each configuration value which layer gave it.
func (s *Service) ExplainRun(ctx context.Context, c lineshaft.Caller, runID string) (map[string]string, error) {
	if _, err := s.visibleRun(ctx, c, runID); err != nil {
		return nil, err
	}
	body, err := s.store.GetRunBody(ctx, runID)
	if err != nil {
		return nil, err
	}
	return body.Origins, nil
}

// RunByConversation reads the newest run of a conversation.
func (s *Service) RunByConversation(ctx context.Context, c lineshaft.Caller, conversationID string) (*lineshaft.Run, error) {
	runID, _, err := s.store.NewestOfConversation(ctx, conversationID)
	if err != nil {
		return nil, err
	}
	run, err := s.visibleRun(ctx, c, runID)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil, lineshaft.NotFound("conversation", conversationID)
	}
	return run, err
}

// RunBySession finds the conversation of a session; it needs no key and tells nothing else.
func (s *Service) RunBySession(ctx context.Context, sessionID string) (conversationID string, found bool, err error) {
	conversationID, err = s.store.ConversationOfSession(ctx, sessionID)
	return conversationID, err == nil, ignoreNotFound(err)
}

// SessionByConversation finds the newest session of a conversation; it needs no key.
func (s *Service) SessionByConversation(ctx context.Context, conversationID string) (sessionID string, found bool, err error) {
	_, sessionID, err = s.store.NewestOfConversation(ctx, conversationID)
	return sessionID, err == nil, ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil
	}
	return err
}

// RunByReference finds the newest run that reported an artifact with this address.
func (s *Service) RunByReference(ctx context.Context, c lineshaft.Caller, url string) (string, error) {
	runID, err := s.store.RunByURL(ctx, url)
	if err != nil {
		return "", err
	}
	if _, err := s.visibleRun(ctx, c, runID); err != nil {
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			return "", lineshaft.NotFound("reference", url)
		}
		return "", err
	}
	return runID, nil
}

// Rerun starts a new run with the same request.
func (s *Service) Rerun(ctx context.Context, c lineshaft.Caller, runID string, idem *Idempotency) (Started, error) {
	run, err := s.visibleRun(ctx, c, runID)
	if err != nil {
		return Started{}, err
	}
	body, err := s.store.GetRunBody(ctx, runID)
	if err != nil {
		return Started{}, err
	}
	req := lineshaft.NewRun{Prompt: body.Prompt, Title: run.Title, Config: body.Request, Source: lineshaft.SourceAPI, Metadata: body.Metadata}
	if body.Prompt == "" && len(body.Request.Skills) == 0 {
		req.ConversationID = run.ConversationID
	}
	outside, err := s.belowOutside(ctx, run)
	if err != nil {
		return Started{}, err
	}
	if run.Source.Delivered() {
		if err := s.mayRerunDelivered(ctx, body); err != nil {
			return Started{}, err
		}
		req.Metadata = withoutDelivery(body.Metadata)
	} else if (outside || fromParent(body)) && c.Role != lineshaft.RoleRun { // an agent's own runs are limited as its children
		if err := s.mayRerunBelow(ctx, body); err != nil {
			return Started{}, err
		}
		// As it was resolved, with no definition that adds to it, now or when this one is run again.
		req.Config, req.Metadata = body.Config, withoutDelivery(body.Metadata)
	} else if req.AgentUID = run.AgentUID; run.FactoryUID != "" && req.AgentUID != "" {
		if req.Config.WorkerHost = ""; c.Role == lineshaft.RoleRun {
			req.Config = lineshaft.AgentConfig{} // the definition decides
		}
	}
	if req.Attachments, err = s.loadAttachments(ctx, runID); err != nil {
		return Started{}, err
	}
	return s.StartRun(ctx, c, req, idem)
}

// mayRerunDelivered refuses where the rerun of a payload would have other secrets than
// its automation gave it.
func (s *Service) mayRerunDelivered(ctx context.Context, body *store.RunBody) error {
	delivery := body.Metadata[lineshaft.MetadataDelivery]
	if len(body.Request.NamedSecrets()) > 0 {
		return lineshaft.NotSupported("", "the automation of this run gave it secrets, which a rerun cannot have; redeliver delivery %s instead", delivery)
	}
	if body.Request.EnvironmentID == "" {
		return nil
	}
	environment, err := s.store.GetEnvironment(ctx, body.Request.EnvironmentID)
	if err == nil && len(environment.Config.Secrets) > 0 {
		return lineshaft.NotSupported("", "a rerun would get the secrets of its environment, which a delivery does not; redeliver delivery %s instead", delivery)
	}
	return ignoreNotFound(err)
}

// mayRerunBelow refuses where the rerun of a run that came of something from outside
// would have secrets that the run itself did not have.
func (s *Service) mayRerunBelow(ctx context.Context, body *store.RunBody) error {
	if body.Config.EnvironmentID == "" {
		return nil
	}
	environment, err := s.store.GetEnvironment(ctx, body.Config.EnvironmentID)
	if err != nil {
		return ignoreNotFound(err)
	}
	for _, name := range environment.Config.Secrets {
		if !slices.Contains(body.Config.Secrets, name) {
			return lineshaft.NotSupported("", "a rerun would get secret %s of its environment, which this run did not have; start a new run instead", name)
		}
	}
	return nil
}

// withoutDelivery drops what says that a run is the one of its automation for a
// delivery: there is only one.
func withoutDelivery(metadata map[string]string) map[string]string {
	kept := maps.Clone(metadata)
	for _, key := range ofDeliveries() {
		delete(kept, key)
	}
	return kept
}

// ofDeliveries are the metadata that say what started a run.
func ofDeliveries() []string {
	return []string{lineshaft.MetadataWebhook, lineshaft.MetadataDelivery, lineshaft.MetadataAutomation}
}

// DeleteRun removes an ended run from every list at once; its rows go in the background.
func (s *Service) DeleteRun(ctx context.Context, c lineshaft.Caller, runID string) error {
	run, err := s.visibleRun(ctx, c, runID)
	if err != nil {
		return err
	}
	if err := mayChange(c, run.ID, run.Creator.UID); err != nil {
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		if !h.State.Terminal() || h.Hold&store.HoldExecution != 0 || h.SandboxRunning {
			return lineshaft.Conflict("run %s is %s; cancel it and wait until it has ended before deleting it", runID, h.State)
		}
		tx.Wake(stream.RunTopic(runID))
		if err := s.fanOutRun(ctx, tx, h); err != nil {
			return err
		}
		return errors.Join(tx.DeleteRun(ctx, runID), s.audit(ctx, tx, c, "run.delete", "run", runID, nil))
	})
}
