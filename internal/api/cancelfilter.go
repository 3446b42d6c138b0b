package api

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
)

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
