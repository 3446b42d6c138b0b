package kubernetes

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/pause"
)

// beatLoop keeps the leases of executions whose pods have not taken them over yet, and
// asks whether the others are still wanted.
func (l *Launcher) beatLoop() {
	for {
		l.mu.Lock()
		lease := l.lease
		l.mu.Unlock()
		timer := time.NewTimer(lease / 3)
		select {
		case <-l.life.Done():
			timer.Stop()
			return
		case <-l.beats:
			timer.Stop()
		case <-timer.C:
		}
		ctx, cancel := context.WithTimeout(l.life, lease/3)
		l.beat(ctx, lease)
		cancel()
	}
}

func (l *Launcher) beat(ctx context.Context, lease time.Duration) {
	var (
		mine []lineshaft.ExecutionRef
		ask  []*placement
		stop = map[string]bool{}
	)
	for _, p := range l.all() {
		switch p.holder(lease) {
		case heldHere:
			mine = append(mine, p.job.ExecutionRef)
		case heldThere:
			ask = append(ask, p)
		case heldNowhere:
		}
	}
	if len(mine) > 0 {
		directives, err := l.control.Heartbeat(ctx, l.config.WorkerID, mine)
		if err != nil {
			if l.life.Err() == nil {
				l.logger.WarnContext(ctx, "heartbeat did not work", "held", len(mine), "err", err)
			}
			return
		}
		for _, d := range directives {
			if d.Kind == lineshaft.DirectiveStop {
				stop[d.ExecutionID] = true
			}
		}
		for id := range stop {
			// Either the run was taken away, or its pod holds it now: the question tells.
			if p := l.find(id); p != nil {
				ask = append(ask, p)
			}
		}
	}
	l.ask(ctx, ask, stop)
}

// ask finds out whether executions still hold their runs: a report of nothing is taken
// from those that do.
func (l *Launcher) ask(ctx context.Context, list []*placement, stop map[string]bool) {
	if len(list) == 0 {
		return
	}
	reports := make([]lineshaft.Report, len(list))
	for i, p := range list {
		reports[i] = lineshaft.Report{ExecutionRef: p.job.ExecutionRef, First: 1}
	}
	answers, err := l.control.Report(ctx, reports)
	if err != nil || len(answers) != len(list) {
		return // asked again with the next beat
	}
	for i, p := range list {
		switch {
		case goneFrom(answers[i]):
			p.setOver()
		case answers[i] == nil && stop[p.job.ExecutionID]:
			p.setTaken()
		}
	}
}

// directiveLoop hears of executions that are ended before their pod has them.
func (l *Launcher) directiveLoop() {
	var again pause.Backoff
	for l.life.Err() == nil {
		directives, err := l.control.Directives(l.life, l.config.WorkerID)
		for _, d := range directives {
			if p := l.find(d.ExecutionID); p != nil && d.Kind == lineshaft.DirectiveStop {
				poke(l.beats)
			}
		}
		switch {
		case err == nil:
			again.Reset()
		case l.life.Err() == nil:
			again.Wait(l.life, asked(err))
		}
	}
}
