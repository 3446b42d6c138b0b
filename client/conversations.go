package client

import (
	"context"
	"io"
	"net/http"
)

// ConversationsService reads and continues conversations: what was said in a run and
// in those that continued it.
type ConversationsService struct{ c *Client }

// ConversationFollowup tells how a follow-up reaches the agent, and in which run.
type ConversationFollowup struct {
	RunID string `json:"run_id"`
	FollowupResult
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
