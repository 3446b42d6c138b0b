package api

import (
	"context"

	"github.com/lineshaft/lineshaft"
)

// ConversationPath names a conversation.
type ConversationPath struct {
	ConversationID string `path:"conversationId" doc:"The id of a conversation."`
}

type conversationOutput struct{ Body ConversationResponse }

func (s *server) getRunConversation(ctx context.Context, in *RunPath) (*conversationOutput, error) {
	run, err := s.Control.GetRun(ctx, infoFrom(ctx).caller, in.RunID)
	if err != nil {
		return nil, err
	}
	return s.conversationOf(ctx, run)
}

func (s *server) getConversation(ctx context.Context, in *ConversationPath) (*conversationOutput, error) {
	run, err := s.Control.RunByConversation(ctx, infoFrom(ctx).caller, in.ConversationID)
	if err != nil {
		return nil, err
	}
	return s.conversationOf(ctx, run)
}

func (s *server) conversationOf(ctx context.Context, run *lineshaft.Run) (*conversationOutput, error) {
	b := newConversation()
	if err := s.allEvents(ctx, run.ID, func(e *lineshaft.Event) error {
		b.add(e)
		return nil
	}); err != nil {
		return nil, err
	}
	return &conversationOutput{Body: b.finish(run.ConversationID)}, nil
}

type (
	conversationFollowupInput struct {
		ConversationPath
		Body RunFollowupRequest
	}
	conversationFollowupOutput struct {
		Replayed string `header:"Idempotent-Replayed" doc:"true when this is the kept answer to an earlier request with the same Idempotency-Key."`
		Body     ConversationFollowupResponse
	}
)

func (s *server) createConversationFollowup(ctx context.Context, in *conversationFollowupInput) (*conversationFollowupOutput, error) {
	info := infoFrom(ctx)
	followup, err := in.Body.domain("")
	if err != nil {
		return nil, err
	}
	run, err := s.Control.RunByConversation(ctx, info.caller, in.ConversationID)
	if err != nil {
		return nil, err
	}
	followup.RunID = run.ID
	result, err := s.Control.Followup(ctx, info.caller, followup, info.idempotency)
	if err != nil {
		return nil, err
	}
	return &conversationFollowupOutput{
		Replayed: replayed(result.Replayed),
		Body:     ConversationFollowupResponse{RunFollowupResponse: wireFollowup(result), RunID: run.ID},
	}, nil
}

func (s *server) interruptConversation(ctx context.Context, in *ConversationPath) (*referenceOutput, error) {
	caller := infoFrom(ctx).caller
	run, err := s.Control.RunByConversation(ctx, caller, in.ConversationID)
	if err != nil {
		return nil, err
	}
	if err := s.Control.Interrupt(ctx, caller, run.ID); err != nil {
		return nil, err
	}
	return &referenceOutput{Body: RunReference{RunID: run.ID}}, nil
}

// ConversationRedirect leads from a conversation to its session.
type ConversationRedirect struct {
	SessionID string `json:"session_id,omitempty"`
}

// SessionRedirect leads from a session to its conversation.
type SessionRedirect struct {
	ConversationID string `json:"conversation_id,omitempty"`
}

type (
	conversationRedirectOutput struct{ Body ConversationRedirect }
	sessionInput               struct {
		SessionUUID string `path:"sessionUuid" doc:"The id of a session."`
	}
	sessionRedirectOutput struct{ Body SessionRedirect }
)

// getConversationRedirect needs no key: the published clients send none. It tells
// an id to whoever knows another one, and nothing else.
func (s *server) getConversationRedirect(ctx context.Context, in *ConversationPath) (*conversationRedirectOutput, error) {
	session, _, err := s.Control.SessionByConversation(ctx, in.ConversationID)
	if err != nil {
		return nil, err
	}
	return &conversationRedirectOutput{Body: ConversationRedirect{SessionID: session}}, nil
}

func (s *server) getSessionRedirect(ctx context.Context, in *sessionInput) (*sessionRedirectOutput, error) {
	conversation, _, err := s.Control.RunBySession(ctx, in.SessionUUID)
	if err != nil {
		return nil, err
	}
	return &sessionRedirectOutput{Body: SessionRedirect{ConversationID: conversation}}, nil
}
