package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/pause"
)

const (
	// reportTime bounds one call; what was not acknowledged is sent again.
	reportTime = 15 * time.Second
	// callBytes bounds the reports of one call together.
	callBytes = 4 << 20
)

// reportLoop sends the executions' events. While one call is under way the next batch
// gathers, so the batches are as large as the control plane is slow.
func (w *Worker) reportLoop() {
	var again pause.Backoff
	for {
		select {
		case <-w.life.Done():
			return
		case <-w.reports:
		}
		alone := false
		for {
			sent, err := w.report(alone)
			if alone = alone || refused(err); err != nil {
				w.logger.WarnContext(w.life, "cannot send a report", "err", err)
				if !again.Wait(w.life, 0) {
					return
				}
				continue
			}
			again.Reset()
			if !sent {
				break
			}
		}
	}
}

// report sends one call with all events, or with one execution's part alone.
// The error says that something must be sent again. A call that was refused is
// followed by calls with one report each, to find the one to blame.
func (w *Worker) report(alone bool) (sent bool, err error) {
	var (
		from    []*execution
		reports []lineshaft.Report
		bytes   int
	)
	for _, e := range w.held() {
		if bytes >= callBytes || alone && len(from) > 0 || e.life.Err() != nil || !e.outbox.pending() {
			continue
		}
		if report, ok := e.outbox.take(); ok {
			from, reports = append(from, e), append(reports, report)
			for _, draft := range report.Events {
				bytes += len(draft.Data)
			}
		}
	}
	if len(reports) == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(w.life, reportTime)
	defer cancel()
	answers, err := w.control.Report(ctx, reports)
	if err == nil && len(answers) != len(reports) {
		err = errors.New("the number of answers is not that of the reports")
	}
	if refused(err) && len(from) == 1 {
		return true, from[0].reported(err)
	}
	if err != nil { // it is about the call and not about an execution
		for _, e := range from {
			e.outbox.keep()
		}
		return true, err
	}
	for i, e := range from {
		err = errors.Join(err, e.reported(answers[i]))
	}
	return true, err
}

// reported takes the answer to a report; an error says that it must be sent again.
func (e *execution) reported(answer error) error {
	if answer == nil {
		e.outbox.acknowledge()
		return nil
	}
	if lineshaft.CodeOf(answer) == lineshaft.CodePayloadTooLarge && e.outbox.shrink(e.leftOut) {
		e.worker.logger.WarnContext(e.life, "report was too large", "run_id", e.job.RunID, "execution_id", e.job.ExecutionID, "err", answer)
		return nil
	}
	e.outbox.keep()
	switch {
	case gone(answer):
		e.endLife(errLost)
	case refused(answer):
		e.worker.logger.ErrorContext(e.life, "report was refused", "run_id", e.job.RunID, "execution_id", e.job.ExecutionID, "err", answer)
		e.endLife(errRefused)
	default:
		return answer
	}
	return nil
}
