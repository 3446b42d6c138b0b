-- What lists of runs go by, written in bulk some time after the runs themselves: an insert
-- or a change of state then costs none of these indexes. A row is a copy of what the run was
-- when it was settled. Until that has happened again, the run is in run_backlog, and lists
-- take it from runs.
CREATE TABLE run_list (
    id             TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    title          TEXT COLLATE "C" NOT NULL,
    state          TEXT COLLATE "C" NOT NULL,
    source         TEXT COLLATE "C" NOT NULL,
    creator_uid    TEXT COLLATE "C" NOT NULL,
    name           TEXT COLLATE "C",
    model_id       TEXT COLLATE "C",
    environment_id TEXT COLLATE "C",
    skill_spec     TEXT COLLATE "C",
    schedule_id    TEXT COLLATE "C",
    factory_uid    TEXT COLLATE "C",
    worker_host    TEXT COLLATE "C" NOT NULL,
    parent_run_id  TEXT COLLATE "C",
    agent_uid      TEXT COLLATE "C",
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

-- Runs that were made, changed or deleted since they were settled, once for each transaction:
-- that one change is settled says nothing of another one that has not been committed yet.
-- Triggers fill it, so that no writer can forget to, not even one of the version before.
CREATE TABLE run_backlog (
    run_id TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (run_id, number)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
CREATE FUNCTION note_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO run_backlog (run_id, number)
    VALUES (CASE TG_OP WHEN 'DELETE' THEN OLD.id ELSE NEW.id END, CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT))
    ON CONFLICT (run_id, number) DO NOTHING;
    RETURN NULL;
END $$;
CREATE FUNCTION note_artifact() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO run_backlog (run_id, number) VALUES (NEW.run_id, CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT))
    ON CONFLICT (run_id, number) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER runs_inserted AFTER INSERT OR DELETE ON runs FOR EACH ROW EXECUTE FUNCTION note_run();
CREATE TRIGGER runs_changed AFTER UPDATE ON runs FOR EACH ROW
    WHEN (NEW.state <> OLD.state OR NEW.updated_at <> OLD.updated_at OR NEW.title <> OLD.title OR NEW.name IS DISTINCT FROM OLD.name OR NEW.skill_spec IS DISTINCT FROM OLD.skill_spec)
    EXECUTE FUNCTION note_run();
CREATE TRIGGER artifacts_inserted AFTER INSERT ON artifacts FOR EACH ROW EXECUTE FUNCTION note_artifact();

-- The runs that a database has already are settled in the background, newest first; those
-- below this one are still listed by the indexes of before, which are dropped after that.
INSERT INTO settings (name, value) SELECT 'lists/below', COALESCE((SELECT MAX(id) FROM runs), '') || '~';
