package api

import "github.com/lineshaft/lineshaft"

// The examples of factories and their parts.

func factoryExamples() map[string]any {
	return map[string]any{
		"create_factory_request":    exampleFactoryRequest(),
		"update_factory_request":    exampleFactoryUpdate(),
		"factory":                   exampleFactory(),
		"follow_repository_request": exampleFollow(),
		"unlink_repository_request": UpdateFactoryRequest{Repository: RepositoryUpdate{Set: true}},
		"repository_factory":        exampleFollowing(),
		"list_factories_response":   exampleFactories(),
		"create_schedule_request":   exampleScheduleRequest(),
		"update_schedule_request":   exampleScheduleUpdate(),
		"schedule":                  exampleSchedule(),
		"list_schedules_response":   exampleSchedules(),
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
	return UpdateFactoryRequest{Description: ptr(""), Paused: ptr(true), DailyBudget: BudgetUpdate{Set: true, Budget: &Budget{MaxCostUSD: ptr(25.0)}}}
}

func exampleFactory() Factory {
	return Factory{
		UID: exampleFactoryUID, Name: "Web shop", Alias: ptr("shop"), Description: ptr("Looks after the shop's repositories."), Mode: "managed",
		ForemanAgent: "foreman", Revision: 4, DailyBudget: &Budget{MaxTokens: ptr(int64(5_000_000)), MaxCostUSD: ptr(25.0)}, SpentToday: &Spending{Tokens: 120_000, CostUSD: 1.75}, CreatedAt: exampleCreatedAt, UpdatedAt: exampleFinishedAt,
	}
}

func exampleFollow() UpdateFactoryRequest {
	return UpdateFactoryRequest{Repository: RepositoryUpdate{Set: true, Source: &RepositorySource{URL: "https://git.example.com/acme/factories.git", Branch: "main", Path: "shop"}}}
}

func exampleFollowing() Factory {
	f := exampleFactory()
	f.Mode = "repository"
	f.Repository = &FactoryRepository{
		URL: "https://git.example.com/acme/factories.git", Branch: "main", Path: "shop",
		SeenCommit: "9fceb02d0ae598e95dc970b74767f19372d61af8", AppliedCommit: "ca82a6dff817ec66f44342007202690a93763949",
		CheckedAt: exampleFinishedAt, AppliedAt: exampleCreatedAt,
		Problems: []lineshaft.FileProblem{{
			File: "shop/automations/triage/automation.md", Line: 4, Column: 1, Message: "unknown key \"trigger\"", Hint: "did you mean triggers?",
		}},
	}
	return f
}

func exampleFactories() ListFactoriesResponse {
	return ListFactoriesResponse{Factories: []Factory{exampleFactory()}, PageInfo: PageInfo{HasNextPage: true, NextCursor: "eyJ2IjoxfQ"}}
}

func exampleTriggers() []Trigger {
	return []Trigger{{Provider: "webhook", Event: "received", Filter: TriggerFilter(
		`{"webhooks":["issues"],"payload":{"action":["opened"],"issue":{"labels":{"name":{"not_in":["wontfix"]}}}}}`,
	)}}
}

func exampleAutomationRequest() CreateAutomationRequest {
	return CreateAutomationRequest{
		Name: "triage", Prompt: "Find out what the new issue is about and label it.", Agent: "foreman", Triggers: exampleTriggers(),
		Config:      &AmbientAgentConfig{ModelID: "sonnet", TimeoutMinutes: ptr(20)},
		Concurrency: &Concurrency{Key: "issue-{{payload.issue.number}}", Policy: "followup"}, Title: "Triage #{{payload.issue.number}}", MaxRunsPerHour: 30,
	}
}

func exampleAutomationUpdate() UpdateAutomationRequest {
	return UpdateAutomationRequest{Enabled: ptr(false), Concurrency: &ConcurrencyUpdate{Key: "all-issues", Policy: "queue"}}
}

func exampleAutomation() Automation {
	return Automation{
		UID: exampleAutomationUID, FactoryUID: exampleFactoryUID, Name: "triage", Prompt: "Find out what the new issue is about and label it.",
		Enabled: true, Agent: "foreman", Triggers: exampleTriggers(), Config: &AmbientAgentConfig{ModelID: "sonnet", TimeoutMinutes: ptr(20)},
		Concurrency: &Concurrency{Key: "issue-{{payload.issue.number}}", Policy: "followup"}, Title: "Triage #{{payload.issue.number}}", MaxRunsPerHour: 30,
		CreatedAt: exampleCreatedAt, UpdatedAt: exampleFinishedAt,
	}
}

func exampleAutomations() ListAutomationsResponse {
	return ListAutomationsResponse{Automations: []Automation{exampleAutomation()}}
}
