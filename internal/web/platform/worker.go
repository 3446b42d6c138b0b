package platform

import (
	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) workerRoutes() []page.Route {
	return []page.Route{
		page.Get("/workers", lineshaft.PermissionServerRead, page.Show("workers", s.workersPage)),
		page.Get("/workers/{id}/runs", lineshaft.PermissionServerRead, page.Show("worker", s.workerPage)),
		page.Get("/workers/now", lineshaft.PermissionServerRead, page.With(s.workersPage, s.workersNow)),
	}
}

// workerRow is a connected worker, with its load as a bar of 100.
type workerRow struct {
	runs.Worker

	Own  bool
	Load int
	// Href is its page.
	Href string
}

type waitingRow struct {
	runs.WaitingWorker

	Own bool
	// Command starts it.
	Command string
}

type workersData struct {
	Workers []workerRow
	Waiting []waitingRow
	// OnlyOwn says that no self-hosted worker is connected or waited for.
	OnlyOwn bool
	// KeyCommand and Command set up a self-hosted worker.
	KeyCommand, Command string
}

// workersNow is the part of the page that it asks for again and again.
func (s pages) workersNow(r *page.Request, p page.Page) error {
	p.Caller = &r.Caller
	return r.Fragment("workers", "now", p)
}

func (s pages) workersPage(r *page.Request) (page.Page, error) {
	connected, err := s.Control.Workers(r.Context(), r.Caller)
	if err != nil {
		return page.Page{}, err
	}
	waiting, err := s.Control.WaitingWorkers(r.Context(), r.Caller)
	data := workersData{
		OnlyOwn:    true,
		KeyCommand: "lineshaft apikey create mac-mini --role worker --worker mac-mini", Command: s.workerCommand("mac-mini"),
	}
	for _, worker := range connected {
		row := workerRow{Worker: worker, Own: worker.WorkerHost == lineshaft.HostedWorker}
		row.Href = page.Under("workers", worker.WorkerHost, "runs")
		if worker.Capacity > 0 {
			row.Load = min(100*worker.Running/worker.Capacity, 100)
		}
		data.OnlyOwn = data.OnlyOwn && row.Own
		data.Workers = append(data.Workers, row)
	}
	for _, worker := range waiting {
		row := waitingRow{WaitingWorker: worker, Own: worker.WorkerHost == lineshaft.HostedWorker, Command: s.workerCommand(worker.WorkerHost)}
		data.OnlyOwn = data.OnlyOwn && row.Own
		data.Waiting = append(data.Waiting, row)
	}
	return page.Of("workers", data), err
}

// workerCommand starts a worker of an id, on a machine that has its key.
func (s pages) workerCommand(id string) string {
	return "lineshaft worker --id " + id + " --server " + s.BaseURL
}
