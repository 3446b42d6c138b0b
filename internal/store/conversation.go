package store

import (
	"context"

	"github.com/lineshaft/lineshaft"
)

// NewestOfConversation finds the last run of a conversation.
func (r reader) NewestOfConversation(ctx context.Context, conversationID string) (runID, sessionID string, err error) {
	err = r.must(ctx, "conversation", conversationID,
		"SELECT id, session_id FROM runs WHERE conversation_id = $1 ORDER BY id DESC LIMIT 1", []any{conversationID}, &runID, &sessionID)
	return runID, sessionID, err
}

// ConversationOfSession finds the conversation a session belongs to.
func (r reader) ConversationOfSession(ctx context.Context, sessionID string) (conversationID string, err error) {
	err = r.must(ctx, "session", sessionID, "SELECT conversation_id FROM runs WHERE session_id = $1 LIMIT 1", []any{sessionID}, &conversationID)
	return conversationID, err
}

// ConversationRun is a run among those of its conversation.
type ConversationRun struct {
	ID         string
	Title      string
	FactoryUID string
	State      lineshaft.RunState
}

const conversationRuns = "SELECT id, title, factory_uid, state FROM runs WHERE conversation_id = $1"

// ListConversation reads the runs of a conversation from one on, oldest first.
func (r reader) ListConversation(ctx context.Context, conversationID, from string, limit int) ([]ConversationRun, error) {
	return r.conversation(ctx, conversationRuns+" AND id >= $2 ORDER BY id LIMIT $3", conversationID, from, limit)
}

// ListConversationBefore reads the runs of a conversation before one, newest first.
func (r reader) ListConversationBefore(ctx context.Context, conversationID, before string, limit int) ([]ConversationRun, error) {
	return r.conversation(ctx, conversationRuns+" AND id < $2 ORDER BY id DESC LIMIT $3", conversationID, before, limit)
}

// LiveOfConversation finds the newest run of a conversation that has not ended; nil
// when all have.
func (r reader) LiveOfConversation(ctx context.Context, conversationID string) (*ConversationRun, error) {
	args := []any{conversationID}
	query := conversationRuns + " AND state IN " + list(&args, lineshaft.LiveStates()) + " ORDER BY id DESC LIMIT 1"
	found, err := r.conversation(ctx, query, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (r reader) conversation(ctx context.Context, query string, args ...any) ([]ConversationRun, error) {
	return collect(ctx, r, "read conversation", query, args, func(scan rowScan) (*ConversationRun, error) {
		run := &ConversationRun{}
		return run, scan(&run.ID, &run.Title, toText(&run.FactoryUID), &run.State)
	})
}

// ContinuedRun reads what a run that continues another needs to know of it: how many
// executions it had, and its configuration. It is false when that run was deleted.
func (tx *Tx) ContinuedRun(ctx context.Context, runID string) (executions int, config lineshaft.AgentConfig, found bool, err error) {
	found, err = tx.look(ctx, "read continued run",
		"SELECT r.executions, b.config FROM runs r JOIN run_bodies b ON b.run_id = r.id WHERE r.id = $1", []any{runID}, &executions, toJSON(&config))
	return executions, config, found, err
}

// ContinuedBy is the run that another one continues; empty when it began its own
// conversation.
func (r reader) ContinuedBy(ctx context.Context, runID string) (continues string, err error) {
	_, err = r.look(ctx, "read what a run continues", "SELECT continues FROM run_bodies WHERE run_id = $1", []any{runID}, &continues)
	return continues, err
}

// LastAttempt is the highest number among the runs with the request of the first.
func (r reader) LastAttempt(ctx context.Context, first string) (int, error) {
	last := 1
	_, err := r.look(ctx, "read last attempt", "SELECT attempt FROM runs WHERE rerun_of = $1 ORDER BY attempt DESC LIMIT 1", []any{first}, &last)
	return last, err
}

// ListReruns reads the first reruns of a run.
func (r reader) ListReruns(ctx context.Context, first string, limit int) ([]lineshaft.Rerun, error) {
	return collect(ctx, r, "read reruns",
		"SELECT id, attempt, state FROM runs WHERE rerun_of = $1 ORDER BY attempt LIMIT $2", []any{first, limit}, func(scan rowScan) (*lineshaft.Rerun, error) {
			one := &lineshaft.Rerun{}
			return one, scan(&one.RunID, &one.Attempt, &one.State)
		})
}
