package worker

import (
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/pause"
)

// directiveLoop waits for what the control plane has to say.
func (w *Worker) directiveLoop() {
	var again pause.Backoff
	for {
		directives, err := w.control.Directives(w.life, w.config.WorkerID)
		w.obey(directives)
		switch {
		case w.life.Err() != nil:
			return
		case err == nil:
			again.Reset()
		default:
			w.logger.WarnContext(w.life, "waiting for directives did not work", "err", err)
			if !again.Wait(w.life, 0) {
				return
			}
		}
	}
}

// maxEarly bounds the directives kept for executions that are not here.
const maxEarly = 64

// obey carries directives out. One may be faster than the answer to the claim of
// its execution, so those for unknown ones are kept for a while.
func (w *Worker) obey(directives []lineshaft.Directive) {
	for _, d := range directives {
		w.mu.Lock()
		e := w.executions[d.ExecutionID]
		if e == nil {
			w.early = append(w.early[max(0, len(w.early)-maxEarly+1):], d)
		}
		w.mu.Unlock()
		if e != nil {
			e.obey(d)
		}
	}
}

// takeEarly gives the directives that came before their execution. The lock is held.
func (w *Worker) takeEarly(id string) []lineshaft.Directive {
	var mine []lineshaft.Directive
	w.early = slices.DeleteFunc(w.early, func(d lineshaft.Directive) bool {
		if d.ExecutionID == id {
			mine = append(mine, d)
		}
		return d.ExecutionID == id
	})
	return mine
}

func (e *execution) obey(d lineshaft.Directive) {
	switch d.Kind {
	case lineshaft.DirectiveStop:
		e.endLife(errStopped)
	case lineshaft.DirectiveInterrupt:
		e.interrupt()
	case lineshaft.DirectiveFollowup:
		e.followup.poke()
	}
}
