package overview

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/control/overview"
)

func TestI2NumbersStandBesideThoseOfBefore(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 2, 3, 4, 0, 0, 0, time.UTC)
	view := &overview.Overview{At: at, Range: overview.LastDay, FactoryUID: "f1"}
	view.Total = overview.Period{From: at.Add(-24 * time.Hour), Until: at, Succeeded: 3, Failed: 1}
	for _, one := range tiles(view) {
		if one.Before != "" || one.BeforeHref != "" {
			t.Errorf("compared with nothing: %+v", one)
		}
		if !strings.Contains(one.Href, "factory=f1") {
			t.Errorf("%s leads to %q", one.Name, one.Href)
		}
	}
	view.Before = overview.Period{From: at.Add(-48 * time.Hour), Until: at.Add(-24 * time.Hour), Succeeded: 1, Errored: 1, Cancelled: 5}
	view.Before.Work = overview.Latency{Count: 2, P50: 90 * time.Second}
	got := map[string]string{}
	for _, one := range tiles(view) {
		got[one.Name] = one.Before
		if one.Before != "" && !strings.Contains(one.BeforeHref, "factory=f1&since=2031-02-01T04%3A00%3A00Z&sort=updated&state=") {
			t.Errorf("%s before leads to %q", one.Name, one.BeforeHref)
		}
	}
	for name, want := range map[string]string{
		"Ended": "7", "Success rate": "50%", "Median duration": "90 s", "Median to start": "", "Running": "", "Queued": "",
	} {
		if got[name] != want {
			t.Errorf("%s before: %q, want %q", name, got[name], want)
		}
	}
}
