package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Lists of runs are settled: what people look runs up by is not written with a run, but in
// bulk a moment later. Triggers note each run that changed in run_backlog; SettleRuns copies
// its present values to run_list, run_tags and the index of words. A list reads what is
// settled and has not changed since, and takes the rest from the runs themselves. So it is
// exact at any moment, and quick as long as the backlog, which it reads whole, is short.

// SettleAhead is how many changes are considered together, to settle neighbours together:
// runs of one creator share most of what lists go by.
const SettleAhead = 2048

// SettleBatch is how much is settled by one write, in ordinary runs. The more they are, the more
// of them share a page of an index; but on SQLite others wait for the write (D-3).
const SettleBatch = 128

// listColumns are what run_list has of a run; after its id those whose words are searched.
var listColumns = []string{
	"id", "title", "name", "skill_spec", "state", "source", "creator_uid", "model_id", "environment_id", "schedule_id",
	"factory_uid", "worker_host", "parent_run_id", "agent_uid", "updated_at",
}

// replaceListed puts a newer copy in the place of an older one. The other columns never change.
const replaceListed = ` ON CONFLICT (id) DO UPDATE SET title = excluded.title, state = excluded.state, name = excluded.name,
	skill_spec = excluded.skill_spec, updated_at = excluded.updated_at`

// SettleRuns settles up to limit runs that changed. More says that there may be others.
// On PostgreSQL one node does it at a time, so that the last copy of a run is the newest.
func (s *Store) SettleRuns(ctx context.Context, limit int) (more bool, err error) {
	changed, err := s.texts(ctx, `SELECT run_id FROM (SELECT run_id, (SELECT creator_uid FROM runs WHERE id = run_id) AS creator
		FROM (SELECT DISTINCT run_id FROM run_backlog ORDER BY run_id LIMIT $1) AS first) AS changed ORDER BY creator, run_id`, limit)
	if err != nil {
		return false, fmt.Errorf("read changed runs: %w", err)
	}
	for ids := range slices.Chunk(changed, SettleBatch) {
		came, err := s.readCame(ctx, ids)
		if err != nil {
			return false, err
		}
		for _, batch := range s.weigh(ids, came) {
			if mine, err := s.settleTogether(ctx, batch, came); err != nil || !mine {
				return false, err
			}
		}
	}
	return len(changed) == limit, nil
}

// came is what a run came with and keeps.
type came struct {
	metadata map[string]string
	words    []string // of the prompt
	err      error    // why it cannot be read
}

// renamed says that lists know other words of a run than it has.
const renamed = `(l.title <> r.title OR COALESCE(l.name, '') <> COALESCE(r.name, '') OR COALESCE(l.skill_spec, '') <> COALESCE(r.skill_spec, ''))`

// readCame reads what runs came with that lists do not know, or not by their names.
func (r reader) readCame(ctx context.Context, ids []string) (map[string]came, error) {
	all := map[string]came{}
	if len(ids) == 0 {
		return all, nil
	}
	args := []any{searchBytes}
	err := r.each(ctx, `SELECT b.run_id, b.metadata, SUBSTR(b.prompt, 1, $1) FROM runs r JOIN run_bodies b ON b.run_id = r.id
		LEFT JOIN run_list l ON l.id = r.id WHERE (l.id IS NULL OR `+renamed+") AND r.id IN "+list(&args, ids), args, func(scan rowScan) error {
		var runID, metadata, prompt string
		if err := scan(&runID, &metadata, &prompt); err != nil {
			return err
		}
		one := came{words: SearchWords(searchedPart(prompt))}
		if err := json.Unmarshal([]byte(metadata), &one.metadata); err != nil {
			one.err = fmt.Errorf("decode metadata of run %s: %w", runID, err)
		}
		all[runID] = one
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what runs came with: %w", err)
	}
	return all, nil
}

// weigh cuts runs into batches. One that could not be settled before is alone: it keeps no others
// back.
func (s *Store) weigh(ids []string, all map[string]came) (batches [][]string) {
	var batch []string
	weight := 0
	for _, runID := range ids {
		if _, stuck := s.stuck.Load(runID); stuck {
			batches = append(batches, []string{runID})
			continue
		}
		one := 1 + len(all[runID].metadata)/4 + len(all[runID].words)/64
		if weight += one; weight > SettleBatch && len(batch) > 0 {
			batches, batch, weight = append(batches, batch), nil, one
		}
		batch = append(batch, runID)
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches
}

// settleTogether settles runs with one write. One that cannot be settled must not keep others
// from it: each is then tried alone.
func (s *Store) settleTogether(ctx context.Context, ids []string, all map[string]came) (mine bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		mine, err = tx.settleChanged(ctx, ids, all)
		return err
	})
	if err == nil || lineshaft.CodeOf(err) == lineshaft.CodeUnavailable || ctx.Err() != nil {
		return mine, err
	}
	if len(ids) == 1 { // lists continue to take it from the run itself
		if _, known := s.stuck.LoadOrStore(ids[0], true); !known {
			s.log.ErrorContext(ctx, "cannot settle a run; lists take longer with it", "run_id", ids[0], "err", err)
		}
		return true, nil
	}
	for i := range ids {
		if _, err := s.settleTogether(ctx, ids[i:i+1], all); err != nil {
			return false, err
		}
	}
	return true, nil
}

// settleChanged settles those of some runs that are still noted, unless another node settles.
func (tx *Tx) settleChanged(ctx context.Context, ids []string, all map[string]came) (mine bool, err error) {
	if mine, err := tx.ownLists(ctx); err != nil || !mine {
		return false, err
	}
	var args []any
	changed, err := tx.texts(ctx, "DELETE FROM run_backlog WHERE run_id IN "+list(&args, ids)+" RETURNING run_id", args...)
	if err != nil {
		return false, fmt.Errorf("take changed runs: %w", err)
	}
	if len(changed) == 0 {
		return true, nil
	}
	slices.Sort(changed)
	return true, tx.settle(ctx, slices.Compact(changed), all)
}

// ownLists takes the right to settle until the transaction ends, unless another node has it.
func (tx *Tx) ownLists(ctx context.Context) (mine bool, err error) {
	if tx.d.ownLists == "" {
		return true, nil
	}
	err = tx.one(ctx, tx.d.ownLists, nil, &mine)
	return mine, err
}

// listed is a run as it is, beside what lists know of it.
type listed struct {
	id      string
	updated int64
	row     []any
	// fresh says that lists do not know it yet, renamed that they know other words, and moved
	// that it may have tags of another time.
	fresh, renamed, moved bool
	// names are those of its words that may change; with it came the others.
	names string
	came  came
}

// readListed reads the runs that exist in one statement: all that is written of them
// then belongs to one moment.
func (tx *Tx) readListed(ctx context.Context, ids []string) ([]listed, error) {
	var args []any
	query := "SELECT r." + strings.Join(listColumns, ", r.") + ", l.id IS NULL, l.id IS NOT NULL AND " + renamed + `,
		l.id IS NOT NULL OR r.updated_at <> r.created_at FROM runs r LEFT JOIN run_list l ON l.id = r.id WHERE r.id IN ` + list(&args, ids)
	return collect(ctx, tx.reader, "read changed runs", query, args, func(scan rowScan) (*listed, error) {
		var one listed
		texts := make([]*string, len(listColumns)-1)
		dest := make([]any, 0, len(listColumns)+3)
		for i := range texts {
			dest = append(dest, &texts[i])
		}
		if err := scan(append(dest, &one.updated, &one.fresh, &one.renamed, &one.moved)...); err != nil {
			return nil, fmt.Errorf("scan run: %w", err)
		}
		for _, value := range texts {
			one.row = append(one.row, value)
		}
		one.id, one.names = text(texts[0]), text(texts[1])+" "+text(texts[2])+" "+text(texts[3])
		one.row = append(one.row, one.updated)
		return &one, nil
	})
}

// settle copies what runs are to where lists look for them. What they came with was read before,
// except of those that were renamed since.
func (tx *Tx) settle(ctx context.Context, ids []string, all map[string]came) error {
	runs, err := tx.readListed(ctx, ids)
	if err != nil {
		return err
	}
	if err := tx.readRest(ctx, runs, all); err != nil {
		return err
	}
	copies, there := inserts{into: "run_list (" + strings.Join(listColumns, ", ") + ")", suffix: replaceListed}, map[string]bool{}
	for _, run := range runs {
		copies.row(run.row...)
		there[run.id] = true
	}
	if err := tx.sendRows(ctx, &copies); err != nil {
		return err
	}
	if err := tx.settleTags(ctx, runs); err != nil {
		return err
	}
	if err := tx.settleWords(ctx, runs); err != nil {
		return err
	}
	return tx.forgetListed(ctx, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return there[id] }))
}

// readRest gives each run that lists do not know by its present name what it came with.
func (tx *Tx) readRest(ctx context.Context, runs []listed, all map[string]came) error {
	var missing []string
	for _, run := range runs {
		if _, known := all[run.id]; !known && (run.fresh || run.renamed) {
			missing = append(missing, run.id)
		}
	}
	more, err := tx.readCame(ctx, missing)
	for i := range runs {
		run := &runs[i]
		one, known := all[run.id]
		if !known {
			one = more[run.id]
		}
		if run.came = one; one.err != nil {
			return one.err
		}
	}
	return err
}

// settleTags brings the tags of runs to their update times, and adds those that are not
// written with the run: what it came with, and the kinds of its artifacts.
func (tx *Tx) settleTags(ctx context.Context, runs []listed) error {
	if len(runs) == 0 {
		return nil
	}
	tags := inserts{into: "run_tags (tag, run_id, updated_at)", suffix: " ON CONFLICT (tag, run_id) DO NOTHING"}
	updated := map[string]int64{}
	var ids, moved []string
	for _, run := range runs {
		updated[run.id] = run.updated
		ids = append(ids, run.id)
		if run.moved {
			moved = append(moved, run.id)
		}
		if run.fresh {
			for key, value := range run.came.metadata {
				tags.row(metadataTag(key, value), run.id, run.updated)
			}
		}
	}
	var args []any
	err := tx.each(ctx, "SELECT DISTINCT run_id, type FROM artifacts WHERE run_id IN "+list(&args, ids), args, func(scan rowScan) error {
		var runID, kind string
		err := scan(&runID, &kind)
		tags.row(artifactTag(kind), runID, updated[runID])
		return err
	})
	if err != nil {
		return fmt.Errorf("read kinds of artifacts: %w", err)
	}
	if err := tx.sendRows(ctx, &tags); err != nil || len(moved) == 0 {
		return err
	}
	args = nil
	return tx.do(ctx, "settle tags", `UPDATE run_tags SET updated_at = l.updated_at FROM run_list l
		WHERE l.id = run_tags.run_id AND run_tags.updated_at <> l.updated_at AND run_tags.run_id IN `+list(&args, moved), args...)
}

// settleWords makes runs searchable by their words.
func (tx *Tx) settleWords(ctx context.Context, runs []listed) error {
	var v values
	for _, run := range runs {
		if run.fresh || run.renamed {
			v.typed([]string{"TEXT", "TEXT"}, run.id, strings.Join(slices.Concat(SearchWords(run.names), run.came.words), " "))
		}
	}
	if v.rows == 0 {
		return nil
	}
	return tx.do(ctx, "put words into the index", "WITH v (id, words) AS (VALUES "+v.text.String()+") "+tx.d.searchInsert, v.args...)
}

// forgetListed removes deleted runs from everything that lists read.
func (tx *Tx) forgetListed(ctx context.Context, gone []string) error {
	if len(gone) == 0 {
		return nil
	}
	var args []any
	in := list(&args, gone)
	for _, runID := range gone {
		if _, err := tx.exec(ctx, tx.d.searchDelete, runID); err != nil {
			return fmt.Errorf("forget words of a deleted run: %w", err)
		}
	}
	for _, query := range []string{"DELETE FROM run_list WHERE id IN ", "DELETE FROM run_tags WHERE run_id IN "} {
		if _, err := tx.exec(ctx, query+in, args...); err != nil {
			return fmt.Errorf("forget deleted runs: %w", err)
		}
	}
	return nil
}
