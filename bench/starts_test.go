package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

func event(t *testing.T, kind client.EventType, at time.Time, data any) client.Event {
	t.Helper()
	text, err := json.Marshal(data)
	must(t, err)
	return client.Event{Type: kind, Time: at, Data: text}
}

func TestB5SampleTakesItsEvents(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_700_000_000, 0)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	sample := startSample{Sent: began, Answered: at(6)}
	var printed strings.Builder
	for _, e := range []client.Event{
		event(t, client.EventState, at(2), client.StateData{To: client.StateQueued}),
		event(t, client.EventMessage, at(2), client.MessageData{Text: "12"}),
		event(t, client.EventState, at(5), client.StateData{To: client.StateClaimed}),
		event(t, client.EventOutput, at(30), client.OutputData{Text: "17000000"}),
		event(t, client.EventOutput, at(30), client.OutputData{Text: "00020000000\n"}),
		event(t, client.EventState, at(40), client.StateData{To: client.StateSucceeded}),
	} {
		must(t, sample.take(e, &printed))
	}
	var err error
	sample.Running, err = readClock(printed.String())
	must(t, err)
	found := startsFound{Through: []startSample{sample}}
	equal(t, "total", found.total()[0], 20*time.Millisecond)
	equal(t, "until queued", found.p50((*startSample).untilQueued), 2*time.Millisecond)
	equal(t, "until claimed", found.p50((*startSample).untilClaimed), 3*time.Millisecond)
	equal(t, "until running", found.p50((*startSample).untilRunning), 15*time.Millisecond)
	equal(t, "until answered", found.p50((*startSample).untilAnswered), 6*time.Millisecond)
}

func TestB5SampleOfARunThatFailed(t *testing.T) {
	t.Parallel()
	var sample startSample
	err := sample.take(event(t, client.EventState, time.Time{}, client.StateData{To: client.StateFailed, Message: "no date here"}), &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "no date here") {
		t.Errorf("got %v", err)
	}
	if _, err := readClock("sh: date: not found"); err == nil {
		t.Error("a message was taken for a time")
	}
}

func TestB5Rows(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		through int
		want    verdict
	}{
		{"fast enough", 55, met},
		{"too slow", 56, missed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := testSession(t, 1)
			began := time.Unix(1_700_000_000, 0)
			found := startsFound{Sandbox: "none"}
			for range 10 {
				found.Through = append(found.Through, startSample{Sent: began, Running: began.Add(time.Duration(tc.through) * time.Millisecond)})
				found.Direct = append(found.Direct, 30*time.Millisecond)
			}
			s.startRows(sqlite, found)
			equal(t, "rows", len(s.report.Rows), 2)
			equal(t, "p50", s.report.Rows[0].Verdict, shown)
			equal(t, "p99", s.report.Rows[1].Verdict, tc.want)
			equal(t, "anchor", s.report.Rows[1].Anchor, figure{30, milliseconds})
			equal(t, "warnings", len(s.report.Warnings), 0)
		})
	}
}

// TestB5StartsOnSQLite is the whole way of the benchmark with few starts: server,
// load generator and agents in processes of their own.
func TestB5StartsOnSQLite(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.01)
	s.opts.cpuProfile = t.TempDir() + "/p" // then this program is also the server
	must(t, benchStarts(t.Context(), s))
	equal(t, "rows", len(s.report.Rows), 2)
	found, ok := s.report.Rows[1].Detail.(startsFound)
	if !ok || len(found.Through) != 4 || len(found.Direct) != 4 {
		t.Fatalf("the detail is %+v", s.report.Rows[1].Detail)
	}
	for i, sample := range found.Through {
		for name, part := range map[string]time.Duration{
			"until queued": sample.untilQueued(), "until claimed": sample.untilClaimed(), "until running": sample.untilRunning(), "direct": found.Direct[i],
		} {
			if part <= 0 || part > runWithin {
				t.Errorf("sample %d: %s is %s", i, name, part)
			}
		}
	}
}
