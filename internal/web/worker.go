package web

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

func (s *server) workerRoutes() []route {
	return []route{
		{"GET /workers", lineshaft.PermissionServerRead, s.workersPage},
		{"GET /workers/now", lineshaft.PermissionServerRead, s.workersNow},
	}
}

// workerRow is a connected worker, with its load as a bar of 100.
type workerRow struct {
	runs.Worker

	Own  bool
	Load int
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

func (s *server) workersPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.workers(r, c)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "workers", page{Title: "Workers", Section: "workers", Data: data})
}

// workersNow is the part of the page that it asks for again and again.
func (s *server) workersNow(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.workers(r, c)
	if err != nil {
		return err
	}
	return s.fragment(w, r, "workers", "now", page{Caller: &c, Data: data})
}

func (s *server) workers(r *http.Request, c lineshaft.Caller) (workersData, error) {
	connected, err := s.Control.Workers(r.Context(), c)
	if err != nil {
		return workersData{}, err
	}
	waiting, err := s.Control.WaitingWorkers(r.Context(), c)
	if err != nil {
		return workersData{}, err
	}
	data := workersData{
		OnlyOwn:    true,
		KeyCommand: "lineshaft apikey create mac-mini --role worker --worker mac-mini", Command: s.workerCommand("mac-mini"),
	}
	for _, worker := range connected {
		row := workerRow{Worker: worker, Own: worker.WorkerHost == lineshaft.HostedWorker}
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
	return data, nil
}

// workerCommand starts a worker of an id, on a machine that has its key.
func (s *server) workerCommand(id string) string {
	return "lineshaft worker --id " + id + " --server " + s.BaseURL
}
