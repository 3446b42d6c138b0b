-- The W3C traceparent of a run's start, which whatever follows goes on from; empty is
-- none. A program that does not know the column leaves it at that.
ALTER TABLE runs ADD COLUMN trace_parent TEXT NOT NULL DEFAULT '';
