package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
)

// Stream follows a run's log: first what there is after the given sequence (0 for
// everything), then events as they happen. It ends when the run has ended and its
// log was read to the end, when the loop is left, when ctx ends or at an error that
// connecting again cannot fix; the error then comes with a zero Event.
//
// Connections that break are replaced; each event is delivered once and in order.
func (s *RunsService) Stream(ctx context.Context, runID string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		from := at(runPath+"/events", runID)
		if from.err != nil {
			yield(Event{}, from.err)
			return
		}
		log := runLog{last: after, yield: yield}
		f := &follower{
			c: s.c, what: "follow run " + runID, place: from,
			look: func(ctx context.Context) (bool, error) {
				run, err := s.Get(ctx, runID)
				return err == nil && run.State.Terminal(), err
			},
		}
		if after > 0 {
			f.last = strconv.FormatInt(after, 10)
		}
		f.take = func(_ string, data frame) (bool, error) { return log.take(f, data) }
		if err := f.follow(ctx); err != nil && !errors.Is(err, errLoopLeft) {
			yield(Event{}, err)
		}
	}
}

// runLog is what was delivered of a run's log.
type runLog struct {
	// last is the sequence of the last delivered event.
	last  int64
	yield func(Event, error) bool
}

// take passes on an event that is new. Frames without a sequence are not events
// of the log.
func (l *runLog) take(f *follower, data frame) (delivered bool, err error) {
	var event Event
	if err := json.Unmarshal(data, &event); err != nil {
		return false, &brokenFrameError{after: f.last, err: err}
	}
	if event.Sequence <= l.last {
		return false, nil
	}
	if event.Type == EventState {
		var state StateData
		if err := event.Decode(&state); err != nil {
			return false, &brokenFrameError{after: f.last, err: err}
		}
		f.ended = state.To.Terminal()
	}
	l.last = event.Sequence
	f.last = strconv.FormatInt(l.last, 10)
	if !l.yield(event, nil) {
		return true, errLoopLeft
	}
	return true, nil
}

// StateChange is a change of the state of some run: an event of type EventState,
// with its run.
type StateChange struct {
	Event
	// Cursor continues after this change: put it into RunQuery.Cursor.
	Cursor string
}

// StreamStates follows the state changes of all runs that match: those after
// q.Cursor, or from now on without one. It continues until the loop is left, ctx ends or
// an error comes that connecting again cannot fix. Connections that break are
// replaced, and then deliver what happened in between.
func (s *RunsService) StreamStates(ctx context.Context, q RunQuery) iter.Seq2[StateChange, error] {
	return func(yield func(StateChange, error) bool) {
		f := &follower{c: s.c, what: "follow the states of runs", place: at("/agent/events/stream"), last: q.Cursor}
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
