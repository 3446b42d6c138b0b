package pause_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
)

func TestPausesGrowToALimitAndBeginAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b pause.Backoff
		took := func(asked time.Duration) time.Duration {
			begun := time.Now()
			if !b.Wait(t.Context(), asked) {
				t.Error("a pause ended early")
			}
			return time.Since(begun)
		}
		for i, millis := range []int{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
			most := time.Duration(millis) * time.Millisecond
			if got := took(0); got < most/2 || got >= most {
				t.Errorf("pause %d took %s, not from %s to %s", i, got, most/2, most)
			}
		}
		if got := took(time.Minute); got != time.Minute {
			t.Errorf("what was asked for took %s", got)
		}
		b.Reset()
		if got := took(0); got >= 100*time.Millisecond {
			t.Errorf("after a reset %s", got)
		}
	})
}

func TestPausesEndWithTheirContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if pause.For(ctx, time.Hour) || new(pause.Backoff).Wait(ctx, time.Hour) {
		t.Error("a context that is over goes on")
	}
}
