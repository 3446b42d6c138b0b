package control

import (
	"time"

	"github.com/lineshaft/lineshaft"
)

// Idempotency identifies a call that a client may send again (H-9). A nil
// pointer means the client gave no key.
type Idempotency struct {
	Key string
	// Method and Path scope the key together with the calling principal.
	Method string
	Path   string
	// BodyHash is the SHA-256 of the raw request body.
	BodyHash [32]byte
}

// Started answers StartRun and Rerun.
type Started struct {
	RunID string             `json:"run_id"`
	State lineshaft.RunState `json:"state"`
	// AtCapacity is true when no worker slot was free; the run waits.
	AtCapacity bool `json:"at_capacity"`
	// Replayed says that the answer was kept from an earlier call with the same key.
	Replayed bool `json:"-"`
	// FollowedUp says that a live run with the same concurrency key was given the prompt.
	FollowedUp bool `json:"-"`
}

// FollowupResult answers Followup. FollowupID is empty when the text became part
// of the prompt.
type FollowupResult struct {
	RunID      string                    `json:"run_id"`
	FollowupID string                    `json:"followup_id"`
	Outcome    lineshaft.FollowupOutcome `json:"outcome"`
	Replayed   bool                      `json:"-"`
}

// CancelResult answers Cancel.
type CancelResult struct {
	RunID    string `json:"run_id"`
	Replayed bool   `json:"-"`
}

// EventPage is a stretch of a run's log.
type EventPage struct {
	Events []lineshaft.Event
	// More says that events follow the last one here.
	More bool
}

// NewAPIKey asks for a key.
type NewAPIKey struct {
	Name        string
	Role        lineshaft.Role
	ExpiresAt   time.Time
	FactoryUIDs []string
	WorkerIDs   []string
	// Owner is who the key acts as; the zero value makes a service account of the key's name.
	Owner lineshaft.Principal
	// Once, if given, makes a second call with it a Conflict: the key cannot be shown again.
	Once *Idempotency
}

// Worker is a connected worker id with its processes summed up.
type Worker struct {
	WorkerHost      string
	ConnectionCount int
	ConnectedAt     time.Time
	LastSeenAt      time.Time
	Capacity        int
	Running         int
	// Labels are those of all its processes, each KEY=VALUE.
	Labels []string
}

// AuditPage is a page of the audit log, newest first.
type AuditPage struct {
	Entries []lineshaft.AuditEntry
	Next    string
}

// Part is a named piece of the server in the answer of Ready.
type Part struct {
	Name string
	// Problem is empty when the part is well; otherwise a short public word.
	Problem string
	// Serves says that the server can do its work in spite of the problem.
	Serves bool
}
