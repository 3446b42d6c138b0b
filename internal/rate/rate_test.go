package rate

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestH11AtMostSoManyInAnyWindow(t *testing.T) {
	t.Parallel()
	l := New(3)
	base := time.Unix(1_000_000, 0)
	for _, tc := range []struct {
		at        time.Duration
		remaining int
		wait      time.Duration
	}{
		{0, 2, 0},
		{10 * time.Second, 1, 0},
		{20 * time.Second, 0, 0},
		{30 * time.Second, 0, 30 * time.Second},
		{59999 * time.Millisecond, 0, time.Millisecond},
		{60 * time.Second, 0, 0}, // the first has left; its place is taken
		{61 * time.Second, 0, 9 * time.Second},
		{70 * time.Second, 0, 0},
		{10 * time.Minute, 2, 0},
	} {
		v, on := l.Take("k", base.Add(tc.at))
		if !on || v.Remaining != tc.remaining || v.Wait != tc.wait {
			t.Errorf("at %v: %+v, want remaining %d, wait %v", tc.at, v, tc.remaining, tc.wait)
		}
	}
}

func TestH11KeysDoNotShareALimit(t *testing.T) {
	t.Parallel()
	l := New(1)
	now := time.Unix(1_000_000, 0)
	for _, key := range []string{"a", "b", "c"} {
		if v, _ := l.Take(key, now); v.Wait != 0 {
			t.Errorf("%s has to wait %v", key, v.Wait)
		}
	}
	if v, _ := l.Take("a", now); v.Wait != time.Minute {
		t.Errorf("a waits %v", v.Wait)
	}
}

func TestH11NoLimit(t *testing.T) {
	t.Parallel()
	l := New(0)
	if _, on := l.Take("k", time.Unix(0, 0)); on || len(l.keys) != 0 {
		t.Error("a limit of 0 is none")
	}
}

func TestH11QuietKeysAreForgotten(t *testing.T) {
	t.Parallel()
	l := New(5)
	now := time.Unix(1_000_000, 0)
	for i := range 1000 {
		l.Take(fmt.Sprint("k", i), now)
	}
	l.Take("late", now.Add(30*time.Second))
	l.Take("later", now.Add(61*time.Second))
	if len(l.keys) != 2 {
		t.Errorf("%d keys are remembered", len(l.keys))
	}
}

// In any window at most limit requests pass, and anyone who waits as long as told
// passes.
func TestH11LimiterProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		l := New(limit)
		now := time.Unix(1_000_000, 0)
		var passed []time.Time
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 25_000).Draw(t, "gap")) * time.Millisecond)
			v, _ := l.Take("k", now)
			if v.Wait > 0 && rapid.Bool().Draw(t, "patient") {
				now = now.Add(v.Wait)
				if v, _ = l.Take("k", now); v.Wait > 0 {
					t.Fatalf("waited as told and was refused again: %+v", v)
				}
			}
			if v.Wait > 0 {
				continue
			}
			if v.Remaining < 0 || v.Remaining >= limit || v.Reset <= 0 || v.Reset > time.Minute {
				t.Fatalf("%+v", v)
			}
			passed = append(passed, now)
			if n := len(passed); n > limit && now.Sub(passed[n-1-limit]) < time.Minute {
				t.Fatalf("%d requests within %v", limit+1, now.Sub(passed[n-1-limit]))
			}
		}
	})
}
