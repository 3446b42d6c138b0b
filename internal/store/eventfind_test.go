package store_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func logged(t *testing.T, s *store.Store, drafts ...lineshaft.Draft) (runID string) {
	t.Helper()
	runID = insertRun(t, s, nil)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		return tx.SaveRun(ctx, h, drafts...)
	})
	return runID
}

// What the database leaves out cannot have the word, in any case.
func TestR9FindEvents(t *testing.T) {
	t.Parallel()
	written := func(text string) lineshaft.Draft {
		return lineshaft.Draft{Type: lineshaft.EventOutput, Time: time.UnixMicro(1), Data: json.RawMessage(`{"text":"` + text + `"}`)}
	}
	message := lineshaft.NewDraft(lineshaft.EventMessage, time.UnixMicro(1), lineshaft.MessageData{Text: "a needle"})
	messages, states := lineshaft.EventMessage, lineshaft.EventState
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := logged(t, s, // from 2: the first event is the state of a new run
			written("hay"), written("a NEEdle!"), written("needless"),
			written(`404 \u001b[31m red \u003c`), written("40"), written("100% _x"), message, written("İstanbul, 300\u212a"))
		for name, c := range map[string]struct {
			match store.EventMatch
			want  []int64
		}{
			"everything":         {store.EventMatch{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
			"a word in any case": {store.EventMatch{Words: []string{"needle"}}, []int64{3, 4, 8}},
			"what only Go folds": {store.EventMatch{Words: []string{"istanbul"}}, []int64{9}},
			"the sign of Kelvin": {store.EventMatch{Words: []string{"300k"}}, []int64{9}},
			"digits":             {store.EventMatch{Words: []string{"404"}}, []int64{5}},
			"one of two words":   {store.EventMatch{Words: []string{"hay", "red"}}, []int64{2, 5}},
			"a type":             {store.EventMatch{Types: []lineshaft.EventType{messages}}, []int64{8}},
			"two types":          {store.EventMatch{Types: []lineshaft.EventType{messages, states}}, []int64{1, 8}},
			"a word in a type":   {store.EventMatch{Words: []string{"needle"}, Types: []lineshaft.EventType{messages}}, []int64{8}},
			"nothing":            {store.EventMatch{Words: []string{"zebra"}}, nil},
		} {
			found, err := s.FindEvents(t.Context(), run, 0, c.match, store.Look{Events: 100, Bytes: 1 << 20, Limit: 100, Size: 1 << 20})
			must(t, err)
			var got []int64
			for _, e := range found.Events {
				got = append(got, e.Sequence)
			}
			if !slices.Equal(got, c.want) || found.Last != 9 || found.More {
				t.Errorf("%s: %v until %d, more %v; want %v", name, got, found.Last, found.More, c.want)
			}
		}
	})
}

// A stretch ends where a bound is reached, and the next one continues there (H-14).
func TestR9FindEventsInStretches(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var drafts []lineshaft.Draft
		for i := range 99 {
			text := "hay"
			if i%10 == 0 {
				text = "needle " + strings.Repeat("x", 1000)
			}
			drafts = append(drafts, output(text))
		}
		run, needle := logged(t, s, drafts...), store.EventMatch{Words: []string{"needle"}}
		for name, c := range map[string]struct {
			look      store.Look
			stretches int
		}{
			"whole":          {store.Look{Events: 1000, Bytes: 1 << 20, Limit: 1000, Size: 1 << 20}, 1},
			"by events":      {store.Look{Events: 25, Bytes: 1 << 20, Limit: 1000, Size: 1 << 20}, 4},
			"by bytes":       {store.Look{Events: 1000, Bytes: 8_000, Limit: 1000, Size: 1 << 20}, 2},
			"event by event": {store.Look{Events: 1000, Bytes: 1, Limit: 1000, Size: 1 << 20}, 100},
			"by count":       {store.Look{Events: 1000, Bytes: 1 << 20, Limit: 4, Size: 1 << 20}, 3},
			"by size":        {store.Look{Events: 1000, Bytes: 1 << 20, Limit: 1000, Size: 2000}, 6},
			"match by match": {store.Look{Events: 1000, Bytes: 1 << 20, Limit: 1000, Size: 1}, 11},
		} {
			var after int64
			var got, stretches int
			for more := true; more; stretches++ {
				found, err := s.FindEvents(t.Context(), run, after, needle, c.look)
				must(t, err)
				if found.Last <= after {
					t.Fatalf("%s: no progress after %d", name, after)
				}
				got, after, more = got+len(found.Events), found.Last, found.More
			}
			if got != 10 || after != 100 || stretches != c.stretches {
				t.Errorf("%s: %d events until %d in %d stretches, want %d", name, got, after, stretches, c.stretches)
			}
		}
		beyond, err := s.FindEvents(t.Context(), run, 500, needle, store.Look{Events: 10, Bytes: 10, Limit: 10, Size: 10})
		if must(t, err); len(beyond.Events) > 0 || beyond.More || beyond.Last != 500 {
			t.Errorf("after the end: %+v", beyond)
		}
		if _, err := s.FindEvents(t.Context(), "none", 0, needle, store.Look{}); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			t.Error(err)
		}
	})
}

// A stretch is measured once, as long as it is one of the last: searching again is about the words alone. What
// is appended later is found all the same, and a deleted run is gone.
func TestR9FindEventsMeasuresOnce(t *testing.T) {
	t.Parallel()
	look := store.Look{Events: 1000, Bytes: 4000, Limit: 1000, Size: 1 << 20}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var drafts []lineshaft.Draft
		for range 9 {
			drafts = append(drafts, output(strings.Repeat("needle ", 100)))
		}
		run := logged(t, s, drafts...)
		find := func(word string) store.StretchOfMatches {
			t.Helper()
			found, err := s.FindEvents(t.Context(), run, 0, store.EventMatch{Words: []string{word}}, look)
			must(t, err)
			return found
		}
		first := find("needle")
		if first.Looked == 0 || !first.More || len(first.Events) == 0 {
			t.Fatalf("%+v", first)
		}
		change := func(query string, args ...any) {
			t.Helper()
			write(t, s, func(ctx context.Context, tx *store.Tx) error { _, err := tx.Exec(ctx, query, args...); return err })
		}
		change("UPDATE events SET data = $1 WHERE run_id = $2 AND sequence = 2", `{"text":"`+strings.Repeat("n", 9000)+`"}`, run) // nothing else does this
		if again := find("zebra"); again.Looked != first.Looked || again.Last != first.Last || len(again.Events) > 0 {
			t.Errorf("measured again: %+v, before %d bytes until %d", again, first.Looked, first.Last)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			h, err := tx.LockRun(ctx, run)
			if err != nil {
				return err
			}
			return tx.SaveRun(ctx, h, output("a zebra"))
		})
		var got int
		for after, more := int64(0), true; more; {
			found, err := s.FindEvents(t.Context(), run, after, store.EventMatch{Words: []string{"zebra"}}, look)
			must(t, err)
			got, after, more = got+len(found.Events), found.Last, found.More
		}
		if got != 1 {
			t.Errorf("what was appended was found %d times", got)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, run) })
		if _, err := s.FindEvents(t.Context(), run, 0, store.EventMatch{Words: []string{"zebra"}}, look); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			t.Error(err)
		}
	})
}

// Only so many stretches are remembered, and those that are asked for stay.
func TestR9MeasuredStretchesAreBounded(t *testing.T) {
	t.Parallel()
	kept, oldest, n := store.RememberStretches(3 * store.MostFits)
	if !kept || oldest || n != store.MostFits {
		t.Errorf("of %d stretches %d are kept; the one in use: %v, the oldest: %v", 3*store.MostFits, n, kept, oldest)
	}
}
