package platform

import (
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// workerRuns is how many runs the page of a worker lists.
const workerRuns = 50

type workerData struct {
	Host string
	Own  bool
	// Worker is nil while it is not connected; Command starts it then.
	Worker  *runs.Worker
	Command string
	// Runs are those in progress, as far as the reader may see them; More says that there are others.
	Runs []lineshaft.Run
	More bool
}

// workerPage is a worker with what it works on.
func (s pages) workerPage(r *page.Request) (p page.Page, err error) {
	host := r.PathValue("id")
	data := workerData{Host: host, Own: host == lineshaft.HostedWorker, Command: s.workerCommand(host)}
	connected, err := s.Control.Workers(r.Context(), r.Caller)
	if err != nil {
		return p, err
	}
	if at := slices.IndexFunc(connected, func(w runs.Worker) bool { return w.WorkerHost == host }); at >= 0 {
		data.Worker = &connected[at]
	}
	busy := []lineshaft.RunState{lineshaft.Claimed, lineshaft.InProgress, lineshaft.Blocked}
	found, err := s.Control.ListRuns(r.Context(), r.Caller, lineshaft.RunQuery{
		Filter: lineshaft.RunFilter{WorkerHost: host, States: busy}, Sort: lineshaft.SortCreated, Limit: workerRuns,
	})
	if err != nil {
		return p, err
	}
	if data.Worker == nil && len(found.Runs) == 0 && !data.Own {
		return p, lineshaft.NotFound("worker", host)
	}
	data.Runs, data.More = found.Runs, found.Next != ""
	return page.Below("workers", host, data), nil
}
