package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

// RateAll is the factory of tallies over all runs, of factories or not.
const RateAll = ""

// RunEnd is a run that has ended, as far as tallies need it.
type RunEnd struct {
	ID         string
	FactoryUID string
	State      lineshaft.RunState
	ErrorCode  string
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	RunTime    time.Duration
}

// RateMark is a place in the order of ends: all up to it are in the tallies.
type RateMark struct {
	FinishedAt time.Time
	RunID      string
}

// RunRate is the tally of a factory over the stretch of a span that began at Bucket.
type RunRate struct {
	Span       time.Duration
	FactoryUID string
	Bucket     time.Time
	*Tally
}

// EndedAfter reads runs that ended after a mark and before a time, in that order. Runs
// that have not ended are before every mark.
func (r reader) EndedAfter(ctx context.Context, after RateMark, before time.Time, limit int) ([]RunEnd, error) {
	var ended []RunEnd
	err := r.each(ctx, `SELECT id, factory_uid, state, error_code, created_at, started_at, finished_at, run_time FROM runs
		WHERE (finished_at, id) > ($1, $2) AND finished_at < $3 ORDER BY finished_at, id LIMIT $4`,
		[]any{max(micros(after.FinishedAt), 1), after.RunID, micros(before), limit}, func(scan rowScan) error {
			var e RunEnd
			var took int64
			err := scan(&e.ID, toText(&e.FactoryUID), &e.State, &e.ErrorCode, toTime(&e.CreatedAt), toTime(&e.StartedAt), toTime(&e.FinishedAt), &took)
			e.RunTime = time.Duration(took) * time.Microsecond
			ended = append(ended, e)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read ended runs: %w", err)
	}
	return ended, nil
}

// LockRateMark reads the mark and keeps other nodes from counting.
func (tx *Tx) LockRateMark(ctx context.Context) (RateMark, error) {
	return tx.rateMark(ctx, tx.d.forUpdate)
}

// GetRateMark reads the mark.
func (r reader) GetRateMark(ctx context.Context) (RateMark, error) { return r.rateMark(ctx, "") }

func (r reader) rateMark(ctx context.Context, lock string) (RateMark, error) {
	var mark RateMark
	if err := r.one(ctx, "SELECT finished_at, run_id FROM run_rate_mark WHERE id = 1"+lock, nil, toTime(&mark.FinishedAt), &mark.RunID); err != nil {
		return mark, fmt.Errorf("read mark of rates: %w", err)
	}
	return mark, nil
}

// MoveRateMark says up to where ends are in the tallies.
func (tx *Tx) MoveRateMark(ctx context.Context, mark RateMark) error {
	return tx.do(ctx, "move mark of rates",
		"UPDATE run_rate_mark SET finished_at = $1, run_id = $2 WHERE id = 1", micros(mark.FinishedAt), mark.RunID)
}

const rateColumns = "span, factory_uid, bucket, succeeded, failed, errored, cancelled, waits, times, reasons"

// AddRates adds to tallies. The mark is locked: nobody else does.
func (tx *Tx) AddRates(ctx context.Context, rates []RunRate) error {
	rows := inserts{
		into: "run_rates (" + rateColumns + ")",
		suffix: ` ON CONFLICT (span, factory_uid, bucket) DO UPDATE SET succeeded = excluded.succeeded, failed = excluded.failed,
			errored = excluded.errored, cancelled = excluded.cancelled, waits = excluded.waits, times = excluded.times, reasons = excluded.reasons`,
	}
	for _, rate := range rates {
		var stored RunRate
		err := tx.one(ctx, "SELECT "+rateColumns+" FROM run_rates WHERE span = $1 AND factory_uid = $2 AND bucket = $3",
			[]any{seconds(rate.Span), rate.FactoryUID, micros(rate.Bucket)}, scanTo(&stored)...)
		if err != nil && !errors.Is(err, errNoRows) {
			return fmt.Errorf("read rate: %w", err)
		}
		if err == nil {
			rate.Merge(stored.Tally)
		}
		waits, waitsErr := encode(rate.Waits)
		times, timesErr := encode(rate.Times)
		reasons, reasonsErr := encode(rate.Reasons)
		if err := errors.Join(waitsErr, timesErr, reasonsErr); err != nil {
			return err
		}
		rows.row(seconds(rate.Span), rate.FactoryUID, micros(rate.Bucket), rate.Succeeded, rate.Failed, rate.Errored, rate.Cancelled, waits, times, reasons)
	}
	return tx.sendRows(ctx, &rows)
}

// ListRates reads the tallies of factories over stretches of a span that began at a
// time or later, and the mark that belongs to them.
func (r reader) ListRates(ctx context.Context, span time.Duration, factories []string, since time.Time) ([]RunRate, RateMark, error) {
	// In one statement, so that both are of the same moment.
	args := []any{seconds(span), micros(since)}
	query := "SELECT 0 AS span, run_id AS factory_uid, finished_at AS bucket, 0, 0, 0, 0, '{}', '{}', '{}' FROM run_rate_mark WHERE id = 1 UNION ALL SELECT " +
		rateColumns + " FROM run_rates WHERE span = $1 AND bucket >= $2 AND factory_uid IN " + list(&args, factories)
	var rates []RunRate
	var mark RateMark
	err := r.each(ctx, query, args, func(scan rowScan) error {
		var rate RunRate
		if err := scan(scanTo(&rate)...); err != nil {
			return err
		}
		if rate.Span == 0 {
			mark = RateMark{FinishedAt: rate.Bucket, RunID: rate.FactoryUID}
			return nil
		}
		rates = append(rates, rate)
		return nil
	})
	if err != nil {
		return nil, mark, fmt.Errorf("list rates: %w", err)
	}
	return rates, mark, nil
}

// DeleteOldRates removes tallies of a span that began before a time, up to a limit.
func (tx *Tx) DeleteOldRates(ctx context.Context, span time.Duration, before time.Time, limit int) (int64, error) {
	return tx.count(ctx, "delete old rates", `DELETE FROM run_rates WHERE (span, factory_uid, bucket) IN
		(SELECT span, factory_uid, bucket FROM run_rates WHERE span = $1 AND bucket < $2 ORDER BY bucket LIMIT $3)`, seconds(span), micros(before), limit)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// scanTo lists where the columns of a rate go.
func scanTo(rate *RunRate) []any {
	rate.Tally = NewTally()
	return []any{
		(*spanColumn)(&rate.Span), &rate.FactoryUID, toTime(&rate.Bucket), &rate.Succeeded, &rate.Failed, &rate.Errored, &rate.Cancelled,
		toJSON(&rate.Waits), toJSON(&rate.Times), toJSON(&rate.Reasons),
	}
}
