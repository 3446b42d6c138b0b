package runs

import (
	"context"
	"fmt"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// ListRuns reads a page of the runs that the caller may see.
func (s *Runs) ListRuns(ctx context.Context, c lineshaft.Caller, q lineshaft.RunQuery) (lineshaft.RunPage, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return lineshaft.RunPage{}, err
	}
	if err := q.Filter.Validate(); err != nil {
		return lineshaft.RunPage{}, err
	}
	if q.Filter.AncestorRunID != "" {
		if _, err := s.visibleRun(ctx, c, q.Filter.AncestorRunID); err != nil {
			return lineshaft.RunPage{}, err
		}
	}
	filter, ok := skills.ScopeFilter(c, q.Filter)
	if !ok {
		return lineshaft.RunPage{}, nil
	}
	list, err := base.ListPrint(q)
	if err != nil {
		return lineshaft.RunPage{}, fmt.Errorf("fingerprint list: %w", err)
	}
	scan := store.RunScan{Filter: filter, Sort: q.Sort, Ascending: q.Ascending, Limit: q.Limit, Brief: q.Brief}
	if c.Role == lineshaft.RoleRun && q.Filter.AncestorRunID == "" {
		scan.With = c.RunID
	}
	if q.Cursor != "" {
		if scan.After, err = base.DecodeCursor[store.RunKey](list, q.Cursor); err != nil {
			return lineshaft.RunPage{}, err
		}
	}
	runs, last, more, err := s.Store.ScanRuns(ctx, scan)
	if err != nil {
		return lineshaft.RunPage{}, err
	}
	page := lineshaft.RunPage{Runs: runs}
	if more {
		if page.Next, err = base.EncodeCursor(list, *last); err != nil {
			return lineshaft.RunPage{}, fmt.Errorf("encode cursor: %w", err)
		}
	}
	refs := make([]*lineshaft.Run, len(runs))
	for i := range runs {
		refs[i] = &runs[i]
	}
	return page, s.explainWaiting(ctx, refs)
}

// MaxRunsByID bounds the runs that are read at once by their ids.
const MaxRunsByID = 100

// RunsByID reads those of the runs that there are and that the caller may see, in the
// order of the ids.
func (s *Runs) RunsByID(ctx context.Context, c lineshaft.Caller, ids []string) ([]lineshaft.Run, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if len(ids) > MaxRunsByID {
		return nil, lineshaft.Invalid("id", "%d runs at once are too many; at most %d are allowed", len(ids), MaxRunsByID)
	}
	valid := slices.DeleteFunc(distinct(ids), func(runID string) bool { return !id.Valid(runID) })
	byID, err := s.Store.RunsByID(ctx, valid)
	if err != nil {
		return nil, err
	}
	var refs []*lineshaft.Run
	for _, runID := range valid {
		run := byID[runID]
		if run == nil {
			continue
		}
		visible, err := base.MaySee(ctx, s.Store, c, run.ID, run.FactoryUID)
		if err != nil {
			return nil, err
		}
		if visible {
			refs = append(refs, run)
		}
	}
	if err := s.explainWaiting(ctx, refs); err != nil {
		return nil, err
	}
	runs := make([]lineshaft.Run, len(refs))
	for i, run := range refs {
		runs[i] = *run
	}
	return runs, nil
}

func distinct(ids []string) []string {
	var out []string
	for _, one := range ids {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// explainWaiting adds to queued runs for self-hosted workers that none is connected.
func (s *Runs) explainWaiting(ctx context.Context, runs []*lineshaft.Run) error {
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
	workers, err := s.Store.ListWorkers(ctx, s.WorkerCutoff())
	if err != nil {
		return err
	}
	for _, run := range waiting {
		host := run.Config.WorkerHost
		connected := slices.ContainsFunc(workers, func(w store.Worker) bool { return w.WorkerHost == host })
		switch {
		case !connected:
			run.Status.Message = fmt.Sprintf("waiting for worker %q, which is not connected; start it with lineshaft worker --id %s", host, host)
		case !slices.ContainsFunc(workers, func(w store.Worker) bool { return takesRunsOf(w, host, run.FactoryUID) }):
			run.Status.Message = fmt.Sprintf("waiting for worker %q, whose key is limited to other factories; start a worker with this id and a key that is not limited, or limited to the run's factory", host)
		}
	}
	return nil
}

// takesRunsOf says whether a worker claims the runs of a factory that are for a host.
func takesRunsOf(w store.Worker, host, factoryUID string) bool {
	return w.WorkerHost == host && (len(w.FactoryUIDs) == 0 || slices.Contains(w.FactoryUIDs, factoryUID))
}

// Workers lists the connected workers, those with the same id summed up.
func (s *Runs) Workers(ctx context.Context, c lineshaft.Caller) ([]Worker, error) {
	if err := c.Need(lineshaft.PermissionServerRead); err != nil {
		return nil, err
	}
	found, err := s.Store.ListWorkers(ctx, s.WorkerCutoff())
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
		if w.Version != "" && !slices.Contains(sum.Versions, w.Version) {
			sum.Versions = append(sum.Versions, w.Version)
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

// atCapacity says whether a run that is queued now finds no free slot. It is a remark
// for people: when the store cannot answer, the answer is no.
func (s *Runs) atCapacity(ctx context.Context, host, factoryUID string) bool {
	if host == "" {
		host = s.defaults().WorkerHost
	}
	workers, err := s.Store.ListWorkers(ctx, s.WorkerCutoff())
	if err != nil {
		return false
	}
	capacity := 0
	for _, w := range workers {
		if takesRunsOf(w, host, factoryUID) {
			capacity += w.Capacity
		}
	}
	live, queued, err := s.Store.CountBusy(ctx, host, capacity+1)
	return err == nil && live+queued >= capacity
}
