package trigger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/cron"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// fireBatch is how many timers one transaction takes.
	fireBatch = 50
	// fireKeep is how long slots that have fired are remembered at least.
	fireKeep = 7 * 24 * time.Hour
	// strayRetry is when to try a timer again whose timing cannot be read.
	strayRetry = time.Hour
)

// FireDue starts the runs of timers whose time has come and returns how many timers
// it moved on. Any number of nodes may do it at once: a slot, its run and the next
// time of its timer are one transaction, and no slot fires twice (F-6).
func (s *Triggers) FireDue(ctx context.Context) (int, error) {
	now, err := s.TimerClock(ctx, s.Store)
	if err != nil {
		return 0, err
	}
	due, err := s.Store.DueTimers(ctx, now, fireBatch)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	return s.fire(ctx, due)
}

// fire does some timers in one transaction, or each alone; a timer that fails alone is
// skipped.
func (s *Triggers) fire(ctx context.Context, due []store.Timer) (int, error) {
	moved, err := s.fireTogether(ctx, due)
	if !base.OneIsToBlame(ctx, err) {
		return moved, err
	}
	if len(due) == 1 {
		return 1, s.passOver(ctx, due[0], err)
	}
	var errs error
	moved = 0
	for i := range due {
		n, err := s.fire(ctx, due[i:i+1])
		moved, errs = moved+n, errors.Join(errs, err)
	}
	return moved, errs
}

// firing is a timer in the transaction that moves it on.
type firing struct {
	timer store.Timer
	// slot is what fires now, and next what follows; a zero next is never.
	slot, next cron.Slot
	// start is of the run to start, nil if there is none, and run its draft.
	start *runs.RunStart
	run   *store.NewRun
	// problem is why there is no run.
	problem string
}

// fireTogether is the transaction.
func (s *Triggers) fireTogether(ctx context.Context, due []store.Timer) (moved int, err error) {
	var spans base.StartSpans
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		moved, spans = 0, nil
		taken, now, err := s.takeTimers(ctx, tx, due)
		if err != nil {
			return err
		}
		var needs runs.StartNeeds
		firings := make([]*firing, 0, len(taken))
		for _, timer := range taken {
			f, err := s.prepareFire(ctx, tx, timer, now)
			if err != nil {
				return err
			}
			firings = append(firings, f)
			if f.run != nil {
				needs.Add(runs.KeyOf(f.run), f.start.Brake)
			}
		}
		if err := needs.Lock(ctx, tx); err != nil {
			return err
		}
		b := s.newStarter(tx)
		for _, f := range firings {
			if err := b.finishFire(ctx, f, now); err != nil {
				return fmt.Errorf("fire %s: %w", f.timer.Owner, err)
			}
		}
		moved, spans = len(firings), b.Spans
		return b.Flush(ctx)
	})
	spans.End(err)
	return moved, err
}

// takeTimers locks those of some timers that are still due. Factories come first, as in
// every change of one: it moves its timers afterwards.
func (s *Triggers) takeTimers(ctx context.Context, tx *store.Tx, due []store.Timer) ([]store.Timer, time.Time, error) {
	var factories, owners []string
	for _, timer := range due {
		owners = append(owners, timer.Owner)
		if timer.FactoryUID != "" {
			factories = append(factories, timer.FactoryUID)
		}
	}
	if _, err := tx.ShareFactories(ctx, factories); err != nil {
		return nil, time.Time{}, err
	}
	now, err := s.TimerClock(ctx, tx)
	if err != nil {
		return nil, time.Time{}, err
	}
	taken, err := tx.TakeTimers(ctx, owners, now)
	return taken, now, err
}

// prepareFire finds the slot that fires, claims it, and drafts its run.
func (s *Triggers) prepareFire(ctx context.Context, tx *store.Tx, timer store.Timer, now time.Time) (*firing, error) {
	f := newFiring(timer, now)
	first, err := tx.ClaimFire(ctx, timer.Owner, f.slot.Name, f.slot.At)
	if err != nil || !first || f.problem != "" {
		return f, err
	}
	if strings.HasPrefix(timer.Owner, automationTimer) {
		err = s.draftTimed(ctx, tx, f)
	} else {
		err = s.draftScheduled(ctx, tx, f)
	}
	if err != nil && runs.Refusal(err) {
		f.start, f.run, f.problem, err = nil, nil, problemText(err), nil
	}
	return f, err
}

// newFiring reads a timer's timing. All slots that are due collapse into the newest:
// missed slots run once. A timing that can no longer be read (a time zone may go) is a
// problem of its own.
func newFiring(timer store.Timer, now time.Time) *firing {
	f := &firing{timer: timer, slot: cron.Slot{At: timer.NextAt, Name: timer.Slot}}
	timing, err := cron.Parse(timer.Timing)
	if err != nil {
		f.problem = problemText(err)
		f.next = cron.Slot{At: now.Add(strayRetry), Name: "retry " + now.Add(strayRetry).UTC().Format(time.RFC3339)}
		return f
	}
	timing = timing.Anchored(timer.Anchor)
	// With a new zone database the slot may lie elsewhere: then what was promised counts.
	if last, ok := timing.Last(timer.NextAt.Add(-1), now); ok {
		f.slot = last
	}
	if next, ok := timing.Next(now); ok {
		f.next = next
	}
	return f
}

// finishFire starts the run, if there is one, and moves the timer on.
func (b *starter) finishFire(ctx context.Context, f *firing, now time.Time) error {
	if f.start != nil {
		if err := b.forTimer(ctx, f, now); err != nil {
			if !runs.Refusal(err) {
				return err
			}
			f.problem = problemText(err)
		}
	}
	if f.problem != "" {
		if err := b.room.noteProblem(ctx, b.Tx, f, now); err != nil {
			return err
		}
	}
	return b.Tx.MoveTimer(ctx, f.timer.Owner, f.next.At, f.next.Name)
}

// forTimer starts the run of a slot.
func (b *starter) forTimer(ctx context.Context, f *firing, now time.Time) error {
	f.start.Draft = func() (*store.NewRun, []lineshaft.Attachment) { return f.run, nil }
	started, err := b.Start(ctx, *f.start)
	if err != nil {
		return err
	}
	// A run that was skipped because the last is still live says so itself.
	if id, ok := strings.CutPrefix(f.timer.Owner, scheduleTimer); ok && !started.State.Terminal() {
		return b.Tx.NoteSpawn(ctx, id, now, "")
	}
	return nil
}
