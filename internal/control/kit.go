package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

func ignoreNotFound(err error) error {
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil
	}
	return err
}

// now is the time as the store keeps it.
func (s *Service) now() time.Time { return s.store.Now().UTC().Truncate(time.Microsecond) }

// assign writes what was given.
func assign[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}

// timerClock is what timers are measured by.
func (s *Service) timerClock(ctx context.Context, r interface {
	Clock(ctx context.Context) (time.Time, error)
},
) (time.Time, error) {
	if s.cfg.Clock != nil {
		return s.cfg.Clock(), nil
	}
	return r.Clock(ctx)
}

// inBatches repeats a step until it finds less than a batch to do.
func (s *Service) inBatches(ctx context.Context, what string, step func(context.Context, *store.Tx) (int, error)) error {
	for {
		var n int
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = step(ctx, tx)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if n < purgeBatch {
			return nil
		}
	}
}

// purgeBatch is how many rows one transaction removes.
const purgeBatch = 200

// reason is the message of an error of ours, without its field.
func reason(err error) string {
	if ours, ok := errors.AsType[*lineshaft.Error](err); ok {
		return ours.Message
	}
	return "it cannot be used"
}

// named finds a part by its name.
func named[T any](list []T, name string, of func(T) string) (T, bool) {
	for _, part := range list {
		if of(part) == name {
			return part, true
		}
	}
	var none T
	return none, false
}

// orNil makes what is not there a nil.
func orNil[T any](value *T, err error) (*T, error) {
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil, nil //nolint:nilnil // that is what it is for
	}
	return value, err
}

// once reads a value for a key the first time it is asked for.
func once[T any](known *map[string]T, key string, read func() (T, error)) (T, error) {
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

// factoryBatch is how many factories are read at once when looking for matches.
const factoryBatch = 500

// sweepBatch is how many rows one round of a background sweep takes.
const sweepBatch = 100

// system is who acts when the server itself does.
func system() lineshaft.Caller {
	return lineshaft.Caller{Principal: lineshaft.Principal{UID: "system", Type: lineshaft.ServiceAccount, DisplayName: "Lineshaft"}, Role: lineshaft.RoleAdmin}
}

// Who acts when no person does: the principal of an automation, of a schedule and of a run,
// by the id that follows, and the one that applies a repository.
const (
	automationPrincipalPrefix = "automation_"
	schedulePrincipalPrefix   = "schedule_"
	runPrincipalPrefix        = "run_"
	repositoryPrincipalUID    = "repository"
)
