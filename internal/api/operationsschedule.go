package api

import (
	"encoding/json"
	"net/http"

	"github.com/lineshaft/lineshaft"
)

func scheduleDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listScheduledAgents": {tag: tagSchedules, summary: "List schedules", text: "All of them, ordered by name.", response: example("list_schedules_response")},
		"createScheduledAgent": {
			tag: tagSchedules, summary: "Create a schedule", status: http.StatusCreated, large: true,
			text:  "Starts a run at given times, from now on. Times that pass while the server is down are made up by one run. One that is too many is 409.",
			codes: []lineshaft.Code{conflict, tooLarge, notSupported}, request: example("create_schedule_request"), response: example("schedule"),
		},
		"getScheduledAgent": {tag: tagSchedules, summary: "Get a schedule", codes: []lineshaft.Code{notFound}, response: example("schedule")},
		"updateScheduledAgent": {
			tag: tagSchedules, summary: "Replace a schedule", large: true,
			text:  "What is absent is cleared. Another cron_schedule or timezone counts from now on.",
			codes: []lineshaft.Code{notFound, tooLarge, notSupported}, request: example("update_schedule_request"), response: example("schedule"),
		},
		"deleteScheduledAgent": {
			tag: tagSchedules, summary: "Delete a schedule", text: "Its runs stay.", codes: []lineshaft.Code{notFound}, response: json.RawMessage(`{"success":true}`),
		},
		"pauseScheduledAgent": {
			tag: tagSchedules, summary: "Pause a schedule", codes: []lineshaft.Code{notFound}, response: example("schedule"),
		},
		"resumeScheduledAgent": {
			tag: tagSchedules, summary: "Resume a schedule", text: "It fires from now on; what was missed in the pause is not made up.",
			codes: []lineshaft.Code{notFound}, response: example("schedule"),
		},
	}
}
