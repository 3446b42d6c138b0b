package cron_test

import (
	"slices"
	"testing"
	"time"
)

// TestF6DaylightSaving is the table of docs/schedules.md.
func TestF6DaylightSaving(t *testing.T) {
	t.Parallel()
	spring, autumn := "2026-03-28T23:00:00Z", "2026-10-24T22:00:00Z" // midnights of Berlin
	cases := []struct {
		expression, zone, after string
		want                    []string
		at                      []string
	}{
		{"30 2 * * *", "Europe/Berlin", spring, []string{"2026-03-29T03:00", "2026-03-30T02:30"}, []string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		{"*/20 2 * * *", "Europe/Berlin", spring, []string{"2026-03-29T03:00", "2026-03-30T02:00"}, nil},
		{"0 2,3 * * *", "Europe/Berlin", spring, []string{"2026-03-29T03:00", "2026-03-30T02:00"}, []string{"2026-03-29T01:00:00Z"}},
		{"30 2,3 * * *", "Europe/Berlin", spring, []string{"2026-03-29T03:00", "2026-03-29T03:30", "2026-03-30T02:30"}, nil},
		{"30 2 29 3 *", "Europe/Berlin", spring, []string{"2026-03-29T03:00", "2027-03-29T02:30"}, nil},
		{"30 * * * *", "Europe/Berlin", spring, []string{"2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T03:30"}, nil},
		{"30 2 * * *", "Europe/Berlin", autumn, []string{"2026-10-25T02:30", "2026-10-26T02:30"}, []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{
			"30 * * * *", "Europe/Berlin", autumn,
			[]string{"2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30", "2026-10-25T02:30+01:00", "2026-10-25T03:30"},
			[]string{"2026-10-24T22:30:00Z", "2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"},
		},
		{"30 0-23 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", []string{"2026-10-25T02:30+01:00"}, nil},
		{"30 2,4 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", []string{"2026-10-25T04:30"}, nil},
		{"30 2,4 * * *", "Europe/Berlin", "2026-10-25T01:15:00Z", []string{"2026-10-25T04:30"}, nil},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-02T20:00:00Z", []string{"2026-10-04T02:30", "2026-10-05T02:15"}, []string{"2026-10-03T15:30:00Z"}},
		{"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", []string{"2026-04-05T01:45", "2026-04-06T01:45"}, []string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
		{"45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:00:00Z", []string{"2026-04-05T01:45", "2026-04-05T01:45+10:30", "2026-04-05T02:45"}, nil},
		{"0 9 30 12 *", "Pacific/Apia", "2011-12-29T22:00:00Z", []string{"2011-12-31T00:00", "2012-12-30T09:00"}, []string{"2011-12-30T10:00:00Z"}}, // a whole day skipped
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", []string{"2018-11-04T01:00", "2018-11-05T00:00"}, nil},                           // midnight skipped
		{"@every 1h", "Europe/Berlin", spring, []string{"2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"}, nil},
	}
	for _, c := range cases {
		s, after := mustParse(t, c.expression, c.zone), instant(t, c.after)
		var names []string
		for i := range c.want {
			slot, ok := s.Next(after)
			if !ok {
				t.Fatalf("%+v ends at %s", c, after)
			}
			names = append(names, slot.Name)
			if i < len(c.at) && !slot.At.Equal(instant(t, c.at[i])) {
				t.Errorf("%q in %s: slot %s is at %s, want %s", c.expression, c.zone, slot.Name, slot.At.UTC(), c.at[i])
			}
			after = slot.At
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%q in %s after %s: %q, want %q", c.expression, c.zone, c.after, names, c.want)
		}
	}
}

func TestF6EveryCountsFromItsAnchor(t *testing.T) {
	t.Parallel()
	anchor := instant(t, "2026-03-28T23:17:05Z").Add(300 * time.Millisecond)
	s := mustParse(t, "@every 45m", "Europe/Berlin").Anchored(anchor)
	var names []string
	for after := anchor.Add(-24 * time.Hour); len(names) < 4; {
		slot, _ := s.Next(after)
		names, after = append(names, slot.Name), slot.At
	}
	want := []string{"2026-03-29T00:02:05Z", "2026-03-29T00:47:05Z", "2026-03-29T01:32:05Z", "2026-03-29T02:17:05Z"}
	if !slices.Equal(names, want) {
		t.Errorf("fires at %q, want %q", names, want)
	}
	if slot, ok := s.Last(anchor, anchor.Add(1000*time.Hour)); !ok || slot.Name != "2026-05-09T15:02:05Z" {
		t.Errorf("the last slot is %v", slot)
	}
	if s.Every() != 45*time.Minute || s.Zone().String() != "Europe/Berlin" {
		t.Errorf("every %s in %s", s.Every(), s.Zone())
	}
	if daily := mustParse(t, "@daily", ""); daily.Anchored(anchor) != daily || daily.Every() != 0 {
		t.Error("an anchor changed what has none")
	}
}

func TestF6LastFindsTheNewest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, after, until, want string }{
		{"* * * * *", "2016-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:00"},
		{"0 0 1 1 *", "2016-01-01T00:00:00Z", "2025-12-31T00:00:00Z", "2025-01-01T00:00"},
		{"0 0 29 2 */6", "1990-01-01T00:00:00Z", "2031-12-31T00:00:00Z", "2020-02-29T00:00"},
		{"0 0 29 2 */6", "2021-01-01T00:00:00Z", "2031-12-31T00:00:00Z", ""},
		{"0 9 * * *", "2026-01-01T09:00:00Z", "2026-01-02T08:59:59Z", ""},
		{"0 9 * * *", "2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z", "2026-01-02T09:00"},
	} {
		slot, ok := mustParse(t, c.expression, "").Last(instant(t, c.after), instant(t, c.until))
		if ok != (c.want != "") || slot.Name != c.want {
			t.Errorf("%+v: %q", c, slot.Name)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		mustParse(b, "*/5 9-17 * * MON-FRI", "Europe/Berlin")
	}
}

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct{ name, expression, zone string }{
		{"minutely", "* * * * *", "UTC"},
		{"daily", "30 9 * * 1-5", "Europe/Berlin"},
		{"hourly", "@hourly", "America/New_York"},
		{"leap", "0 0 29 2 */6", "Europe/Berlin"},
		{"every", "@every 90m", ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, after := mustParse(b, c.expression, c.zone), instant(b, "2026-01-01T00:00:00Z")
			b.ReportAllocs()
			for b.Loop() {
				s.Next(after)
			}
		})
	}
}
