package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
)

// StateChange is a change of the state of some run: an event of type EventState,
// with its run.
type StateChange struct {
	Event
	// Cursor continues after this change: put it into RunQuery.Cursor.
	Cursor string
}

// StreamStates follows the state changes of all runs that match: those after
// q.Cursor, or from now on without one. It goes on until the loop is left, ctx ends or
// an error comes that connecting again cannot mend. Connections that break are
// replaced, and what happened in between is delivered then.
func (s *RunsService) StreamStates(ctx context.Context, q RunQuery) iter.Seq2[StateChange, error] {
	return func(yield func(StateChange, error) bool) {
		f := &follower{c: s.c, what: "follow the states of runs", path: "/agent/events/stream", last: q.Cursor}
		q.Cursor, q.Limit, q.SortBy, q.SortOrder = "", 0, "", "" // those of lists
		f.query = q.values()
		f.take = func(id string, data frame) (bool, error) {
			change := StateChange{Cursor: id}
			if err := json.Unmarshal(data, &change.Event); err != nil {
				return false, &brokenFrameError{after: f.last, err: err}
			}
			f.last = id
			if !yield(change, nil) {
				return true, errLoopLeft
			}
			return true, nil
		}
		if err := f.follow(ctx); err != nil && !errors.Is(err, errLoopLeft) {
			yield(StateChange{}, err)
		}
	}
}
