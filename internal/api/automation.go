package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// Automation starts a run of an agent when one of its triggers fires.
type Automation struct {
	UID             string              `json:"uid"`
	FactoryUID      string              `json:"factory_uid"`
	Name            string              `json:"name"`
	Prompt          string              `json:"prompt"`
	PromptTruncated bool                `json:"prompt_truncated,omitempty" doc:"In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too long to be shown in full. Get the automation to read all of it."`
	Enabled         bool                `json:"enabled"`
	Agent           string              `json:"agent" doc:"The name of an agent of the factory; empty means the foreman."`
	Triggers        []Trigger           `json:"triggers"`
	Config          *AmbientAgentConfig `json:"config,omitempty" doc:"What the automation says about the configuration of its runs."`
	Concurrency     *Concurrency        `json:"concurrency,omitempty"`
	Title           string              `json:"title,omitempty" doc:"The title of its runs; if absent, it comes from the sending provider, or is the name."`
	MaxRunsPerHour  int                 `json:"max_runs_per_hour" doc:"0 means no limit."`
	Notices         []string            `json:"notices,omitempty" doc:"The parts that have no effect on this server, and why, such as triggers that never fire. Not in lists."`
	CreatedAt       string              `json:"created_at" format:"date-time"`
	UpdatedAt       string              `json:"updated_at" format:"date-time"`
}

// Trigger says what starts an automation.
type Trigger struct {
	Provider string           `json:"provider" minLength:"1" doc:"webhook, schedule, run, github, gitlab, linear, slack or jira. teams, azure_devops and factory are kept and never fire."`
	Event    string           `json:"event" minLength:"1" doc:"received for webhook, cron_fired for schedule, finished for run; for others, for example, issue_opened, pull_request_*, push, app_mention. GET /factory/automations/events/{provider} lists them."`
	Filter   TriggerFilter    `json:"filter,omitzero"`
	Schedule *TriggerSchedule `json:"schedule,omitempty"`
}

// TriggerFilter is the filter of a trigger in the text that the caller wrote.
type TriggerFilter json.RawMessage

// payloadSchema is that of a payload filter. The filter's compiler checks its content,
// and says more than a schema could.
func payloadSchema() *huma.Schema {
	return &huma.Schema{
		Description: "An object that mirrors the body: keys AND; a value is an array (any of these scalars), an object of the operators in, not_in and exists, " +
			"or another object that nests. At most 10 deep, 64 conditions, 32 values each. Absent matches every delivery.",
		Extensions: map[string]any{"type": "object"},
	}
}

// CreateAutomationRequest asks for an automation.
type CreateAutomationRequest struct {
	Name           string              `json:"name" minLength:"1" maxLength:"100" doc:"Unique in the factory; also a file name of its definition."`
	Prompt         string              `json:"prompt" minLength:"1" maxLength:"1048576"`
	Enabled        *bool               `json:"enabled,omitempty" doc:"True when absent."`
	Agent          string              `json:"agent,omitempty" doc:"The name of an agent of the factory; the foreman when absent."`
	Triggers       []Trigger           `json:"triggers" minItems:"1" maxItems:"20"`
	Config         *AmbientAgentConfig `json:"config,omitempty" doc:"Takes precedence over the agent and the factory."`
	Concurrency    *Concurrency        `json:"concurrency,omitempty" doc:"Its key may contain {{payload.path}}, filled in from each delivery."`
	Title          string              `json:"title,omitempty" maxLength:"200" doc:"The title of its runs; may contain {{payload.path}}. If absent, it comes from the sending provider, or is the name."`
	MaxRunsPerHour int                 `json:"max_runs_per_hour,omitempty" minimum:"0" maximum:"100000" doc:"0 means no limit."`
}

// UpdateAutomationRequest changes an automation; what is absent stays. Triggers and
// config are replaced as a whole.
type UpdateAutomationRequest struct {
	Name           *string             `json:"name,omitempty" minLength:"1" maxLength:"100"`
	Prompt         *string             `json:"prompt,omitempty" minLength:"1" maxLength:"1048576"`
	Enabled        *bool               `json:"enabled,omitempty"`
	Agent          *string             `json:"agent,omitempty" doc:"Empty means the foreman."`
	Triggers       []Trigger           `json:"triggers,omitempty" minItems:"1" maxItems:"20"`
	Config         *AmbientAgentConfig `json:"config,omitempty"`
	Concurrency    *ConcurrencyUpdate  `json:"concurrency,omitempty"`
	Title          *string             `json:"title,omitempty" maxLength:"200" doc:"If empty, it comes from the provider, or is the name."`
	MaxRunsPerHour *int                `json:"max_runs_per_hour,omitempty" minimum:"0" maximum:"100000"`
}

// ConcurrencyUpdate replaces a concurrency rule.
type ConcurrencyUpdate struct {
	Key    string `json:"key" maxLength:"256" doc:"Empty removes the rule."`
	Policy string `json:"policy,omitempty" enum:"queue,skip,cancel_previous,followup"`
}

// ListAutomationsResponse is a page of automations by name.
type ListAutomationsResponse struct {
	Automations []Automation `json:"automations"`
	PageInfo    PageInfo     `json:"page_info"`
}

// AutomationPath is the part of a path that names an automation.
type AutomationPath struct {
	FactoryPath
	AutomationUID string `path:"automationUid" doc:"The uid of an automation."`
}

type (
	updateAutomationInput struct {
		AutomationPath
		Body UpdateAutomationRequest
	}
	listAutomationsInput struct {
		FactoryPath
		PageQuery
	}
)

func (s *server) createAutomation(ctx context.Context, in *ofFactory[CreateAutomationRequest]) (*answer[Automation], error) {
	config, err := automationConfig(in.Body.Config)
	if err != nil {
		return nil, err
	}
	if rule := in.Body.Concurrency; rule != nil {
		if config.Concurrency != nil {
			return nil, twoRules()
		}
		config.Concurrency = &lineshaft.Concurrency{Key: rule.Key, Policy: lineshaft.ConcurrencyPolicy(rule.Policy)}
	}
	triggers, err := domainTriggers(in.Body.Triggers)
	if err != nil {
		return nil, err
	}
	return shown(wireAutomation)(s.Control.CreateAutomation(ctx, callerOf(ctx), in.FactoryUID, lineshaft.Automation{
		Name: in.Body.Name, Prompt: in.Body.Prompt, Enabled: in.Body.Enabled == nil || *in.Body.Enabled, Agent: in.Body.Agent,
		Triggers: triggers, Config: config, Title: in.Body.Title, MaxRunsPerHour: in.Body.MaxRunsPerHour,
	}))
}

func twoRules() error {
	return lineshaft.Invalid("config.concurrency", "concurrency is given both here and next to config; give it once")
}

// automationConfig reads the configuration of an automation. A hidden value that
// was read and sent back would become the value itself.
func automationConfig(wire *AmbientAgentConfig) (lineshaft.AgentConfig, error) {
	config, err := wire.domain()
	if err != nil {
		return config, err
	}
	return config, noHiddenValues("config.mcp_servers", config.MCPServers)
}

// noHiddenValues refuses what answers show instead of a value.
func noHiddenValues(field string, servers map[string]lineshaft.MCPServer) error {
	for name, server := range servers {
		for part, values := range map[string]map[string]string{"env": server.Env, "headers": server.Headers} {
			for key, value := range values {
				if value == lineshaft.HiddenValue {
					return lineshaft.Invalid(fmt.Sprintf("%s.%s.%s.%s", field, name, part, key),
						"%s stands for a value that is not shown; write the value again, or {{SECRET_NAME}}", lineshaft.HiddenValue)
				}
			}
		}
	}
	return nil
}

func domainTriggers(wire []Trigger) ([]lineshaft.Trigger, error) {
	var triggers []lineshaft.Trigger
	for i, t := range wire {
		filter, err := lineshaft.ReadTriggerFilter(fmt.Sprintf("triggers[%d].filter", i), t.Filter)
		if err != nil {
			return nil, err
		}
		triggers = append(triggers, lineshaft.Trigger{Provider: t.Provider, Event: t.Event, Schedule: domainTiming(t.Schedule), Filter: filter})
	}
	return triggers, nil
}

func (s *server) listAutomations(ctx context.Context, in *listAutomationsInput) (*answer[ListAutomationsResponse], error) {
	if err := s.takeTurn(ctx, weightList); err != nil {
		return nil, err
	}
	automations, info, err := fillWith(wireAutomation)(s.Control.ListAutomations(ctx, callerOf(ctx), in.FactoryUID, in.Limit, in.Cursor))
	return reply(ListAutomationsResponse{automations, info}, err)
}

func (s *server) getAutomation(ctx context.Context, in *AutomationPath) (*answer[Automation], error) {
	return shown(wireAutomation)(s.Control.GetAutomation(ctx, callerOf(ctx), in.FactoryUID, in.AutomationUID))
}

func (s *server) updateAutomation(ctx context.Context, in *updateAutomationInput) (*answer[Automation], error) {
	change := factories.AutomationChange{
		Name: in.Body.Name, Prompt: in.Body.Prompt, Enabled: in.Body.Enabled, Agent: in.Body.Agent, Title: in.Body.Title, MaxRunsPerHour: in.Body.MaxRunsPerHour,
	}
	var err error
	if change.Triggers, err = domainTriggers(in.Body.Triggers); err != nil {
		return nil, err
	}
	if rule := in.Body.Concurrency; rule != nil {
		change.Concurrency = &lineshaft.Concurrency{Key: rule.Key, Policy: lineshaft.ConcurrencyPolicy(rule.Policy)}
	}
	if in.Body.Config != nil {
		config, err := automationConfig(in.Body.Config)
		if err != nil {
			return nil, err
		}
		if config.Concurrency != nil {
			if change.Concurrency != nil {
				return nil, twoRules()
			}
			change.Concurrency, config.Concurrency = config.Concurrency, nil
		}
		change.Config = &config
	}
	return shown(wireAutomation)(s.Control.UpdateAutomation(ctx, callerOf(ctx), in.FactoryUID, in.AutomationUID, change))
}

func (s *server) deleteAutomation(ctx context.Context, in *AutomationPath) (*struct{}, error) {
	return nil, s.Control.DeleteAutomation(ctx, callerOf(ctx), in.FactoryUID, in.AutomationUID)
}

func wireAutomation(a *lineshaft.Automation) Automation {
	out := Automation{
		UID: a.UID, FactoryUID: a.FactoryUID, Name: a.Name, Prompt: a.Prompt, PromptTruncated: a.Truncated, Enabled: a.Enabled, Agent: a.Agent, Triggers: []Trigger{},
		Config: wireConfig(a.Config), Title: a.Title, MaxRunsPerHour: a.MaxRunsPerHour, Notices: a.Notices,
		CreatedAt: stamp(a.CreatedAt), UpdatedAt: stamp(a.UpdatedAt),
	}
	// Return the rule where requests give it: next to the configuration.
	out.Concurrency, out.Config.Concurrency = out.Config.Concurrency, nil
	for _, t := range a.Triggers {
		out.Triggers = append(out.Triggers, Trigger{Provider: t.Provider, Event: t.Event, Schedule: wireTiming(t.Schedule), Filter: wireFilter(t.Filter)})
	}
	return out
}
