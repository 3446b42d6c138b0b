-- On SQLite, the webhook of a delivery that its webhook's log does not have yet. Here every
-- delivery is in the log at once: an update would write its row again.
ALTER TABLE deliveries ADD COLUMN unsettled_uid TEXT NOT NULL DEFAULT '';
