package runs

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// maxUsage bounds what one event can count, so that sums stay within 64 bits
	// whatever an agent says.
	maxUsage = 1_000_000_000_000
	// maxModelID bounds the name of a model.
	maxModelID = 256
)

// usages gathers what the models of a run consumed, from the events of a report.
type usages []lineshaft.ModelUsage

func (u *usages) take(draft lineshaft.Draft) {
	var data lineshaft.UsageData
	if json.Unmarshal(draft.Data, &data) == nil {
		u.add(data)
	}
}

// add counts what a model consumed.
func (u *usages) add(data lineshaft.UsageData) {
	// An agent cannot earn tokens back.
	clamp := func(n int64) int64 { return max(0, min(n, maxUsage)) }
	used := lineshaft.ModelUsage{
		ModelID: modelName(data.ModelID), CachedInputTokens: clamp(data.CachedInputTokens),
		Usage: lineshaft.Usage{InputTokens: clamp(data.InputTokens), OutputTokens: clamp(data.OutputTokens), CostMicros: clamp(data.CostMicros)},
	}
	if data.CostUnknown {
		used.UnpricedTokens = used.Total()
	}
	i := slices.IndexFunc(*u, func(known lineshaft.ModelUsage) bool { return known.ModelID == used.ModelID })
	if i < 0 {
		*u = append(*u, used)
		return
	}
	sum := &(*u)[i]
	sum.Usage = sum.Add(used.Usage)
	sum.CachedInputTokens += used.CachedInputTokens
	sum.UnpricedTokens += used.UnpricedTokens
}

// modelName makes a name that every database takes.
func modelName(name string) string {
	name = strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), "")
	if len(name) > maxModelID {
		name = strings.ToValidUTF8(name[:maxModelID], "")
	}
	return name
}

// save puts it on the run, whose head the caller writes back.
func (u *usages) save(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
	if len(*u) == 0 {
		return nil
	}
	for _, used := range *u {
		h.Usage = h.Usage.Add(used.Usage)
	}
	return tx.AddUsage(ctx, h.ID, *u)
}
