package base

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// IgnoreNotFound drops the error about something missing.
func IgnoreNotFound(err error) error {
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil
	}
	return err
}

// Now is the time as the store keeps it.
func (s *Base) Now() time.Time { return s.Store.Now().UTC().Truncate(time.Microsecond) }

// Assign writes what was given.
func Assign[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}

// TimerClock is what timers are measured by.
func (s *Base) TimerClock(ctx context.Context, r interface {
	Clock(ctx context.Context) (time.Time, error)
},
) (time.Time, error) {
	if s.Cfg.Clock != nil {
		return s.Cfg.Clock(), nil
	}
	return r.Clock(ctx)
}

// InBatches repeats a step until it finds less than a batch to do.
func (s *Base) InBatches(ctx context.Context, what string, step func(context.Context, *store.Tx) (int, error)) error {
	for {
		var n int
		err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = step(ctx, tx)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if n < PurgeBatch {
			return nil
		}
	}
}

// PurgeBatch is how many rows one transaction removes.
const PurgeBatch = 200

// Reason is the message of an error of ours, without its field.
func Reason(err error) string {
	if ours, ok := errors.AsType[*lineshaft.Error](err); ok {
		return ours.Message
	}
	return "it cannot be used"
}

// Named finds a part by its name.
func Named[T any](list []T, name string, of func(T) string) (T, bool) {
	for _, part := range list {
		if of(part) == name {
			return part, true
		}
	}
	var none T
	return none, false
}

// OrNil turns a missing thing into nil.
func OrNil[T any](value *T, err error) (*T, error) {
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil, nil // that is what it is for
	}
	return value, err
}

// Once reads a value for a key the first time it is asked for.
func Once[T any](known *map[string]T, key string, read func() (T, error)) (T, error) {
	if value, ok := (*known)[key]; ok {
		return value, nil
	}
	value, err := read()
	if err != nil {
		return value, err
	}
	if *known == nil {
		*known = map[string]T{}
	}
	(*known)[key] = value
	return value, nil
}

// FactoryBatch is how many factories are read at once when looking for matches.
const FactoryBatch = 500

// SweepBatch is how many rows one round of a background sweep takes.
const SweepBatch = 100

// System is the principal of the server itself.
func System() lineshaft.Caller {
	return lineshaft.Caller{Principal: lineshaft.Principal{UID: "system", Type: lineshaft.ServiceAccount, DisplayName: "Lineshaft"}, Role: lineshaft.RoleAdmin}
}

// Principals for actions without a person: an automation, a schedule and a run, by the id
// that follows, and the one that applies a repository.
const (
	AutomationPrincipalPrefix = "automation_"
	SchedulePrincipalPrefix   = "schedule_"
	RunPrincipalPrefix        = "run_"
	RepositoryPrincipalUID    = "repository"
)

// WorkerCutoff is the time since which a connected worker must have been seen.
func (s *Base) WorkerCutoff() time.Time {
	return s.Store.Now().Add(-max(2*s.Cfg.Lease, 10*time.Second))
}

// Audit records what caller did, in the transaction of the change.
func (s *Base) Audit(ctx context.Context, tx *store.Tx, c lineshaft.Caller, action, targetType, targetID string, detail map[string]string) error {
	return tx.Audit(ctx, AuditEntry(c, action, targetType, targetID, detail))
}

// AuditEntry is what a caller did, for the audit log.
func AuditEntry(c lineshaft.Caller, action, targetType, targetID string, detail map[string]string) lineshaft.AuditEntry {
	return lineshaft.AuditEntry{
		Actor: c.Principal, KeyID: c.KeyID, Action: action, TargetType: targetType, TargetID: targetID,
		RemoteAddr: c.RemoteAddr, RequestID: c.RequestID, Detail: detail,
	}
}

// RunCaller is the actor of what is done for a run when it is claimed.
func RunCaller(job *lineshaft.Job) lineshaft.Caller {
	return lineshaft.Caller{
		Principal: lineshaft.Principal{UID: RunPrincipalPrefix + job.RunID, Type: lineshaft.ServiceAccount, DisplayName: job.Title}, KeyID: job.ExecutionID,
	}
}

// Base is what every room of the control plane is built on.
type Base struct {
	*Health
	*Turns
	Cfg   Config
	Store *store.Store
	Hub   *stream.Hub
	Log   *slog.Logger
}

// New returns the base of the rooms on an open store. cfg has its defaults already.
func New(s *store.Store, hub *stream.Hub, cfg Config) *Base {
	return &Base{Health: NewHealth(s, cfg.Logger), Turns: NewTurns(), Cfg: cfg, Store: s, Hub: hub, Log: cfg.Logger}
}

// Git reads repositories. A missing one is a CodeNotFound, a forge that does not answer
// a CodeUnavailable.
type Git interface {
	// URL is where the forge has a repository.
	URL(r lineshaft.Repository) string
	// Head finds the newest commit of a branch; of the default one for "".
	Head(ctx context.Context, url, branch string) (commit string, err error)
	// Tree reads the files of a commit that Head has named, those that keep asks for.
	Tree(ctx context.Context, url, commit string, keep func(path string, size int64) bool) (map[string]string, error)
}
