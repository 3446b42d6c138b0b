package api

import (
	"context"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// ConversationPath names a conversation.
type ConversationPath struct {
	ConversationID string `path:"conversationId" doc:"The id of a conversation."`
}

type conversationOutput struct{ Body ConversationResponse }

type (
	runConversationInput struct {
		RunPath
		Cursor int64 `query:"cursor" minimum:"0" doc:"From page_info.next_cursor: continues a conversation that was too long for one answer."`
	}
	conversationInput struct {
		ConversationPath
		Cursor string `query:"cursor" doc:"From page_info.next_cursor: continues a conversation that was too long for one answer."`
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
	b := newConversation()
	next, more, err := s.addLog(ctx, b, run.ID, in.Cursor)
	if err != nil {
		return nil, err
	}
	cursor := ""
	if more {
		cursor = strconv.FormatInt(next, 10)
	}
	return &conversationOutput{Body: b.finish(run.ConversationID, cursor)}, nil
}

// getConversation reads a conversation from its first run to its last.
func (s *server) getConversation(ctx context.Context, in *conversationInput) (*conversationOutput, error) {
	if err := s.takeTurn(ctx, weightConversation); err != nil {
		return nil, err
	}
	from, after, err := conversationPlace(in.Cursor)
	if err != nil {
		return nil, err
	}
	caller := infoFrom(ctx).caller
	if _, err := s.Control.RunByConversation(ctx, caller, in.ConversationID); err != nil {
		return nil, err
	}
	runs, next, err := s.Control.ListConversation(ctx, caller, in.ConversationID, from, conversationRuns)
	if err != nil {
		return nil, err
	}
	b := newConversation()
	for _, runID := range runs {
		if runID != from {
			after = 0
		}
		at, more, err := s.addLog(ctx, b, runID, after)
		if err != nil {
			return nil, err
		}
		if more {
			return &conversationOutput{Body: b.finish(in.ConversationID, placeCursor(runID, at))}, nil
		}
		b.endRun()
	}
	cursor := ""
	if next != "" {
		cursor = placeCursor(next, 0)
	}
	return &conversationOutput{Body: b.finish(in.ConversationID, cursor)}, nil
}

// placeCursor names a place in a conversation: a run, and what was read of its log.
func placeCursor(runID string, after int64) string {
	return runID + "." + strconv.FormatInt(after, 10)
}

func conversationPlace(cursor string) (runID string, after int64, err error) {
	if cursor == "" {
		return "", 0, nil
	}
	runID, number, _ := strings.Cut(cursor, ".")
	after, err = strconv.ParseInt(number, 10, 64)
	if err != nil || after < 0 || !id.Valid(runID) {
		return "", 0, lineshaft.Invalid("cursor", "not a cursor of this list; use next_cursor from the previous answer, or leave it out")
	}
	return runID, after, nil
}

const (
	// stretchEvents is how many events of a log are read at once.
	stretchEvents = 1000
	// conversationBytes is how much of a log is made into one answer. It is in memory more
	// than once meanwhile.
	conversationBytes = 4 << 20
	// conversationRuns is how many runs are made into one answer.
	conversationRuns = 100
	// blockBytes is what an event takes in a conversation besides its data.
	blockBytes = 1 << 10
)

// addLog normalises the log of a run after a place, as much of it as fits into one answer,
// and returns how far it came.
func (s *server) addLog(ctx context.Context, b *conversationBuilder, runID string, after int64) (next int64, more bool, err error) {
	for {
		page, err := s.Control.Events(ctx, infoFrom(ctx).caller, runID, after, stretchEvents)
		if err != nil {
			return after, false, err
		}
		for i := range page.Events {
			e := &page.Events[i]
			if size := len(e.Data) + blockBytes; b.size > 0 && b.size+size > conversationBytes {
				return after, true, nil
			}
			b.size += len(e.Data) + blockBytes
			b.add(e)
			after = e.Sequence
		}
		if !page.More {
			return after, false, nil
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

func (s *server) interruptConversation(ctx context.Context, in *ConversationPath) (*answer[RunReference], error) {
	caller := infoFrom(ctx).caller
	run, err := s.Control.RunByConversation(ctx, caller, in.ConversationID)
	if err != nil {
		return nil, err
	}
	if err := s.Control.Interrupt(ctx, caller, run.ID); err != nil {
		return nil, err
	}
	return &answer[RunReference]{Body: RunReference{RunID: run.ID}}, nil
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

// getConversationRedirect needs no key: the published clients send none. It reveals an
// id to anyone who knows another one, and nothing else.
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
