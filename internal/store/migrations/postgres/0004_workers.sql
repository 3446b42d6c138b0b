-- Questions of agents, which follow-ups answer within a turn.

-- The newest question of an execution, and the newest follow-up that was there
-- before it was asked: only later ones can answer it.
ALTER TABLE executions ADD COLUMN ask TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN ask_after TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The question that a taken follow-up answered; empty for one that is a turn.
ALTER TABLE followups ADD COLUMN answers TEXT COLLATE "C" NOT NULL DEFAULT '';

-- How much the agent of an execution reported through the API (R-9).
ALTER TABLE executions ADD COLUMN reported_events BIGINT NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN reported_bytes BIGINT NOT NULL DEFAULT 0;

-- What the models of a run consumed, model by model; the sums are in runs.
CREATE TABLE run_usage (
    run_id              TEXT COLLATE "C" NOT NULL,
    model_id            TEXT COLLATE "C" NOT NULL,
    input_tokens        BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    output_tokens       BIGINT NOT NULL,
    cost_micros         BIGINT NOT NULL,
    -- tokens of requests whose price was not known
    unpriced_tokens     BIGINT NOT NULL,
    PRIMARY KEY (run_id, model_id)
);

-- What a worker says about its machine: KEY=VALUE, with commas between them.
ALTER TABLE workers ADD COLUMN labels TEXT COLLATE "C" NOT NULL DEFAULT '';
