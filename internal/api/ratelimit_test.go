package api

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
)

func TestH11AtMostSoManyInAnyWindow(t *testing.T) {
	t.Parallel()
	l := newLimiter(3)
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
		v, on := l.take("k", base.Add(tc.at))
		if !on || v.remaining != tc.remaining || v.wait != tc.wait {
			t.Errorf("at %v: %+v, want remaining %d, wait %v", tc.at, v, tc.remaining, tc.wait)
		}
	}
}

func TestH11KeysDoNotShareALimit(t *testing.T) {
	t.Parallel()
	l := newLimiter(1)
	now := time.Unix(1_000_000, 0)
	for _, key := range []string{"a", "b", "c"} {
		if v, _ := l.take(key, now); v.wait != 0 {
			t.Errorf("%s has to wait %v", key, v.wait)
		}
	}
	if v, _ := l.take("a", now); v.wait != time.Minute {
		t.Errorf("a waits %v", v.wait)
	}
}

func TestH11NoLimit(t *testing.T) {
	t.Parallel()
	l := newLimiter(0)
	if _, on := l.take("k", time.Unix(0, 0)); on || len(l.keys) != 0 {
		t.Error("a limit of 0 is none")
	}
}

func TestH11QuietKeysAreForgotten(t *testing.T) {
	t.Parallel()
	l := newLimiter(5)
	now := time.Unix(1_000_000, 0)
	for i := range 1000 {
		l.take(fmt.Sprint("k", i), now)
	}
	l.take("late", now.Add(30*time.Second))
	l.take("later", now.Add(61*time.Second))
	if len(l.keys) != 2 {
		t.Errorf("%d keys are remembered", len(l.keys))
	}
}

// In any window at most limit requests pass, and whoever waits as long as told
// passes.
func TestH11LimiterProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		l := newLimiter(limit)
		now := time.Unix(1_000_000, 0)
		var passed []time.Time
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 25_000).Draw(t, "gap")) * time.Millisecond)
			v, _ := l.take("k", now)
			if v.wait > 0 && rapid.Bool().Draw(t, "patient") {
				now = now.Add(v.wait)
				if v, _ = l.take("k", now); v.wait > 0 {
					t.Fatalf("waited as told and was refused again: %+v", v)
				}
			}
			if v.wait > 0 {
				continue
			}
			if v.remaining < 0 || v.remaining >= limit || v.reset <= 0 || v.reset > time.Minute {
				t.Fatalf("%+v", v)
			}
			passed = append(passed, now)
			if n := len(passed); n > limit && now.Sub(passed[n-1-limit]) < time.Minute {
				t.Fatalf("%d requests within %v", limit+1, now.Sub(passed[n-1-limit]))
			}
		}
	})
}

func TestH11TooManyRequestsTellHowLongToWait(t *testing.T) {
	t.Parallel()
	clock := time.Unix(1_000_000, 0)
	b := newServer(t, func(d *Deps) { d.RateLimit = 2; d.Now = func() time.Time { return clock } })
	sc := scenario{method: get, path: "/api/v1/whoami", as: lineshaft.RoleViewer, status: 200}
	for want := 1; want >= 0; want-- {
		w := b.check(t, sc)
		if w.Header().Get("Ratelimit-Limit") != "2" || w.Header().Get("Ratelimit-Remaining") != strconv.Itoa(want) {
			t.Errorf("headers %v", w.Header())
		}
	}
	clock = clock.Add(500 * time.Millisecond)
	sc.status, sc.code = http.StatusTooManyRequests, lineshaft.CodeUnavailable
	w := b.check(t, sc)
	if w.Header().Get("Retry-After") != "60" || w.Header().Get("Ratelimit-Remaining") != "0" || w.Header().Get("Ratelimit-Reset") != "60" {
		t.Errorf("headers %v", w.Header())
	}
	b.check(t, scenario{method: get, path: "/api/v1/whoami", as: lineshaft.RoleMember, status: 200, has: []string{`"requests_per_minute":2`}})
	b.check(t, scenario{method: get, path: "/healthz", status: 200})
	clock = clock.Add(60 * time.Second)
	sc.status, sc.code = http.StatusOK, ""
	b.check(t, sc)
}
