package main

import "fmt"

// statements are the insertions for one stretch of runs. Each value of a filter
// has at least one run in a hundred, so that a page of a list is also full on the small
// database: otherwise the two would not do the same work.
func (d fillDialect) statements() []string {
	n, parents := d.numbered(), d
	parents.began, parents.every = fillBegan, fillEvery // the first of all
	parent := parents.id("i % 5")
	return []string{
		n + fmt.Sprintf(fillRuns, d.factory, parent),
		n + fillBodies,
		n + fmt.Sprintf(fillTags, parent),
		n + fmt.Sprintf(d.search, fillWords),
		n + fillExecutions,
		n + fillEvents,
	}
}

// Queued runs are addressed to a worker that does not exist, and wait long enough for
// a server on this database to leave them alone.
const fillRuns = `INSERT INTO runs (id, title, state, status_message, error_code, retryable, source, creator_uid, name, model_id, environment_id,
	skill_spec, schedule_id, factory_uid, worker_host, parent_run_id, root_run_id, depth, conversation_id, session_id, created_at, updated_at,
	started_at, finished_at, run_time, input_tokens, output_tokens, cost_micros, last_sequence, queued_at, queue_deadline, hold, concurrency_key,
	execution_id, worker_id, executions, attempts, max_attempts, prompt_done, unread, taken, sandbox_running, tagged)
SELECT id, 'Fix module' || CAST(i %% 97 AS TEXT),
	CASE WHEN host = 0 THEN 'QUEUED' WHEN outcome < 86 THEN 'SUCCEEDED' WHEN outcome < 94 THEN 'FAILED' WHEN outcome < 97 THEN 'CANCELLED' ELSE 'ERROR' END,
	'the agent has finished', CASE WHEN host > 0 AND outcome >= 97 THEN 'run_timeout' ELSE '' END, NULL,
	CASE WHEN origin < 60 THEN 'API' WHEN origin < 80 THEN 'CLI' WHEN origin < 95 THEN 'SCHEDULED_AGENT' ELSE 'WEB_APP' END,
	'user_' || CAST(person / 5 AS TEXT),
	CASE WHEN agent < 10 THEN 'nightly' WHEN agent < 20 THEN 'review' WHEN agent < 30 THEN 'triage' END,
	CASE WHEN model < 60 THEN 'model-a' WHEN model < 90 THEN 'model-b' ELSE 'model-c' END,
	CASE WHEN place < 40 THEN 'env' || CAST(place / 10 AS TEXT) END,
	CASE WHEN talent < 20 THEN 'org/repo:skill' || CAST(talent / 2 AS TEXT) END,
	CASE WHEN plan < 15 THEN 'schedule' || CAST(plan / 3 AS TEXT) END,
	CASE WHEN works < 25 THEN %s END,
	CASE WHEN host < 10 THEN 'builder' ELSE 'hosted' END,
	CASE WHEN family < 10 AND i >= 5 THEN %s END, id, 0, 'c' || CAST(i AS TEXT), 's' || CAST(i AS TEXT), created, updated,
	created + 1000, CASE WHEN host = 0 THEN 0 ELSE updated END, 60000000, 1000, 1000, 1000, 2, created, 4102444800000000, 0, NULL,
	CASE WHEN host = 0 THEN '' ELSE 'x' || CAST(i AS TEXT) END, 'bench', 1, 1, 1, 1, 0, 0, 0,
	CASE WHEN team < 50 OR urgent < 5 OR made < 30 OR family < 10 AND i >= 5 THEN 1 ELSE 0 END
FROM d`

const fillBodies = `INSERT INTO run_bodies (run_id, prompt, submitted_prompt, config, origins, request, metadata, files)
SELECT id, prompt, prompt, '{"worker_host":"hosted","idle_timeout_minutes":10,"timeout_minutes":60,"stall_minutes":10,"queue_timeout_minutes":1440,"max_attempts":1}',
	'{"worker_host":"server"}', '{}', CASE WHEN team < 50 THEN '{"team":"team' || CAST(team / 10 AS TEXT) || '"}' ELSE '{}' END, 0
FROM (SELECT d.*, 'Fix the failing test in module' || CAST(i % 97 AS TEXT) || ' and open a pull request, ticket t' || substr(CAST(10000000 + i AS TEXT), 2) AS prompt FROM d) AS d`

const fillTags = `INSERT INTO run_tags (tag, run_id, updated_at)
SELECT 'm:team=team' || CAST(team / 10 AS TEXT), id, updated FROM d WHERE team < 50
UNION ALL SELECT 'm:priority=high', id, updated FROM d WHERE urgent < 5
UNION ALL SELECT 't:PULL_REQUEST', id, updated FROM d WHERE made < 20
UNION ALL SELECT 't:FILE', id, updated FROM d WHERE made >= 20 AND made < 30
UNION ALL SELECT 'a:' || %s, id, updated FROM d WHERE family < 10 AND i >= 5`

// fillWords are the words that the search indexer would find.
const fillWords = `'fix module' || CAST(i % 97 AS TEXT) || ' the failing test in and open a pull request ticket t' || substr(CAST(10000000 + i AS TEXT), 2)
	|| CASE WHEN agent < 10 THEN ' nightly' WHEN agent < 20 THEN ' review' WHEN agent < 30 THEN ' triage' ELSE '' END
	|| CASE WHEN talent < 20 THEN ' org repo skill' || CAST(talent / 2 AS TEXT) ELSE '' END`

const listed = `id, title, state, source, creator_uid, name, model_id, environment_id, skill_spec, schedule_id, factory_uid,
	worker_host, parent_run_id, agent_uid, updated_at`

// settled is what settling would make of the runs, in one go.
func (d fillDialect) settled() []string {
	return []string{
		"INSERT INTO run_list (" + d.number + listed + ") SELECT " + d.numberOf + listed + `
		FROM runs r WHERE NOT EXISTS (SELECT 1 FROM run_list l WHERE l.id = r.id)`,
		"DELETE FROM run_backlog",
	}
}

const fillExecutions = `INSERT INTO executions (id, run_id, number, worker_host, worker_id, token_hash, run_token_hash, claimed_at, started_at, ended_at,
	lease_until, last_number, interrupted, snapshot_id)
SELECT 'x' || CAST(i AS TEXT), id, 1, 'hosted', 'bench', 'h' || CAST(i AS TEXT), 'r' || CAST(i AS TEXT), created, created + 1000, updated, updated, 0, 0, ''
FROM d WHERE host <> 0`

const fillEvents = `INSERT INTO events (run_id, sequence, id, execution_id, type, time, data, txid)
SELECT id, 1, 'e1-' || CAST(i AS TEXT), '', 'state', created, '{"to":"QUEUED","message":"waiting for a worker"}', 1 + i FROM d
UNION ALL SELECT id, 2, 'e2-' || CAST(i AS TEXT), 'x' || CAST(i AS TEXT), 'state', updated, '{"from":"INPROGRESS","to":"SUCCEEDED","message":"the agent has finished"}', 1 + i FROM d`
