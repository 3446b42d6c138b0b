package client

import (
	"context"
	"io"
	"net/http"
	"time"
)

// ConversationsService reads and continues conversations: what was said in a run and
// in those that continued it.
type ConversationsService struct{ c *Client }

// Conversation is what was said and done, step by step.
type Conversation struct {
	ConversationID string             `json:"conversation_id"`
	Steps          []ConversationStep `json:"steps"`
	// PageInfo is set when the conversation is too long for one answer; its last block is
	// then an event named truncated.
	PageInfo *PageInfo `json:"page_info,omitempty"`
}

// ConversationStep is a message of the user and what the agent made of it.
type ConversationStep struct {
	ID          string                `json:"id"`
	Messages    []ConversationMessage `json:"messages"`
	Steps       []ConversationStep    `json:"steps"`
	StartedAt   *time.Time            `json:"started_at,omitempty"`
	CompletedAt *time.Time            `json:"completed_at,omitempty"`
}

// ConversationMessage is what one side said.
type ConversationMessage struct {
	// Role is user, assistant, tool or system.
	Role    string                `json:"role"`
	Content []ConversationContent `json:"content"`
	// MessageIDs are the events that it is made of.
	MessageIDs []string   `json:"message_ids,omitempty"`
	Timestamp  *time.Time `json:"timestamp,omitempty"`
}

// ConversationContent is a part of a message; which fields it has depends on Type.
type ConversationContent struct {
	// Type is text, action, action_result or event.
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// ID is that of an action, ActionID the one that a result belongs to.
	ID       string `json:"id,omitempty"`
	ActionID string `json:"action_id,omitempty"`
	Category string `json:"category,omitempty"`
	Name     string `json:"name,omitempty"`
	// State of a result is running, completed, failed or denied.
	State     string         `json:"state,omitempty"`
	Input     map[string]any `json:"input,omitempty"`
	Output    map[string]any `json:"output,omitempty"`
	Data      map[string]any `json:"data,omitempty"`
	MessageID string         `json:"message_id,omitempty"`
}

// ConversationFollowup tells how a follow-up reaches the agent, and in which run.
type ConversationFollowup struct {
	RunID string `json:"run_id"`
	FollowupResult
}

// RunReference names a run.
type RunReference struct {
	RunID string `json:"run_id"`
}

// Get reads the conversation as its newest run has it.
func (s *ConversationsService) Get(ctx context.Context, id string) (*Conversation, error) {
	path, err := conversationPath(id, "")
	if err != nil {
		return nil, err
	}
	return get[Conversation](ctx, s.c, path, nil)
}

// Transcript opens the log of its newest run: one JSON object per event and line. Close it.
func (s *ConversationsService) Transcript(ctx context.Context, id string) (io.ReadCloser, error) {
	path, err := conversationPath(id, "/transcript")
	if err != nil {
		return nil, err
	}
	return s.c.open(ctx, path)
}

// Followup sends a further message to the newest run.
func (s *ConversationsService) Followup(ctx context.Context, id string, req FollowupRequest) (*ConversationFollowup, error) {
	path, err := conversationPath(id, "/followups")
	if err != nil {
		return nil, err
	}
	var out ConversationFollowup
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: req, out: &out, keyed: true, replay: true}))
}

// Interrupt stops what the agent of the newest run does now; the run goes on.
func (s *ConversationsService) Interrupt(ctx context.Context, id string) (*RunReference, error) {
	path, err := conversationPath(id, "/interrupt")
	if err != nil {
		return nil, err
	}
	var out RunReference
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, out: &out}))
}

func conversationPath(id, rest string) (string, error) {
	part, err := segment("conversation", id)
	if err != nil {
		return "", err
	}
	return "/agent/conversations/" + part + rest, nil
}
