package runs

import (
	"context"
	"reflect"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
)

// RunByConversation reads the newest run of a conversation.
func (s *Runs) RunByConversation(ctx context.Context, c lineshaft.Caller, conversationID string) (*lineshaft.Run, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	runID, _, err := s.Store.NewestOfConversation(ctx, conversationID)
	if err != nil {
		return nil, err
	}
	run, err := s.visibleRun(ctx, c, runID)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil, lineshaft.NotFound("conversation", conversationID)
	}
	return run, err
}

// RunBySession finds the conversation of a session; it needs no key and shows nothing else.
func (s *Runs) RunBySession(ctx context.Context, sessionID string) (conversationID string, found bool, err error) {
	conversationID, err = s.Store.ConversationOfSession(ctx, sessionID)
	return conversationID, err == nil, base.IgnoreNotFound(err)
}

// SessionByConversation finds the newest session of a conversation; it needs no key.
func (s *Runs) SessionByConversation(ctx context.Context, conversationID string) (sessionID string, found bool, err error) {
	_, sessionID, err = s.Store.NewestOfConversation(ctx, conversationID)
	return sessionID, err == nil, base.IgnoreNotFound(err)
}

// ListConversation reads which runs of a conversation the caller may see, oldest first,
// from one on: those among the next limit, and the run that comes after them, if any.
func (s *Runs) ListConversation(ctx context.Context, c lineshaft.Caller, conversationID, from string, limit int) (runs []string, next string, err error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, "", err
	}
	found, err := s.Store.ListConversation(ctx, conversationID, from, limit+1)
	if err != nil {
		return nil, "", err
	}
	if len(found) > limit {
		next, found = found[limit].ID, found[:limit]
	}
	for _, run := range found {
		visible, err := base.MaySee(ctx, s.Store, c, run.ID, run.FactoryUID)
		if err != nil {
			return nil, "", err
		}
		if visible {
			runs = append(runs, run.ID)
		}
	}
	return runs, next, nil
}

// findContinued fills in the run that a request continues, if the caller may: the last of
// the conversation, or for a rerun the one that the run itself continued. A request that
// names no agent goes to the one that had the conversation, if that still exists.
func (s *Runs) findContinued(ctx context.Context, c lineshaft.Caller, req *lineshaft.NewRun) error {
	if req.ConversationID == "" {
		return nil
	}
	run, err := s.RunByConversation(ctx, c, req.ConversationID)
	if err == nil && req.Continues != "" && req.Continues != run.ID {
		run, err = s.visibleRun(ctx, c, req.Continues)
	}
	if err != nil {
		return err
	}
	if err := mayChange(c, run.ID, run.Creator.UID); err != nil {
		return err
	}
	req.Continues = run.ID
	if req.AgentUID != "" || req.ParentRunID != "" || run.AgentUID == "" {
		return nil
	}
	agent, err := s.Store.GetAgent(ctx, run.AgentUID)
	if err == nil && base.SeesAgent(c, *agent) {
		req.AgentUID = agent.UID
	}
	return base.IgnoreNotFound(err)
}

// continueRun makes a new run the next of its conversation. The run that it continues is
// locked, so that of two at once one is the next and the other finds it live.
func continueRun(ctx context.Context, tx *store.Tx, n *store.NewRun, req lineshaft.NewRun) error {
	last := req.Continues
	if last == "" {
		return nil
	}
	h, err := tx.LockRun(ctx, last)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return lineshaft.NotFound("conversation", n.ConversationID)
	}
	if err != nil {
		return err
	}
	live, err := tx.LiveOfConversation(ctx, n.ConversationID)
	switch {
	case err != nil:
		return err
	case live != nil:
		return lineshaft.Conflict("run %s of this conversation is %s; send it a follow-up instead (POST /agent/runs/%s/followups), or wait until it has ended", live.ID, live.State, live.ID)
	case h.Hold.Has(lineshaft.HoldExecution) || h.SandboxRunning:
		return passing("the last run of this conversation, %s, is still being stopped; "+
			"try again when is_sandbox_running of that run is false", h.ID)
	case h.FactoryUID != "" && n.Head.FactoryUID != h.FactoryUID:
		return lineshaft.Conflict("this conversation belongs to factory %s, and the run that would continue it does not: "+
			"its agent is gone, or another factory's; name an agent of that factory", h.FactoryUID)
	}
	n.Body.Continues = h.ID
	if req.Again != nil {
		return nil // it continues from where the other attempt did
	}
	runs, err := tx.ListConversation(ctx, n.ConversationID, last, 2)
	if err == nil && len(runs) > 1 {
		return passing("run %s has continued this conversation in the meantime; read it, and try again", runs[1].ID)
	}
	return err
}

// conversationLock begins the name that is locked by what begins or reopens a run of a
// conversation: of two at once, on different runs of it, one finds the other live.
const conversationLock = "conversation/"

// passing is a conflict that resolves on its own.
func passing(format string, args ...any) error {
	conflict := lineshaft.Conflict(format, args...)
	conflict.Retryable, conflict.RetryAfter = true, time.Second
	return conflict
}

// takeOver puts what a run continues among what shapes it. What strangers may have
// written there gets no secrets that the run before did not have.
func takeOver(ctx context.Context, r definitionReader, last string, d *Definitions) error {
	if last == "" {
		return nil
	}
	body, err := r.GetRunBody(ctx, last)
	if err != nil {
		return err
	}
	d.conversation = passedOn(body)
	d.outside, err = reachedFromOutside(ctx, r, last, "")
	if d.outside {
		d.Limited, d.allowed, d.tools = true, body.Config.Secrets, body.Config.NamedSecrets()
	}
	return err
}

// passedOn is what the next run of a conversation takes over: what the last one named, or
// had taken over itself.
func passedOn(body *store.RunBody) *lineshaft.AgentConfig {
	next := &lineshaft.AgentConfig{Harness: body.Config.HarnessOf(body.Origins, secrets.RunOrigin, secrets.ConversationOrigin)}
	if secrets.Asked(body.Origins["model_id"]) {
		next.ModelID = body.Config.ModelID
	}
	if secrets.Asked(body.Origins["environment_id"]) {
		next.EnvironmentID = body.Config.EnvironmentID
	}
	if secrets.Asked(body.Origins["worker_host"]) {
		next.WorkerHost = body.Config.WorkerHost
	}
	return next
}

// giveConversation lets a job continue the run before it, unless it has left files of its
// own since.
func (s *Runs) giveConversation(ctx context.Context, tx *store.Tx, last string, job *lineshaft.Job) error {
	if last == "" || job.Snapshot != "" {
		return nil
	}
	executions, config, found, err := tx.ContinuedRun(ctx, last)
	if err != nil {
		return err
	}
	if !found {
		job.Fault, job.Secrets, job.ToolSecrets = "run "+last+", whose conversation this run continues, was deleted; start a separate run", nil, nil
		return nil
	}
	job.Continues = &lineshaft.Continued{RunID: last, Executions: executions, OtherAgent: !sameAgent(config.Harness, job.Config.Harness)}
	job.Snapshot, err = tx.NewestSnapshot(ctx, last)
	return err
}

// sameAgent says whether two runs are driven by the same kind of agent, so that one may
// load the other's session.
func sameAgent(a, b *lineshaft.HarnessConfig) bool {
	var one, other lineshaft.HarnessConfig
	if a != nil {
		one = lineshaft.HarnessConfig{Type: a.Type, Command: a.Command, Mode: a.Mode}
	}
	if b != nil {
		other = lineshaft.HarnessConfig{Type: b.Type, Command: b.Command, Mode: b.Mode}
	}
	return reflect.DeepEqual(one, other)
}
