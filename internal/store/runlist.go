package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// ScanBudget is how many rows one page of a list may read when filters are combined. A
// page that used it up is short and has a cursor to continue from.
const ScanBudget = 5000

// RunKey is a place in a sorted list.
type RunKey struct {
	// Rank is 1 for the part of the list by agent that has no agent, else 0.
	Rank  int    `json:"r,omitempty"`
	Text  string `json:"t,omitempty"` // title or skill, when sorted by one
	Micro int64  `json:"m,omitempty"` // update time, when sorted by it
	ID    string `json:"i"`
}

// RunScan is a request for the next part of a list.
type RunScan struct {
	Filter    lineshaft.RunFilter
	Sort      lineshaft.RunSort
	Ascending bool
	Limit     int
	// After is where the part before ended; nil for the first.
	After *RunKey
	// With is a run that is in the list as well, though its ancestor is not the filter's:
	// the head of the tree that a run token sees.
	With string
	// Brief leaves out prompts, and of configurations all but the name and the model.
	Brief bool
}

// ScanRuns reads the next runs of a filtered, sorted list. More says that the list
// continues at the key last, even if fewer than Limit runs were found.
//
// It works in two steps. One filter, the most selective that is set, drives a walk along
// its index in the order of the list, beside the states; the other filters are checked on
// each row of the walk, whose length is bounded. Runs that are not settled are walked with
// them. Then the runs found are read whole.
func (s *Store) ScanRuns(ctx context.Context, q RunScan) (runs []lineshaft.Run, last *RunKey, more bool, err error) {
	words, ok := queryWords(q.Filter)
	if !ok {
		return nil, nil, false, nil
	}
	found := &scanResult{limit: q.Limit, budget: s.budget}
	if len(words) > 0 {
		err = s.scanByWords(ctx, q, words, found)
	} else {
		err = s.scanRanks(ctx, q, nil, found)
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("list runs: %w", err)
	}
	if err := s.scanHead(ctx, q, found); err != nil {
		return nil, nil, false, fmt.Errorf("list runs: %w", err)
	}
	listed, looked, err := s.listRuns(ctx, found.ids(), q.Brief, false)
	if err != nil {
		return nil, nil, false, err
	}
	for _, run := range listed {
		runs = append(runs, *run)
	}
	if looked < len(found.keys) { // the page is full before its rows are
		return runs, &found.keys[looked-1], true, nil
	}
	return runs, found.last, found.more, nil
}

// findRuns reads which runs are on the first page of a list that is not searched.
func (s *Store) findRuns(ctx context.Context, q RunScan) ([]string, error) {
	found := &scanResult{limit: q.Limit, budget: s.budget}
	err := s.scanRanks(ctx, q, nil, found)
	return found.ids(), err
}

// findEach reads for each of some values which runs are at the beginning of the list that of gives
// the filter of, at most q.Limit of each and in no order: with one statement, if no filter is one
// that rows are checked by.
func (s *Store) findEach(ctx context.Context, q RunScan, all []string, of func(value string) lineshaft.RunFilter) (map[string][]string, error) {
	found := map[string][]string{}
	for part := range slices.Chunk(all, 500) {
		q.Filter = of(part[0])
		w, v := s.newWalk(q, 0, nil), values{}
		if len(w.checks) > 0 || w.upgrading {
			for _, value := range part {
				q.Filter = of(value)
				ids, err := s.findRuns(ctx, q)
				if err != nil {
					return nil, err
				}
				found[value] = ids
			}
			continue
		}
		for _, value := range part {
			v.typed([]string{"TEXT"}, value)
		}
		w.each, w.args = "v.value", append(v.args, w.args...)
		settled := fmt.Sprintf("SELECT r.id FROM (%s) AS r%s LIMIT %d", merge(w.settled(q.Limit)), w.order(w.keyColumns()), q.Limit)
		at := slices.IndexFunc(w.conditions, func(c condition) bool { return c.column == w.drive.column })
		w.conditions[at].values = part
		w.need(w.drive.column)
		err := s.each(ctx, fmt.Sprintf(`WITH v (value) AS (VALUES %s) SELECT value, ids FROM
			(SELECT v.value, (SELECT string_agg(p.id, ' ') FROM (%s) AS p) AS ids FROM v) AS s WHERE ids IS NOT NULL
			UNION ALL SELECT p.%s, p.id FROM (%s) AS p`, v.text.String(), settled, w.drive.column, w.now(s.d.backlog)), w.args,
			func(scan rowScan) error {
				var value, ids string
				err := scan(&value, &ids)
				found[value] = append(found[value], strings.Fields(ids)...)
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// scanHead puts the run that q.With names where it belongs among those that were found.
func (s *Store) scanHead(ctx context.Context, q RunScan, found *scanResult) error {
	if q.With == "" {
		return nil
	}
	q.Filter.AncestorRunID = ""
	if selected, err := s.RunMatches(ctx, q.With, q.Filter); err != nil || !selected {
		return err
	}
	q.Filter.Query = "" // has matched
	head := &scanResult{limit: 1, budget: s.budget}
	if err := s.scanRanks(ctx, q, []string{q.With}, head); err != nil || len(head.keys) == 0 {
		return err
	}
	key := head.keys[0]
	if found.more && found.last != nil && q.compare(key, *found.last) > 0 {
		return nil // of a later part
	}
	at, _ := slices.BinarySearchFunc(found.keys, key, q.compare)
	found.keys = slices.Insert(found.keys, at, key)
	if len(found.keys) > q.Limit {
		found.keys, found.more = found.keys[:q.Limit], true
		found.last = &found.keys[q.Limit-1]
	}
	return nil
}

// compare says which of two places comes first in the list.
func (q RunScan) compare(a, b RunKey) int {
	order := cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Micro, b.Micro), cmp.Compare(a.ID, b.ID))
	if !q.Ascending {
		order = -order
	}
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), order)
}

// queryWords are the words that a filter searches for. False means that the
// filter selects nothing, whatever runs there are.
func queryWords(f lineshaft.RunFilter) (words []string, ok bool) {
	if f.Local || f.States != nil && len(f.States) == 0 {
		return nil, false
	}
	words = SearchWords(f.Query)
	return words, len(words) > 0 || strings.TrimSpace(f.Query) == ""
}

// scanResult gathers what a walk found.
type scanResult struct {
	limit int
	// budget is how many rows may be read.
	budget int
	keys   []RunKey
	last   *RunKey
	more   bool
	looked int
}

func (f *scanResult) ids() []string {
	ids := make([]string, len(f.keys))
	for i, key := range f.keys {
		ids[i] = key.ID
	}
	return ids
}

// scanRanks walks the list, which for the order by agent has two parts. With only,
// it walks those runs.
func (s *Store) scanRanks(ctx context.Context, q RunScan, only []string, found *scanResult) error {
	for rank := range 2 {
		if rank > 0 && q.Sort != lineshaft.SortAgent || q.After != nil && q.After.Rank > rank {
			continue
		}
		// A page is often full after few rows: each step of a walk is longer than the one before.
		for step, ended := 10*(q.Limit+1), false; !ended; step *= 4 {
			var err error
			if ended, err = s.walk(ctx, s.newWalk(q, rank, only), step, found); err != nil || found.more {
				return err
			}
			q.After = found.last
		}
		q.After = nil // the next part starts at its beginning
	}
	return nil
}

// walk goes at most so many rows further, and says whether the list ended there.
func (s *Store) walk(ctx context.Context, w *walk, step int, found *scanResult) (ended bool, err error) {
	cut := min(step, found.budget-found.looked)
	if len(w.checks) == 0 { // every row counts, so a page and one more is enough
		cut = found.limit + 1 - len(found.keys)
	}
	if cut <= 0 { // the part before used it up
		found.more = true
		return false, nil
	}
	query, args := w.query(cut)
	rows, stop := 0, false
	err = s.each(ctx, query, args, func(scan rowScan) error {
		key := RunKey{Rank: w.rank}
		var hit bool
		if err := scan(&key.ID, &key.Micro, &key.Text, &hit); err != nil {
			return fmt.Errorf("scan row: %w", err)
		}
		if stop {
			return nil
		}
		rows++
		// A run that changed between two steps may have gone ahead.
		hit = hit && !slices.ContainsFunc(found.keys, func(before RunKey) bool { return before.ID == key.ID })
		if hit && len(found.keys) == found.limit {
			stop = true
			return nil
		}
		found.last = &key
		if hit {
			found.keys = append(found.keys, key)
		}
		return nil
	})
	found.looked += rows
	found.more = stop || rows == cut && found.looked >= found.budget
	return rows < cut, err
}

// condition is one filter: a column that has one of some values, a tag, or a text
// of SQL. It can drive the walk where an index in list order exists for it.
type condition struct {
	column string
	values []string
	// tag is what run_tags says of runs that are settled. Key and value are the metadata
	// that it represents, artifact the kind of artifact; an ancestor needs neither.
	tag, key, value, artifact string
	// sql is a text about the column.
	sql   string
	drive bool
	// code is one that the run itself has: lists hold none.
	code string
}

// conditions lists the filters that are set but states, the most selective first.
func conditions(f lineshaft.RunFilter) []condition {
	var out []condition
	add := func(column string, values ...string) {
		values = slices.DeleteFunc(values, func(value string) bool { return value == "" })
		if len(values) > 0 {
			out = append(out, condition{column: column, values: values, drive: true})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		out = append(out, condition{tag: metadataTag(key, f.Metadata[key]), key: key, value: f.Metadata[key], drive: true})
	}
	if f.AncestorRunID != "" {
		out = append(out, condition{tag: ancestorTag(f.AncestorRunID), drive: true})
	}
	add("parent_run_id", f.ParentRunID)
	add("schedule_id", f.ScheduleID)
	add("skill_spec", lineshaft.SkillSpecs(f.SkillSpec)...)
	add("name", f.Name)
	add("environment_id", f.EnvironmentID)
	add("factory_uid", distinct(f.FactoryUIDs)...)
	if f.FactoryOnly {
		out = append(out, condition{column: "factory_uid", sql: "factory_uid IS NOT NULL", drive: true})
	}
	if f.ArtifactType != "" {
		out = append(out, condition{tag: artifactTag(string(f.ArtifactType)), artifact: string(f.ArtifactType), drive: true})
	}
	if f.WorkerHost == lineshaft.HostedWorker { // most runs have it, so there is no index
		out = append(out, condition{column: "worker_host", values: []string{lineshaft.HostedWorker}})
	} else {
		add("worker_host", f.WorkerHost)
	}
	add("model_id", f.ModelID)
	add("creator_uid", f.Creator)
	if id.Valid(f.Executor) { // an agent; the other principals have other ids
		add("agent_uid", f.Executor)
	} else {
		add("creator_uid", f.Executor)
	}
	add("source", distinct(f.Sources)...)
	if f.NoEnvironment { // as above
		out = append(out, condition{column: "environment_id", sql: "environment_id IS NULL"})
	}
	if f.ErrorCode != "" {
		out = append(out, condition{code: string(f.ErrorCode)})
	}
	return out
}

// distinct drops repetitions: each value is walked separately, and a run must not be
// found twice.
func distinct[T ~string](items []T) []string {
	var out []string
	for _, item := range items {
		if !slices.Contains(out, string(item)) {
			out = append(out, string(item))
		}
	}
	return out
}

// timeRange is a time filter on the list's own order or, as a check, beside it.
type timeRange struct {
	column      string
	from, until any // inclusive, exclusive; nil for open
}

func createdRange(f lineshaft.RunFilter) timeRange {
	r := timeRange{column: "id"}
	if !f.CreatedAfter.IsZero() {
		r.from = id.Floor(f.CreatedAfter)
	}
	if !f.CreatedBefore.IsZero() {
		r.until = id.Floor(f.CreatedBefore)
	}
	return r
}

func updatedRange(f lineshaft.RunFilter) timeRange {
	r := timeRange{column: "updated_at"}
	if !f.UpdatedAfter.IsZero() {
		r.from = micros(f.UpdatedAfter)
	}
	if !f.UpdatedBefore.IsZero() {
		r.until = micros(f.UpdatedBefore)
	}
	return r
}
