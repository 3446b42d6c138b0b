package page

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestTimesAreToldAsPeopleDo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for offset, want := range map[time.Duration]string{ //nolint:exhaustive // some of many
		0: "just now", -4 * time.Second: "just now", -59 * time.Second: "59 s ago", -time.Minute: "1 min ago",
		-59*time.Minute - 59*time.Second: "59 min ago", -time.Hour: "1 h ago", -47 * time.Hour: "47 h ago", -48 * time.Hour: "2 days ago",
		80 * time.Second: "in 1 min", 3 * 24 * time.Hour: "in 3 days", 90*24*time.Hour - time.Minute: "in 90 days",
		time.Hour - time.Second: "in 1 h", 48*time.Hour - time.Second: "in 2 days", 59 * time.Second: "in 59 s",
	} {
		if got := AgoText(now.Add(offset), now); got != want {
			t.Errorf("%v: %q, want %q", offset, got, want)
		}
	}
	if got := ago(time.Time{}, now); got != "–" {
		t.Errorf("no time: %q", got)
	}
	if got := string(ago(now, now)); !strings.Contains(got, `datetime="2026-01-02T12:00:00Z"`) || !strings.Contains(got, `title="2026-01-02 12:00:00 UTC"`) {
		t.Errorf("now: %q", got)
	}
}

func TestDurationsNumbersAndMoney(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{ //nolint:exhaustive // some of many
		0: "–", 523 * time.Microsecond: "< 1 ms", 250 * time.Millisecond: "250 ms", 1500 * time.Millisecond: "1.5 s", 42 * time.Second: "42 s",
		62 * time.Second: "1 min 02 s", 2*time.Hour + 5*time.Minute: "2 h 05 min",
	} {
		if got := Took(d); got != want {
			t.Errorf("took %v: %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := Count(n); got != want {
			t.Errorf("count %d: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 256 << 10: "256 KiB", 5 << 20: "5 MiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("bytes %d: %q, want %q", n, got, want)
		}
	}
	for micros, want := range map[int64]string{0: "$0.00", 1500: "$0.0015", 1_234_567: "$1.23"} {
		if got := Dollars(micros); got != want {
			t.Errorf("dollars %d: %q, want %q", micros, got, want)
		}
	}
	for state, want := range map[lineshaft.RunState]string{lineshaft.InProgress: "In progress", lineshaft.Succeeded: "Succeeded", "": ""} { //nolint:exhaustive // some of many
		if got := StateName(state); got != want {
			t.Errorf("state %s: %q", state, got)
		}
	}
}

func TestPartsAreCalledWithPairs(t *testing.T) {
	t.Parallel()
	if got, err := dict("A", 1, "B", 2); err != nil || len(got) != 2 || got["B"] != 2 {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range [][]any{{"A"}, {1, 2}} {
		if _, err := dict(bad...); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	if _, err := icon("none"); err == nil {
		t.Error("an icon that is not there is drawn")
	}
}
