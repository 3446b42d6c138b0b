package app

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// models tells what this server can run. There is no model endpoint yet, so the
// list of models is empty and the harnesses say what works without one.
func (a *App) models(context.Context) api.ListModelsResponse {
	set := harness.Set{Harnesses: builtinHarnesses(a.cfg), Default: defaultHarness(a.cfg)}
	var out api.ListModelsResponse
	for _, name := range lineshaft.HarnessTypes() {
		info := api.HarnessInfo{Type: api.HarnessType(name), Available: true}
		if _, err := set.Select(lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: name}}); err != nil {
			info.Available, info.Problem = false, "this version has no adapter for it"
		}
		out.Harnesses = append(out.Harnesses, info)
	}
	return out
}
