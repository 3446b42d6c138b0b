package api

// The examples of factories and their parts.

func factoryExamples() map[string]any {
	return map[string]any{
		"create_factory_request":    exampleFactoryRequest(),
		"update_factory_request":    exampleFactoryUpdate(),
		"factory":                   exampleFactory(),
		"list_factories_response":   exampleFactories(),
		"create_automation_request": exampleAutomationRequest(),
		"update_automation_request": exampleAutomationUpdate(),
		"automation":                exampleAutomation(),
		"list_automations_response": exampleAutomations(),
	}
}

func exampleFactoryRequest() CreateFactoryRequest {
	return CreateFactoryRequest{Name: "Web shop", Alias: "shop", Description: "Looks after the shop's repositories."}
}

func exampleFactoryUpdate() UpdateFactoryRequest {
	return UpdateFactoryRequest{Description: ptr(""), Paused: ptr(true)}
}

func exampleFactory() Factory {
	return Factory{
		UID: exampleFactoryUID, Name: "Web shop", Alias: ptr("shop"), Description: ptr("Looks after the shop's repositories."), Mode: "managed",
		ForemanAgent: "foreman", Revision: 4, CreatedAt: exampleCreatedAt, UpdatedAt: exampleFinishedAt,
	}
}

func exampleFactories() ListFactoriesResponse {
	return ListFactoriesResponse{Factories: []Factory{exampleFactory()}, PageInfo: PageInfo{HasNextPage: true, NextCursor: "eyJ2IjoxfQ"}}
}

func exampleTriggers() []Trigger {
	return []Trigger{{Provider: "webhook", Event: "received", Filter: TriggerFilter{
		Webhooks: []string{"issues"}, Payload: PayloadFilter(`{"action":["opened"],"issue":{"labels":{"name":{"not_in":["wontfix"]}}}}`),
	}}}
}

func exampleAutomationRequest() CreateAutomationRequest {
	return CreateAutomationRequest{
		Name: "triage", Prompt: "Find out what the new issue is about and label it.", Agent: "foreman", Triggers: exampleTriggers(),
		Config:      &AmbientAgentConfig{ModelID: "sonnet", TimeoutMinutes: ptr(20)},
		Concurrency: &Concurrency{Key: "issue-{{payload.issue.number}}", Policy: "followup"}, MaxRunsPerHour: 30,
	}
}

func exampleAutomationUpdate() UpdateAutomationRequest {
	return UpdateAutomationRequest{Enabled: ptr(false), Concurrency: &ConcurrencyUpdate{Key: "all-issues", Policy: "queue"}}
}

func exampleAutomation() Automation {
	return Automation{
		UID: exampleAutomationUID, FactoryUID: exampleFactoryUID, Name: "triage", Prompt: "Find out what the new issue is about and label it.",
		Enabled: true, Agent: "foreman", Triggers: exampleTriggers(), Config: &AmbientAgentConfig{ModelID: "sonnet", TimeoutMinutes: ptr(20)},
		Concurrency: &Concurrency{Key: "issue-{{payload.issue.number}}", Policy: "followup"}, MaxRunsPerHour: 30,
		CreatedAt: exampleCreatedAt, UpdatedAt: exampleFinishedAt,
	}
}

func exampleAutomations() ListAutomationsResponse {
	return ListAutomationsResponse{Automations: []Automation{exampleAutomation()}}
}
