package worker

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
)

// sweepPause is the least time between two looks at all workspaces.
const sweepPause = 15 * time.Second

// sweepLoop removes workspaces whose time is over.
func (w *Worker) sweepLoop() {
	for {
		next, err := w.workspaces.Sweep(w.life, w.config.Now())
		if w.life.Err() != nil {
			return
		}
		if err != nil {
			w.logger.WarnContext(w.life, "remove old workspaces", "err", err)
			next = w.config.Now()
		}
		w.sweepBy(next)
		if !w.waitSweep() {
			return
		}
	}
}

// strayPause is the time between two looks for what killed supervisors have left.
const strayPause = time.Minute

// strayLoop removes containers that nothing looks after any more: a killed supervisor
// leaves one behind while the worker keeps running.
func (w *Worker) strayLoop() {
	sweeper, ok := w.config.Sandbox.(interface {
		Sweep(ctx context.Context, now time.Time) error
	})
	if !ok {
		return
	}
	for pause.For(w.life, strayPause) {
		if err := sweeper.Sweep(w.life, w.config.Now()); err != nil && w.life.Err() == nil {
			w.logger.WarnContext(w.life, "remove left containers", "err", err)
		}
	}
}

// layerPause is the longest time between two looks for prepared environments that are too old.
const layerPause = time.Hour

// layerLoop removes old layers: what set-up wrote with a secret must not stay on a worker that has
// nothing to do.
func (w *Worker) layerLoop() {
	if w.layers == nil || w.config.CacheAge <= 0 {
		return
	}
	for pause.For(w.life, min(layerPause, w.config.CacheAge)) {
		if err := w.layers.Sweep(w.life); err != nil && w.life.Err() == nil {
			w.logger.WarnContext(w.life, "remove old prepared environments", "err", err)
		}
	}
}

// sweepBy makes sure that there is a sweep soon after the given time.
func (w *Worker) sweepBy(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !at.IsZero() && (w.sweepAt.IsZero() || at.Before(w.sweepAt)) {
		w.sweepAt = at
		w.sweeps.poke()
	}
}

// waitSweep waits for the time of the next sweep and forgets it.
func (w *Worker) waitSweep() bool {
	if !pause.For(w.life, sweepPause) {
		return false
	}
	for {
		w.mu.Lock()
		at := w.sweepAt
		left := at.Sub(w.config.Now())
		if !at.IsZero() && left <= 0 {
			w.sweepAt = time.Time{}
			w.mu.Unlock()
			return true
		}
		w.mu.Unlock()
		if at.IsZero() {
			left = time.Hour
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-w.sweeps:
		case <-w.life.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}
