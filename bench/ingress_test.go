package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBodiesHaveTheirSize(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body []byte
		size int
	}{"issue": {issueBody(), smallBody}, "pull request": {pullBody(), largeBody}} {
		if n := len(tc.body); n > tc.size || n < tc.size-tc.size/20 {
			t.Errorf("the body of the %s has %d bytes", name, n)
		}
	}
	equal(t, "ids in the large body", strings.Count(string(pullBody()), bodyID), 1)
}

// TestB1AndB2OnSQLite is the whole way of the benchmarks, short: anchors, a server
// of this program's and the load generator in processes of their own.
func TestB1AndB2OnSQLite(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		c    ingressCase
		rows int
	}{
		{"B1", ingressCase{id: "B1", what: "ingress", anchor: anchorOne, filter: filterMisses, bar: 0.7, slower: 2}, 4},
		{"B2", ingressCase{id: "B2", what: "ingress", anchor: anchorTwo, filter: filterMatches, bar: 0.6, sustained: 0.3, runs: true}, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := testSession(t, 0.001)
			s.opts.cpuProfile = filepath.Join(t.TempDir(), "p") // then this program is also the server
			must(t, s.ingress(t.Context(), tc.c))
			equal(t, "rows", len(s.report.Rows), tc.rows)
			found, ok := s.report.Rows[0].Detail.(ingressFound)
			if !ok || len(found.Turns) != 2 || len(found.Turns[1].Anchor) != ingressRounds || len(found.Null) != 2 {
				t.Fatalf("the detail is %+v", s.report.Rows[0].Detail)
			}
			if hit := middle(found.Turns[0].Ours); hit.Rate <= 0 || hit.P99 < hit.P50 || hit.ServerCPU <= 0 || hit.Written <= 0 {
				t.Errorf("found %+v", hit)
			}
		})
	}
}

// TestB1LogIsCompared makes sure that a delivery without its answer is noticed, and
// an answer without its delivery.
func TestB1LogIsCompared(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	made, err := s.makeHooks(t.Context(), sqlite, "compared", hookPlan{hooks: ingressPerFactory + 1, filter: filterMisses, history: pastRows + 3})
	must(t, err)
	equal(t, "targets", len(made.targets), ingressPerFactory+1)
	must(t, made.check(t.Context(), 0, 0))
	for name, err := range map[string]error{"one more": made.check(t.Context(), 1, 0), "a run more": made.check(t.Context(), 0, 1)} {
		if err == nil {
			t.Errorf("%s was not noticed", name)
		}
	}
}

func TestB1Rows(t *testing.T) {
	t.Parallel()
	hit := func(connections int, rate float64, p99 time.Duration) hitFound {
		return hitFound{Connections: connections, Rate: rate, P50: time.Millisecond, P99: p99, ServerCPU: 50, Written: 2000}
	}
	c := ingressCase{id: "B1", what: "ingress", anchor: anchorOne, bar: 0.7, slower: 2}
	for _, tc := range []struct {
		name       string
		rate       float64
		p99        time.Duration
		fast, slow verdict
	}{
		{"both met", 700, 20 * time.Millisecond, met, met},
		{"too slow", 699, 20 * time.Millisecond, missed, met},
		{"too late", 700, 21 * time.Millisecond, met, missed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := testSession(t, 1)
			s.ingressRows(sqlite, c, ingressFound{Null: []hitFound{hit(32, 9000, time.Millisecond)}, Turns: []ingressTurns{{
				Connections: 32,
				Anchor:      []hitFound{hit(32, 900, 12*time.Millisecond), hit(32, 1000, 10*time.Millisecond), hit(32, 1100, 8*time.Millisecond)},
				Ours:        []hitFound{hit(32, tc.rate/2, tc.p99), hit(32, tc.rate, tc.p99), hit(32, tc.rate*2, tc.p99)},
			}}})
			equal(t, "rows", len(s.report.Rows), 2)
			equal(t, "rate", s.report.Rows[0].Verdict, tc.fast)
			equal(t, "anchor", s.report.Rows[0].Anchor, figure{1000, perSecond})
			equal(t, "p99", s.report.Rows[1].Verdict, tc.slow)
			equal(t, "ratio of the round in the middle", s.report.Rows[0].Ratio, tc.rate/1000)
			if line := s.report.Rows[0]; line.Low >= line.Ratio || line.High <= line.Ratio || !strings.Contains(line.times(), " to ") {
				t.Errorf("the spread is %v to %v: %s", line.Low, line.High, line.times())
			}
			equal(t, "warnings", len(s.report.Warnings), 1) // the anchor moved by a fifth
			if note := s.report.Rows[0].Note; !strings.Contains(note, "2 KB") || !strings.Contains(note, "9,000/s") {
				t.Errorf("the note is %s", note)
			}
		})
	}
}

func TestB2SustainedRow(t *testing.T) {
	t.Parallel()
	c := ingressCase{id: "B2", what: "ingress", anchor: anchorTwo, sustained: 0.3}
	for _, tc := range []struct {
		name   string
		rate   float64
		putOff time.Duration
		want   verdict
	}{
		{"met", 300, sustainedIdle, met}, {"too slow", 299, 0, missed}, {"puts too much off", 300, sustainedIdle + 1, missed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := testSession(t, 1)
			s.sustainedRow(sqlite, c, ingressFound{
				Turns: []ingressTurns{{Anchor: []hitFound{{Rate: 1000}}}}, Sustained: hitFound{Connections: 32, Rate: tc.rate, PutOff: tc.putOff},
			})
			equal(t, "verdict", s.report.Rows[0].Verdict, tc.want)
		})
	}
}

func TestB3OnSQLite(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.001)
	s.opts.cpuProfile = filepath.Join(t.TempDir(), "p")
	must(t, benchSignatures(t.Context(), s))
	equal(t, "rows", len(s.report.Rows), 3)
	for _, line := range s.report.Rows {
		turns, ok := line.Detail.(ingressTurns)
		if !ok || len(turns.Ours) != ingressRounds || len(turns.Anchor) != ingressRounds || line.Ratio <= 0 || line.Low > line.Ratio {
			t.Errorf("the row is %+v", line)
		}
	}
}

func TestB4Rows(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.01)
	must(t, benchMatching(t.Context(), s))
	equal(t, "rows", len(s.report.Rows), 8)
	judged := 0
	for i, line := range s.report.Rows {
		found, ok := line.Detail.(matchingFound)
		if !ok || len(found.Match) != 4 || line.Ratio <= 0 {
			t.Errorf("the row is %+v", line)
		}
		if i < 4 {
			equal(t, "matched, own repositories", found.Matched, 0)
		} else if found.Matched == 0 {
			t.Error("none of the filters that look alike match")
		}
		if line.Verdict != shown {
			judged++
		}
	}
	equal(t, "rows with a bar", judged, 2)
	equal(t, "anchors", len(s.report.Anchors), 1)
	s.matchingRow("matching", matchingSize{100, 1.5}, matchingFound{Match: millis(16), Anchor: millis(10)})
	equal(t, "too slow", s.report.Rows[8].Verdict, missed)
}

func TestB11Rows(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	ours := []hitFound{{Connections: 32, Rate: 100}}
	s.rivalRows(sqlite, ours, ours, map[string][]hitFound{"webhook": {{Connections: 32, Rate: 99}}}, map[string]error{"n8n": errors.New("no network")})
	equal(t, "rows", len(s.report.Rows), 2)
	equal(t, "faster", s.report.Rows[0].Verdict, met)
	equal(t, "not there", s.report.Rows[1].Verdict, notMeasured)
	equal(t, "why", s.report.Rows[1].Note, "no network")
	if !strings.Contains(s.report.Rows[0].Note, "promises nothing") {
		t.Errorf("the note does not say what a 200 is worth: %s", s.report.Rows[0].Note)
	}
	if _, err := s.measureRival(t.Context(), webhookRival()); err == nil || !strings.Contains(err.Error(), "-rivals") {
		t.Errorf("got %v", err)
	}
}

func TestB11Settings(t *testing.T) {
	t.Parallel()
	equal(t, "hooks", len(webhookHooks("t")), ingressHooks)
	equal(t, "workflows", len(n8nWorkflows()), ingressHooks)
	env, err := n8nEnvironment(&database{url: "postgres://me:secret@127.0.0.1:99/db?sslmode=disable"}, "/d", "127.0.0.1:5")
	must(t, err)
	text := strings.Join(env, "\n")
	for _, want := range []string{"N8N_PORT=5", "DB_POSTGRESDB_PORT=99", "DB_POSTGRESDB_USER=me", "DB_POSTGRESDB_PASSWORD=secret", "DB_POSTGRESDB_DATABASE=db"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}
