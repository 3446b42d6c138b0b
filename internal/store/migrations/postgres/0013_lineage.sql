-- The run whose conversation and workspace a run goes on with; empty begins its own.
ALTER TABLE run_bodies ADD COLUMN continues TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The first of the runs that have the same request, and which of them this one is.
ALTER TABLE runs ADD COLUMN rerun_of TEXT COLLATE "C";
ALTER TABLE runs ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
CREATE INDEX runs_reruns ON runs (rerun_of, attempt) WHERE rerun_of IS NOT NULL;

-- What the runs of an automation are called; empty leaves it to the provider's words.
ALTER TABLE automations ADD COLUMN title TEXT COLLATE "C" NOT NULL DEFAULT '';
