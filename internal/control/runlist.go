package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// ListRuns reads a page of the runs that the caller may see.
func (s *Service) ListRuns(ctx context.Context, c lineshaft.Caller, q lineshaft.RunQuery) (lineshaft.RunPage, error) {
	if q.Filter.AncestorRunID != "" {
		if _, err := s.visibleRun(ctx, c, q.Filter.AncestorRunID); err != nil {
			return lineshaft.RunPage{}, err
		}
	}
	filter, ok := scopeFilter(c, q.Filter)
	if !ok {
		return lineshaft.RunPage{}, nil
	}
	list, err := listPrint(q)
	if err != nil {
		return lineshaft.RunPage{}, fmt.Errorf("fingerprint list: %w", err)
	}
	scan := store.RunScan{Filter: filter, Sort: q.Sort, Ascending: q.Ascending, Limit: q.Limit}
	if q.Cursor != "" {
		if scan.After, err = decodeCursor[store.RunKey](list, q.Cursor); err != nil {
			return lineshaft.RunPage{}, err
		}
	}
	runs, last, more, err := s.store.ScanRuns(ctx, scan)
	if err != nil {
		return lineshaft.RunPage{}, err
	}
	page := lineshaft.RunPage{Runs: runs}
	if more {
		if page.Next, err = encodeCursor(list, *last); err != nil {
			return lineshaft.RunPage{}, fmt.Errorf("encode cursor: %w", err)
		}
	}
	refs := make([]*lineshaft.Run, len(runs))
	for i := range runs {
		refs[i] = &runs[i]
	}
	return page, s.explainWaiting(ctx, refs)
}

// scopeFilter narrows a filter to what the caller may see; false means nothing is left.
func scopeFilter(c lineshaft.Caller, f lineshaft.RunFilter) (lineshaft.RunFilter, bool) {
	if c.Role == lineshaft.RoleRun && f.AncestorRunID == "" {
		f.AncestorRunID = c.RunID // a given one was found visible, so it is below this run or the run itself
	}
	if len(c.FactoryUIDs) == 0 {
		return f, true
	}
	if len(f.FactoryUIDs) == 0 {
		f.FactoryUIDs = c.FactoryUIDs
		return f, true
	}
	var allowed []string
	for _, uid := range f.FactoryUIDs {
		if slices.Contains(c.FactoryUIDs, uid) {
			allowed = append(allowed, uid)
		}
	}
	f.FactoryUIDs = allowed
	return f, len(allowed) > 0
}

// explainWaiting says of queued runs for self-hosted workers when none is connected.
func (s *Service) explainWaiting(ctx context.Context, runs []*lineshaft.Run) error {
	var waiting []*lineshaft.Run
	for _, run := range runs {
		forSkills := len(run.Skills) < len(run.Config.Skills)
		if run.State == lineshaft.Queued && run.Config.WorkerHost != lineshaft.HostedWorker && !forSkills {
			waiting = append(waiting, run)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	workers, err := s.store.ListWorkers(ctx, s.workerCutoff())
	if err != nil {
		return err
	}
	for _, run := range waiting {
		if !slices.ContainsFunc(workers, func(w store.Worker) bool { return w.WorkerHost == run.Config.WorkerHost }) {
			run.Status.Message = fmt.Sprintf("waiting for worker %q, which is not connected; start it with lineshaft worker --id %s", run.Config.WorkerHost, run.Config.WorkerHost)
		}
	}
	return nil
}

// workerCutoff is the time since which a connected worker must have been seen.
func (s *Service) workerCutoff() time.Time {
	return s.store.Now().Add(-max(2*s.cfg.Lease, 10*time.Second))
}

// Workers lists the connected workers, those with the same id summed up.
func (s *Service) Workers(ctx context.Context, _ lineshaft.Caller) ([]Worker, error) {
	found, err := s.store.ListWorkers(ctx, s.workerCutoff())
	if err != nil {
		return nil, err
	}
	var workers []Worker
	for _, w := range found {
		if len(workers) == 0 || workers[len(workers)-1].WorkerHost != w.WorkerHost {
			workers = append(workers, Worker{WorkerHost: w.WorkerHost, ConnectedAt: w.ConnectedAt})
		}
		sum := &workers[len(workers)-1]
		sum.ConnectionCount++
		sum.Capacity += w.Capacity
		sum.Running += w.Running
		for _, label := range w.Labels {
			if !slices.Contains(sum.Labels, label) {
				sum.Labels = append(sum.Labels, label)
			}
		}
		if w.ConnectedAt.Before(sum.ConnectedAt) {
			sum.ConnectedAt = w.ConnectedAt
		}
		if w.LastSeenAt.After(sum.LastSeenAt) {
			sum.LastSeenAt = w.LastSeenAt
		}
	}
	return workers, nil
}

// atCapacity says whether a run that is queued now finds no free slot. It is a
// remark for people: when the store cannot tell, the answer is no.
func (s *Service) atCapacity(ctx context.Context, host string) bool {
	if host == "" {
		host = s.defaults().WorkerHost
	}
	workers, err := s.store.ListWorkers(ctx, s.workerCutoff())
	if err != nil {
		return false
	}
	capacity := 0
	for _, w := range workers {
		if w.WorkerHost == host {
			capacity += w.Capacity
		}
	}
	live, queued, err := s.store.CountBusy(ctx, host, capacity+1)
	return err == nil && live+queued >= capacity
}
