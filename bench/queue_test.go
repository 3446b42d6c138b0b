package main

import (
	"errors"
	"strings"
	"testing"
)

// TestB6RoundOnSQLite is the whole way of the benchmark with few runs.
func TestB6RoundOnSQLite(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.001)
	round, err := s.queueRound(t.Context(), sqlite, 8)
	must(t, err)
	equal(t, "runs", round.Runs, 100)
	equal(t, "ended", round.Ended, 100)
	if round.Rate <= 0 || round.CreateRate <= 0 || round.CPU <= 0 {
		t.Errorf("rates are %+v", round)
	}
}

func TestB6NoticesRunsThatDidNotRun(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.001)
	db, err := s.fillDatabase(t.Context(), sqlite, 200)
	must(t, err)
	err = (&queueRound{Runs: 200, Ended: 200}).check(t.Context(), db)
	if err == nil || !strings.Contains(err.Error(), "no measurement") {
		t.Errorf("got %v for runs with two state changes each", err)
	}
	must(t, (&queueRound{Runs: 200, Ended: 10}).check(t.Context(), db))
}

func TestB6Rows(t *testing.T) {
	t.Parallel()
	rounds := []queueRound{{Slots: 1, Rate: 300}, {Slots: 8, Rate: 1500}, {Slots: 32, Rate: 1400}}
	river := riverRates{Continuous: 1000, BurnDown: 2000}
	for _, tc := range []struct {
		name     string
		engine   string
		first    riverRates
		noRiver  error
		verdicts []verdict
		ratio    float64
	}{
		{"better than River", sqlite, river, nil, []verdict{shown, met, shown}, 1.5},
		{"worse than River", sqlite, riverRates{Continuous: 3000, BurnDown: 3000}, nil, []verdict{shown, missed, shown}, 0.75},
		{"worse, as is allowed", postgres, riverRates{Continuous: 3000, BurnDown: 3000}, nil, []verdict{shown, met, shown}, 0.75},
		{"without River", sqlite, river, errors.New("not there"), []verdict{notMeasured, notMeasured, notMeasured}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := testSession(t, 1)
			s.queueRows(tc.engine, rounds, tc.first, riverRates{Continuous: 1000, BurnDown: 2000}, tc.noRiver)
			equal(t, "rows", len(s.report.Rows), len(rounds))
			for i, line := range s.report.Rows {
				equal(t, line.What, line.Verdict, tc.verdicts[i])
			}
			equal(t, "ratio", s.report.Rows[1].Ratio, tc.ratio)
			if tc.noRiver != nil && !strings.Contains(s.report.Rows[0].Note, "not there") {
				t.Errorf("the note is %q", s.report.Rows[0].Note)
			}
		})
	}
}
