package runs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/sse"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// changesEvery is how long changes of runs are gathered before a list is notified of them.
	changesEvery = 300 * time.Millisecond
	// mostChanges is how many runs a list is notified of at once; of more it only learns that
	// there were many, and reads its page again.
	mostChanges = 200
)

// runChanges is what happened since the message before.
type runChanges struct {
	Runs []*runChange `json:"runs,omitempty"`
	Many bool         `json:"many,omitempty"`
}

type runChange struct {
	ID string `json:"id"`
	// Fits says that the run is in a state that the list shows.
	Fits bool `json:"fits"`
	// Born says that it has just been made.
	Born bool `json:"born"`
}

// runsLive notifies a list which runs have changed, and says no more than that: the list
// reads again what it shows, so that a change of a million others costs it nothing.
func (s pages) runsLive(r *page.Request) error {
	view, err := parseRunView(r.URL.Query())
	if err != nil {
		return err
	}
	cursor := r.Header.Get("Last-Event-ID")
	if cursor == "" {
		cursor = view.Query.Cursor
	}
	filter := view.Query.Filter
	filter.States, filter.ErrorCode = nil, "" // a run that leaves the list by what becomes of it is also reported
	ctx, cancel := s.WhileLive(r.Context(), r.Caller)
	defer cancel()
	changes, err := s.Control.FollowStates(ctx, r.Caller, filter, cursor)
	if err != nil {
		return err
	}
	defer changes.Close()
	out := r.BeginMessages()
	for err := out.Raw(sse.Retry); err == nil; {
		var found []stream.StateChange
		if found, err = gatherChanges(ctx, changes); err != nil {
			break
		}
		if len(found) == 0 {
			err = out.Raw(sse.Beat)
		} else {
			err = out.Message(found[len(found)-1].Cursor, "", changesOf(found, view.Query.Filter))
		}
	}
	return nil // the reader is gone or the server stops; the browser reconnects
}

// gatherChanges waits for a change, and then a moment for more. No change is not an error.
func gatherChanges(ctx context.Context, changes *stream.States) ([]stream.StateChange, error) {
	wait, cancel := context.WithTimeout(ctx, page.Heartbeat)
	defer cancel()
	found, err := changes.Next(wait)
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return nil, nil
		}
		return nil, err
	}
	moment, end := context.WithTimeout(ctx, changesEvery)
	defer end()
	for len(found) < 100*mostChanges {
		more, err := changes.Next(moment)
		found = append(found, more...)
		switch {
		case err == nil:
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			return found, nil
		default:
			return nil, err
		}
	}
	return found, nil
}

// changesOf is a message of the stream, with each run once.
func changesOf(found []stream.StateChange, filter lineshaft.RunFilter) runChanges {
	var message runChanges
	byID := map[string]*runChange{}
	for _, change := range found {
		told, ok := decode[lineshaft.StateData](change.Event)
		if !ok {
			continue
		}
		known := byID[change.Event.RunID]
		if known == nil {
			known = &runChange{ID: change.Event.RunID}
			byID[known.ID] = known
			message.Runs = append(message.Runs, known)
		}
		known.Born = known.Born || told.From == ""
		known.Fits = selects(filter.States, told.To) && (filter.ErrorCode == "" || filter.ErrorCode == told.ErrorCode)
	}
	if len(message.Runs) > mostChanges {
		return runChanges{Many: true}
	}
	return message
}

func selects(states []lineshaft.RunState, state lineshaft.RunState) bool {
	return states == nil || slices.Contains(states, state)
}
