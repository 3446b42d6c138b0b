-- Finds the deliveries of a run that is deleted: their bodies go with it.
CREATE INDEX notification_deliveries_run ON notification_deliveries (run_id, id);
