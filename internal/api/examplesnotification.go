package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

// The words and examples of callbacks.

const (
	exampleNotificationID = "01980f20-7788-7a9b-8cad-beef00112233"
	exampleEventID        = "01980f72-4455-7667-8899-aabbccddeeff"
	exampleCallbackID     = "01980f72-5566-7788-99aa-bbccddeeff00"
)

func notificationExamples() map[string]any {
	return map[string]any{
		"create_notification_request":           exampleNotificationRequest(),
		"create_notification_response":          exampleIssuedNotification(),
		"update_notification_request":           exampleNotificationUpdate(),
		"rotate_notification_request":           RotateNotificationRequest{OverlapSeconds: 3600},
		"notification":                          exampleNotification(),
		"list_notifications_response":           exampleNotifications(),
		"notification_delivery":                 exampleNotificationDelivery(),
		"list_notification_deliveries_response": exampleNotificationDeliveries(),
	}
}

func notificationDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listNotifications": {tag: tagNotifications, summary: "List notifications", text: "All that your key may see, the oldest first.", response: exampleNotifications()},
		"createNotification": {
			tag: tagNotifications, summary: "Create a notification", status: http.StatusCreated,
			text: "An endpoint that gets the state changes of runs as signed requests (Standard Webhooks). It gets every change from now on. " +
				"A secret that the server generates is in this answer and in no other. At most 50 in all.",
			codes: []lineshaft.Code{conflict}, request: exampleNotificationRequest(), response: exampleIssuedNotification(),
		},
		"getNotification": {tag: tagNotifications, summary: "Get a notification", codes: []lineshaft.Code{notFound}, response: exampleNotification()},
		"updateNotification": {
			tag: tagNotifications, summary: "Change a notification",
			text:  "What is absent stays. Disabled, it gets nothing, and changes that happen meanwhile are not kept for it; enabled again, it gets what waited before and is younger than 72 hours.",
			codes: []lineshaft.Code{notFound}, request: exampleNotificationUpdate(), response: exampleNotification(),
		},
		"deleteNotification": {
			tag: tagNotifications, summary: "Delete a notification", status: http.StatusNoContent, text: "Nothing more is sent. Its log goes with it.", codes: []lineshaft.Code{notFound},
		},
		"rotateNotification": {
			tag: tagNotifications, summary: "Replace the secret of a notification",
			text:  "The old secret ends at once, or after overlap_seconds: until then callbacks carry a signature by each.",
			codes: []lineshaft.Code{notFound, conflict}, request: RotateNotificationRequest{OverlapSeconds: 3600}, response: exampleIssuedNotification(),
		},
		"testNotification": {
			tag: tagNotifications, summary: "Send a test", status: http.StatusAccepted,
			text:  "Sends a callback of type notification.test, as state changes are sent. Watch it with getNotificationDelivery.",
			codes: []lineshaft.Code{notFound, conflict}, response: exampleTestDelivery(),
		},
		"listNotificationDeliveries": {
			tag: tagNotifications, summary: "Read the log of a notification", text: "Newest first. What is older than 30 days is removed.",
			codes: []lineshaft.Code{notFound}, response: exampleNotificationDeliveries(),
		},
		"getNotificationDelivery": {
			tag: tagNotifications, summary: "Get a delivery to a notification", text: "With its attempts and its payload.",
			codes: []lineshaft.Code{notFound}, response: exampleNotificationDelivery(),
		},
		"replayNotificationDelivery": {
			tag: tagNotifications, summary: "Send a delivery again", status: http.StatusAccepted,
			text:  "Makes it pending, with the same webhook-id and payload and another 72 hours. A receiver tells by the webhook-id that it had it before.",
			codes: []lineshaft.Code{notFound, conflict}, response: exampleReplayed(),
		},
	}
}

func exampleNotificationRequest() CreateNotificationRequest {
	return CreateNotificationRequest{
		URL: "https://ci.example.com/lineshaft", Name: "ci", States: []RunState{"SUCCEEDED", "FAILED", "ERROR"}, FactoryUIDs: []string{exampleFactoryUID},
	}
}

func exampleNotification() Notification {
	return Notification{
		ID: exampleNotificationID, Name: "ci", URL: "https://ci.example.com/lineshaft", States: []RunState{"ERROR", "FAILED", "SUCCEEDED"},
		FactoryUIDs: []string{exampleFactoryUID}, Enabled: true, LastSuccessAt: exampleFinishedAt, CreatedAt: exampleCreatedAt, UpdatedAt: exampleCreatedAt,
	}
}

func exampleIssuedNotification() IssuedNotification {
	made := exampleNotification()
	made.LastSuccessAt = ""
	return IssuedNotification{Notification: made, Secret: exampleWebhookSecret}
}

func exampleNotificationUpdate() UpdateNotificationRequest {
	return UpdateNotificationRequest{States: &[]RunState{}, Enabled: ptr(true)}
}

func exampleNotifications() ListNotificationsResponse {
	return ListNotificationsResponse{Notifications: []Notification{exampleNotification()}}
}

func exampleCallbackRow() NotificationDelivery {
	return NotificationDelivery{
		ID: exampleCallbackID, NotificationID: exampleNotificationID, EventID: exampleEventID, Type: lineshaft.NotificationStateChanged, RunID: exampleRunID,
		State: "SUCCEEDED", Status: "delivered", AttemptCount: 2, LastStatusCode: http.StatusNoContent, CreatedAt: exampleFinishedAt, FinishedAt: "2026-08-01T09:32:36.480000Z",
	}
}

func exampleTestDelivery() NotificationDelivery {
	return NotificationDelivery{
		ID: exampleCallbackID, NotificationID: exampleNotificationID, EventID: exampleEventID, Type: lineshaft.NotificationTest,
		Status: "pending", NextAttemptAt: exampleFinishedAt, CreatedAt: exampleFinishedAt,
	}
}

func exampleReplayed() NotificationDelivery {
	row := exampleCallbackRow()
	row.Status, row.FinishedAt, row.NextAttemptAt = "pending", "", "2026-08-02T10:00:00.000000Z"
	return row
}

func exampleNotificationDelivery() NotificationDeliveryDetail {
	return NotificationDeliveryDetail{
		NotificationDelivery: exampleCallbackRow(),
		Attempts: []NotificationAttempt{
			{Number: 1, Time: "2026-08-01T09:32:31.260000Z", StatusCode: http.StatusBadGateway, Error: "it answered 502 Bad Gateway", DurationMS: 41},
			{Number: 2, Time: "2026-08-01T09:32:36.430000Z", StatusCode: http.StatusNoContent, DurationMS: 50},
		},
		Payload: AnyJSON(`{"type":"run.state_changed","timestamp":"` + exampleFinishedAt + `","data":{"event_id":"` + exampleEventID + `","sequence":41,"run_id":"` + exampleRunID +
			`","state":"SUCCEEDED","previous_state":"INPROGRESS","title":"Mend the nightly build","name":"build-doctor","factory_uid":"` + exampleFactoryUID +
			`","created_at":"` + exampleCreatedAt + `","finished_at":"` + exampleFinishedAt + `","url":"` + exampleBase + "/runs/" + exampleRunID + `"}}`),
	}
}

func exampleNotificationDeliveries() ListNotificationDeliveriesResponse {
	return ListNotificationDeliveriesResponse{Deliveries: []NotificationDelivery{exampleCallbackRow()}, PageInfo: PageInfo{HasNextPage: true, NextCursor: "eyJ2IjoxfQ"}}
}
