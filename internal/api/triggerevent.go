package api

import (
	"context"

	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// TriggerEvent is an event that triggers of a provider may name.
type TriggerEvent struct {
	Event        string            `json:"event" doc:"Its name; * stands for any, of a provider whose events are not established."`
	FilterFields []string          `json:"filter_fields" doc:"The keys that its filters may have."`
	FieldSpecs   []FilterFieldSpec `json:"filter_field_specs" doc:"What each of the keys is."`
	Notice       string            `json:"notice,omitempty" doc:"Why a trigger with it never fires here."`
}

// FilterFieldSpec is a key of a filter.
type FilterFieldSpec struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Type        string   `json:"type" enum:"string,integer" doc:"Of each value."`
	Value       string   `json:"value" doc:"What a value is."`
	Forms       []string `json:"forms" doc:"How it may be written: list, in, not_in."`
	Match       string   `json:"match" enum:"exact,any_case,pattern,part" doc:"How values are compared: as they are, in any case, as patterns with * and **, or as part of the text."`
	AliasOf     string   `json:"alias_of,omitempty" doc:"The key that it stands for; the two exclude each other."`
	Required    bool     `json:"required"`
	Notice      string   `json:"notice,omitempty" doc:"Why events usually do not have it."`
}

// ListTriggerEventsResponse has the events of a provider by name.
type ListTriggerEventsResponse struct {
	Provider string         `json:"provider"`
	Events   []TriggerEvent `json:"events"`
}

type (
	listTriggerEventsInput struct {
		Provider string `path:"provider" doc:"Such as github or slack."`
	}
	listTriggerEventsOutput struct{ Body ListTriggerEventsResponse }
)

func (s *server) listTriggerEvents(_ context.Context, in *listTriggerEventsInput) (*listTriggerEventsOutput, error) {
	events, err := factories.TriggerCatalog(in.Provider)
	if err != nil {
		return nil, err
	}
	out := &listTriggerEventsOutput{ListTriggerEventsResponse{Provider: in.Provider, Events: []TriggerEvent{}}}
	for _, e := range events {
		wire := TriggerEvent{Event: e.Event, FilterFields: []string{}, FieldSpecs: []FilterFieldSpec{}, Notice: e.Silent}
		for _, k := range e.Keys {
			wire.FilterFields = append(wire.FilterFields, k.Name)
			wire.FieldSpecs = append(wire.FieldSpecs, wireKey(k))
		}
		out.Body.Events = append(out.Body.Events, wire)
	}
	return out, nil
}

func wireKey(k factories.FilterKey) FilterFieldSpec {
	spec := FilterFieldSpec{
		Name: k.Name, Description: k.Doc, Type: "string", Value: k.Value, Forms: []string{"list", "in", "not_in"}, Match: "exact",
		AliasOf: k.Alias, Required: k.Required, Notice: k.Unseen,
	}
	switch {
	case k.List:
		spec.Forms = spec.Forms[:1]
	case k.InOnly:
		spec.Forms = spec.Forms[:2]
	}
	if k.Whole {
		spec.Type = "integer"
	}
	switch {
	case k.Patterns:
		spec.Match = "pattern"
	case k.Part:
		spec.Match = "part"
	case k.AnyCase:
		spec.Match = "any_case"
	}
	return spec
}
