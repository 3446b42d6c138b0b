package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// EventMatch narrows a log down. Both engines look at rows much faster than they hand them out.
type EventMatch struct {
	// Types are those to find; none stands for all.
	Types []lineshaft.EventType
	// Words are ASCII letters and digits, a few of each: comparing takes as long as the data times
	// the word. An event has one of them in its data, in any case; none stands for any data.
	Words []string
	// Until is the last sequence to look at; 0 stands for all.
	Until int64
}

// StretchOfMatches are the events that match in a stretch of a log.
type StretchOfMatches struct {
	Events []lineshaft.Event
	// Last is the end of the stretch, and More says that the log continues there.
	Last int64
	More bool
	// Looked is how many bytes were looked through for words.
	Looked int64
}

// Look bounds what one look at a log goes through, and what it reads of it.
type Look struct {
	// Events is how many it goes through, and Bytes how much data: a single event is looked at
	// however long it is. Types are not in the data, so that a look for them alone has no such bound.
	Events int64
	Bytes  int64
	// Limit is how many it reads at most, and it reads no more once it has read Size bytes.
	Limit, Size int
}

// anyCase writes a word as a part of a pattern. Two letters outside of ASCII, İ and the sign of
// Kelvin, are i and k in lower case, which only Go knows.
var anyCase = strings.NewReplacer("i", "_", "I", "_", "k", "_", "K", "_")

// FindEvents looks through a stretch of a run's log after a sequence, and reads the events that match.
func (s *Store) FindEvents(ctx context.Context, runID string, after int64, m EventMatch, l Look) (StretchOfMatches, error) {
	end, _, err := s.LogEnd(ctx, runID)
	if err != nil {
		return StretchOfMatches{}, err
	}
	last := end
	if m.Until > 0 {
		last = min(end, m.Until)
	}
	found := StretchOfMatches{Last: after + min(l.Events, max(0, last-after))}
	if len(m.Words) > 0 && found.Last > after {
		if found.Last, found.Looked, err = s.fitBytes(ctx, runID, after, found.Last, l.Bytes); err != nil {
			return StretchOfMatches{}, err
		}
	}
	args := []any{runID, after, found.Last, l.Limit}
	query := "SELECT " + eventColumns + " FROM events WHERE run_id = $1 AND sequence > $2 AND sequence <= $3"
	if len(m.Types) > 0 {
		query += " AND type IN " + list(&args, m.Types)
	}
	if len(m.Words) > 0 {
		var either []string
		for _, word := range m.Words {
			args = append(args, "%"+anyCase.Replace(word)+"%")
			either = append(either, fmt.Sprintf("data %s $%d", s.d.likeAnyCase, len(args)))
		}
		query += " AND (" + strings.Join(either, " OR ") + ")"
	}
	found.Events, err = s.readEvents(ctx, query+" ORDER BY sequence LIMIT $4", args, l.Size)
	if err != nil {
		return StretchOfMatches{}, err
	}
	used := 0
	for _, e := range found.Events {
		used += len(e.Data) + EventOverhead
	}
	if n := len(found.Events); n > 0 && (used >= l.Size || n == l.Limit) {
		found.Last = found.Events[n-1].Sequence // there may be more of them
	}
	found.More = found.Last < end
	return found, nil
}

// fitBytes halves a stretch until its data is not more than so many bytes, or it is a single event. Neither
// engine reads the data for its length, and sums by event would take as long as looking. Even so it takes as
// long as half a search: what was found is remembered.
func (s *Store) fitBytes(ctx context.Context, runID string, after, last, most int64) (end, size int64, err error) {
	key := stretch{runID, after, last, most}
	if known, ok := s.fits.get(key); ok {
		return known.end, known.size, nil
	}
	if end, size, err = s.measure(ctx, key); err == nil {
		s.fits.put(key, fit{end, size})
	}
	return end, size, err
}

func (s *Store) measure(ctx context.Context, of stretch) (end, size int64, err error) {
	for last := of.last; ; last = of.after + (last-of.after+1)/2 {
		err = s.one(ctx, "SELECT COALESCE(SUM(octet_length(data)), 0) FROM events WHERE run_id = $1 AND sequence > $2 AND sequence <= $3",
			[]any{of.runID, of.after, last}, &size)
		if err != nil {
			return 0, 0, fmt.Errorf("measure events: %w", err)
		}
		if size <= of.most || last == of.after+1 {
			return last, size, nil
		}
	}
}
