package worker

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/pause"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// handBackTime bounds the last word about an execution.
const handBackTime = 5 * time.Second

// diskPause is how long a slot stays empty after a run that could not begin because the disk is full.
const diskPause = 30 * time.Second

// claimLoop fills the free slots.
func (w *Worker) claimLoop() {
	var again pause.Backoff
	for {
		free := w.takeSlots()
		if len(free) == 0 {
			return
		}
		jobs, err := w.control.Claim(w.claiming, lineshaft.ClaimRequest{
			WorkerHost: w.config.WorkerHost, WorkerID: w.config.WorkerID, Capacity: w.config.Slots, Limit: len(free), Version: w.config.Version,
		})
		for _, job := range jobs {
			if len(free) == 0 {
				w.handBack(job)
				continue
			}
			w.begin(job, free[0])
			free = free[1:]
		}
		for _, slot := range free {
			w.slots <- slot
		}
		switch {
		case w.claiming.Err() != nil:
			return
		case err == nil:
			again.Reset()
		default:
			w.logger.WarnContext(w.life, "cannot claim a run", "err", err)
			if !again.Wait(w.claiming, 0) {
				return
			}
		}
	}
}

// takeSlots waits for a free slot and takes all free ones. It returns none
// when there is nothing more to claim.
func (w *Worker) takeSlots() []int {
	var free []int
	select {
	case slot := <-w.slots:
		free = append(free, slot)
	case <-w.claiming.Done():
		return nil
	}
	for {
		select {
		case slot := <-w.slots:
			free = append(free, slot)
		default:
			return free
		}
	}
}

// begin runs a job in a slot.
func (w *Worker) begin(job lineshaft.Job, slot int) {
	w.mu.Lock()
	if w.draining {
		w.mu.Unlock()
		w.slots <- slot
		w.handBack(job)
		return
	}
	e := newExecution(w, job, slot)
	if len(w.executions) == 0 {
		w.idle = make(chan struct{})
	}
	w.executions[job.ExecutionID] = e
	for _, d := range w.takeEarly(job.ExecutionID) {
		e.obey(d)
	}
	w.running.Add(1)
	w.mu.Unlock()
	w.beats.poke()
	go func() {
		defer w.running.Done()
		e.run()
		w.end(e)
	}()
}

// end frees what an execution held.
func (w *Worker) end(e *execution) {
	w.mu.Lock()
	delete(w.executions, e.job.ExecutionID)
	if len(w.executions) == 0 {
		close(w.idle)
	}
	w.mu.Unlock()
	if e.noRoom { // one run after another would be claimed and handed back
		time.AfterFunc(diskPause, func() { w.slots <- e.slot })
		return
	}
	w.slots <- e.slot
}

// handBack returns a job that was never begun.
func (w *Worker) handBack(job lineshaft.Job) {
	life := tracing.WithParent(context.WithoutCancel(w.life), job.TraceParent)
	ctx, cancel := context.WithTimeout(life, handBackTime)
	defer cancel()
	_, err := w.control.EndTurn(ctx, job.ExecutionRef, lineshaft.TurnResult{
		State: lineshaft.Queued, Message: "the worker is stopping", Dead: true,
	})
	if err != nil {
		// Its lease brings it back.
		w.logger.WarnContext(ctx, "cannot hand the run back", "run_id", job.RunID, "execution_id", job.ExecutionID, "err", err)
	}
}
