package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A database of the previous version has runs that lists find by indexes of the table of runs itself.
// They are noted in the backlog, newest first, and settled from there; belowSetting is the id that
// this has come down to. Runs below it are listed by those indexes, which are dropped afterwards.

const belowSetting = "lists/below"

// dropPause is how long to leave a table alone that was in use, by a backup for
// example: a wait to drop an index holds up all others.
const (
	dropPause = time.Minute
	dropWait  = 50 * time.Millisecond
)

// dropOldSearch does nothing on PostgreSQL, where the index of words stayed.
const dropOldSearch = "DROP TABLE IF EXISTS run_search_before"

// oldIndexes are those that settled lists replaced.
var oldIndexes = []string{
	"runs_updated", "runs_title", "runs_state_updated", "runs_state_created", "runs_source_updated", "runs_source_created",
	"runs_creator_updated", "runs_creator_created", "runs_name_updated", "runs_name_created", "runs_model_updated", "runs_model_created",
	"runs_environment_updated", "runs_skill_updated", "runs_schedule_updated", "runs_factory_updated", "runs_factory_created",
	"runs_anyfactory_updated", "runs_anyfactory_created", "runs_parent_updated", "runs_host_updated", "runs_host_created",
	"runs_agent_updated", "runs_agent_created", "runs_factory_failed",
}

// listsBelow is the id below which runs may not be settled; "" when all are.
func (r reader) listsBelow(ctx context.Context) (below string, err error) {
	return r.GetSetting(ctx, belowSetting)
}

// UpgradeLists notes up to limit runs of the previous version, to be settled. More says that
// there may be others; when there are none, it drops the indexes that they were listed by.
func (s *Store) UpgradeLists(ctx context.Context, limit int) (more bool, err error) {
	switch {
	case s.dropAt.Load() > 0:
		return false, s.endUpgrade(ctx)
	case !s.upgrading.Load():
		return false, nil
	}
	done := false
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		more, done = false, false
		if mine, err := tx.ownLists(ctx); err != nil || !mine {
			return err // another node is at it
		}
		below, err := tx.listsBelow(ctx)
		if err != nil {
			return err
		}
		ids, err := tx.texts(ctx, "SELECT id FROM runs WHERE id < $1 ORDER BY id DESC LIMIT $2", below, limit)
		more, done = len(ids) > 0, len(ids) == 0
		if err != nil || done {
			return err
		}
		rows := inserts{into: "run_backlog (run_id, number)", suffix: " ON CONFLICT (run_id, number) DO NOTHING"}
		for _, runID := range ids {
			rows.row(runID, 0)
		}
		if err := tx.sendRows(ctx, &rows); err != nil {
			return err
		}
		return tx.setBelow(ctx, ids[len(ids)-1])
	})
	if err != nil {
		return false, fmt.Errorf("note runs of the version before: %w", err)
	}
	if done { // all are noted: no list needs the old indexes any more
		s.dropAt.Store(1)
		s.upgrading.Store(false)
		return false, s.endUpgrade(ctx)
	}
	return more, nil
}

// endUpgrade drops what no list uses any more, and only then notes that all is settled: a
// process that dies between the two does it again.
func (s *Store) endUpgrade(ctx context.Context) error {
	if s.now().UnixMicro() < s.dropAt.Load() {
		return nil
	}
	if err := s.emptyOldWords(ctx); err != nil {
		return err
	}
	for _, name := range oldIndexes {
		err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
			if err := tx.WaitAtMost(ctx, dropWait); err != nil {
				return err
			}
			return tx.do(ctx, "drop index "+name, "DROP INDEX IF EXISTS "+name)
		})
		if tableInUse(err) {
			s.dropAt.Store(s.now().Add(dropPause).UnixMicro())
			return nil
		}
		if err != nil {
			return err
		}
	}
	if err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.do(ctx, "drop the old index of words", dropOldSearch); err != nil {
			return err
		}
		return tx.do(ctx, "note that lists are settled", "DELETE FROM settings WHERE name = $1", belowSetting)
	}); err != nil {
		return err
	}
	s.dropAt.Store(0)
	return nil
}

// emptyOldWords empties the index of words of the previous version, a part at a time: dropped
// as a whole, a large one would keep all others waiting.
func (s *Store) emptyOldWords(ctx context.Context) error {
	if len(s.d.oldWords) > 0 { // a database that was restored has none
		found, err := s.texts(ctx, "SELECT name FROM sqlite_master WHERE name = 'run_search_before'")
		if err != nil || len(found) == 0 {
			return err
		}
	}
	for _, query := range s.d.oldWords {
		for n := int64(1); n > 0; {
			err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
				n, err = tx.exec(ctx, query)
				return err
			})
			if err != nil {
				return fmt.Errorf("empty the old index of words: %w", err)
			}
		}
	}
	return nil
}

// setBelow notes down to which id runs are settled.
func (tx *Tx) setBelow(ctx context.Context, id string) error {
	return tx.do(ctx, "note how far lists are settled", "UPDATE settings SET value = $2 WHERE name = $1", belowSetting, id)
}

// dropOldIndexes ends the migration of a new database, which has no runs to settle.
func dropOldIndexes() string {
	var text strings.Builder
	text.WriteString("\nDELETE FROM settings WHERE name = '" + belowSetting + "';\n" + dropOldSearch + ";")
	for _, name := range oldIndexes {
		text.WriteString("\nDROP INDEX " + name + ";")
	}
	return text.String()
}
