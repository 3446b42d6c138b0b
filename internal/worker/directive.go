package worker

import "github.com/lineshaft/lineshaft"

// directiveLoop waits for what the control plane has to say.
func (w *Worker) directiveLoop() {
	var pause backoff
	for {
		directives, err := w.control.Directives(w.life, w.config.WorkerID)
		w.obey(directives)
		switch {
		case w.life.Err() != nil:
			return
		case err == nil:
			pause.reset()
		default:
			w.logger.WarnContext(w.life, "waiting for directives did not work", "err", err)
			if !pause.wait(w.life) {
				return
			}
		}
	}
}

// obey carries directives out. Those for executions that are not here any more,
// or not yet, are left: their next report is answered with a conflict.
func (w *Worker) obey(directives []lineshaft.Directive) {
	for _, d := range directives {
		w.mu.Lock()
		e := w.executions[d.ExecutionID]
		w.mu.Unlock()
		if e == nil {
			continue
		}
		switch d.Kind {
		case lineshaft.DirectiveStop:
			e.endLife(errStopped)
		case lineshaft.DirectiveInterrupt:
			e.interrupt()
		case lineshaft.DirectiveFollowup:
			e.followups.came()
		}
	}
}
