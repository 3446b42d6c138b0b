package control

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// Events reads a stretch of a run's log.
func (s *Service) Events(ctx context.Context, c lineshaft.Caller, runID string, after int64, limit int) (EventPage, error) {
	if _, err := s.visibleRun(ctx, c, runID); err != nil {
		return EventPage{}, err
	}
	return s.eventPage(ctx, runID, after, limit)
}

func (s *Service) eventPage(ctx context.Context, runID string, after int64, limit int) (EventPage, error) {
	events, err := s.store.ListEvents(ctx, runID, after, limit+1)
	if err != nil {
		return EventPage{}, err
	}
	if len(events) > limit {
		return EventPage{Events: events[:limit], More: true}, nil
	}
	return EventPage{Events: events}, nil
}

// The bounds of a look at a run's last messages: agents write logs of any length, and
// who asks again and again must not have them read whole.
const (
	messageWindow = 1000
	messageBytes  = 1 << 20
)

// LastMessages reads the last messages of a run, oldest first: as many as asked for, or
// fewer when they are long or lie far behind.
func (s *Service) LastMessages(ctx context.Context, c lineshaft.Caller, runID string, limit int) ([]lineshaft.Event, error) {
	if _, err := s.visibleRun(ctx, c, runID); err != nil {
		return nil, err
	}
	found, err := s.store.ListMessages(ctx, runID, messageWindow, limit, messageBytes)
	slices.Reverse(found)
	return found, err
}

// Follow reads a run's log from a place on: replay, then live.
func (s *Service) Follow(ctx context.Context, c lineshaft.Caller, runID string, after int64) (*stream.Follower, error) {
	if _, err := s.visibleRun(ctx, c, runID); err != nil {
		return nil, err
	}
	return s.streams.Follow(ctx, runID, after)
}

// FollowStates follows the state changes of all runs that the caller may see and
// the filter selects.
func (s *Service) FollowStates(ctx context.Context, c lineshaft.Caller, f lineshaft.RunFilter, cursor string) (*stream.States, error) {
	if f.AncestorRunID != "" {
		if _, err := s.visibleRun(ctx, c, f.AncestorRunID); err != nil {
			return nil, err
		}
	}
	filter, ok := scopeFilter(c, f)
	if !ok {
		filter = lineshaft.RunFilter{States: []lineshaft.RunState{}} // matches nothing
	}
	return s.streams.FollowStates(ctx, cursor, func(ctx context.Context, e lineshaft.Event) (bool, error) {
		return s.matches(ctx, filter, e)
	})
}

// matches says whether a state change belongs to a run that a filter selects. The
// filter's states are compared with the state it changed to, not with today's.
func (s *Service) matches(ctx context.Context, f lineshaft.RunFilter, e lineshaft.Event) (bool, error) {
	if !stateSelected(f.States, e) {
		return false, nil
	}
	f.States = nil
	if f.IsZero() {
		return true, nil
	}
	return s.store.RunMatches(ctx, e.RunID, f)
}

// Artifact reads an artifact of a run that the caller may see.
func (s *Service) Artifact(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.Artifact, error) {
	a, err := s.store.GetArtifact(ctx, uid)
	if err != nil {
		return nil, err
	}
	_, err = s.visibleRun(ctx, c, a.RunID)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil, lineshaft.NotFound("artifact", uid)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Attachments lists what came with a run and its follow-ups.
func (s *Service) Attachments(ctx context.Context, c lineshaft.Caller, runID string) ([]lineshaft.Attachment, error) {
	if _, err := s.visibleRun(ctx, c, runID); err != nil {
		return nil, err
	}
	return s.store.ListRunAttachments(ctx, runID)
}

// loadAttachments reads the files of a run's prompt back, to send them again.
func (s *Service) loadAttachments(ctx context.Context, runID string) ([]lineshaft.NewAttachment, error) {
	stored, err := s.store.ListAttachments(ctx, runID, "")
	if err != nil {
		return nil, err
	}
	var files []lineshaft.NewAttachment
	for _, a := range stored {
		blob, err := s.store.OpenBlob(ctx, a.BlobID)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(blob)
		if err != nil {
			return nil, err
		}
		files = append(files, lineshaft.NewAttachment{FileName: a.FileName, MimeType: a.MimeType, Data: data})
	}
	return files, nil
}

// decodeState reads where a state event leads.
func decodeState(e lineshaft.Event) (lineshaft.RunState, error) {
	var data lineshaft.StateData
	err := json.Unmarshal(e.Data, &data)
	return data.To, err
}
