-- The log of a webhook is settled, as lists are: a delivery has no webhook_uid at first, which
-- puts it at the end of deliveries_webhook, and its webhook stands here. Many together then
-- take their places among the others of their webhook, with a tenth of the pages.
ALTER TABLE deliveries ADD COLUMN unsettled_uid TEXT NOT NULL DEFAULT '';
