package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// Followup sends a message to a run: into the prompt of one that has not started,
// to the agent of a running one, or as a new execution of one that has ended.
func (s *Runs) Followup(ctx context.Context, c lineshaft.Caller, req lineshaft.NewFollowup, idem *base.Idempotency) (_ FollowupResult, failed error) {
	if err := c.Need(lineshaft.PermissionRunsStart); err != nil {
		return FollowupResult{}, err
	}
	if err := req.Validate(); err != nil {
		return FollowupResult{}, err
	}
	kept := FollowupResult{Replayed: true}
	if replayed, err := s.Replay(ctx, c, idem, &kept); err != nil || replayed {
		return kept, err
	}
	run, err := s.visibleRun(ctx, c, req.RunID)
	if err != nil {
		return FollowupResult{}, err
	}
	// What comes of it is a part of the run's trace; the request stays in its own.
	ctx, span := s.Cfg.Tracer.Start(ctx, base.SpanFollowup, tracing.Options{Link: run.TraceParent})
	span.String("lineshaft.run.id", run.ID)
	defer func() { span.End(failed) }()
	if err := mayChange(c, run.ID, run.Creator.UID); err != nil {
		return FollowupResult{}, err
	}
	attachments, err := s.storeAttachments(ctx, req.Attachments)
	if err != nil {
		return FollowupResult{}, err
	}
	var result FollowupResult
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		result = FollowupResult{}
		replayed, err := s.Idempotently(ctx, tx, c, idem, &result, func() (err error) {
			h, err := tx.LockRunAndKey(ctx, req.RunID)
			if err != nil {
				return err
			}
			result, err = s.followup(ctx, tx, c, h, req.Message, attachments)
			return err
		})
		result.Replayed = replayed
		return err
	})
	return result, err
}

// maySteer keeps a key that is limited to factories from secrets of an environment that it
// may not name: a message to a run that somebody else put there would reach them (S-3). A
// child is where its parent was put.
func (s *Runs) maySteer(ctx context.Context, tx *store.Tx, c lineshaft.Caller, h *store.RunHead) error {
	if len(c.FactoryUIDs) == 0 || c.Role == lineshaft.RoleRun {
		return nil
	}
	body, err := tx.GetRunBody(ctx, h.ID)
	if err != nil || body.Config.EnvironmentID == "" {
		return err
	}
	environment, err := tx.GetEnvironment(ctx, body.Config.EnvironmentID)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	run, err := tx.GetRun(ctx, h.ID)
	if err != nil {
		return err
	}
	origin := body.Origins["environment_id"]
	for origin == lineshaft.ParentOrigin {
		origin = secrets.RunOrigin // where a parent is gone it counts as somebody's choice
		parent, err := tx.GetRun(ctx, run.ParentRunID)
		if err != nil {
			if base.IgnoreNotFound(err) != nil {
				return err
			}
			break
		}
		if body, err = tx.GetRunBody(ctx, parent.ID); err != nil {
			return err
		}
		run, origin = parent, body.Origins["environment_id"]
	}
	d, err := definitionsOf(ctx, tx, run)
	if err != nil {
		return err
	}
	return mayUseEnvironment(c, environment, d, origin)
}

// definitionsOf are the agent and the factory of a run, as far as they are there.
func definitionsOf(ctx context.Context, tx *store.Tx, run *lineshaft.Run) (d Definitions, err error) {
	if run.AgentUID != "" {
		if d.Agent, err = tx.GetAgent(ctx, run.AgentUID); base.IgnoreNotFound(err) != nil {
			return d, err
		}
	}
	if run.FactoryUID != "" {
		if d.Factory, err = tx.GetFactory(ctx, run.FactoryUID); base.IgnoreNotFound(err) != nil {
			return d, err
		}
	}
	return d, nil
}

// followup sends a message to a run whose row is locked.
func (s *Runs) followup(ctx context.Context, tx *store.Tx, c lineshaft.Caller, h *store.RunHead, text string, attachments []lineshaft.Attachment) (FollowupResult, error) {
	if err := s.maySteer(ctx, tx, c, h); err != nil {
		return FollowupResult{}, err
	}
	if h.State.Terminal() {
		if err := s.mayReopen(ctx, tx, h); err != nil {
			return FollowupResult{}, err
		}
		if err := checkConversation(ctx, tx, h); err != nil {
			return FollowupResult{}, err
		}
	}
	if h.State.Terminal() && h.FactoryUID != "" { // it would be a new execution
		factory, err := tx.GetFactory(ctx, h.FactoryUID)
		if err := base.IgnoreNotFound(err); err != nil {
			return FollowupResult{}, err
		}
		if err := s.checkBudget(ctx, tx, factory); err != nil {
			return FollowupResult{}, err
		}
	}
	if err := s.Audit(ctx, tx, c, "run.followup", "run", h.ID, nil); err != nil {
		return FollowupResult{}, err
	}
	now := s.Store.Now()
	result := FollowupResult{RunID: h.ID, Outcome: outcomeFor(h)}
	message := lineshaft.MessageData{Role: "user", Text: text}
	appended := false
	if result.Outcome == lineshaft.OutcomeQueuedPrompt && len(attachments) == 0 && h.Unread == 0 {
		var err error
		if appended, err = tx.AppendPrompt(ctx, h.ID, text); err != nil {
			return FollowupResult{}, err
		}
	}
	if !appended {
		// With files it is kept as a turn of its own, so that both stay together; and so
		// is what makes the prompt too long, and what comes after such a one, so that the
		// order stays.
		result.FollowupID, _ = s.Store.NewID()
		message.FollowupID = result.FollowupID
		if err := errors.Join(
			tx.InsertFollowup(ctx, h, store.Followup{ID: result.FollowupID, RunID: h.ID, Message: text}, c.Principal.UID, now),
			tx.InsertAttachments(ctx, h.ID, result.FollowupID, attachments),
		); err != nil {
			return FollowupResult{}, err
		}
	}
	events := []lineshaft.Draft{lineshaft.NewDraft(lineshaft.EventMessage, now, message)}
	if h.State.Terminal() {
		draft, err := s.requeue(ctx, tx, h, "continued by a follow-up", now)
		if err != nil {
			return FollowupResult{}, err
		}
		events = append(events, draft)
	} else {
		h.Touch(now)
	}
	s.wakeRun(ctx, tx, h)
	return result, tx.SaveRun(ctx, h, events...)
}

// checkConversation refuses to reopen a run while another one goes on with its
// conversation: what was said last would be in neither of them.
func checkConversation(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
	run, err := tx.GetRun(ctx, h.ID)
	if err != nil {
		return err
	}
	live, err := tx.LiveOfConversation(ctx, run.ConversationID)
	if err != nil || live == nil {
		return err
	}
	return lineshaft.Conflict("run %s goes on with the conversation of run %s and is %s; send the follow-up there, or wait until it has ended",
		live.ID, h.ID, live.State)
}

// outcomeFor says how a message reaches a run as it stands now.
func outcomeFor(h *store.RunHead) lineshaft.FollowupOutcome {
	switch {
	case h.State == lineshaft.Queued && h.Executions == 0:
		return lineshaft.OutcomeQueuedPrompt
	case h.State == lineshaft.InProgress || h.State == lineshaft.Blocked:
		return lineshaft.OutcomeLiveSession
	case h.State.Terminal():
		return lineshaft.OutcomeHandoff
	}
	return lineshaft.OutcomePending
}

// requeue brings an ended run back into the queue for a new execution. A last
// execution that is not known to be over, or a taken concurrency key, holds it there.
func (s *Runs) requeue(ctx context.Context, tx *store.Tx, h *store.RunHead, why string, now time.Time) (lineshaft.Draft, error) {
	from, wait := h.State, h.QueueDeadline.Sub(h.QueuedAt)
	status := lineshaft.StatusMessage{Message: why}
	if err := h.Move(lineshaft.Queued, status, now); err != nil {
		return lineshaft.Draft{}, err
	}
	h.QueuedAt, h.QueueDeadline, h.Attempts, h.Hold = now, now.Add(wait), 0, h.Hold&(store.HoldExecution|store.HoldSkill)
	if h.ConcurrencyKey != "" {
		holder, err := tx.TakeSlot(ctx, h.ConcurrencyKey, h.ID)
		if err != nil {
			return lineshaft.Draft{}, err
		}
		if holder != h.ID {
			h.Hold |= store.HoldConcurrency
		}
	}
	return stateDraft(now, from, lineshaft.Queued, status, ""), nil
}

// dropFollowups ends the messages of a run that ends, and says so of those that no agent
// got: whoever wrote them would wait for ever.
func dropFollowups(ctx context.Context, tx *store.Tx, h *store.RunHead, now time.Time) ([]lineshaft.Draft, error) {
	text := ""
	switch {
	case h.Unread == 1:
		text = "1 follow-up was not delivered. Send it again to continue the run."
	case h.Unread > 1:
		text = fmt.Sprintf("%d follow-ups were not delivered. Send them again to continue the run.", h.Unread)
	}
	if err := tx.DropFollowups(ctx, h); err != nil || text == "" {
		return nil, err
	}
	return []lineshaft.Draft{lineshaft.NewDraft(lineshaft.EventNotice, now, lineshaft.NoticeData{Level: "warning", Text: text})}, nil
}

// wakeRun tells everybody who may be waiting for this run.
func (s *Runs) wakeRun(_ context.Context, tx *store.Tx, h *store.RunHead) {
	tx.Wake(stream.RunTopic(h.ID))
	tx.Wake(stream.StatesTopic)
	if h.State == lineshaft.Queued {
		tx.Wake(stream.QueueTopic(h.WorkerHost))
	}
	if h.State == lineshaft.Queued && h.Hold&store.HoldSkill != 0 {
		tx.Wake(stream.SkillsTopic)
	}
	if h.WorkerID != "" {
		tx.Wake(stream.WorkerTopic(h.WorkerID))
	}
}
