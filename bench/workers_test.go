package main

import (
	"strings"
	"testing"
	"time"
)

// TestB12WorkersOnSQLite is the whole way of the benchmark with few workers.
func TestB12WorkersOnSQLite(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.01)
	s.opts.cpuProfile = t.TempDir() + "/p" // then this program is also the server
	must(t, benchWorkers(t.Context(), s))
	equal(t, "rows", len(s.report.Rows), 5)
	found, ok := s.report.Rows[0].Detail.(workersFound)
	if !ok || found.Ended != 80 || found.Twice != 0 || found.Errors != 0 || len(found.Claims) != 8 {
		t.Fatalf("the detail is %+v", s.report.Rows[0].Detail)
	}
	if found.Claims[0] == 0 {
		t.Errorf("a worker got nothing: %v", found.Claims)
	}
	if found.Processor <= 0 || found.Memory <= 0 || found.Took <= 0 || found.Calls < 160 {
		t.Errorf("got %+v", found)
	}
}

func TestB12NoticesRunsThatDidNotRun(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.001)
	db, err := s.fillDatabase(t.Context(), sqlite, 200)
	must(t, err)
	err = (&workersFound{Runs: 7, Ended: 7}).check(t.Context(), db)
	if err == nil || !strings.Contains(err.Error(), "once") {
		t.Errorf("got %v", err)
	}
	must(t, (&workersFound{Runs: 200, Ended: 10}).check(t.Context(), db))
}

func TestB12Rows(t *testing.T) {
	t.Parallel()
	good := workersFound{
		Workers: 4, Runs: 40, Ended: 40, Took: 2 * time.Second, Claims: []int{5, 9, 11, 15}, Processor: 400 * time.Millisecond, Memory: 250_000_000,
		Idle: 100 * time.Millisecond, Watched: time.Second,
	}
	for _, tc := range []struct {
		name   string
		change func(*workersFound)
		missed int // the row, or -1
	}{
		{"as wanted", func(*workersFound) {}, -1},
		{"one is left", func(f *workersFound) { f.Ended = 39 }, 0},
		{"one came twice", func(f *workersFound) { f.Twice = 1 }, 0},
		{"one call failed", func(f *workersFound) { f.Errors = 1 }, 0},
		{"one worker starves", func(f *workersFound) { f.Claims[0] = 4 }, 1},
		{"large", func(f *workersFound) { f.Memory++ }, 3},
		{"restless", func(f *workersFound) { f.Idle += time.Millisecond }, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := testSession(t, 1)
			found := good
			found.Claims = append([]int{}, good.Claims...)
			tc.change(&found)
			s.workersRows(sqlite, found)
			for i, line := range s.report.Rows {
				want := met
				switch i {
				case tc.missed:
					want = missed
				case 2:
					want = shown
				}
				equal(t, line.What, line.Verdict, want)
			}
			equal(t, "processor time", s.report.Rows[2].Measured.Unit, milliseconds)
		})
	}
}
