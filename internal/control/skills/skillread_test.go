package skills

import (
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// A run whose repository is not to be asked yet is not read again, however often the job is
// woken; it is when the repository may be asked, and is forgotten when it waits no more.
func TestX8BlockedRunsAreLeftAlone(t *testing.T) {
	t.Parallel()
	var k Reader
	silent, now := lineshaft.Repository{Owner: "acme", Name: "tools"}, time.Unix(1000, 0)
	if k.Blocked("run", now) {
		t.Error("blocked before anything was tried")
	}
	k.Tried(silent, false, now)
	k.Block("run", silent)
	for _, test := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {time.Second - 1, true}, {time.Second, false}} {
		if got := k.Blocked("run", now.Add(test.after)); got != test.want {
			t.Errorf("after %s: got %v, want %v", test.after, got, test.want)
		}
	}
	k.ForgetBlocked(map[string]bool{"run": true})
	if !k.Blocked("run", now) {
		t.Error("forgotten while it waits")
	}
	k.ForgetBlocked(nil)
	if k.Blocked("run", now) || len(k.silent) != 0 {
		t.Error("not forgotten")
	}
	k.Block("run", silent)
	if k.Tried(silent, true, now); k.Blocked("run", now) {
		t.Error("blocked though the repository answers")
	}
}
