package app

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control/notify"
)

func TestI5DoctorTellsOfLateCallbacks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		seen  notify.CallbackBacklog
		state config.CheckState
		says  []string
	}{
		{notify.CallbackBacklog{Lag: 30 * time.Second, Pending: 3}, config.CheckOK, []string{"3 waiting"}},
		{notify.CallbackBacklog{Lag: time.Hour}, config.CheckWarning, []string{"1h0m0s", "this server's log"}},
		{notify.CallbackBacklog{Lag: time.Hour, HeldBy: "process 7 in database shop"}, config.CheckWarning, []string{"process 7 in database shop", "pg_terminate_backend"}},
	} {
		check := checkCallbacks(tc.seen)
		for _, want := range tc.says {
			if !strings.Contains(check.Detail+check.Fix, want) || check.State != tc.state {
				t.Errorf("%+v does not say %q", check, want)
			}
		}
	}
}
