-- A run that has children: how many runs were ever started below it, what they
-- consumed, and the budget that they share with it. It outlives what is below.
CREATE TABLE run_trees (
    run_id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    descendants     BIGINT NOT NULL,
    tokens          BIGINT NOT NULL,
    cost_micros     BIGINT NOT NULL,
    max_tokens      BIGINT NOT NULL,
    max_cost_micros BIGINT NOT NULL
);

-- The factories whose runs a worker takes, with commas between; empty is all runs.
ALTER TABLE workers ADD COLUMN factory_uids TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The queue of a worker that takes runs of some factories only.
CREATE INDEX runs_queue_factory ON runs (worker_host, factory_uid, queued_at, id) WHERE state = 'QUEUED' AND hold = 0 AND factory_uid IS NOT NULL AND worker_host <> 'hosted';
