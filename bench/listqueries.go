package main

import (
	"github.com/lineshaft/lineshaft"
)

// listQuery is one filter, or some together, of the list of runs.
type listQuery struct {
	name   string
	filter lineshaft.RunFilter
}

// singleFilters has every filter of R-4 alone, on a database of fillDatabase
// with that many runs. The filter by place of execution is left out: here it
// either selects everything or nothing, without looking.
func singleFilters(runs int) []listQuery {
	early, middle := runs/4, runs/2 // a deep page begins in the middle and goes back in time
	f := func(set func(f *lineshaft.RunFilter)) lineshaft.RunFilter {
		var filter lineshaft.RunFilter
		set(&filter)
		return filter
	}
	return []listQuery{
		{"nothing", lineshaft.RunFilter{}},
		{"error_code", lineshaft.RunFilter{ErrorCode: lineshaft.CodeRunTimeout}},
		{"state common", lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Succeeded}}},
		{"state rare", lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Queued}}},
		{"state ×3", lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Failed, lineshaft.Errored, lineshaft.Cancelled}}},
		{"source", lineshaft.RunFilter{Sources: []lineshaft.Source{lineshaft.SourceCLI}}},
		{"source ×2", lineshaft.RunFilter{Sources: []lineshaft.Source{lineshaft.SourceSchedule, lineshaft.SourceWebApp}}},
		{"name", lineshaft.RunFilter{Name: "nightly"}},
		{"model_id", lineshaft.RunFilter{ModelID: "model-c"}},
		{"creator", lineshaft.RunFilter{Creator: "user_7"}},
		{"executor", lineshaft.RunFilter{Executor: "user_8"}},
		{"created_after", f(func(f *lineshaft.RunFilter) { f.CreatedAfter = fillCreated(early) })},
		{"created_before", f(func(f *lineshaft.RunFilter) { f.CreatedBefore = fillCreated(middle) })},
		{"updated_after", f(func(f *lineshaft.RunFilter) { f.UpdatedAfter = fillUpdated(early) })},
		{"updated_before", f(func(f *lineshaft.RunFilter) { f.UpdatedBefore = fillUpdated(middle) })},
		{"environment_id", lineshaft.RunFilter{EnvironmentID: "env1"}},
		{"environment_id none", lineshaft.RunFilter{NoEnvironment: true}},
		{"skill", lineshaft.RunFilter{SkillSpec: "org/repo:skill3"}},
		{"schedule_id", lineshaft.RunFilter{ScheduleID: "schedule2"}},
		{"factory_uid", lineshaft.RunFilter{FactoryUIDs: []string{"factory1"}}},
		{"factory_uid ×2", lineshaft.RunFilter{FactoryUIDs: []string{"factory1", "factory4"}}},
		{"factory_only", lineshaft.RunFilter{FactoryOnly: true}},
		{"parent_run_id", lineshaft.RunFilter{ParentRunID: fillID(2)}},
		{"ancestor_run_id", lineshaft.RunFilter{AncestorRunID: fillID(3)}},
		{"worker_host", lineshaft.RunFilter{WorkerHost: "builder"}},
		{"worker_host hosted", lineshaft.RunFilter{WorkerHost: lineshaft.HostedWorker}},
		{"metadata", lineshaft.RunFilter{Metadata: map[string]string{"team": "team2"}}},
		{"artifact_type", lineshaft.RunFilter{ArtifactType: lineshaft.ArtifactFile}},
		{"q in every run", lineshaft.RunFilter{Query: "failing test"}},
		{"q in one of 97", lineshaft.RunFilter{Query: "module42"}},
		{"q in one run", lineshaft.RunFilter{Query: "t0001234"}},
		{"q run id", lineshaft.RunFilter{Query: fillID(middle)}},
	}
}

// usualCombinations are twenty that people ask for.
func usualCombinations(runs int) []listQuery {
	states := func(s ...lineshaft.RunState) []lineshaft.RunState { return s }
	failed, ok := states(lineshaft.Failed, lineshaft.Errored), states(lineshaft.Succeeded)
	sources := func(s ...lineshaft.Source) []lineshaft.Source { return s }
	recent, lately := fillCreated(runs/4), fillUpdated(runs/4)
	return []listQuery{
		{"my failures", lineshaft.RunFilter{Creator: "user_7", States: failed}},
		{"my runs from the CLI", lineshaft.RunFilter{Creator: "user_7", Sources: sources(lineshaft.SourceCLI)}},
		{"failures from the API", lineshaft.RunFilter{States: failed, Sources: sources(lineshaft.SourceAPI)}},
		{"failures of an agent", lineshaft.RunFilter{States: failed, Name: "nightly"}},
		{"failures of a model", lineshaft.RunFilter{States: failed, ModelID: "model-b"}},
		{"failures in an environment", lineshaft.RunFilter{States: failed, EnvironmentID: "env1"}},
		{"failures in a factory", lineshaft.RunFilter{States: failed, FactoryUIDs: []string{"factory1", "factory2"}}},
		{"failures in any factory", lineshaft.RunFilter{States: failed, FactoryOnly: true}},
		{"successes of a skill", lineshaft.RunFilter{States: ok, SkillSpec: "org/repo:skill3"}},
		{"successes of a schedule", lineshaft.RunFilter{States: ok, ScheduleID: "schedule2"}},
		{"successes of a worker", lineshaft.RunFilter{States: ok, WorkerHost: "builder"}},
		{"children that succeeded", lineshaft.RunFilter{States: ok, ParentRunID: fillID(2)}},
		{"descendants of a model", lineshaft.RunFilter{AncestorRunID: fillID(3), ModelID: "model-a"}},
		{"failures of a team", lineshaft.RunFilter{States: failed, Metadata: map[string]string{"team": "team2"}}},
		{"urgent runs of a team", lineshaft.RunFilter{Metadata: map[string]string{"team": "team2", "priority": "high"}}},
		{"successes with a pull request", lineshaft.RunFilter{States: ok, ArtifactType: lineshaft.ArtifactPullRequest}},
		{"failures created lately", lineshaft.RunFilter{States: failed, CreatedAfter: recent}},
		{"successes updated lately", lineshaft.RunFilter{States: ok, UpdatedAfter: lately}},
		{"scheduled runs of an agent, lately", lineshaft.RunFilter{Sources: sources(lineshaft.SourceSchedule), Name: "review", UpdatedAfter: lately}},
		{"successes with a word", lineshaft.RunFilter{States: ok, Query: "module42"}},
	}
}
