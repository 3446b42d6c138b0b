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

// SettleBatch is how many runs are settled by one write. The more they are, the more of them
// share a page of an index; but on SQLite others wait for the write (D-3).
const SettleBatch = 256

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
		if mine, err := s.settleTogether(ctx, ids); err != nil || !mine {
			return false, err
		}
	}
	return len(changed) == limit, nil
}

// settleTogether settles runs with one write. One that cannot be settled must not keep others
// from it: each is then tried alone.
func (s *Store) settleTogether(ctx context.Context, ids []string) (mine bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		mine, err = tx.settleChanged(ctx, ids)
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
		if _, err := s.settleTogether(ctx, ids[i:i+1]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// settleChanged settles those of some runs that are still noted, unless another node settles.
func (tx *Tx) settleChanged(ctx context.Context, ids []string) (mine bool, err error) {
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
	return true, tx.settle(ctx, slices.Compact(changed))
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
	// metadata is what a fresh one came with, words what is searched of one that is fresh or renamed.
	metadata string
	words    []string
}

// readListed reads the runs that exist in one statement: all that is written of them
// then belongs to one moment.
func (tx *Tx) readListed(ctx context.Context, ids []string) ([]listed, error) {
	const renamed = `(l.title <> r.title OR COALESCE(l.name, '') <> COALESCE(r.name, '') OR COALESCE(l.skill_spec, '') <> COALESCE(r.skill_spec, ''))`
	args := []any{searchBytes}
	query := "SELECT r." + strings.Join(listColumns, ", r.") + `, l.id IS NULL, l.id IS NOT NULL AND ` + renamed + `,
		l.id IS NOT NULL OR r.updated_at <> r.created_at, CASE WHEN l.id IS NULL THEN b.metadata ELSE '' END,
		CASE WHEN l.id IS NULL OR ` + renamed + ` THEN SUBSTR(b.prompt, 1, $1) ELSE '' END
		FROM runs r JOIN run_bodies b ON b.run_id = r.id LEFT JOIN run_list l ON l.id = r.id WHERE r.id IN ` + list(&args, ids)
	return collect(ctx, tx.reader, "read changed runs", query, args, func(scan rowScan) (*listed, error) {
		var one listed
		var prompt string
		texts := make([]*string, len(listColumns)-1)
		dest := make([]any, 0, len(listColumns)+5)
		for i := range texts {
			dest = append(dest, &texts[i])
		}
		if err := scan(append(dest, &one.updated, &one.fresh, &one.renamed, &one.moved, &one.metadata, &prompt)...); err != nil {
			return nil, fmt.Errorf("scan run: %w", err)
		}
		for _, value := range texts {
			one.row = append(one.row, value)
		}
		one.id = text(texts[0])
		one.row = append(one.row, one.updated)
		if one.fresh || one.renamed {
			one.words = searchedWords(text(texts[1]), text(texts[2]), text(texts[3]), prompt)
		}
		return &one, nil
	})
}

// settle copies what runs are to where lists look for them.
func (tx *Tx) settle(ctx context.Context, ids []string) error {
	runs, err := tx.readListed(ctx, ids)
	if err != nil {
		return err
	}
	copies, there := inserts{into: "run_list (" + strings.Join(listColumns, ", ") + ")", suffix: replaceListed}, map[string]bool{}
	for _, run := range runs {
		copies.row(run.row...)
		there[run.id] = true
	}
	if err := tx.insert(ctx, &copies); err != nil {
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
		if err := run.tag(&tags); err != nil {
			return err
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
	if err := tx.insert(ctx, &tags); err != nil || len(moved) == 0 {
		return err
	}
	args = nil
	return tx.do(ctx, "settle tags", `UPDATE run_tags SET updated_at = l.updated_at FROM run_list l
		WHERE l.id = run_tags.run_id AND run_tags.updated_at <> l.updated_at AND run_tags.run_id IN `+list(&args, moved), args...)
}

// tag adds the tags of what a fresh run came with.
func (run *listed) tag(tags *inserts) error {
	if !run.fresh {
		return nil
	}
	var metadata map[string]string
	if err := json.Unmarshal([]byte(run.metadata), &metadata); err != nil {
		return fmt.Errorf("decode metadata of run %s: %w", run.id, err)
	}
	for key, value := range metadata {
		tags.row(metadataTag(key, value), run.id, run.updated)
	}
	return nil
}

// settleWords makes runs searchable by their words.
func (tx *Tx) settleWords(ctx context.Context, runs []listed) error {
	var v values
	var ids []string
	for _, run := range runs {
		if run.fresh || run.renamed {
			v.typed([]string{"TEXT", "TEXT"}, run.id, strings.Join(run.words, " "))
			ids = append(ids, run.id)
		}
	}
	if v.rows == 0 {
		return nil
	}
	// A node of the previous version that indexes one of them just now ends first (D-3).
	var args []any
	if err := tx.do(ctx, "take runs from the old queue", "DELETE FROM search_queue WHERE run_id IN "+list(&args, ids), args...); err != nil {
		return err
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
