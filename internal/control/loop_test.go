package control_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// problemOf is what Ready says of a part; there is false if it does not name it.
func (b *bench) problemOf(name string) (problem string, there bool) {
	for _, part := range b.s.Ready(b.Context()) {
		if part.Name == name {
			return part.Problem, true
		}
	}
	return "", false
}

// Every background loop says how it is, and is not ready once it keeps failing.
func TestI5ReadyKnowsTheBackgroundLoops(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ctx, end := context.WithCancel(b.Context())
		var loops sync.WaitGroup
		defer loops.Wait()
		defer end()
		for name, follow := range map[string]func(context.Context){
			"refresh webhooks": b.s.FollowFactories, "follow repositories": b.s.FollowRepositories, "start automations of finished runs": b.s.FollowChains,
			"make callbacks of state changes": b.s.FollowNotifications, "send callbacks": b.s.SendCallbacks,
		} {
			loops.Go(func() { follow(ctx) })
			for deadline := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
				if problem, there := b.problemOf(name); there && problem == "" {
					break
				}
				if time.Now().After(deadline) {
					b.Fatalf("Ready knows nothing of %q", name)
				}
			}
		}
		for i, want := range []string{"", "", "keeps failing", "keeps failing"} {
			b.s.EndRound(b.Context(), "mine", errors.New("no"))
			if problem, _ := b.problemOf("mine"); problem != want {
				b.Errorf("after %d failures it says %q", i+1, problem)
			}
		}
		b.s.EndRound(b.Context(), "mine", nil)
		if problem, _ := b.problemOf("mine"); problem != "" {
			b.Errorf("after a success it says %q", problem)
		}
	})
}
