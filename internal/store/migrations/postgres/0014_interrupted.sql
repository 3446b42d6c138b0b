-- Whether somebody interrupted the turn that a run is at.
ALTER TABLE runs ADD COLUMN interrupted SMALLINT NOT NULL DEFAULT 0;
