-- Definitions of factories and their revisions, repositories that factories follow,
-- agents' skills and runners, environments, schedules.

-- What a factory has besides its defaults: repositories, secrets, tool servers.
ALTER TABLE factories ADD COLUMN shared TEXT COLLATE "C" NOT NULL DEFAULT '{}';

-- The event that a forge named in a header; the body does not tell it.
ALTER TABLE deliveries ADD COLUMN event TEXT COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE runs ADD COLUMN agent_uid TEXT COLLATE "C";
CREATE INDEX runs_agent_updated ON runs (agent_uid, updated_at, id) WHERE agent_uid IS NOT NULL;
CREATE INDEX runs_agent_created ON runs (agent_uid, id) WHERE agent_uid IS NOT NULL;
-- Agents execute runs under their own name, which outlives them.
INSERT INTO principals (uid, type, display_name, email, created_at)
    SELECT uid, 'service_account', name, '', created_at FROM agents;

-- Runs whose skills are still to be fetched; hold has the bit 4 then. With the state
-- first, although it is always the same: SQLite would not take it else.
CREATE INDEX runs_skill_wait ON runs (state, queued_at, id) WHERE state = 'QUEUED' AND hold >= 4;

ALTER TABLE run_bodies ADD COLUMN skills TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE run_bodies ADD COLUMN fired_by TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE TABLE environments (
    uid         TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
    config      TEXT COLLATE "C"   NOT NULL,
    creator_uid TEXT COLLATE "C"   NOT NULL,
    editor_uid  TEXT COLLATE "C"   NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);

-- Runs that have not ended keep their environment from being deleted.
CREATE INDEX runs_environment_live ON runs (environment_id, id) WHERE environment_id IS NOT NULL AND finished_at = 0;

CREATE TABLE runners (
    uid         TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
    factory_uid TEXT COLLATE "C"   NOT NULL,
    name        TEXT COLLATE "C"   NOT NULL,
    config      TEXT COLLATE "C"   NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX runners_name ON runners (factory_uid, name);

-- Skills of a definition. Those of repositories are not kept here.
CREATE TABLE skills (
    factory_uid TEXT COLLATE "C" NOT NULL,
    -- Empty when all agents of the factory have it.
    agent       TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    body        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (factory_uid, agent, name)
);

CREATE TABLE definition_revisions (
    factory_uid TEXT COLLATE "C"   NOT NULL,
    number      BIGINT NOT NULL,
    source      TEXT COLLATE "C"   NOT NULL CHECK (source IN ('edit', 'apply', 'rollback', 'repository')),
    actor_uid   TEXT COLLATE "C"   NOT NULL,
    actor_type  TEXT COLLATE "C"   NOT NULL,
    actor_name  TEXT COLLATE "C"   NOT NULL,
    comment     TEXT COLLATE "C"   NOT NULL,
    commit_id   TEXT COLLATE "C"   NOT NULL,
    -- Digests of the texts, by path.
    files       TEXT COLLATE "C"   NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (factory_uid, number)
);

-- Texts of definitions, each kept once for each factory.
CREATE TABLE definition_files (
    factory_uid TEXT COLLATE "C" NOT NULL,
    digest      TEXT COLLATE "C" NOT NULL,
    body        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (factory_uid, digest)
);

-- Repositories that factories follow.
CREATE TABLE factory_repositories (
    factory_uid TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
    url         TEXT COLLATE "C"   NOT NULL,
    branch      TEXT COLLATE "C"   NOT NULL,
    path        TEXT COLLATE "C"   NOT NULL,
    seen        TEXT COLLATE "C"   NOT NULL,
    applied     TEXT COLLATE "C"   NOT NULL,
    problems    TEXT COLLATE "C"   NOT NULL,
    fault       TEXT COLLATE "C"   NOT NULL,
    checked_at  BIGINT NOT NULL,
    applied_at  BIGINT NOT NULL,
    -- Who is looking at it; empty for nobody.
    claim       TEXT COLLATE "C"   NOT NULL,
    -- When it is looked at next, or when a look that gives no sign of life is over.
    next_at     BIGINT NOT NULL
);
CREATE INDEX factory_repositories_next ON factory_repositories (next_at);

CREATE TABLE schedules (
    id          TEXT COLLATE "C"     NOT NULL PRIMARY KEY,
    name        TEXT COLLATE "C"     NOT NULL,
    timing      TEXT COLLATE "C"     NOT NULL,
    enabled     SMALLINT NOT NULL,
    prompt      TEXT COLLATE "C"     NOT NULL,
    agent_uid   TEXT COLLATE "C"     NOT NULL,
    factory_uid TEXT COLLATE "C"     NOT NULL,
    config      TEXT COLLATE "C"     NOT NULL,
    metadata    TEXT COLLATE "C"     NOT NULL,
    last_error  TEXT COLLATE "C"     NOT NULL,
    last_run    BIGINT   NOT NULL,
    creator_uid TEXT COLLATE "C"     NOT NULL,
    editor_uid  TEXT COLLATE "C"     NOT NULL,
    created_at  BIGINT   NOT NULL,
    updated_at  BIGINT   NOT NULL
);
CREATE INDEX schedules_name ON schedules (name, id);
CREATE INDEX schedules_agent ON schedules (agent_uid) WHERE agent_uid <> '';

-- When schedules and automations with a schedule fire next. The row is the lock
-- between nodes; schedules have one also while they are paused.
CREATE TABLE timers (
    -- schedule/<id>, or automation/<uid>/<digest of the trigger>.
    owner       TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
    -- Of automations; empty for schedules.
    factory_uid TEXT COLLATE "C"   NOT NULL,
    timing      TEXT COLLATE "C"   NOT NULL,
    -- What @every counts from.
    anchor      BIGINT NOT NULL,
    -- The largest number while it is paused.
    next_at     BIGINT NOT NULL,
    -- The slot that next_at is for, by the wall clock of the time zone.
    slot        TEXT COLLATE "C"   NOT NULL
);
CREATE INDEX timers_next ON timers (next_at, owner);
CREATE INDEX timers_factory ON timers (factory_uid);

-- Slots that have fired: none fires twice, whatever happens to its timer.
CREATE TABLE fires (
    owner  TEXT COLLATE "C"   NOT NULL,
    slot   TEXT COLLATE "C"   NOT NULL,
    -- When the slot was due.
    at     BIGINT NOT NULL,
    -- Empty when it started no run.
    run_id TEXT COLLATE "C"   NOT NULL,
    PRIMARY KEY (owner, slot)
);
CREATE INDEX fires_age ON fires (at);
