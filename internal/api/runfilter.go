package api

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
)

// noEnvironment is the published word for runs without an environment.
const noEnvironment = "empty-environment"

// RunFilter selects runs; all conditions must hold, and a list means any of. It is
// the query of the list and the body of a mass cancellation.
type RunFilter struct {
	State             []RunState      `query:"state,explode" json:"state,omitempty" doc:"Repeatable."`
	TaskStatus        []TaskStatus    `query:"task_status,explode" json:"task_status,omitempty" doc:"Repeatable."`
	Name              string          `query:"name" json:"name,omitempty" doc:"Equals config.name."`
	ConfigName        string          `query:"config_name" json:"config_name,omitempty" doc:"The same as name."`
	ModelID           string          `query:"model_id" json:"model_id,omitempty"`
	Creator           string          `query:"creator" json:"creator,omitempty" doc:"The uid of a principal."`
	Executor          string          `query:"executor" json:"executor,omitempty" doc:"The uid of a principal."`
	Source            []RunSourceType `query:"source,explode" json:"source,omitempty" doc:"Repeatable."`
	ExecutionLocation string          `query:"execution_location" json:"execution_location,omitempty" enum:"LOCAL,REMOTE"`
	CreatedAfter      time.Time       `query:"created_after" json:"created_after,omitzero" doc:"Inclusive."`
	CreatedBefore     time.Time       `query:"created_before" json:"created_before,omitzero" doc:"Exclusive."`
	UpdatedAfter      time.Time       `query:"updated_after" json:"updated_after,omitzero" doc:"Inclusive."`
	UpdatedBefore     time.Time       `query:"updated_before" json:"updated_before,omitzero" doc:"Exclusive."`
	EnvironmentID     string          `query:"environment_id" json:"environment_id,omitempty" doc:"empty-environment selects runs without one."`
	Skill             string          `query:"skill" json:"skill,omitempty" doc:"owner/repo:path or owner/repo:name; finds runs that were started with either."`
	SkillSpec         string          `query:"skill_spec" json:"skill_spec,omitempty" doc:"The same as skill."`
	ScheduleID        string          `query:"schedule_id" json:"schedule_id,omitempty"`
	FactoryUID        []string        `query:"factory_uid,explode" json:"factory_uid,omitempty" doc:"Repeatable."`
	FactoryOnly       bool            `query:"factory_only" json:"factory_only,omitempty" doc:"Only runs of a factory."`
	AutomationID      string          `query:"automation_id" json:"automation_id,omitempty"`
	WebhookID         string          `query:"webhook_id" json:"webhook_id,omitempty"`
	DeliveryID        string          `query:"delivery_id" json:"delivery_id,omitempty"`
	ParentRunID       string          `query:"parent_run_id" json:"parent_run_id,omitempty" doc:"Children of this run."`
	AncestorRunID     string          `query:"ancestor_run_id" json:"ancestor_run_id,omitempty" doc:"All descendants of this run."`
	WorkerHost        string          `query:"worker_host" json:"worker_host,omitempty" doc:"hosted for the server's own workers."`
	Metadata          Metadata        `query:"metadata,explode,deepObject" json:"metadata,omitempty" maxProperties:"5" doc:"metadata[KEY]=VALUE, at most 5; exact, all must hold."`
	ArtifactType      ArtifactType    `query:"artifact_type" json:"artifact_type,omitempty" doc:"Runs that have such an artifact."`
	Q                 string          `query:"q" json:"q,omitempty" maxLength:"1024" doc:"Words of title, name, skill and the start of the prompt; also an exact run id."`
}

// domain turns the filter into the domain's. Two names of the same thing with
// different values can never both hold: then the filter matches nothing.
func (f *RunFilter) domain() (lineshaft.RunFilter, error) {
	if len(f.Metadata) > lineshaft.MaxMetadataFilters {
		return lineshaft.RunFilter{}, lineshaft.Invalid("metadata", "%d pairs; at most %d are allowed", len(f.Metadata), lineshaft.MaxMetadataFilters)
	}
	possible := true
	both := func(a, b string) string {
		if a != "" && b != "" && a != b {
			possible = false
		}
		if a == "" {
			return b
		}
		return a
	}
	out := lineshaft.RunFilter{
		States: f.states(), Sources: lineshaft.Convert[lineshaft.Source](f.Source), Name: both(f.Name, f.ConfigName),
		ModelID: f.ModelID, Creator: f.Creator, Executor: f.Executor, Local: f.ExecutionLocation == "LOCAL",
		CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore, UpdatedAfter: f.UpdatedAfter, UpdatedBefore: f.UpdatedBefore,
		SkillSpec: both(f.Skill, f.SkillSpec), ScheduleID: f.ScheduleID, FactoryUIDs: f.FactoryUID, FactoryOnly: f.FactoryOnly,
		ParentRunID: f.ParentRunID, AncestorRunID: f.AncestorRunID, WorkerHost: workerHost(f.WorkerHost),
		ArtifactType: lineshaft.ArtifactType(f.ArtifactType), Query: f.Q,
	}
	if f.EnvironmentID == noEnvironment {
		out.NoEnvironment = true
	} else {
		out.EnvironmentID = f.EnvironmentID
	}
	for key, value := range f.Metadata {
		out.Metadata = with(out.Metadata, key, value)
	}
	for key, value := range map[string]string{"automation_id": f.AutomationID, "webhook_id": f.WebhookID, "delivery_id": f.DeliveryID} {
		if value != "" {
			out.Metadata = with(out.Metadata, key, both(value, out.Metadata[key]))
		}
	}
	if !possible {
		out.States = []lineshaft.RunState{}
	}
	return out, nil
}

// states joins state and task_status: nil when neither is given, and never nil
// when one is, even if nothing fits both.
func (f *RunFilter) states() []lineshaft.RunState {
	states := lineshaft.Convert[lineshaft.RunState](f.State)
	if len(f.TaskStatus) == 0 {
		return states
	}
	var grouped []lineshaft.RunState
	for _, status := range f.TaskStatus {
		group, _ := lineshaft.TaskStatus(string(status))
		grouped = append(grouped, group...)
	}
	if states == nil {
		return grouped
	}
	return slices.DeleteFunc(states, func(s lineshaft.RunState) bool { return !slices.Contains(grouped, s) })
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// CancelRunsRequest selects the runs of a mass cancellation.
type CancelRunsRequest struct {
	_      struct{}     `additionalProperties:"false"`
	Filter CancelFilter `json:"filter" doc:"The conditions of the list; at least one. Runs that have ended are left alone."`
	DryRun bool         `json:"dry_run,omitempty" doc:"Answers with the runs that would be cancelled, and cancels none."`
}

// CancelFilter is a RunFilter without room for a condition that is misspelt: it would
// cancel more than was meant.
type CancelFilter struct {
	_ struct{} `additionalProperties:"false"`
	RunFilter
}

// TransformSchema implements huma.SchemaTransformer: a condition that is given must select
// something, or a template that left it empty would cancel more than was meant.
func (CancelFilter) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	least := 1
	for _, condition := range s.Properties {
		switch condition.Type {
		case huma.TypeString:
			condition.MinLength = &least
		case huma.TypeArray:
			condition.MinItems = &least
		case huma.TypeObject:
			condition.MinProperties = &least
		case huma.TypeBoolean:
			condition.Const = true
		}
		condition.PrecomputeMessages()
	}
	return s
}

// refuseNull refuses a request that has null in a place of its own or of its filter, for the
// same reason: without dry_run the runs are cancelled.
func refuseNull(body []byte) error {
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return err
	}
	var filter map[string]json.RawMessage
	if err := json.Unmarshal(request["filter"], &filter); err != nil {
		return err
	}
	for path, members := range map[string]map[string]json.RawMessage{"": request, "filter": filter} {
		for name, value := range members {
			if string(value) == "null" {
				return lineshaft.Invalid(join(path, name), "is null; leave it out, or give it a value")
			}
		}
	}
	return nil
}
