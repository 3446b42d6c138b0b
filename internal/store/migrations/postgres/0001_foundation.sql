-- Times are microseconds since 1970 UTC, 0 for "not yet". Ids are made in Go and
-- sort by creation time, so a primary key is also the list by creation time.

CREATE TABLE principals (
    uid          TEXT COLLATE "C"  NOT NULL PRIMARY KEY,
    type         TEXT COLLATE "C"  NOT NULL CHECK (type IN ('user', 'service_account')),
    display_name TEXT COLLATE "C"  NOT NULL,
    email        TEXT COLLATE "C"  NOT NULL,
    created_at   BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id           TEXT COLLATE "C"  NOT NULL PRIMARY KEY,
    name         TEXT COLLATE "C"  NOT NULL,
    role         TEXT COLLATE "C"  NOT NULL CHECK (role IN ('viewer', 'member', 'manager', 'admin', 'worker')),
    owner_uid    TEXT COLLATE "C"  NOT NULL,
    key_hash     TEXT COLLATE "C"  NOT NULL,
    hint         TEXT COLLATE "C"  NOT NULL,
    factory_uids TEXT COLLATE "C"  NOT NULL,
    worker_ids   TEXT COLLATE "C"  NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys (key_hash);

CREATE TABLE sessions (
    token_hash TEXT COLLATE "C"  NOT NULL PRIMARY KEY,
    key_id     TEXT COLLATE "C"  NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE settings (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE audit_log (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    actor_uid   TEXT COLLATE "C" NOT NULL,
    actor_type  TEXT COLLATE "C" NOT NULL,
    actor_name  TEXT COLLATE "C" NOT NULL,
    key_id      TEXT COLLATE "C" NOT NULL,
    action      TEXT COLLATE "C" NOT NULL,
    target_type TEXT COLLATE "C" NOT NULL,
    target_id   TEXT COLLATE "C" NOT NULL,
    remote_addr TEXT COLLATE "C" NOT NULL,
    request_id  TEXT COLLATE "C" NOT NULL,
    detail      TEXT COLLATE "C" NOT NULL
);

CREATE TABLE idempotency_keys (
    id         TEXT COLLATE "C"  NOT NULL PRIMARY KEY,
    body_hash  TEXT COLLATE "C"  NOT NULL,
    answer     TEXT COLLATE "C"  NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- What changes while a run lives, and what lists filter by. Long texts are in
-- run_bodies: a state change then rewrites a short row.
CREATE TABLE runs (
    id              TEXT COLLATE "C"    NOT NULL PRIMARY KEY,
    title           TEXT COLLATE "C"    NOT NULL,
    state           TEXT COLLATE "C"    NOT NULL CHECK (state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED', 'SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED')),
    status_message  TEXT COLLATE "C"    NOT NULL,
    error_code      TEXT COLLATE "C"    NOT NULL,
    retryable       SMALLINT,
    source          TEXT COLLATE "C"    NOT NULL,
    creator_uid     TEXT COLLATE "C"    NOT NULL,
    name            TEXT COLLATE "C",
    model_id        TEXT COLLATE "C",
    environment_id  TEXT COLLATE "C",
    skill_spec      TEXT COLLATE "C",
    schedule_id     TEXT COLLATE "C",
    factory_uid     TEXT COLLATE "C",
    worker_host     TEXT COLLATE "C"    NOT NULL,
    parent_run_id   TEXT COLLATE "C",
    root_run_id     TEXT COLLATE "C"    NOT NULL,
    depth           SMALLINT NOT NULL,
    conversation_id TEXT COLLATE "C"    NOT NULL,
    session_id      TEXT COLLATE "C"    NOT NULL,
    created_at      BIGINT   NOT NULL,
    updated_at      BIGINT   NOT NULL,
    started_at      BIGINT   NOT NULL,
    finished_at     BIGINT   NOT NULL,
    run_time        BIGINT   NOT NULL,
    input_tokens    BIGINT   NOT NULL,
    output_tokens   BIGINT   NOT NULL,
    cost_micros     BIGINT   NOT NULL,
    last_sequence   BIGINT   NOT NULL,
    queued_at       BIGINT   NOT NULL,
    queue_deadline  BIGINT   NOT NULL,
    -- Bits that keep a queued run from being claimed: 1 its concurrency key is
    -- taken, 2 its last execution may still be alive.
    hold            SMALLINT NOT NULL,
    concurrency_key TEXT COLLATE "C",
    execution_id    TEXT COLLATE "C"    NOT NULL,
    worker_id       TEXT COLLATE "C"     NOT NULL,
    executions      INTEGER  NOT NULL,
    attempts        INTEGER  NOT NULL,
    max_attempts    INTEGER  NOT NULL,
    prompt_done     SMALLINT NOT NULL,
    -- Follow-ups that wait, and whether one was taken: most runs have none, and
    -- then the table of follow-ups need not be asked.
    unread          INTEGER  NOT NULL,
    taken           SMALLINT NOT NULL,
    sandbox_running SMALLINT NOT NULL,
    -- 1 when run_tags has rows for this run, so that others need no look-up there.
    tagged          SMALLINT NOT NULL
);
-- Lists: one pair for each filter, by update and by creation time. Filters that
-- most runs do not have cost nothing, because their indexes are partial.
CREATE INDEX runs_updated ON runs (updated_at, id);
CREATE INDEX runs_title ON runs (title, id);
CREATE INDEX runs_state_updated ON runs (state, updated_at, id);
CREATE INDEX runs_state_created ON runs (state, id);
CREATE INDEX runs_source_updated ON runs (source, updated_at, id);
CREATE INDEX runs_source_created ON runs (source, id);
CREATE INDEX runs_creator_updated ON runs (creator_uid, updated_at, id);
CREATE INDEX runs_creator_created ON runs (creator_uid, id);
CREATE INDEX runs_name_updated ON runs (name, updated_at, id) WHERE name IS NOT NULL;
CREATE INDEX runs_name_created ON runs (name, id) WHERE name IS NOT NULL;
CREATE INDEX runs_model_updated ON runs (model_id, updated_at, id) WHERE model_id IS NOT NULL;
CREATE INDEX runs_model_created ON runs (model_id, id) WHERE model_id IS NOT NULL;
CREATE INDEX runs_environment_updated ON runs (environment_id, updated_at, id) WHERE environment_id IS NOT NULL;
CREATE INDEX runs_environment_created ON runs (environment_id, id) WHERE environment_id IS NOT NULL;
CREATE INDEX runs_skill_updated ON runs (skill_spec, updated_at, id) WHERE skill_spec IS NOT NULL;
CREATE INDEX runs_skill_created ON runs (skill_spec, id) WHERE skill_spec IS NOT NULL;
CREATE INDEX runs_schedule_updated ON runs (schedule_id, updated_at, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX runs_schedule_created ON runs (schedule_id, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX runs_factory_updated ON runs (factory_uid, updated_at, id) WHERE factory_uid IS NOT NULL;
CREATE INDEX runs_factory_created ON runs (factory_uid, id) WHERE factory_uid IS NOT NULL;
CREATE INDEX runs_anyfactory_updated ON runs (updated_at, id) WHERE factory_uid IS NOT NULL;
CREATE INDEX runs_anyfactory_created ON runs (id) WHERE factory_uid IS NOT NULL;
CREATE INDEX runs_parent_updated ON runs (parent_run_id, updated_at, id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX runs_parent_created ON runs (parent_run_id, id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX runs_host_updated ON runs (worker_host, updated_at, id) WHERE worker_host <> 'hosted';
CREATE INDEX runs_host_created ON runs (worker_host, id) WHERE worker_host <> 'hosted';
CREATE INDEX runs_conversation ON runs (conversation_id, id);
CREATE INDEX runs_session ON runs (session_id);
-- The queue.
CREATE INDEX runs_queue ON runs (worker_host, queued_at, id) WHERE state = 'QUEUED' AND hold = 0;
-- With the state first, although it is always the same: SQLite would not take it else.
CREATE INDEX runs_queue_deadline ON runs (state, queue_deadline) WHERE state = 'QUEUED';
CREATE INDEX runs_concurrency ON runs (concurrency_key, queued_at, id) WHERE state = 'QUEUED' AND concurrency_key IS NOT NULL;

CREATE TABLE run_bodies (
    run_id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    prompt           TEXT COLLATE "C" NOT NULL,
    submitted_prompt TEXT COLLATE "C" NOT NULL,
    config           TEXT COLLATE "C" NOT NULL,
    origins          TEXT COLLATE "C" NOT NULL,
    request          TEXT COLLATE "C" NOT NULL,
    metadata         TEXT COLLATE "C" NOT NULL,
    -- How many files came with the prompt.
    files            INTEGER NOT NULL
);

-- Filters of which a run may have several: m:key=value, a:ancestor, t:artifact type.
CREATE TABLE run_tags (
    tag        TEXT COLLATE "C"  NOT NULL,
    run_id     TEXT COLLATE "C"  NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tag, run_id)
);
CREATE INDEX run_tags_updated ON run_tags (tag, updated_at, run_id);
CREATE INDEX run_tags_run ON run_tags (run_id);

CREATE TABLE search_queue (
    run_id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

-- Runs that are gone from every list but still have rows elsewhere.
CREATE TABLE deleted_runs (
    run_id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

CREATE TABLE events (
    run_id       TEXT COLLATE "C"  NOT NULL,
    sequence     BIGINT NOT NULL,
    id           TEXT COLLATE "C"  NOT NULL,
    execution_id TEXT COLLATE "C"  NOT NULL,
    type         TEXT COLLATE "C"  NOT NULL,
    time         BIGINT NOT NULL,
    data         TEXT COLLATE "C"  NOT NULL,
    -- For state events the transaction that wrote them, else 0: the stream over all
    -- runs resumes by it and never passes a transaction that has not ended.
    txid         BIGINT NOT NULL,
    PRIMARY KEY (run_id, sequence)
);
CREATE INDEX events_states ON events (txid, run_id, sequence) WHERE txid > 0;

CREATE TABLE executions (
    id             TEXT COLLATE "C"    NOT NULL PRIMARY KEY,
    run_id         TEXT COLLATE "C"    NOT NULL,
    number         INTEGER  NOT NULL,
    worker_host    TEXT COLLATE "C"    NOT NULL,
    worker_id      TEXT COLLATE "C"    NOT NULL,
    token_hash     TEXT COLLATE "C"    NOT NULL,
    run_token_hash TEXT COLLATE "C"    NOT NULL,
    claimed_at     BIGINT   NOT NULL,
    started_at     BIGINT   NOT NULL,
    ended_at       BIGINT   NOT NULL,
    lease_until    BIGINT   NOT NULL,
    last_number    BIGINT   NOT NULL,
    interrupted    SMALLINT NOT NULL,
    snapshot_id    TEXT COLLATE "C"    NOT NULL
);
CREATE INDEX executions_run ON executions (run_id, number);
CREATE UNIQUE INDEX executions_run_token ON executions (run_token_hash);
CREATE INDEX executions_live ON executions (lease_until) WHERE ended_at = 0;
CREATE INDEX executions_worker ON executions (worker_id) WHERE ended_at = 0;
CREATE INDEX executions_host ON executions (worker_host) WHERE ended_at = 0;

CREATE TABLE followups (
    id           TEXT COLLATE "C"  NOT NULL PRIMARY KEY,
    run_id       TEXT COLLATE "C"  NOT NULL,
    message      TEXT COLLATE "C"  NOT NULL,
    creator_uid  TEXT COLLATE "C"  NOT NULL,
    state        TEXT COLLATE "C"  NOT NULL CHECK (state IN ('pending', 'taken', 'done')),
    execution_id TEXT COLLATE "C"  NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX followups_run ON followups (run_id, id);
CREATE INDEX followups_open ON followups (run_id, id) WHERE state <> 'done';

CREATE TABLE attachments (
    id          TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
    run_id      TEXT COLLATE "C"   NOT NULL,
    followup_id TEXT COLLATE "C"   NOT NULL,
    file_name   TEXT COLLATE "C"   NOT NULL,
    mime_type   TEXT COLLATE "C"   NOT NULL,
    size        BIGINT  NOT NULL,
    blob_id     TEXT COLLATE "C"   NOT NULL
);
CREATE INDEX attachments_run ON attachments (run_id, followup_id, id);

CREATE TABLE artifacts (
    uid         TEXT COLLATE "C"  NOT NULL PRIMARY KEY,
    run_id      TEXT COLLATE "C"  NOT NULL,
    type        TEXT COLLATE "C"  NOT NULL CHECK (type IN ('PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'EXTERNAL_REFERENCE')),
    blob_id     TEXT COLLATE "C"  NOT NULL,
    file_name   TEXT COLLATE "C"  NOT NULL,
    file_path   TEXT COLLATE "C"  NOT NULL,
    mime_type   TEXT COLLATE "C"  NOT NULL,
    size        BIGINT NOT NULL,
    url         TEXT COLLATE "C"  NOT NULL,
    branch      TEXT COLLATE "C"  NOT NULL,
    title       TEXT COLLATE "C"  NOT NULL,
    description TEXT COLLATE "C"  NOT NULL
);
CREATE INDEX artifacts_run ON artifacts (run_id, uid);
CREATE INDEX artifacts_url ON artifacts (url) WHERE url <> '';

CREATE TABLE blobs (
    id         TEXT COLLATE "C"  NOT NULL PRIMARY KEY,
    size       BIGINT NOT NULL,
    -- The run that keeps it alive; empty while it is being written.
    run_id     TEXT COLLATE "C"  NOT NULL,
    created_at BIGINT NOT NULL,
    -- When it may be removed whatever refers to it; 0 = never.
    expires_at BIGINT NOT NULL
);
CREATE INDEX blobs_run ON blobs (run_id);
CREATE INDEX blobs_loose ON blobs (created_at) WHERE run_id = '';
CREATE INDEX blobs_expiry ON blobs (expires_at) WHERE expires_at > 0;

CREATE TABLE blob_chunks (
    blob_id TEXT COLLATE "C"   NOT NULL,
    number  INTEGER NOT NULL,
    data    BYTEA   NOT NULL,
    PRIMARY KEY (blob_id, number)
);

-- Who holds a concurrency key. The row is the lock between a run that comes and one that goes.
CREATE TABLE concurrency_slots (
    key    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    run_id TEXT COLLATE "C" NOT NULL
);

CREATE TABLE workers (
    id           TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
    worker_host  TEXT COLLATE "C"   NOT NULL,
    version      TEXT COLLATE "C"   NOT NULL,
    capacity     INTEGER NOT NULL,
    running      INTEGER NOT NULL,
    connected_at BIGINT  NOT NULL,
    last_seen_at BIGINT  NOT NULL
);
CREATE INDEX workers_host ON workers (worker_host, last_seen_at);

-- Words of each run, put there by the search indexer. The lexemes are made in Go.
CREATE TABLE run_search (
    run_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    words  TSVECTOR NOT NULL
);
CREATE INDEX run_search_words ON run_search USING GIN (words);
-- Room in each page, so that an update of columns without an index stays on it.
ALTER TABLE runs SET (fillfactor = 70);
ALTER TABLE executions SET (fillfactor = 70);
