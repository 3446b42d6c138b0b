package store

import (
	"context"
	"slices"

	"github.com/lineshaft/lineshaft"
)

// SpentRun is a run with what it consumed, and whose it is.
type SpentRun struct {
	ID                      string
	Title                   string
	State                   lineshaft.RunState
	FactoryUID              string
	AgentUID, AgentName     string
	CreatorUID, CreatorName string
	lineshaft.Usage
}

// SpentModel is what runs consumed of a model.
type SpentModel struct {
	ID   string
	Runs int
	lineshaft.Usage
}

// costChunk is how many runs are asked for at once.
const costChunk = 500

// SpentRuns reads what the first runs of a list consumed, in its order, and of which models.
func (s *Store) SpentRuns(ctx context.Context, q RunScan) (runs []SpentRun, models []SpentModel, err error) {
	ids, err := s.findRuns(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	sums := map[string]*SpentModel{}
	for part := range slices.Chunk(ids, costChunk) {
		more, err := s.spentRuns(ctx, part)
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, more...)
		if err := s.addModels(ctx, part, sums); err != nil {
			return nil, nil, err
		}
	}
	for _, sum := range sums {
		models = append(models, *sum)
	}
	return runs, models, nil
}

func (r reader) spentRuns(ctx context.Context, ids []string) ([]SpentRun, error) {
	var args []any
	found, err := collect(ctx, r, "read what runs consumed", `SELECT r.id, r.title, r.state, COALESCE(r.factory_uid, ''),
		COALESCE(r.agent_uid, ''), COALESCE(a.name, ''), r.creator_uid, COALESCE(p.display_name, ''),
		r.input_tokens, r.output_tokens, r.cost_micros
		FROM runs r LEFT JOIN agents a ON a.uid = r.agent_uid LEFT JOIN principals p ON p.uid = r.creator_uid
		WHERE r.id IN `+list(&args, ids), args,
		func(scan rowScan) (*SpentRun, error) {
			u := &SpentRun{}
			return u, scan(&u.ID, &u.Title, &u.State, &u.FactoryUID, &u.AgentUID, &u.AgentName, &u.CreatorUID, &u.CreatorName,
				&u.InputTokens, &u.OutputTokens, &u.CostMicros)
		})
	places := make(map[string]int, len(ids))
	for i, id := range ids {
		places[id] = i
	}
	slices.SortFunc(found, func(a, b SpentRun) int { return places[a.ID] - places[b.ID] })
	return found, err
}

func (r reader) addModels(ctx context.Context, ids []string, sums map[string]*SpentModel) error {
	var args []any
	query := "SELECT model_id, input_tokens, output_tokens, cost_micros FROM run_usage WHERE run_id IN " + list(&args, ids)
	return r.each(ctx, query, args, func(scan rowScan) error {
		var model string
		var used lineshaft.Usage
		if err := scan(&model, &used.InputTokens, &used.OutputTokens, &used.CostMicros); err != nil {
			return err
		}
		sum := sums[model]
		if sum == nil {
			sum = &SpentModel{ID: model}
			sums[model] = sum
		}
		sum.Runs++
		sum.Usage = sum.Add(used)
		return nil
	})
}
