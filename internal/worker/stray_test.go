package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// sweptSandbox notes when it is swept. The first time fails.
type sweptSandbox struct {
	sandbox.Sandbox

	mu    sync.Mutex
	times []time.Duration
	began time.Time
}

func (s *sweptSandbox) Name() string                { return "swept" }
func (s *sweptSandbox) Check(context.Context) error { return nil }

func (s *sweptSandbox) Sweep(_ context.Context, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, now.Sub(s.began))
	if len(s.times) == 1 {
		return errors.New("the program is away")
	}
	return nil
}

// what killed supervisors leave is looked for all the time, not only at the start,
// by the worker's clock, and also after it could not be.
func TestX3StraysAreLookedForAllTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		swept := &sweptSandbox{began: time.Now()}
		skew := 5 * time.Hour
		begin(t, newControl(t), Config{Sandbox: swept, Now: func() time.Time { return time.Now().Add(skew) }}, scripted{untilEnd})
		advance(3*time.Minute + time.Second)
		swept.mu.Lock()
		defer swept.mu.Unlock()
		if want := []time.Duration{skew + time.Minute, skew + 2*time.Minute, skew + 3*time.Minute}; !slices.Equal(swept.times, want) {
			t.Errorf("swept at %v, want %v", swept.times, want)
		}
	})
}
