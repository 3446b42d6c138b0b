-- What lists of runs go by, written in bulk some time after the runs themselves: an insert
-- or a change of state then costs none of these indexes. A row is a copy of what the run was
-- when it was settled. Until that has happened again, the run is in run_backlog, and lists
-- take it from runs.
CREATE TABLE run_list (
    -- The row of its words in run_search.
    number         INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    title          TEXT NOT NULL,
    state          TEXT NOT NULL,
    source         TEXT NOT NULL,
    creator_uid    TEXT NOT NULL,
    name           TEXT,
    model_id       TEXT,
    environment_id TEXT,
    skill_spec     TEXT,
    schedule_id    TEXT,
    factory_uid    TEXT,
    worker_host    TEXT NOT NULL,
    parent_run_id  TEXT,
    agent_uid      TEXT,
    updated_at     BIGINT NOT NULL
);
-- With the state before the time: a state together with anything else is then one stretch of
-- an index, and all states are nine, which are merged.
CREATE INDEX run_list_title ON run_list (title, id);
CREATE INDEX run_list_updated ON run_list (updated_at, id);
CREATE INDEX run_list_state_updated ON run_list (state, updated_at, id);
CREATE INDEX run_list_state_created ON run_list (state, id);
CREATE INDEX run_list_anyfactory_updated ON run_list (state, updated_at, id) WHERE factory_uid IS NOT NULL;
CREATE INDEX run_list_anyfactory_created ON run_list (state, id) WHERE factory_uid IS NOT NULL;
CREATE INDEX run_list_source_updated ON run_list (source, state, updated_at, id);
CREATE INDEX run_list_source_created ON run_list (source, state, id);
CREATE INDEX run_list_creator_updated ON run_list (creator_uid, state, updated_at, id);
CREATE INDEX run_list_creator_created ON run_list (creator_uid, state, id);
CREATE INDEX run_list_name_updated ON run_list (name, state, updated_at, id) WHERE name IS NOT NULL;
CREATE INDEX run_list_name_created ON run_list (name, state, id) WHERE name IS NOT NULL;
CREATE INDEX run_list_model_updated ON run_list (model_id, state, updated_at, id) WHERE model_id IS NOT NULL;
CREATE INDEX run_list_model_created ON run_list (model_id, state, id) WHERE model_id IS NOT NULL;
CREATE INDEX run_list_environment_updated ON run_list (environment_id, state, updated_at, id) WHERE environment_id IS NOT NULL;
CREATE INDEX run_list_environment_created ON run_list (environment_id, state, id) WHERE environment_id IS NOT NULL;
CREATE INDEX run_list_skill_updated ON run_list (skill_spec, state, updated_at, id) WHERE skill_spec IS NOT NULL;
CREATE INDEX run_list_skill_created ON run_list (skill_spec, state, id) WHERE skill_spec IS NOT NULL;
CREATE INDEX run_list_schedule_updated ON run_list (schedule_id, state, updated_at, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX run_list_schedule_created ON run_list (schedule_id, state, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX run_list_factory_updated ON run_list (factory_uid, state, updated_at, id) WHERE factory_uid IS NOT NULL;
CREATE INDEX run_list_factory_created ON run_list (factory_uid, state, id) WHERE factory_uid IS NOT NULL;
CREATE INDEX run_list_parent_updated ON run_list (parent_run_id, state, updated_at, id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX run_list_parent_created ON run_list (parent_run_id, state, id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX run_list_host_updated ON run_list (worker_host, state, updated_at, id) WHERE worker_host <> 'hosted';
CREATE INDEX run_list_host_created ON run_list (worker_host, state, id) WHERE worker_host <> 'hosted';
CREATE INDEX run_list_agent_updated ON run_list (agent_uid, state, updated_at, id) WHERE agent_uid IS NOT NULL;
CREATE INDEX run_list_agent_created ON run_list (agent_uid, state, id) WHERE agent_uid IS NOT NULL;

-- Runs that were made, changed or deleted since they were settled. Triggers fill it, so that
-- no writer can forget to.
CREATE TABLE run_backlog (
    run_id TEXT   NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;
CREATE TRIGGER runs_inserted AFTER INSERT ON runs BEGIN
    INSERT OR IGNORE INTO run_backlog (run_id, number) VALUES (NEW.id, 0);
END;
CREATE TRIGGER runs_changed AFTER UPDATE OF state, updated_at, title, name, skill_spec ON runs
WHEN NEW.state <> OLD.state OR NEW.updated_at <> OLD.updated_at OR NEW.title <> OLD.title OR NEW.name IS NOT OLD.name OR NEW.skill_spec IS NOT OLD.skill_spec BEGIN
    INSERT OR IGNORE INTO run_backlog (run_id, number) VALUES (NEW.id, 0);
END;
CREATE TRIGGER runs_deleted AFTER DELETE ON runs BEGIN
    INSERT OR IGNORE INTO run_backlog (run_id, number) VALUES (OLD.id, 0);
END;
CREATE TRIGGER artifacts_inserted AFTER INSERT ON artifacts BEGIN
    INSERT OR IGNORE INTO run_backlog (run_id, number) VALUES (NEW.run_id, 0);
END;

-- The runs that a database has already are settled in the background, newest first; those
-- below this one are still listed by the indexes of before, which are dropped after that.
INSERT INTO settings (name, value) SELECT 'lists/below', COALESCE((SELECT MAX(id) FROM runs), '') || '~';
-- The index of words holds neither the text nor where a word stands in it, and no second
-- index of beginnings: it is an eighth as large as the one before, which goes with the indexes.
ALTER TABLE run_search RENAME TO run_search_before;
CREATE VIRTUAL TABLE run_search USING fts5 (words, tokenize = 'ascii', content = '', contentless_delete = 1, detail = none);
