package api

import (
	"context"
	"strconv"

	"github.com/lineshaft/lineshaft"
)

// ConversationPath names a conversation.
type ConversationPath struct {
	ConversationID string `path:"conversationId" doc:"The id of a conversation."`
}

type conversationOutput struct{ Body ConversationResponse }

type (
	runConversationInput struct {
		RunPath
		Cursor int64 `query:"cursor" minimum:"0" doc:"From page_info.next_cursor: goes on with a conversation that was too long for one answer."`
	}
	conversationInput struct {
		ConversationPath
		Cursor int64 `query:"cursor" minimum:"0" doc:"From page_info.next_cursor: goes on with a conversation that was too long for one answer."`
	}
)

func (s *server) getRunConversation(ctx context.Context, in *runConversationInput) (*conversationOutput, error) {
	if err := s.takeTurn(ctx, weightConversation); err != nil {
		return nil, err
	}
	run, err := s.Control.GetRun(ctx, infoFrom(ctx).caller, in.RunID)
	if err != nil {
		return nil, err
	}
	return s.conversationOf(ctx, run, in.Cursor)
}

func (s *server) getConversation(ctx context.Context, in *conversationInput) (*conversationOutput, error) {
	if err := s.takeTurn(ctx, weightConversation); err != nil {
		return nil, err
	}
	run, err := s.Control.RunByConversation(ctx, infoFrom(ctx).caller, in.ConversationID)
	if err != nil {
		return nil, err
	}
	return s.conversationOf(ctx, run, in.Cursor)
}

const (
	// stretchEvents is how many events of a log are read at once.
	stretchEvents = 1000
	// conversationBytes is how much of a log is made into one answer. It is in memory more
	// than once meanwhile.
	conversationBytes = 4 << 20
	// blockBytes is what an event takes in a conversation besides its data.
	blockBytes = 1 << 10
)

// conversationOf normalises the log after a place, as much of it as fits into one answer.
func (s *server) conversationOf(ctx context.Context, run *lineshaft.Run, after int64) (*conversationOutput, error) {
	b, size := newConversation(), 0
	for {
		page, err := s.Control.Events(ctx, infoFrom(ctx).caller, run.ID, after, stretchEvents)
		if err != nil {
			return nil, err
		}
		for i := range page.Events {
			e := &page.Events[i]
			if size += len(e.Data) + blockBytes; size > conversationBytes && size > len(e.Data)+blockBytes {
				return &conversationOutput{Body: b.finish(run.ConversationID, strconv.FormatInt(after, 10))}, nil
			}
			b.add(e)
			after = e.Sequence
		}
		if !page.More {
			return &conversationOutput{Body: b.finish(run.ConversationID, "")}, nil
		}
	}
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
