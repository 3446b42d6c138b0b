package runs

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// StretchBytes is how much of a log is read at once, for any reader: logs are as long as
// agents make them, and many may be read at the same time (H-14).
const StretchBytes = 1 << 20

// EventOverhead is what an event counts besides its data.
const EventOverhead = store.EventOverhead

type (
	// EventMatch narrows a log down.
	EventMatch = store.EventMatch
	// StretchOfMatches are the events that match in a stretch of a log.
	StretchOfMatches = store.StretchOfMatches
)

// Events reads a stretch of a run's log: at most limit events, or fewer when they are long.
func (s *Runs) Events(ctx context.Context, c lineshaft.Caller, runID string, after int64, limit int) (EventPage, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return EventPage{}, err
	}
	if err := s.mayRead(ctx, c, runID); err != nil {
		return EventPage{}, err
	}
	return s.eventPage(ctx, runID, after, limit)
}

// A look goes through so much of a log: for words it reads the data of all events there, for
// types alone only their beginnings.
const (
	lookWords = 25_000
	lookBytes = 8 << 20
	lookTypes = 100_000
)

// FindEvents looks for events in a stretch of a run's log: at most limit of them, or fewer when they are long.
func (s *Runs) FindEvents(
	ctx context.Context, c lineshaft.Caller, runID string, after int64, match EventMatch, limit int,
) (StretchOfMatches, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return StretchOfMatches{}, err
	}
	if err := s.mayRead(ctx, c, runID); err != nil {
		return StretchOfMatches{}, err
	}
	look := store.Look{Events: lookTypes, Bytes: lookBytes, Limit: limit, Size: StretchBytes}
	if len(match.Words) > 0 {
		look.Events = lookWords
	}
	return s.Store.FindEvents(ctx, runID, after, match, look)
}

// EventsBefore reads the stretch of a run's log that ends before a sequence: at most limit
// events, or fewer when they are long.
func (s *Runs) EventsBefore(ctx context.Context, c lineshaft.Caller, runID string, before int64, limit int) ([]lineshaft.Event, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if err := s.mayRead(ctx, c, runID); err != nil {
		return nil, err
	}
	return s.Store.ListEventsBefore(ctx, runID, before, limit, StretchBytes)
}

// mayRead is visibleRun without reading what the run was asked, which may be long.
func (s *Runs) mayRead(ctx context.Context, c lineshaft.Caller, runID string) error {
	if !id.Valid(runID) {
		return lineshaft.NotFound("run", runID)
	}
	factoryUID, err := s.Store.FactoryOfRun(ctx, runID)
	if err != nil {
		return err
	}
	visible, err := base.MaySee(ctx, s.Store, c, runID, factoryUID)
	if err == nil && !visible {
		err = lineshaft.NotFound("run", runID)
	}
	return err
}

func (s *Runs) eventPage(ctx context.Context, runID string, after int64, limit int) (EventPage, error) {
	events, more, err := s.Store.ListEvents(ctx, runID, after, limit, StretchBytes)
	return EventPage{Events: events, More: more}, err
}

// The bounds of a look at a run's last messages: agents write logs of any length, and
// repeated requests must not read them whole.
const (
	messageWindow = 1000
	messageBytes  = 1 << 20
)

// LastMessages reads the last messages of a run, oldest first: as many as asked for, or
// fewer when they are long or lie far behind.
func (s *Runs) LastMessages(ctx context.Context, c lineshaft.Caller, runID string, limit int) ([]lineshaft.Event, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if err := s.mayRead(ctx, c, runID); err != nil {
		return nil, err
	}
	found, err := s.Store.ListMessages(ctx, runID, messageWindow, limit, messageBytes)
	slices.Reverse(found)
	return found, err
}

// Follow reads a run's log from a place on: replay, then live.
func (s *Runs) Follow(ctx context.Context, c lineshaft.Caller, runID string, after int64) (*stream.Follower, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if err := s.mayRead(ctx, c, runID); err != nil {
		return nil, err
	}
	return s.streams.Follow(ctx, runID, after)
}

// FollowStates follows the state changes of all runs that the caller may see and
// the filter selects.
func (s *Runs) FollowStates(ctx context.Context, c lineshaft.Caller, f lineshaft.RunFilter, cursor string) (*stream.States, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if f.AncestorRunID != "" {
		if err := s.mayRead(ctx, c, f.AncestorRunID); err != nil {
			return nil, err
		}
	}
	filter, ok := skills.ScopeFilter(c, f)
	if !ok {
		filter = lineshaft.RunFilter{States: []lineshaft.RunState{}} // matches nothing
	}
	return s.streams.FollowStates(ctx, cursor, func(ctx context.Context, e lineshaft.Event) (bool, error) {
		return s.matches(ctx, filter, e)
	})
}

// matches says whether a state change belongs to a run that a filter selects. The
// filter's states are compared with the state it changed to, not with today's.
func (s *Runs) matches(ctx context.Context, f lineshaft.RunFilter, e lineshaft.Event) (bool, error) {
	if !stateSelected(f.States, e) {
		return false, nil
	}
	f.States = nil
	if f.IsZero() {
		return true, nil
	}
	return s.Store.RunMatches(ctx, e.RunID, f)
}

// Artifact reads an artifact of a run that the caller may see.
func (s *Runs) Artifact(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.Artifact, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	a, err := s.Store.GetArtifact(ctx, uid)
	if err != nil {
		return nil, err
	}
	err = s.mayRead(ctx, c, a.RunID)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil, lineshaft.NotFound("artifact", uid)
	}
	return a, err
}

// Attachments lists what came with a run and its follow-ups.
func (s *Runs) Attachments(ctx context.Context, c lineshaft.Caller, runID string) ([]lineshaft.Attachment, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if err := s.mayRead(ctx, c, runID); err != nil {
		return nil, err
	}
	return s.Store.ListRunAttachments(ctx, runID)
}

// loadAttachments reads the files of a run's prompt back, to send them again.
func (s *Runs) loadAttachments(ctx context.Context, runID string) ([]lineshaft.NewAttachment, error) {
	stored, err := s.Store.ListAttachments(ctx, runID, "")
	if err != nil {
		return nil, err
	}
	var files []lineshaft.NewAttachment
	for _, a := range stored {
		blob, err := s.Store.OpenBlob(ctx, a.BlobID)
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

func stateSelected(states []lineshaft.RunState, e lineshaft.Event) bool {
	var data lineshaft.StateData
	return states == nil || json.Unmarshal(e.Data, &data) == nil && slices.Contains(states, data.To)
}

// EventPage is a stretch of a run's log.
type EventPage struct {
	Events []lineshaft.Event
	// More says that events follow the last one here.
	More bool
}
