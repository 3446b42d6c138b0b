package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rate is a sliding window: at most Limit hits in any stretch of Window.
type Rate struct {
	Name   string
	Limit  int
	Window time.Duration
}

// HitRates counts one hit in every window, or in none if one of them is full: then
// it returns how long it takes until there is room. The windows are those of all
// nodes, measured by the database's clock.
func (tx *Tx) HitRates(ctx context.Context, rates ...Rate) (wait time.Duration, err error) {
	rates = slices.Clone(rates)
	slices.SortFunc(rates, func(a, b Rate) int { return strings.Compare(a.Name, b.Name) }) // one order of locks
	counts := make([]int64, len(rates))
	var now int64
	for i, rate := range rates {
		if counts[i], now, err = tx.lockRate(ctx, rate.Name); err != nil {
			return 0, err
		}
		left, err := tx.rateWait(ctx, rate, counts[i], now)
		if err != nil {
			return 0, err
		}
		wait = max(wait, left)
	}
	if wait > 0 {
		return wait, nil
	}
	for i, rate := range rates {
		if err := tx.hit(ctx, rate, counts[i], 1, now); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// HitRate counts hits in a window one after the other until it is full. It returns how many
// there was room for, and how long it takes until there is room for the next.
func (tx *Tx) HitRate(ctx context.Context, rate Rate, hits int) (taken int, wait time.Duration, err error) {
	count, now, err := tx.lockRate(ctx, rate.Name)
	if err != nil {
		return 0, 0, err
	}
	// A hit takes the place of the one that is Limit before it, which may be of these.
	first := count + 1 - int64(rate.Limit)
	before, err := pairs[int64, int64](ctx, tx.reader, "read rate window",
		"SELECT number, at FROM rate_hits WHERE name = $1 AND number BETWEEN $2 AND $3", []any{rate.Name, first, first + int64(hits) - 1})
	if err != nil {
		return 0, 0, err
	}
	for ; taken < hits; taken++ {
		at, there := before[first+int64(taken)]
		if taken >= rate.Limit {
			at, there = now, true
		}
		if wait = min(rate.Window-time.Duration(now-at)*time.Microsecond, rate.Window); there && wait > 0 {
			break
		}
		wait = 0
	}
	if taken > 0 {
		err = tx.hit(ctx, rate, count, taken, now)
	}
	return taken, wait, err
}

// lockRate takes the window's row, so that nobody counts at the same time.
func (tx *Tx) lockRate(ctx context.Context, name string) (count, now int64, err error) {
	var last int64
	err = tx.one(ctx, `INSERT INTO rate_windows (name, count, last_at) VALUES ($1, 0, 0)
		ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING count, last_at, `+tx.d.now, []any{name}, &count, &last, &now)
	if err == nil && last > now { // the clock was set back: its future was just now
		_, err = tx.exec(ctx, "UPDATE rate_hits SET at = $2 WHERE name = $1 AND at > $3", name, now, now)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("lock rate window: %w", err)
	}
	return count, now, nil
}

// RateWait says how long a window is full, without counting.
func (r reader) RateWait(ctx context.Context, rate Rate) (time.Duration, error) {
	var count, now int64
	found, err := r.look(ctx, "read rate window", "SELECT count, "+r.d.now+" FROM rate_windows WHERE name = $1", []any{rate.Name}, &count, &now)
	if !found {
		return 0, err
	}
	return r.rateWait(ctx, rate, count, now)
}

// rateWait is how long until the oldest hit that fills the window leaves it.
func (r reader) rateWait(ctx context.Context, rate Rate, count, now int64) (time.Duration, error) {
	var at int64
	found, err := r.look(ctx, "read rate window",
		"SELECT at FROM rate_hits WHERE name = $1 AND number = $2", []any{rate.Name, count - int64(rate.Limit) + 1}, &at)
	if !found {
		return 0, err
	}
	left := rate.Window - time.Duration(now-at)*time.Microsecond
	return min(max(left, 0), rate.Window), nil
}

// hit writes hits after those that were counted and forgets those that no longer matter.
// Hits are numbered, so that a limit which was changed finds the right one.
func (tx *Tx) hit(ctx context.Context, rate Rate, count int64, hits int, now int64) error {
	rows := inserts{into: "rate_hits (name, number, at)"}
	for range hits {
		count++
		rows.row(rate.Name, count, now)
	}
	if err := tx.sendRows(ctx, &rows); err != nil {
		return err
	}
	err := tx.send(ctx, "count rate window", "UPDATE rate_windows SET count = $2, last_at = $3 WHERE name = $1", rate.Name, count, now)
	if err != nil {
		return err
	}
	return tx.send(ctx, "trim rate window", "DELETE FROM rate_hits WHERE name = $1 AND number <= $2", rate.Name, count-int64(rate.Limit))
}

// DeleteRates removes windows without a hit since a time, up to a limit. It passes over
// those that a delivery is being counted in.
func (tx *Tx) DeleteRates(ctx context.Context, before time.Time, limit int) (int, error) {
	idle, err := tx.texts(ctx, `DELETE FROM rate_windows WHERE name IN (SELECT name FROM rate_windows WHERE last_at < $1 ORDER BY last_at LIMIT $2`+tx.d.skipLocked+`)
		AND last_at < $3 RETURNING name`, micros(before), limit, micros(before))
	if err != nil || len(idle) == 0 {
		return 0, err
	}
	var args []any
	if _, err := tx.exec(ctx, "DELETE FROM rate_hits WHERE name IN "+list(&args, idle), args...); err != nil {
		return 0, fmt.Errorf("delete rate hits: %w", err)
	}
	return len(idle), nil
}
