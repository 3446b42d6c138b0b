package store_test

import (
	"context"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
)

// longTest says whether the long form of tests is wanted, as in make test-all.
func longTest() bool { return os.Getenv("LINESHAFT_TEST_ALL") != "" }

// raced says whether the tests run under the race detector, which makes SQLite,
// being Go, ten times slower, and PostgreSQL not at all.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// bulkSize is how many runs a test writes that is about many. Under the race
// detector it takes the soak test to write them all.
func bulkSize(s *store.Store) int {
	switch {
	case os.Getenv("LINESHAFT_SOAK") != "", longTest() && !raced():
		return 200_000
	case s.Engine() == "sqlite" && raced():
		return 2000
	}
	return 20_000
}

// bulkID is the id of run number i of fillRuns: ids sort by number.
func bulkID(i int) string { return "01900000-0000-7000-8000-000" + strconv.Itoa(100_000_000+i) }

// bulkSQL makes runs number $1 to $2, exclusively. Half of the runs are rare in
// nothing, so that every filter has a common and a rare value; the newest tenth
// is queued, so that a state goes together with age, which no planner expects.
const bulkSQL = `WITH RECURSIVE n (i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $2)
INSERT INTO runs (id, title, state, status_message, error_code, retryable, source, creator_uid, name, model_id, environment_id, skill_spec,
	schedule_id, factory_uid, worker_host, parent_run_id, root_run_id, depth, conversation_id, session_id, created_at, updated_at, started_at,
	finished_at, run_time, input_tokens, output_tokens, cost_micros, last_sequence, queued_at, queue_deadline, hold, concurrency_key,
	execution_id, worker_id, executions, attempts, max_attempts, prompt_done, unread, taken, sandbox_running, tagged, agent_uid)
SELECT '01900000-0000-7000-8000-000' || CAST(100000000 + i AS TEXT), 'run ' || CAST(i % 1000 AS TEXT),
	CASE WHEN i >= $2 - ($2 - $1) / 10 THEN 'QUEUED' WHEN i % 50 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END, '', '', NULL,
	CASE WHEN i % 100 = 0 THEN 'CLI' ELSE 'API' END, CASE WHEN i % 100 = 1 THEN 'rare' ELSE 'common' END,
	CASE WHEN i % 4 = 0 THEN 'nightly' END, CASE WHEN i % 3 = 0 THEN 'rare' ELSE 'big' END, CASE WHEN i % 5 = 0 THEN 'env' END,
	CASE WHEN i % 6 = 0 THEN 'o/r:s' || CAST(i % 12 AS TEXT) END, CASE WHEN i % 7 = 0 THEN 'sched' END,
	CASE WHEN i % 8 < 2 THEN 'fac' || CAST(i % 8 AS TEXT) END, CASE WHEN i % 9 = 0 THEN 'mac' ELSE 'hosted' END,
	CASE WHEN i % 10 = 0 THEN 'par' END, 'root', 0, 'c' || CAST(i AS TEXT), 's' || CAST(i AS TEXT),
	1000000 + i, 2000000 + i / 2, 0, 0, 0, 0, 0, 0, 0, 3000000 + i, 9000000 + i, CASE WHEN i % 11 = 0 THEN 1 ELSE 0 END,
	CASE WHEN i % 13 = 0 THEN 'key' END, '', '', 0, 0, 1, 0, 0, 0, 0, CASE WHEN i % 4 = 0 THEN 1 ELSE 0 END,
	CASE WHEN i % 100 = 2 THEN '01910000-0000-7000-8000-000000000002' WHEN i % 3 = 0 THEN '01910000-0000-7000-8000-000000000001' END
FROM n`

const bulkBodies = `INSERT INTO run_bodies (run_id, prompt, submitted_prompt, config, origins, request, metadata, files)
SELECT id, 'do it', 'do it', '{}', '{}', '{}', CASE WHEN tagged = 1 THEN '{"team":"a"}' ELSE '{}' END, 0 FROM runs WHERE id >= $1 AND id < $2`

const bulkTags = `INSERT INTO run_tags (tag, run_id, updated_at)
SELECT g.tag, r.id, r.updated_at FROM runs r CROSS JOIN (SELECT 'm:team=a' AS tag UNION ALL SELECT 'a:anc' UNION ALL SELECT 't:PLAN') AS g
WHERE r.tagged = 1 AND r.id >= $1 AND r.id < $2`

// settleBulk settles runs of fillRuns. In steps as small as usual it takes minutes.
func settleBulk(t *testing.T, s *store.Store) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = s.SettleRuns(t.Context(), 5000)
		must(t, err)
	}
}

// fillRuns writes runs number from to to-1 with bodies and tags, without events, and
// settles them.
func fillRuns(t *testing.T, s *store.Store, from, to int) {
	t.Helper()
	if most := 20_000; to-from > most { // in parts that a writer may take its time for
		fillRuns(t, s, from, to-most)
		from = to - most
	}
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Exec(ctx, bulkSQL, from, to); err != nil {
			return err
		}
		for _, query := range []string{bulkBodies, bulkTags} {
			if _, err := tx.Exec(ctx, query, bulkID(from), bulkID(to)); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	settleBulk(t, s)
}

// bulkRest gives each run an execution, a follow-up and a state event. One in a
// hundred executions is live, and one in a thousand has a lease that is over.
const bulkRest = `INSERT INTO executions (id, run_id, number, worker_host, worker_id, token_hash, run_token_hash, claimed_at, started_at, ended_at,
	lease_until, last_number, interrupted, snapshot_id)
SELECT 'e' || id, id, 1, worker_host, CASE WHEN created_at % 500 = 0 THEN 'w1' ELSE 'w2' END, 'x', 'y' || id, 1, 1, CASE WHEN created_at % 100 = 0 THEN 0 ELSE 9 END,
	CASE WHEN created_at % 1000 = 0 THEN 1 ELSE 9000000000000000 END, 0, 0, '' FROM runs`

const bulkFollowups = `INSERT INTO followups (id, run_id, message, creator_uid, state, execution_id, created_at)
SELECT 'f' || id, id, 'go on', 'u', CASE WHEN created_at % 1000 = 0 THEN 'pending' ELSE 'done' END, '', 1 FROM runs`

const bulkEvents = `INSERT INTO events (run_id, sequence, id, execution_id, type, time, data, txid)
SELECT id, 1, 'v' || id, '', 'state', 1, '{}', 1 + created_at % 1000 FROM runs`

// fillRest writes the rest of what runs have, for all runs there are.
func fillRest(t *testing.T, s *store.Store) {
	t.Helper()
	must(t, s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for _, query := range []string{bulkRest, bulkFollowups, bulkEvents} {
			if _, err := tx.Exec(ctx, query); err != nil {
				return err
			}
		}
		return nil
	}))
}
