-- Factories with their agents, automations and webhooks; the log of deliveries.

CREATE TABLE secrets (
    name        TEXT   NOT NULL PRIMARY KEY,
    kind        TEXT   NOT NULL CHECK (kind IN ('managed', 'webhook')),
    access      TEXT   NOT NULL CHECK (access IN ('granted', 'runs')),
    description TEXT   NOT NULL,
    sealed      TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);

CREATE TABLE factories (
    uid         TEXT     NOT NULL PRIMARY KEY,
    name        TEXT     NOT NULL,
    alias       TEXT     NOT NULL,
    -- The alias in small letters; NULL when there is none, so that it may be missing twice.
    alias_key   TEXT,
    description TEXT     NOT NULL,
    mode        TEXT     NOT NULL CHECK (mode IN ('managed', 'repository')),
    defaults    TEXT     NOT NULL,
    paused      SMALLINT NOT NULL,
    foreman     TEXT     NOT NULL,
    -- Grows with every change to the factory or a part of it.
    revision    BIGINT   NOT NULL,
    created_at  BIGINT   NOT NULL,
    updated_at  BIGINT   NOT NULL
);
CREATE UNIQUE INDEX factories_alias ON factories (alias_key);

CREATE TABLE agents (
    uid         TEXT   NOT NULL PRIMARY KEY,
    factory_uid TEXT   NOT NULL,
    name        TEXT   NOT NULL,
    type        TEXT   NOT NULL CHECK (type IN ('CUSTOM', 'FOREMAN', 'TRIAGE', 'SPEC', 'IMPLEMENT', 'REVIEW', 'VERIFY')),
    description TEXT   NOT NULL,
    prompt      TEXT   NOT NULL,
    config      TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX agents_name ON agents (factory_uid, name);

CREATE TABLE automations (
    uid               TEXT     NOT NULL PRIMARY KEY,
    factory_uid       TEXT     NOT NULL,
    name              TEXT     NOT NULL,
    prompt            TEXT     NOT NULL,
    enabled           SMALLINT NOT NULL,
    agent             TEXT     NOT NULL,
    triggers          TEXT     NOT NULL,
    config            TEXT     NOT NULL,
    max_runs_per_hour INTEGER  NOT NULL,
    created_at        BIGINT   NOT NULL,
    updated_at        BIGINT   NOT NULL
);
CREATE UNIQUE INDEX automations_name ON automations (factory_uid, name);

CREATE TABLE webhooks (
    uid                TEXT     NOT NULL PRIMARY KEY,
    factory_uid        TEXT     NOT NULL,
    name               TEXT     NOT NULL,
    auth_mode          TEXT     NOT NULL CHECK (auth_mode IN ('token', 'url_token', 'signature')),
    signature_scheme   TEXT     NOT NULL,
    secret_name        TEXT     NOT NULL,
    owns_secret        SMALLINT NOT NULL,
    delivery_id_header TEXT     NOT NULL,
    enabled            SMALLINT NOT NULL,
    needs_secret       SMALLINT NOT NULL,
    rate_limit         INTEGER  NOT NULL,
    max_body_bytes     INTEGER  NOT NULL,
    replay_guard       SMALLINT NOT NULL,
    hmac               TEXT     NOT NULL,
    -- The credential in force, sealed: a changed secret takes effect only when the
    -- webhook is applied again. The old one counts until the given time.
    credential         TEXT     NOT NULL,
    old_credential     TEXT     NOT NULL,
    old_until          BIGINT   NOT NULL,
    created_at         BIGINT   NOT NULL,
    updated_at         BIGINT   NOT NULL,
    -- A deleted webhook keeps its row for the log.
    deleted_at         BIGINT   NOT NULL
);
CREATE UNIQUE INDEX webhooks_name ON webhooks (factory_uid, name) WHERE deleted_at = 0;
CREATE INDEX webhooks_secret ON webhooks (secret_name, factory_uid, name) WHERE deleted_at = 0;

-- The time of receipt is in the id.
CREATE TABLE deliveries (
    id              TEXT    NOT NULL PRIMARY KEY,
    webhook_uid     TEXT    NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('accepted', 'duplicate', 'rejected_auth', 'rejected_invalid_json', 'rejected_too_large')),
    size            BIGINT  NOT NULL,
    identity        TEXT    NOT NULL,
    identity_source TEXT    NOT NULL,
    remote_addr     TEXT    NOT NULL,
    duplicate_of    TEXT    NOT NULL,
    redelivery_of   TEXT    NOT NULL,
    not_matched     INTEGER NOT NULL,
    outcomes        TEXT    NOT NULL
);
CREATE INDEX deliveries_webhook ON deliveries (webhook_uid, id);

-- Bodies of accepted deliveries. A body lives as long as its delivery or a run of it.
CREATE TABLE delivery_payloads (
    delivery_id TEXT NOT NULL PRIMARY KEY,
    body        BLOB NOT NULL
);

-- Whether a run still needs the body of a delivery.
CREATE INDEX attachments_blob ON attachments (blob_id);

-- Identities that were accepted, by a digest of webhook and identity; they outlive the log.
CREATE TABLE delivery_identities (
    digest      TEXT NOT NULL PRIMARY KEY,
    delivery_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX delivery_identities_age ON delivery_identities (delivery_id);

-- Sliding windows: the times of the newest hits of each, numbered. One row per
-- window is the lock between nodes.
CREATE TABLE rate_windows (
    name    TEXT   NOT NULL PRIMARY KEY,
    count   BIGINT NOT NULL,
    last_at BIGINT NOT NULL
);
CREATE INDEX rate_windows_age ON rate_windows (last_at);

CREATE TABLE rate_hits (
    name   TEXT   NOT NULL,
    number BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (name, number)
) WITHOUT ROWID;
