package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Timer is when a schedule, or a schedule trigger of an automation, fires next.
type Timer struct {
	// Owner is schedule/<id>, or automation/<uid>/<digest of the timing>.
	Owner string
	// FactoryUID is that of the automation; empty for schedules.
	FactoryUID string
	Timing     lineshaft.Timing
	// Anchor is what @every counts from.
	Anchor time.Time
	// NextAt is zero for a timer that is paused.
	NextAt time.Time
	// Slot names the time that NextAt is for.
	Slot string
}

// ScheduleTimer is the owner of a schedule's timer.
func ScheduleTimer(scheduleID string) string { return "schedule/" + scheduleID }

// never is next_at of a timer that is paused.
const never = math.MaxInt64

func toNext(at time.Time) int64 {
	if at.IsZero() {
		return never
	}
	return at.UnixMicro()
}

func fromNext(next int64) time.Time {
	if next == never {
		return time.Time{}
	}
	return time.UnixMicro(next).UTC()
}

const timerColumns = "owner, factory_uid, timing, anchor, next_at, slot"

// Clock is the database's clock: timers of many nodes must be measured by one.
func (r reader) Clock(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := r.one(ctx, "SELECT "+r.d.now, nil, toTime(&now)); err != nil {
		return now, fmt.Errorf("read clock: %w", err)
	}
	return now, nil
}

// PutTimer stores a timer, new or changed.
func (tx *Tx) PutTimer(ctx context.Context, t Timer) error {
	timing, err := encode(t.Timing)
	if err != nil {
		return err
	}
	return tx.do(ctx, "put timer", `INSERT INTO timers (`+timerColumns+`) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (owner) DO UPDATE SET factory_uid = excluded.factory_uid, timing = excluded.timing, anchor = excluded.anchor,
		next_at = excluded.next_at, slot = excluded.slot`, t.Owner, t.FactoryUID, timing, micros(t.Anchor), toNext(t.NextAt), t.Slot)
}

// MoveTimer sets when a timer fires next.
func (tx *Tx) MoveTimer(ctx context.Context, owner string, next time.Time, slot string) error {
	return tx.do(ctx, "move timer", "UPDATE timers SET next_at = $2, slot = $3 WHERE owner = $1", owner, toNext(next), slot)
}

// DeleteTimers removes timers; missing ones do no harm.
func (tx *Tx) DeleteTimers(ctx context.Context, owners []string) error {
	if len(owners) == 0 {
		return nil
	}
	var args []any
	return tx.do(ctx, "delete timers", "DELETE FROM timers WHERE owner IN "+list(&args, owners), args...)
}

// LockTimer reads a timer and keeps it from firing until the transaction ends.
func (tx *Tx) LockTimer(ctx context.Context, owner string) (*Timer, error) {
	return only(tx.timers(ctx, "WHERE owner = $1"+tx.d.forUpdate, owner)).orNotFound("timer", owner)
}

// ListTimers reads the timers of a factory's automations.
func (r reader) ListTimers(ctx context.Context, factoryUID string) ([]Timer, error) {
	return r.timers(ctx, "WHERE factory_uid = $1", factoryUID)
}

// DueTimers reads timers whose time has come, the longest due first, without locking
// them.
func (r reader) DueTimers(ctx context.Context, now time.Time, limit int) ([]Timer, error) {
	return r.timers(ctx, "WHERE next_at <= $1 ORDER BY next_at, owner LIMIT $2", micros(now), limit)
}

// TakeTimers locks those of some timers that are still due. It skips timers that
// another node holds.
func (tx *Tx) TakeTimers(ctx context.Context, owners []string, now time.Time) ([]Timer, error) {
	if len(owners) == 0 {
		return nil, nil
	}
	args := []any{micros(now)}
	return tx.timers(ctx, "WHERE next_at <= $1 AND owner IN "+list(&args, owners)+tx.d.skipLocked, args...)
}

func (r reader) timers(ctx context.Context, where string, args ...any) ([]Timer, error) {
	return collect(ctx, r, "read timers", "SELECT "+timerColumns+" FROM timers "+where, args, func(scan rowScan) (*Timer, error) {
		t := &Timer{}
		var next int64
		err := scan(&t.Owner, &t.FactoryUID, toJSON(&t.Timing), toTime(&t.Anchor), &next, &t.Slot)
		t.NextAt = fromNext(next)
		return t, err
	})
}

// ClaimFire records that a slot of a timer, which was due at a time, fires now; false says that it has fired before.
func (tx *Tx) ClaimFire(ctx context.Context, owner, slot string, at time.Time) (first bool, err error) {
	n, err := tx.count(ctx, "claim fire", "INSERT INTO fires (owner, slot, at, run_id) VALUES ($1, $2, $3, '') ON CONFLICT (owner, slot) DO NOTHING",
		owner, slot, micros(at))
	return n == 1, err
}

// DeleteFires forgets slots that were due before a time, up to a limit, but none that
// its timer could still reach.
func (tx *Tx) DeleteFires(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.count(ctx, "delete fires", `DELETE FROM fires WHERE (owner, slot) IN (SELECT f.owner, f.slot FROM fires f WHERE f.at < $1
		AND NOT EXISTS (SELECT 1 FROM timers t WHERE t.owner = f.owner AND t.next_at <= f.at) ORDER BY f.at LIMIT $2)`, micros(before), limit)
}
