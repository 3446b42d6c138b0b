package trigger

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// noteProblem says why a slot started no run: a schedule shows it, that of an
// automation is in the log of what was done.
func (s *Triggers) noteProblem(ctx context.Context, tx *store.Tx, f *firing, now time.Time) error {
	s.Log.LogAttrs(ctx, slog.LevelWarn, "timer started no run",
		slog.String("timer", f.timer.Owner), slog.String("slot", f.slot.Name), slog.String("reason", f.problem))
	if id, ok := strings.CutPrefix(f.timer.Owner, scheduleTimer); ok {
		return tx.NoteSpawn(ctx, id, now, f.problem)
	}
	uid := automationOf(f.timer.Owner)
	return s.Audit(ctx, tx, base.System(), "automation.fire_failed", "automation", uid, map[string]string{
		"factory": f.timer.FactoryUID, "cron": f.timer.Timing.Cron, "slot": f.slot.Name, "reason": f.problem,
	})
}

// passOver moves a timer on whose run cannot be started.
func (s *Triggers) passOver(ctx context.Context, timer store.Timer, cause error) error {
	s.Log.LogAttrs(ctx, slog.LevelError, "timer cannot fire", slog.String("timer", timer.Owner), slog.Any("err", cause))
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		taken, now, err := s.takeTimers(ctx, tx, []store.Timer{timer})
		if err != nil || len(taken) == 0 {
			return err
		}
		f := newFiring(taken[0], now)
		if _, err := tx.ClaimFire(ctx, timer.Owner, f.slot.Name, f.slot.At); err != nil {
			return err
		}
		f.problem = problemText(cause)
		return s.newStarter(tx).finishFire(ctx, f, now)
	})
}

func problemText(err error) string {
	public, ok := errors.AsType[*lineshaft.Error](err)
	if !ok || public.Code == lineshaft.CodeInternal {
		return "the run could not be started; the server's log says why"
	}
	if public.Field != "" {
		return public.Field + ": " + public.Message
	}
	return public.Message
}

// PurgeFires forgets slots that fired long ago.
func (s *Triggers) PurgeFires(ctx context.Context) error {
	now, err := s.TimerClock(ctx, s.Store)
	if err != nil {
		return err
	}
	for {
		var n int64
		err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.DeleteFires(ctx, now.Add(-fireKeep), base.SweepBatch)
			return err
		})
		if err != nil || n < base.SweepBatch {
			return err
		}
	}
}
