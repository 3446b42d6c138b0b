-- The daily budget of a factory (X-10); 0 is none.
ALTER TABLE factories ADD COLUMN daily_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE factories ADD COLUMN daily_cost_micros BIGINT NOT NULL DEFAULT 0;

-- What the runs of a factory consumed in a day of UTC, written 2026-01-31.
CREATE TABLE factory_spending (
    factory_uid TEXT   NOT NULL,
    day         TEXT   NOT NULL,
    tokens      BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (factory_uid, day)
);
CREATE INDEX factory_spending_day ON factory_spending (day);
