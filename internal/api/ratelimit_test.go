package api

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/rate"
)

func TestH11TooManyRequestsTellHowLongToWait(t *testing.T) {
	t.Parallel()
	clock := time.Unix(1_000_000, 0)
	b := newServer(t, func(d *Deps) { d.Rate = rate.New(2); d.Now = func() time.Time { return clock } })
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
