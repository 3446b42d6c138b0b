package cron_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/cron"
)

func mustParse(tb testing.TB, expression, zone string) *cron.Schedule {
	tb.Helper()
	s, err := cron.Parse(lineshaft.Timing{Cron: expression, Timezone: zone})
	if err != nil {
		tb.Fatalf("Parse(%q, %q): %v", expression, zone, err)
	}
	return s
}

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}

func TestF6ParseAccepts(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{ // the first slot after 2026-01-01T00:00Z, a Thursday
		"0 9 * * 1-5":              "2026-01-01T09:00",
		"0 0 ? * 5":                "2026-01-02T00:00", // ? is *
		"?/15 ? ? ? ?":             "2026-01-01T00:15",
		"  0\t9 * *  MON-FRI ":     "2026-01-01T09:00",
		"*/15 * * * *":             "2026-01-01T00:15",
		"5/20 * * * *":             "2026-01-01T00:05",
		"59 23 31 dec *":           "2026-12-31T23:59",
		"0 0 29 2 *":               "2028-02-29T00:00",
		"0 0 29 FEB */6":           "2032-02-29T00:00", // narrows: a Sunday
		"0 0 13 * 5":               "2026-01-02T00:00", // either
		"0 0 */31 * 5":             "2026-05-01T00:00", // a star narrows
		"0 0 * * 7":                "2026-01-04T00:00",
		"0 0 * * SUN":              "2026-01-04T00:00",
		"0 0 * * SAT-SUN":          "2026-01-03T00:00",
		"0 0 * * 6-7/1":            "2026-01-03T00:00",
		"0 0 * * 7-7":              "2026-01-04T00:00",
		"0 0 31 2 MON":             "2026-02-02T00:00", // either
		"1,2,3-5/2,30 0-3/3 * * *": "2026-01-01T00:01",
		"0 0 1 JAN,JUL *":          "2026-07-01T00:00",
		"@hourly":                  "2026-01-01T01:00",
		"@Daily":                   "2026-01-02T00:00",
		"@midnight":                "2026-01-02T00:00",
		"@weekly":                  "2026-01-04T00:00",
		"@monthly":                 "2026-02-01T00:00",
		"@yearly":                  "2027-01-01T00:00",
		"@annually":                "2027-01-01T00:00",
		"@every 1h30m":             "2026-01-01T01:30:00Z",
		"@every   90s":             "2026-01-01T00:01:30Z",
		"@every 8760h":             "2026-12-18T00:00:00Z", // 57 years of 365 days after 1970
	} {
		slot, ok := mustParse(t, expression, "").Next(instant(t, "2026-01-01T00:00:00Z"))
		if !ok || slot.Name != want {
			t.Errorf("%q fires first at %q, want %q", expression, slot.Name, want)
		}
	}
}

func TestF6ParseRefuses(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"":                      "five fields",
		"0 9 * *":               "has 4",
		"0 0 9 * * 1":           "has 6",
		"0 0 9 * * 1 2026":      "has 7",
		"0 9 * * 1 2026":        "has 6",
		"TZ=UTC 0 9 * * *":      "timezone",
		"CRON_TZ=UTC 0 9 * * *": "timezone",
		"60 * * * *":            "0 to 59",
		"* 24 * * *":            "0 to 23",
		"* * 0 * *":             "1 to 31",
		"* * 32 * *":            "1 to 31",
		"* * * 0 *":             "or JAN",
		"* * * 13 *":            "1 to 12",
		"* * * * 8":             "0 to 7",
		"* * * * FUN":           "or SUN",
		"* * * MON *":           "or JAN",
		"JAN * * * *":           "0 to 59",
		"*/0 * * * *":           "step",
		"*/60 * * * *":          "@every",
		"70/5 * * * *":          "0 to 59",
		"5-1 * * * *":           "ends before it begins",
		"0 0 * * FRI-MON":       "FRI-7,0-MON",
		"1,,2 * * * *":          "cannot be read",
		", * * * *":             "cannot be read",
		"-1 * * * *":            "cannot be read",
		"1-2-3 * * * *":         "cannot be read",
		"1/2/3 * * * *":         "cannot be read",
		"*-5 * * * *":           "cannot be read",
		"?-5 * * * *":           "cannot be read",
		"0 0 L * *":             "cannot be read",
		"0 0 15W * *":           "cannot be read",
		"0 0 * * 5#2":           "cannot be read",
		"0 0 ?? * 1":            "cannot be read",
		"0 0 31 2 *":            "never fires",
		"0 0 30-31 FEB *":       "never fires",
		"0 0 31 4,6,9,11 */2":   "never fires",
		"@reboot":               "not one of @hourly",
		"@everysecond":          "after @every",
		"@5minutes":             "not one of",
		"@every":                "after @every",
		"@every1h":              "after @every",
		"@every x":              "after @every",
		"@every 59s":            "1m to 8760h",
		"@every -1h":            "1m to 8760h",
		"@every 8761h":          "1m to 8760h",
		"@every 1m500ms":        "whole seconds",
	} {
		refused(t, lineshaft.Timing{Cron: expression}, "cron", want)
	}
}

func TestF6TimeZones(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"", "UTC", "Europe/Berlin", "Asia/Kathmandu", "Etc/GMT+3"} {
		mustParse(t, "@daily", zone)
	}
	for zone, want := range map[string]string{
		"Europe/Berln": "did you mean Europe/Berlin", "Berlin": "did you mean Europe/Berlin", "new york": "did you mean America/New_York",
		"PST": "America/Los_Angeles", "cest": "Europe/Berlin", "Local": "such as Europe/Berlin", "localtime": "for UTC",
		"right/Europe/Berlin": "is not a time zone", "../etc/passwd": "for UTC", "/etc/localtime": "is not a time zone",
		"zzzzzzzzzzzzzzzzzzzzzzz": "for UTC", "\x00": "is not a time zone", "Europe": "is not a time zone",
	} {
		refused(t, lineshaft.Timing{Cron: "@daily", Timezone: zone}, "timezone", want)
	}
}

func refused(tb testing.TB, timing lineshaft.Timing, field, want string) {
	tb.Helper()
	_, err := cron.Parse(timing)
	public, ok := errors.AsType[*lineshaft.Error](err)
	if !ok || public.Code != lineshaft.CodeInvalidRequest || public.Field != field || !strings.Contains(public.Message, want) {
		tb.Errorf("Parse(%+v) gives %v, want an error of %s with %q", timing, err, field, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, expression := range []string{"0 9 * * 1-5", "*/5 0-23/2 1,15 JAN-MAR SUN", "@every 1h", "@daily", "0 0 29 2 */6", "99 * * * *"} {
		f.Add(expression, "Europe/Berlin")
	}
	f.Fuzz(func(t *testing.T, expression, zone string) {
		after := instant(t, "2026-03-28T12:00:00Z")
		s, err := cron.Parse(lineshaft.Timing{Cron: expression, Timezone: zone})
		if err != nil {
			if public, ok := errors.AsType[*lineshaft.Error](err); !ok || public.Field != "cron" && public.Field != "timezone" {
				t.Fatalf("%v says not what to fix", err)
			}
			return
		}
		// What is accepted fires, later each time, and never under the same name.
		for last := ""; last < "###"; last += "#" {
			slot, ok := s.Next(after)
			if !ok || !slot.At.After(after) || slot.Name == "" {
				t.Fatalf("Parse(%q, %q) took what does not fire after %s: %+v", expression, zone, after, slot)
			}
			if again, ok := s.Last(after, slot.At); !ok || again.Name != slot.Name {
				t.Fatalf("the last slot until %v is %v", slot, again)
			}
			after = slot.At
		}
	})
}
