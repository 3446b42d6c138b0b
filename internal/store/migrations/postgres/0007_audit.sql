-- The audit log is read by who did something, by what was done, and by what it was
-- done to; ids are in the order of time.
CREATE INDEX audit_log_actor ON audit_log (actor_uid, id);
CREATE INDEX audit_log_action ON audit_log (action, id);
CREATE INDEX audit_log_target ON audit_log (target_id, id);
