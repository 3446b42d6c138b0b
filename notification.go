package lineshaft

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits and times of callbacks (SPEC section 6).
const (
	MaxNotifications = 50
	// MaxNotificationsLimited is how many a key that is limited to factories may have made
	// for these, so that it leaves some to others.
	MaxNotificationsLimited = 10
	MaxNotificationURL      = 2048
	MaxNotificationName     = 100
	MaxNotificationText     = 1000
	// NotificationPeriod is how long a delivery is tried, and how long an endpoint may
	// fail without a single success before it is disabled.
	NotificationPeriod = 72 * time.Hour
	// NotificationKeep is how long the log of deliveries is kept.
	NotificationKeep = 30 * 24 * time.Hour
	// MaxNotificationAttempts is how many attempts the log of a delivery shows; only one
	// that is replayed again and again has more.
	MaxNotificationAttempts = 50
	// MinNotificationAttempts are made of a delivery before it has failed, even when its
	// time is over: a server that was suspended or stopped, or whose clock jumped, has not
	// tried for all of that time.
	MinNotificationAttempts = 5
	// maxNotificationWait is the longest wait between two attempts.
	maxNotificationWait = 8 * time.Hour
)

// Notification is an endpoint that is notified of the state changes of runs.
type Notification struct {
	ID          string
	Name        string
	Description string
	// URL may have a secret in its path or query: CallbackTarget is what logs may show.
	URL string
	// States, FactoryUIDs and RunName select changes; empty ones select all.
	States      []RunState
	FactoryUIDs []string
	RunName     string
	Enabled     bool
	// DisabledReason is why the server disabled it; empty when people did.
	DisabledReason string
	DisabledAt     time.Time
	// OldSecretUntil is when the secret from before the last rotation ends; zero when
	// only the newest signs.
	OldSecretUntil time.Time
	LastSuccessAt  time.Time
	LastFailureAt  time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Validate checks what can be checked without the store and the network.
func (n Notification) Validate() error {
	if err := checkText("name", n.Name); err != nil {
		return err
	}
	if err := checkText("description", n.Description); err != nil {
		return err
	}
	if err := checkText("run_name", n.RunName); err != nil {
		return err
	}
	switch {
	case utf8.RuneCountInString(n.Name) > MaxNotificationName:
		return Invalid("name", "longer than %d characters", MaxNotificationName)
	case utf8.RuneCountInString(n.Description) > MaxNotificationText:
		return Invalid("description", "longer than %d characters", MaxNotificationText)
	case utf8.RuneCountInString(n.RunName) > MaxTitleRunes:
		return Invalid("run_name", "longer than %d characters", MaxTitleRunes)
	}
	for i, state := range n.States {
		if !state.Valid() {
			states := strings.Join(Convert[string](RunStates()), ", ")
			return Invalid(fieldAt("states", i), "%q is not a state of a run; the states are %s", Clip(string(state), 40), states)
		}
	}
	_, err := ParseCallbackURL(n.URL)
	return err
}

// Wants says whether to notify the endpoint of a change to a state, of a run of that
// factory and configuration name.
func (n Notification) Wants(state RunState, factoryUID, runName string) bool {
	return (len(n.States) == 0 || slices.Contains(n.States, state)) &&
		(len(n.FactoryUIDs) == 0 || slices.Contains(n.FactoryUIDs, factoryUID)) &&
		(n.RunName == "" || n.RunName == runName)
}

// ParseCallbackURL reads the address of an endpoint. The sender decides which addresses
// may be reached.
func ParseCallbackURL(text string) (*url.URL, error) {
	if len(text) > MaxNotificationURL {
		return nil, Invalid("url", "longer than %d bytes", MaxNotificationURL)
	}
	u, err := url.Parse(text)
	switch {
	case text == "" || err != nil || !u.IsAbs() || u.Hostname() == "" || checkText("url", text) != nil:
		return nil, Invalid("url", "must be a full address such as https://example.com/lineshaft")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, Invalid("url", "must begin with https://")
	case u.User != nil:
		return nil, Invalid("url", "must not have a user or password in it; callbacks are signed, so the receiver can check who sent them")
	case u.Path == hiddenPath:
		return nil, Invalid("url", "this is the short form that hides what may be a token; give the full address")
	case u.Fragment != "":
		return nil, Invalid("url", "must not have a fragment: what follows # is never sent")
	}
	return u, nil
}

// CallbackTarget is an address as logs may show it: its path and its query may hold a
// token.
func CallbackTarget(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	target := url.URL{Scheme: u.Scheme, Host: u.Host}
	return Clip(target.String(), 200)
}

// hiddenPath replaces the path and the query of an address that is not shown in full.
const hiddenPath = "/…"

// ShortCallbackURL is an address as shown to people who may not change it: what follows
// the host may be a token.
func ShortCallbackURL(text string) string {
	target := CallbackTarget(text)
	if text == target || text == target+"/" {
		return text
	}
	return target + hiddenPath
}

// NotificationStatus is the status of a delivery to an endpoint.
type NotificationStatus string

// The statuses of a delivery.
const (
	NotificationPending   NotificationStatus = "pending"
	NotificationDelivered NotificationStatus = "delivered"
	NotificationFailed    NotificationStatus = "failed"
)

// NotificationStatuses lists every status.
func NotificationStatuses() []NotificationStatus {
	return []NotificationStatus{NotificationPending, NotificationDelivered, NotificationFailed}
}

// The types of what is sent.
const (
	NotificationStateChanged = "run.state_changed"
	NotificationTest         = "notification.test"
)

// NotificationDelivery is one event for one endpoint.
type NotificationDelivery struct {
	ID             string
	NotificationID string
	// EventID is that of the run's log; the receiver sees it as webhook-id.
	EventID string
	Type    string
	// RunID, RunName, FactoryUID and State are empty for a test.
	RunID        string
	RunName      string
	FactoryUID   string
	State        RunState
	Status       NotificationStatus
	AttemptCount int
	// NextAttemptAt is zero once there is none.
	NextAttemptAt  time.Time
	LastStatusCode int
	LastError      string
	// ExpiresAt ends the attempts.
	ExpiresAt  time.Time
	CreatedAt  time.Time
	FinishedAt time.Time
	// TraceParent is sent along when it is not empty.
	TraceParent string
	// Body and Attempts are filled when a single delivery is read; Body is what was,
	// and will be, sent.
	Body     []byte
	Attempts []NotificationAttempt
}

// DeliveredFor says whether an endpoint still wants a delivery: its filters may have
// changed since that was made.
func (d NotificationDelivery) DeliveredFor(n Notification) bool {
	return d.RunID == "" || n.Wants(d.State, d.FactoryUID, d.RunName)
}

// NotificationAttempt is one request of a delivery.
type NotificationAttempt struct {
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	// StatusCode is 0 when there was no answer; Error then says why.
	StatusCode int    `json:"status_code,omitempty"`
	Error      string `json:"error,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// Callback is a request to an endpoint.
type Callback struct {
	URL string
	// ID is the webhook-id and Time the webhook-timestamp.
	ID   string
	Time time.Time
	Body []byte
	// Secrets sign it, the newest first.
	Secrets     []string
	TraceParent string
}

// CallbackResult is the result of a Callback.
type CallbackResult struct {
	// StatusCode is 0 when there was no answer.
	StatusCode int
	// RetryAfter is what a 429 or 503 asked for.
	RetryAfter time.Duration
	// Error is a short text without anything of the answer; empty after a 2xx.
	Error string
	Took  time.Duration
}

// Delivered says that the endpoint took it.
func (r CallbackResult) Delivered() bool { return r.StatusCode >= 200 && r.StatusCode < 300 }

// NotificationBackoff is the wait after so many attempts that failed, before jitter.
func NotificationBackoff(attempts int) time.Duration {
	waits := []time.Duration{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, maxNotificationWait,
	}
	return waits[min(max(attempts, 1), len(waits))-1]
}

// NextNotificationAttempt is when a delivery is tried again after so many failures, or
// zero when its time is over and enough attempts were made. jitter is 0.9 to 1.1; asked is
// what the endpoint asked for. The last attempt is made when the time ends, however long
// the wait would be.
func NextNotificationAttempt(now, expires time.Time, attempts int, asked time.Duration, jitter float64) time.Time {
	over := !now.Before(expires)
	if over && attempts >= MinNotificationAttempts {
		return time.Time{}
	}
	wait := max(time.Duration(float64(NotificationBackoff(attempts))*jitter), min(asked, maxNotificationWait))
	if next := now.Add(wait); over || next.Before(expires) {
		return next
	}
	return expires
}
