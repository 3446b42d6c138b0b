package runs

import (
	"context"
	"slices"

	"github.com/lineshaft/lineshaft"
)

const (
	// maxWaitingHosts and maxWaitingRuns bound what WaitingWorkers looks at.
	maxWaitingHosts = 50
	maxWaitingRuns  = 1000
)

// WaitingWorker is a worker id with queued runs that is not connected.
type WaitingWorker struct {
	WorkerHost string
	Runs       int
	// More says that there are more runs than were counted.
	More bool
}

// WaitingWorkers says which workers queued runs wait for that are not connected. A key
// that is limited to factories gets nothing: the queues are everyone's.
func (s *Runs) WaitingWorkers(ctx context.Context, c lineshaft.Caller) ([]WaitingWorker, error) {
	if err := c.Need(lineshaft.PermissionServerRead); err != nil {
		return nil, err
	}
	if len(c.FactoryUIDs) > 0 {
		return nil, nil
	}
	hosts, err := s.Store.QueuedHosts(ctx, maxWaitingHosts)
	if err != nil {
		return nil, err
	}
	workers, err := s.Workers(ctx, c)
	if err != nil {
		return nil, err
	}
	var waiting []WaitingWorker
	for _, host := range hosts {
		if slices.ContainsFunc(workers, func(w Worker) bool { return w.WorkerHost == host }) {
			continue
		}
		n, err := s.Store.CountQueued(ctx, host, maxWaitingRuns+1)
		if err != nil {
			return nil, err
		}
		if n > 0 { // they may have gone meanwhile
			waiting = append(waiting, WaitingWorker{WorkerHost: host, Runs: min(n, maxWaitingRuns), More: n > maxWaitingRuns})
		}
	}
	return waiting, nil
}
