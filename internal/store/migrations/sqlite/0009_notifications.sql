-- Endpoints that are told of the state changes of runs. since says
-- which changes had happened before an endpoint wanted to know, as a snapshot of
-- transactions: those below the first number, and those below the second that are not
-- in the list after it.
CREATE TABLE notifications (
    id              TEXT NOT NULL PRIMARY KEY,
    name            TEXT NOT NULL,
    description     TEXT NOT NULL,
    url             TEXT NOT NULL,
    states          TEXT NOT NULL,
    factory_uids    TEXT NOT NULL,
    run_name        TEXT NOT NULL,
    enabled         SMALLINT NOT NULL,
    disabled_reason TEXT NOT NULL,
    disabled_at     BIGINT NOT NULL,
    credential      TEXT NOT NULL,
    old_credential  TEXT NOT NULL,
    old_until       BIGINT NOT NULL,
    since           TEXT NOT NULL,
    -- What had committed when it was disabled, until all of that is in the log; and the
    -- times in between in which it was disabled.
    until           TEXT NOT NULL,
    gaps            TEXT NOT NULL,
    -- When it was last made or enabled.
    enabled_at      BIGINT NOT NULL,
    last_success_at BIGINT NOT NULL,
    last_failure_at BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    -- The row stays until the log of its deliveries is gone.
    deleted_at      BIGINT NOT NULL
);

-- One event for one endpoint, with the body as it is sent. next_at is when the next
-- attempt is due; while one is made, when its lease ends, and claim names who makes it.
CREATE TABLE notification_deliveries (
    id              TEXT NOT NULL PRIMARY KEY,
    notification_id TEXT NOT NULL,
    event_id        TEXT NOT NULL,
    type            TEXT NOT NULL,
    run_id          TEXT NOT NULL,
    run_name        TEXT NOT NULL,
    factory_uid     TEXT NOT NULL,
    state           TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    attempt_count   INTEGER NOT NULL,
    -- Attempts since the delivery was made or replayed: the waits grow with these.
    tries           INTEGER NOT NULL,
    next_at         BIGINT NOT NULL,
    -- When the last attempt began: what waits since before its endpoint was enabled is due.
    tried_at        BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    claim           TEXT NOT NULL,
    last_status     INTEGER NOT NULL,
    last_error      TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    finished_at     BIGINT NOT NULL,
    trace_parent    TEXT NOT NULL,
    body            TEXT NOT NULL,
    attempts        TEXT NOT NULL
);
CREATE UNIQUE INDEX notification_deliveries_event ON notification_deliveries (notification_id, event_id);
CREATE INDEX notification_deliveries_due ON notification_deliveries (notification_id, next_at, id) WHERE status = 'pending';
CREATE INDEX notification_deliveries_tried ON notification_deliveries (notification_id, tried_at) WHERE status = 'pending';
CREATE INDEX notification_deliveries_expiry ON notification_deliveries (notification_id, expires_at) WHERE status = 'pending';
CREATE INDEX notification_deliveries_list ON notification_deliveries (notification_id, id);
CREATE INDEX notification_deliveries_status ON notification_deliveries (notification_id, status, id);
