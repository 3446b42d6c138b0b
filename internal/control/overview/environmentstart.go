package overview

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
)

// The bounds of what is shown of an environment's starts.
const (
	startRuns  = 50 // that are looked at
	startLines = 10 // of layers, and of cold starts
	reasonSize = 300
	mostSaved  = 7 * 24 * 60 * 60 // seconds of one start, whatever a worker says
)

// EnvironmentStarts adds up how the newest runs in an environment that the caller may see found it
// prepared. Their logs say so; the workers are not asked.
func (s *Overviews) EnvironmentStarts(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.EnvironmentStarts, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	page, err := s.runs.ListRuns(ctx, c, lineshaft.RunQuery{
		Filter: lineshaft.RunFilter{EnvironmentID: uid}, Sort: lineshaft.SortCreated, Limit: startRuns,
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(page.Runs))
	for i, run := range page.Runs {
		ids[i] = run.ID
	}
	events, err := s.Store.ListEnvironmentSteps(ctx, ids, "warm", "newer", "cold", "kept")
	if err != nil {
		return nil, err
	}
	return addStarts(events), nil
}

func addStarts(events []lineshaft.Event) *lineshaft.EnvironmentStarts {
	sum := &lineshaft.EnvironmentStarts{}
	for _, e := range events {
		var data lineshaft.NoticeData
		if json.Unmarshal(e.Data, &data) == nil && data.Environment != nil {
			addStep(sum, e, *data.Environment)
		}
	}
	slices.SortStableFunc(sum.Layers, func(a, b lineshaft.PreparedLayer) int { return b.UsedAt.Compare(a.UsedAt) })
	slices.SortStableFunc(sum.ColdStarts, func(a, b lineshaft.ColdStart) int { return b.At.Compare(a.At) })
	sum.Layers = sum.Layers[:min(len(sum.Layers), startLines)]
	sum.ColdStarts = sum.ColdStarts[:min(len(sum.ColdStarts), startLines)]
	return sum
}

func addStep(sum *lineshaft.EnvironmentStarts, e lineshaft.Event, step lineshaft.EnvironmentStep) {
	hit := 1
	saved := time.Duration(min(max(0, step.SavedSeconds), mostSaved) * float64(time.Second))
	switch step.Step {
	case "warm":
		sum.Warm++
	case "newer":
		sum.Newer++
	case "kept":
		hit = 0
	case "cold":
		sum.Cold++
		sum.ColdStarts = append(sum.ColdStarts, lineshaft.ColdStart{
			RunID: e.RunID, Worker: step.Worker, Reason: lineshaft.Clip(step.Reason, reasonSize), At: e.Time,
		})
		return
	default: // of a later version
		return
	}
	sum.Saved += saved
	at := slices.IndexFunc(sum.Layers, func(l lineshaft.PreparedLayer) bool { return l.Worker == step.Worker && l.Name == step.Layer })
	if at < 0 {
		at = len(sum.Layers)
		sum.Layers = append(sum.Layers, lineshaft.PreparedLayer{Worker: step.Worker, Name: step.Layer})
	}
	l := &sum.Layers[at]
	l.Hits += hit
	l.Saved += saved
	l.Files, l.Bytes = max(l.Files, step.Files), max(l.Bytes, step.Bytes)
	if e.Time.After(l.UsedAt) {
		l.UsedAt = e.Time
	}
}
