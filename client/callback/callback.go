// Package callback reads the callbacks that a Lineshaft server sends to an endpoint
// when the state of a run changes. It verifies that they come from that server and are
// not old, and returns them as typed events. They are signed as Standard Webhooks, so
// any library for these verifies them as well.
//
// A callback can come more than once: Event.ID is then the same, and equals that
// of the event in the run's log. A Verifier may be used by many goroutines.
package callback

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// The types of callbacks. A newer server may send further ones.
const (
	RunStateChanged  = "run.state_changed"
	NotificationTest = "notification.test"
)

const (
	defaultTolerance = 5 * time.Minute
	maxBodyBytes     = 1 << 20
	maxSignatures    = 32
	minKeyBytes      = 16
)

// ErrNotAuthentic says that a callback must not be trusted: answer it with 401.
var ErrNotAuthentic = errors.New("the callback is not authentic")

// Event is a callback.
type Event struct {
	// ID is that of the event in the run's log. A callback that comes again has the same.
	ID string `json:"-"`
	// Type is RunStateChanged or NotificationTest.
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      Data      `json:"data"`
}

// Data says which run entered which state.
type Data struct {
	EventID string `json:"event_id"`
	// Sequence is the event's place in the run's log.
	Sequence      int64           `json:"sequence"`
	RunID         string          `json:"run_id"`
	State         client.RunState `json:"state"`
	PreviousState client.RunState `json:"previous_state,omitempty"`
	Message       string          `json:"message,omitempty"`
	ErrorCode     string          `json:"error_code,omitempty"`
	Title         string          `json:"title"`
	// Name is the run's config.name.
	Name         string     `json:"name,omitempty"`
	FactoryUID   string     `json:"factory_uid,omitempty"`
	AutomationID string     `json:"automation_id,omitempty"`
	WebhookID    string     `json:"webhook_id,omitempty"`
	DeliveryID   string     `json:"delivery_id,omitempty"`
	CreatedAt    time.Time  `json:"created_at"`
	FinishedAt   *time.Time `json:"finished_at,omitempty"`
	// URL is the run's page.
	URL string `json:"url"`
}

// Verifier verifies callbacks. Make it with New.
type Verifier struct {
	keys      [][]byte
	old       string
	tolerance time.Duration
	now       func() time.Time
}

// Option configures the Verifier that New returns.
type Option func(*Verifier)

// WithTolerance sets how far the time of a callback may be away from now, before or
// after; the default is five minutes.
func WithTolerance(d time.Duration) Option { return func(v *Verifier) { v.tolerance = d } }

// WithClock replaces the clock, for tests.
func WithClock(now func() time.Time) Option { return func(v *Verifier) { v.now = now } }

// WithOldSecret also accepts callbacks that are signed with another secret, while one
// is being replaced. An empty one is ignored.
func WithOldSecret(secret string) Option { return func(v *Verifier) { v.old = secret } }

// New makes a verifier with the secret that the server showed when the endpoint was
// made or rotated; it begins with "whsec_".
func New(secret string, opts ...Option) (*Verifier, error) {
	v := &Verifier{tolerance: defaultTolerance, now: time.Now}
	for _, opt := range opts {
		opt(v)
	}
	secrets := []string{secret}
	if v.old != "" {
		secrets = append(secrets, v.old)
	}
	for _, text := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), "whsec_"))
		if err != nil || len(key) < minKeyBytes {
			return nil, errors.New("the secret of the endpoint is not whsec_ and base64: copy it again, or rotate it")
		}
		v.keys = append(v.keys, key)
	}
	return v, nil
}

// Read reads a request and verifies it. The error is ErrNotAuthentic, or says what
// else is wrong with it.
func (v *Verifier) Read(r *http.Request) (*Event, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the callback: %w", err)
	}
	if len(body) > maxBodyBytes {
		return nil, fmt.Errorf("the callback is larger than %d bytes", maxBodyBytes)
	}
	return v.Verify(r.Header, body)
}

// Verify checks the headers and the bytes of the body, exactly as they came.
func (v *Verifier) Verify(header http.Header, body []byte) (*Event, error) {
	id, err := one(header, "Webhook-Id")
	if err != nil {
		return nil, err
	}
	stamp, err := one(header, "Webhook-Timestamp")
	if err != nil {
		return nil, err
	}
	signatures, err := one(header, "Webhook-Signature")
	if err != nil {
		return nil, err
	}
	if err := v.checkTime(stamp); err != nil {
		return nil, err
	}
	if !v.signed(id+"."+stamp+".", body, signatures) {
		return nil, fmt.Errorf("%w: no signature matches: check that the secret belongs to this endpoint", ErrNotAuthentic)
	}
	event := Event{ID: id}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, fmt.Errorf("decode the callback: %w", err)
	}
	return &event, nil
}

func one(header http.Header, name string) (string, error) {
	values := header.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", fmt.Errorf("%w: it has %d headers %s, want one", ErrNotAuthentic, len(values), strings.ToLower(name))
	}
	return values[0], nil
}

func (v *Verifier) checkTime(stamp string) error {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != stamp {
		return fmt.Errorf("%w: webhook-timestamp is not a number of seconds", ErrNotAuthentic)
	}
	limit := int64(v.tolerance / time.Second)
	if now := v.now().Unix(); seconds < now-limit || seconds > now+limit {
		return fmt.Errorf("%w: it is older or newer than %s: check the clock of this machine", ErrNotAuthentic, v.tolerance)
	}
	return nil
}

// signed says that one of the signatures is by one of the keys. Each has exactly one
// spelling, and versions other than v1 do not count.
func (v *Verifier) signed(prefix string, body []byte, signatures string) bool {
	parts := strings.Fields(signatures)
	if len(parts) > maxSignatures {
		return false
	}
	right := false
	for _, key := range v.keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(prefix))
		mac.Write(body)
		want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, part := range parts {
			if hmac.Equal([]byte(part), want) {
				right = true
			}
		}
	}
	return right
}
