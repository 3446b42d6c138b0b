package lineshaft

import "time"

// DeliveryStatus is the result of a request to a webhook.
type DeliveryStatus string

// The statuses of W-11. Requests that got 404 or 429 are counted, not logged.
const (
	DeliveryAccepted     DeliveryStatus = "accepted"
	DeliveryDuplicate    DeliveryStatus = "duplicate"
	DeliveryRejectedAuth DeliveryStatus = "rejected_auth"
	DeliveryRejectedJSON DeliveryStatus = "rejected_invalid_json"
	DeliveryRejectedSize DeliveryStatus = "rejected_too_large"
)

// DeliveryStatuses lists every status.
func DeliveryStatuses() []DeliveryStatus {
	return []DeliveryStatus{DeliveryAccepted, DeliveryDuplicate, DeliveryRejectedAuth, DeliveryRejectedJSON, DeliveryRejectedSize}
}

// The least that the log of a webhook keeps (W-11): rows that are younger, and the
// newest ones whatever their age.
const (
	MinDeliveryRetention = 7 * 24 * time.Hour
	MinDeliveryKeep      = 50
)

// OutcomeResult is what one automation made of a delivery.
type OutcomeResult string

// The results of the management API.
const (
	ResultStarted    OutcomeResult = "started"
	ResultSkipped    OutcomeResult = "skipped"
	ResultFollowedUp OutcomeResult = "followed_up"
	ResultHandshake  OutcomeResult = "handshake"
	ResultDisabled   OutcomeResult = "disabled"
	ResultLimit      OutcomeResult = "limit"
	ResultError      OutcomeResult = "error"
	ResultFiltered   OutcomeResult = "filtered"
)

// OutcomeResults lists every result.
func OutcomeResults() []OutcomeResult {
	return []OutcomeResult{
		ResultStarted, ResultSkipped, ResultFollowedUp, ResultHandshake, ResultDisabled, ResultLimit, ResultError, ResultFiltered,
	}
}

// DeliveryOutcome is the result of one automation; a handshake has none.
type DeliveryOutcome struct {
	AutomationID   string        `json:"automation_id,omitempty"`
	AutomationName string        `json:"automation_name,omitempty"`
	Result         OutcomeResult `json:"result"`
	Reason         string        `json:"reason,omitempty"`
	RunID          string        `json:"run_id,omitempty"`
}

// Delivery is a row of a webhook's log.
type Delivery struct {
	// ID carries the time of receipt.
	ID         string
	WebhookUID string
	Status     DeliveryStatus
	Size       int64
	ReceivedAt time.Time
	// Identity distinguishes a delivery sent again from a new one; IdentitySource says
	// where it was found.
	Identity       string
	IdentitySource string
	RemoteAddr     string
	DuplicateOf    string
	RedeliveryOf   string
	// NotMatched counts the automations whose filter did not match.
	NotMatched int
	Outcomes   []DeliveryOutcome
	// Event is what a forge named in a header, such as pull_request; empty for others.
	Event string
	// Test says that the server sent it itself because someone asked for it.
	Test bool
	// Headers are those of the request, a line each, with credentials masked. Lists leave
	// them out. A delivery that was not sent by HTTP, such as a redelivery, has none.
	Headers string
	// AnswerStatus is the status that the sender got, Took how long it took from the arrival of the
	// request until its delivery was written.
	AnswerStatus int
	Took         time.Duration
}

// Metadata keys of runs that a delivery started (W-13).
const (
	MetadataWebhook    = "webhook_id"
	MetadataDelivery   = "delivery_id"
	MetadataAutomation = "automation_id"
	// MetadataFinishedRun is the run whose end started this one (F-6).
	MetadataFinishedRun = "finished_run_id"
)

// PayloadFile is the name under which a run finds the body of its delivery.
const PayloadFile = "event-payload.json"

// DeliveryNote and NoteEnd enclose what the prompt of a delivered run says about its delivery,
// below what people asked for.
const (
	DeliveryNote = "\n\n~~~~ webhook delivery\n"
	NoteEnd      = "\n~~~~\n"
)
