package app_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

// doctor says how runs get the files of prepared environments, and why not in a better way.
func TestX14DoctorOfPreparedEnvironments(t *testing.T) {
	t.Parallel()
	says := func(change func(*config.Config)) string {
		cfg := settings(t)
		change(&cfg)
		return check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "prepared environments").Detail
	}
	if got := says(func(c *config.Config) { c.EnvironmentCache = 0 }); !strings.Contains(got, "--environment-cache is 0") {
		t.Error(got)
	}
	if got := says(func(c *config.Config) { c.Isolation = "none" }); !strings.Contains(got, "without isolation, nor in pods: --isolation bubblewrap") {
		t.Error(got)
	}
	got := says(func(*config.Config) {})
	best := got == "each run gets its files by overlay"
	other := strings.Contains(got, "by reflink (no overlay: ") || strings.Contains(got, "by copy (no overlay: ")
	if best == other && !strings.Contains(got, "without isolation") {
		t.Error(got)
	}
}
