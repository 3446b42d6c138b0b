-- What the overview shows, at a cost that does not grow with the number of runs.

-- Runs that ended, counted in stretches of time. The factory '' is all runs.
CREATE TABLE run_rates (
    -- Length of the stretch: 300 or 3600 seconds.
    span        SMALLINT NOT NULL,
    factory_uid TEXT    NOT NULL,
    -- When the stretch began.
    bucket      BIGINT  NOT NULL,
    succeeded   BIGINT  NOT NULL,
    failed      BIGINT  NOT NULL,
    errored     BIGINT  NOT NULL,
    cancelled   BIGINT  NOT NULL,
    -- Histograms of the time to the start and of the time at work, by class, as JSON.
    waits       TEXT    NOT NULL,
    times       TEXT    NOT NULL,
    -- Why runs failed: how often each error code.
    reasons     TEXT    NOT NULL,
    PRIMARY KEY (span, factory_uid, bucket)
);
CREATE INDEX run_rates_age ON run_rates (span, bucket);

-- The last end that was counted; the row is the lock between nodes.
CREATE TABLE run_rate_mark (
    id          SMALLINT NOT NULL PRIMARY KEY,
    finished_at BIGINT   NOT NULL,
    run_id      TEXT     NOT NULL
);
INSERT INTO run_rate_mark (id, finished_at, run_id) VALUES (1, 0, '');

-- Ends in their order. Not partial: SQLite would begin at its condition and not where it is asked to.
CREATE INDEX runs_finished ON runs (finished_at, id);
-- The queue by age. With the state first, although it is always the same: SQLite
-- would not take it else.
CREATE INDEX runs_queued ON runs (state, queued_at, id) WHERE state = 'QUEUED';
-- The same for readers who see some factories only, whatever others have.
CREATE INDEX runs_factory_active ON runs (factory_uid, state, queued_at) WHERE factory_uid IS NOT NULL AND finished_at = 0;
CREATE INDEX runs_factory_failed ON runs (factory_uid, updated_at) WHERE factory_uid IS NOT NULL AND (state = 'FAILED' OR state = 'ERROR');

-- What needs attention besides runs.
CREATE INDEX webhooks_unfinished ON webhooks (factory_uid, name) WHERE needs_secret = 1 AND deleted_at = 0;
CREATE INDEX deliveries_rejected ON deliveries (id) WHERE status <> 'accepted' AND status <> 'duplicate';
CREATE INDEX factory_repositories_broken ON factory_repositories (factory_uid) WHERE fault <> '' OR (problems <> '[]' AND problems <> 'null');
CREATE INDEX schedules_broken ON schedules (name, id) WHERE enabled = 1 AND last_error <> '';
