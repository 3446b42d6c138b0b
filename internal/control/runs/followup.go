package runs

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
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
	// The follow-up is a part of the run's trace; the request stays in its own.
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
			h, err := s.lockLife(ctx, tx, req.RunID, conversationLock+run.ConversationID)
			if err != nil {
				return err
			}
			result, err = h.followUp(ctx, c, req.Message, attachments)
			return err
		})
		result.Replayed = replayed
		return err
	})
	return result, err
}

// maySteer keeps a key that is limited to factories from secrets of an environment that it
// may not name: a message to a run that someone else put there would reach them (S-3). A
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
		origin = secrets.RunOrigin // where a parent is gone it counts as someone's choice
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

// definitionsOf are the agent and the factory of a run, as far as they exist.
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

// followUp sends a message to the run.
func (l *life) followUp(ctx context.Context, c lineshaft.Caller, text string, attachments []lineshaft.Attachment) (FollowupResult, error) {
	if err := l.mayFollowUp(ctx, c); err != nil {
		return FollowupResult{}, err
	}
	if err := l.room.Audit(ctx, l.tx, c, "run.followup", "run", l.ID, nil); err != nil {
		return FollowupResult{}, err
	}
	result := FollowupResult{RunID: l.ID, Outcome: outcomeFor(l.RunHead)}
	message := lineshaft.MessageData{Role: "user", Text: text}
	appended := false
	if result.Outcome == lineshaft.OutcomeQueuedPrompt && len(attachments) == 0 && l.Unread == 0 {
		var err error
		if appended, err = l.tx.AppendPrompt(ctx, l.ID, text); err != nil {
			return FollowupResult{}, err
		}
	}
	if !appended {
		// A message with files becomes a separate turn, to keep both together. So does
		// one that makes the prompt too long, and any message after such a turn, to keep
		// the order.
		result.FollowupID, _ = l.room.Store.NewID()
		message.FollowupID = result.FollowupID
		f := store.Followup{ID: result.FollowupID, RunID: l.ID, Message: text}
		if err := l.tx.InsertFollowup(ctx, l.RunHead, f, c.Principal.UID, l.now); err != nil {
			return FollowupResult{}, err
		}
		if err := l.tx.InsertAttachments(ctx, l.ID, result.FollowupID, attachments); err != nil {
			return FollowupResult{}, err
		}
	}
	l.events = append(l.events, lineshaft.NewDraft(lineshaft.EventMessage, l.now, message))
	if !l.State.Terminal() {
		l.Touch(l.now)
	} else if err := l.requeue(ctx, "continued by a follow-up"); err != nil {
		return FollowupResult{}, err
	}
	return result, l.save(ctx)
}

// mayFollowUp says whether a message may be sent to the run, which reopens one that has ended.
func (l *life) mayFollowUp(ctx context.Context, c lineshaft.Caller) error {
	if err := l.room.maySteer(ctx, l.tx, c, l.RunHead); err != nil || !l.State.Terminal() {
		return err
	}
	if err := l.room.mayReopen(ctx, l.tx, l.RunHead); err != nil {
		return err
	}
	if err := checkConversation(ctx, l.tx, l.RunHead); err != nil || l.FactoryUID == "" {
		return err
	}
	factory, err := l.tx.GetFactory(ctx, l.FactoryUID) // it would be a new execution
	if err := base.IgnoreNotFound(err); err != nil {
		return err
	}
	return l.room.checkBudget(ctx, l.tx, factory)
}

// checkConversation refuses to reopen a run while another one continues its
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
	return lineshaft.Conflict("run %s continues the conversation of run %s and is %s; send the follow-up there, or wait until it has ended",
		live.ID, h.ID, live.State)
}

// outcomeFor says how a message reaches a run in its present state.
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
