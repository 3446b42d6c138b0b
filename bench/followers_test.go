package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestB8FollowerReadsFrames(t *testing.T) {
	t.Parallel()
	said := time.Unix(1_700_000_000, 0)
	now := func() time.Time { return said.Add(5 * time.Millisecond) }
	frame := func(sequence int) []string {
		return []string{fmt.Sprintf("id: %d", sequence), "event: output", fmt.Sprintf(`data: {"sequence":%d,"data":{"stream":"stdout","text":"%d lorem"}}`, sequence, said.UnixNano()), ""}
	}
	for _, tc := range []struct {
		name      string
		sequences []int
		wrong     int
	}{
		{"all", []int{1, 2, 3}, 0},
		{"one is missing", []int{1, 3}, 1},
		{"one comes twice", []int{1, 2, 2, 3}, 1},
		{"two are swapped", []int{2, 1, 3}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var f follower
			for _, sequence := range tc.sequences {
				for _, line := range frame(sequence) {
					f.line([]byte(line), now)
				}
			}
			equal(t, "wrong", f.wrong, tc.wrong)
			equal(t, "last", f.last, 3)
			equal(t, "delays", len(f.delays), len(tc.sequences))
			equal(t, "delay", f.delays[0], 5*time.Millisecond)
		})
	}
}

func TestB8FollowerPassesOverOtherLines(t *testing.T) {
	t.Parallel()
	var f follower
	for _, line := range []string{
		"", ": heartbeat", "retry: 1000", "event: state", `data: {"data":{"to":"QUEUED"}}`, `data: {"data":{"text":"hello there"}}`,
		`data: {"data":{"text":"1700000000000000000"}}`, `{"text":"1700000000000000000 x"}`,
	} {
		f.line([]byte(line), time.Now)
	}
	equal(t, "delays", len(f.delays), 0)
	equal(t, "wrong", f.wrong, 0)
	f.line([]byte("id: x"), time.Now)
	equal(t, "wrong", f.wrong, 1)
}

func TestB8Summary(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_700_000_000, 0)
	found := summarise([]*follower{
		{last: 10, delays: millis(1, 2), began: began, ended: began.Add(time.Second)},
		{last: 8, wrong: 1, delays: millis(3, 4), began: began, ended: began.Add(2 * time.Second)},
	})
	equal(t, "summary", found, followFound{Events: 10, Lost: 3, P50: 2 * time.Millisecond, P99: 4 * time.Millisecond, Took: 2 * time.Second})
	equal(t, "words", found.describe(2), "3 of 20 events lost; 8.50/s arrived")
}

func TestB8LoadGenerator(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key" || r.Header.Get("Accept") != "text/event-stream" || r.URL.Path != "/api/v1/agent/runs/run/events" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		for i := range 3 {
			fmt.Fprintf(w, "id: %d\nevent: output\ndata: {\"data\":{\"text\":\"%d lorem\"}}\n\n", i+1, time.Now().UnixNano())
		}
	}))
	t.Cleanup(server.Close)
	order := followOrder{URL: server.URL, Key: "key", RunID: "run", Followers: 3}
	input, err := json.Marshal(order)
	must(t, err)
	var out bytes.Buffer
	must(t, followChild(t.Context(), bytes.NewReader(input), &out))
	answers := json.NewDecoder(&out)
	var connected int
	var found followFound
	must(t, answers.Decode(&connected))
	must(t, answers.Decode(&found))
	equal(t, "connected", connected, 3)
	equal(t, "events", found.Events, 3)
	equal(t, "lost", found.Lost, 0)

	order.Key = "wrong"
	input, err = json.Marshal(order)
	must(t, err)
	if err := followChild(t.Context(), bytes.NewReader(input), &out); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("got %v", err)
	}
}

func TestB8Rows(t *testing.T) {
	t.Parallel()
	round := func(followers, lost int, busy int64) followRound {
		return followRound{Followers: followers, Busy: busy, Found: followFound{
			Events: 100, Lost: lost, P50: time.Millisecond, P99: time.Duration(followers) * time.Millisecond, Took: time.Second,
		}}
	}
	s := testSession(t, 1)
	s.followRows(sqlite, []followRound{round(1, 0, 30e6), round(100, 2, 35e6), round(1000, 0, 30e6+999*followerBar), round(1, 0, 30e6)})
	equal(t, "rows", len(s.report.Rows), 4)
	for i, want := range []verdict{met, missed, met, met} {
		equal(t, s.report.Rows[i].What, s.report.Rows[i].Verdict, want)
	}
	equal(t, "ratio", s.report.Rows[2].Ratio, 1000.0)
	equal(t, "memory", s.report.Rows[3].Measured, figure{40, kilobytes})

	s = testSession(t, 1)
	s.followRows(sqlite, []followRound{round(1, 0, 30e6), round(11, 0, 31e6), round(1, 0, 30e6)})
	equal(t, "memory", s.report.Rows[2].Verdict, missed)
}

// TestB8RoundOnSQLite is the whole way of the benchmark with few followers: server
// and followers in processes of their own.
func TestB8RoundOnSQLite(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.01)
	round, err := s.followRound(t.Context(), sqlite, 3)
	must(t, err)
	equal(t, "lost", round.Found.Lost, 0)
	if round.Found.Events < 2*followRate || round.Found.P99 <= 0 || round.Alone <= 0 || round.Quiet <= 0 || round.Busy <= 0 {
		t.Errorf("found %+v", round)
	}
}
