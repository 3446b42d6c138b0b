package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

const exampleScheduleID = "01980f13-4455-7667-8889-aabbccddeeff"

func scheduleDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listScheduledAgents": {tag: tagSchedules, summary: "List schedules", text: "All of them, ordered by name.", response: exampleSchedules()},
		"createScheduledAgent": {
			tag: tagSchedules, summary: "Create a schedule", status: http.StatusCreated, large: true,
			text:  "Starts a run at given times, from now on. Times that pass while the server is down are made up by one run. One that is too many is 409.",
			codes: []lineshaft.Code{conflict, tooLarge, notSupported}, request: exampleScheduleRequest(), response: exampleSchedule(),
		},
		"getScheduledAgent": {tag: tagSchedules, summary: "Get a schedule", codes: []lineshaft.Code{notFound}, response: exampleSchedule()},
		"updateScheduledAgent": {
			tag: tagSchedules, summary: "Replace a schedule", large: true,
			text:  "What is absent is cleared. Another cron_schedule or timezone counts from now on.",
			codes: []lineshaft.Code{notFound, tooLarge, notSupported}, request: exampleScheduleUpdate(), response: exampleSchedule(),
		},
		"deleteScheduledAgent": {
			tag: tagSchedules, summary: "Delete a schedule", text: "Its runs stay.", codes: []lineshaft.Code{notFound}, response: DeleteScheduledAgentResponse{Success: true},
		},
		"pauseScheduledAgent": {
			tag: tagSchedules, summary: "Pause a schedule", codes: []lineshaft.Code{notFound}, response: exampleSchedule(),
		},
		"resumeScheduledAgent": {
			tag: tagSchedules, summary: "Resume a schedule", text: "It fires from now on; what was missed in the pause is not made up.",
			codes: []lineshaft.Code{notFound}, response: exampleSchedule(),
		},
	}
}

func exampleScheduleRequest() CreateScheduledAgentRequest {
	return CreateScheduledAgentRequest{
		Name: "nightly check", CronSchedule: "30 2 * * 1-5", Timezone: "Europe/Berlin", Overlap: "skip",
		Prompt: "Look at last night's build and open an issue for each new failure.", AgentConfig: &AmbientAgentConfig{ModelID: "sonnet"},
		Metadata: Metadata{"team": "web"},
	}
}

func exampleScheduleUpdate() UpdateScheduledAgentRequest {
	return UpdateScheduledAgentRequest{
		Name: "nightly check", CronSchedule: "@daily", Enabled: true, Prompt: "Look at last night's build and open an issue for each new failure.",
	}
}

func exampleSchedule() ScheduledAgentItem {
	maker := RunCreatorInfo{Type: "user", UID: "user_admin", DisplayName: "Administrator"}
	return ScheduledAgentItem{
		ID: exampleScheduleID, Name: "nightly check", CronSchedule: "30 2 * * 1-5", Timezone: "Europe/Berlin", Overlap: "skip", Enabled: true,
		Prompt: "Look at last night's build and open an issue for each new failure.", AgentConfig: &AmbientAgentConfig{ModelID: "sonnet"},
		Metadata:  Metadata{"team": "web"},
		History:   ScheduleHistory{LastRan: ptr("2026-07-31T00:30:00.000000Z"), NextRun: ptr("2026-08-03T00:30:00.000000Z")},
		CreatedBy: maker, UpdatedBy: maker, CreatedAt: exampleCreatedAt, UpdatedAt: exampleFinishedAt, Scope: Scope{Type: "Team"},
	}
}

func exampleSchedules() ListScheduledAgentsResponse {
	return ListScheduledAgentsResponse{Schedules: []ScheduledAgentItem{exampleSchedule()}}
}
