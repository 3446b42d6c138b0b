-- The log of a webhook is settled, as lists are: a delivery has no webhook_uid at first, which
-- puts it at the end of deliveries_webhook, and its webhook stands here. Many together then
-- take their places among the others of their webhook, with a tenth of the pages.
ALTER TABLE deliveries ADD COLUMN unsettled_uid TEXT NOT NULL DEFAULT '';

-- What the log says of the request and of its answer (W-18): headers, a line each, with
-- credentials masked.
ALTER TABLE deliveries ADD COLUMN headers TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN answer_status INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN took BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN test INTEGER NOT NULL DEFAULT 0;
