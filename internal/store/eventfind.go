package store

import (
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft"
)

// EventMatch narrows a log down. Both engines look at rows much faster than they hand them out.
type EventMatch struct {
	// Types are those to find; none stands for all.
	Types []lineshaft.EventType
	// Words are ASCII letters and digits. An event has one of them in its data, in any case,
	// or may hide it behind escapes; none stands for any data.
	Words []string
}

// StretchOfMatches are the events that match in a stretch of a log.
type StretchOfMatches struct {
	Events []lineshaft.Event
	// Last is the end of the stretch, and More says that the log continues there.
	Last int64
	More bool
}

// FindEvents looks through the next window events of a run after a sequence, and reads those
// that match: at most limit, and no more once size bytes are read.
func (r reader) FindEvents(
	ctx context.Context, runID string, after int64, m EventMatch, window int64, limit, size int,
) (StretchOfMatches, error) {
	end, _, err := r.LogEnd(ctx, runID)
	if err != nil {
		return StretchOfMatches{}, err
	}
	found := StretchOfMatches{Last: after + min(window, max(0, end-after))}
	args := []any{runID, after, found.Last, limit}
	query := "SELECT " + eventColumns + " FROM events WHERE run_id = $1 AND sequence > $2 AND sequence <= $3"
	if len(m.Types) > 0 {
		query += " AND type IN " + list(&args, m.Types)
	}
	if len(m.Words) > 0 {
		query += " AND (" + r.d.escapedWord
		for _, word := range m.Words {
			args = append(args, "%"+word+"%")
			query += fmt.Sprintf(" OR data %s $%d", r.d.likeAnyCase, len(args))
		}
		query += ")"
	}
	found.Events, err = r.readEvents(ctx, query+" ORDER BY sequence LIMIT $4", args, size)
	if err != nil {
		return StretchOfMatches{}, err
	}
	used := 0
	for _, e := range found.Events {
		used += len(e.Data) + EventOverhead
	}
	if n := len(found.Events); n > 0 && (used >= size || n == limit) {
		found.Last = found.Events[n-1].Sequence // there may be more of them
	}
	found.More = found.Last < end
	return found, nil
}
