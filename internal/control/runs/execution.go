package runs

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Execution is one attempt of a worker at a run, as people see it.
type Execution struct {
	ID     string
	Number int
	// WorkerHost is the id that the run was addressed to.
	WorkerHost string
	ClaimedAt  time.Time
	// StartedAt is when the agent began; zero before that.
	StartedAt time.Time
	// EndedAt is zero while it lasts.
	EndedAt time.Time
	// ContinuedAt is when a follow-up brought the run back into the queue after it; zero
	// when none did.
	ContinuedAt time.Time
}

// Executions lists the attempts at a run, oldest first.
func (s *Runs) Executions(ctx context.Context, c lineshaft.Caller, runID string) ([]Execution, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if _, err := s.visibleRun(ctx, c, runID); err != nil {
		return nil, err
	}
	found, err := s.Store.ListExecutions(ctx, runID)
	if err != nil {
		return nil, err
	}
	said, err := s.Store.FollowupTimes(ctx, runID)
	if err != nil {
		return nil, err
	}
	list := make([]Execution, len(found))
	for i, e := range found {
		list[i] = Execution{
			ID: e.ID, Number: e.Number, WorkerHost: e.WorkerHost, ClaimedAt: e.ClaimedAt, StartedAt: e.StartedAt, EndedAt: e.EndedAt,
		}
		if i > 0 {
			list[i-1].ContinuedAt = continued(said, list[i-1].EndedAt, e.ClaimedAt)
		}
	}
	if last := len(list) - 1; last >= 0 {
		list[last].ContinuedAt = continued(said, list[last].EndedAt, s.Store.Now())
	}
	return list, nil
}

// continued is when the first message came after an end, if that was before the next
// execution: what came earlier was said to the one that ended.
func continued(said []time.Time, ended, next time.Time) time.Time {
	for _, at := range said {
		if !ended.IsZero() && !at.Before(ended) && !at.After(next) {
			return at
		}
	}
	return time.Time{}
}
