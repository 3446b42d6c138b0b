package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

func notificationDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listNotifications": {tag: tagNotifications, summary: "List notifications", text: "All that your key may see, the oldest first.", response: example("list_notifications_response")},
		"createNotification": {
			tag: tagNotifications, summary: "Create a notification", status: http.StatusCreated,
			text: "An endpoint that gets the state changes of runs as signed requests (Standard Webhooks). It gets every change from now on. " +
				"A secret that the server generates is in this answer and in no other. At most 50 in all.",
			codes: []lineshaft.Code{conflict}, request: example("create_notification_request"), response: example("create_notification_response"),
		},
		"getNotification": {tag: tagNotifications, summary: "Get a notification", codes: []lineshaft.Code{notFound}, response: example("notification")},
		"updateNotification": {
			tag: tagNotifications, summary: "Change a notification",
			text:  "What is absent stays. Disabled, it gets nothing, and changes that happen meanwhile are not kept for it; enabled again, it gets what waited before and is younger than 72 hours.",
			codes: []lineshaft.Code{notFound}, request: example("update_notification_request"), response: example("notification"),
		},
		"deleteNotification": {
			tag: tagNotifications, summary: "Delete a notification", status: http.StatusNoContent, text: "Nothing more is sent. Its log goes with it.", codes: []lineshaft.Code{notFound},
		},
		"rotateNotification": {
			tag: tagNotifications, summary: "Replace the secret of a notification",
			text:  "The old secret ends at once, or after overlap_seconds: until then callbacks carry a signature by each.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("rotate_notification_request"), response: example("create_notification_response"),
		},
		"testNotification": {
			tag: tagNotifications, summary: "Send a test", status: http.StatusAccepted,
			text:  "Sends a callback of type notification.test, as state changes are sent. Watch it with getNotificationDelivery.",
			codes: []lineshaft.Code{notFound, conflict}, response: example("test_notification_response"),
		},
		"listNotificationDeliveries": {
			tag: tagNotifications, summary: "Read the log of a notification", text: "Newest first. What is older than 30 days is removed.",
			codes: []lineshaft.Code{notFound}, response: example("list_notification_deliveries_response"),
		},
		"getNotificationDelivery": {
			tag: tagNotifications, summary: "Get a delivery to a notification", text: "With its attempts and its payload.",
			codes: []lineshaft.Code{notFound}, response: example("notification_delivery"),
		},
		"replayNotificationDelivery": {
			tag: tagNotifications, summary: "Send a delivery again", status: http.StatusAccepted,
			text:  "Makes it pending, with the same webhook-id and payload and another 72 hours. A receiver tells by the webhook-id that it had it before.",
			codes: []lineshaft.Code{notFound, conflict}, response: example("replay_notification_response"),
		},
	}
}
