package base

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// IgnoreNotFound forgets the error about something that is not there.
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

// OrNil makes what is not there a nil.
func OrNil[T any](value *T, err error) (*T, error) {
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil, nil //nolint:nilnil // that is what it is for
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

// System is who acts when the server itself does.
func System() lineshaft.Caller {
	return lineshaft.Caller{Principal: lineshaft.Principal{UID: "system", Type: lineshaft.ServiceAccount, DisplayName: "Lineshaft"}, Role: lineshaft.RoleAdmin}
}

// Who acts when no person does: the principal of an automation, of a schedule and of a run,
// by the id that follows, and the one that applies a repository.
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
