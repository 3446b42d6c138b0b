package store_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

const (
	// released is the schema of the release before this one. Its nodes keep running while
	// those of this one are rolled out, so what they write must fit the newer schema (D-3).
	// With a release this becomes the number of its last migration.
	released = 8
	// releasedRuns are the columns that a node of that release writes of a new run. Runs are
	// the only table of it that has changed since.
	releasedRuns = `id, title, state, status_message, error_code, retryable, source, creator_uid,
		name, model_id, environment_id, skill_spec, schedule_id, factory_uid, worker_host, parent_run_id, root_run_id, depth,
		conversation_id, session_id, created_at, updated_at, started_at, finished_at, run_time, input_tokens, output_tokens,
		cost_micros, last_sequence, queued_at, queue_deadline, hold, concurrency_key, execution_id, worker_id, executions, attempts,
		max_attempts, prompt_done, unread, taken, sandbox_running, tagged, agent_uid`
)

// linesOf describes the schema behind a pool.
func linesOf(t *testing.T, database string, db *sql.DB) []string {
	t.Helper()
	if store.IsPostgres(database) {
		return pgLines(t, db)
	}
	return liteLines(t, db)
}

// unfilled lists the columns that an INSERT must name.
func unfilled(t *testing.T, database string, db *sql.DB) []string {
	t.Helper()
	query := `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = current_schema() AND column_default IS NULL AND is_nullable = 'NO'`
	if !store.IsPostgres(database) {
		query = `SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c."notnull" = 1 AND c.dflt_value IS NULL`
	}
	var found []string
	for _, row := range texts(t, db, query) {
		found = append(found, row[0])
	}
	return found
}

// What the previous release reads still exists, and what it writes breaks no newer rule: no
// column in its tables that it does not know must be filled, or be unique.
func TestD3TheReleaseBeforeGoesOn(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, database string) {
		old, err := store.MakeOld(t.Context(), database, released)
		must(t, err)
		t.Cleanup(func() { _ = old.Close() })
		before, filled := linesOf(t, database, old), unfilled(t, database, old)
		must(t, old.Close())
		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		after := linesOf(t, database, s.DB())
		tables := map[string]bool{}
		for _, line := range before {
			tables[line[:strings.IndexAny(line, ". ")]] = true
			if !slices.Contains(after, line) {
				t.Errorf("gone or changed: %s", line)
			}
		}
		for _, line := range after {
			if tables[line[:strings.IndexAny(line, ". ")]] && !slices.Contains(before, line) && strings.Contains(line, "unique=true") {
				t.Errorf("must be unique now: %s", line)
			}
		}
		for _, column := range unfilled(t, database, s.DB()) {
			table, _, _ := strings.Cut(column, ".")
			if tables[table] && !slices.Contains(filled, column) {
				t.Errorf("has to be filled now: %s", column)
			}
		}
		if len(before) < 100 || len(filled) < 100 || !tables["runs"] || tables["notifications"] {
			t.Errorf("%d lines, %d columns, tables %v", len(before), len(filled), tables)
		}
	})
}

// A run that a node of the previous release starts can be read here, and callbacks report it.
func TestD3RunsOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillRuns(t, s, 0, 1)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO runs ("+releasedRuns+") SELECT "+strings.Replace(releasedRuns, "id,", "'old',", 1)+" FROM runs")
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `INSERT INTO run_bodies (run_id, prompt, submitted_prompt, config, origins, request, metadata, files, skills, fired_by)
				SELECT 'old', prompt, submitted_prompt, config, origins, request, metadata, files, skills, fired_by FROM run_bodies`)
			return err
		})
		run, err := s.GetRun(t.Context(), "old")
		must(t, err)
		told, err := s.ListCallbackRuns(t.Context(), []string{"old"})
		must(t, err)
		if run.Title != "run 0" || told["old"].Title != run.Title || told["old"].TraceParent != "" || told["old"].Damaged != nil {
			t.Errorf("%+v, told as %+v", run, told)
		}
	})
}
