-- On SQLite, the webhook of a delivery that its webhook's log does not have yet. Here every
-- delivery is in the log at once: an update would write its row again.
ALTER TABLE deliveries ADD COLUMN unsettled_uid TEXT COLLATE "C" NOT NULL DEFAULT '';

-- What the log says of the request and of its answer (W-18): headers, a line each, with
-- credentials masked.
ALTER TABLE deliveries ADD COLUMN headers TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN answer_status INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN took BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN test INTEGER NOT NULL DEFAULT 0;
