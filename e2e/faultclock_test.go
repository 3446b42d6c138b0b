package e2e

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/lineshaft/lineshaft/e2e/faults/clock"
)

// jumpClock makes the date of one process wrong by a number of seconds, from now on.
func jumpClock(t *testing.T, pid, seconds int) {
	t.Helper()
	if err := clock.Jump(t.Context(), pid, seconds); err != nil {
		t.Fatal(err)
	}
}

// canJump says whether jumpClock works here. A full test must run where it does.
func canJump(t *testing.T) bool {
	t.Helper()
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		return true
	}
	reason := fmt.Sprintf("the clock of a process can be changed on linux/amd64 only, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	if os.Getenv("LINESHAFT_TEST_FULL") != "" {
		t.Fatal(reason)
	}
	t.Log(reason + ": that fault is left out")
	return false
}
