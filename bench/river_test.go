package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const riverPrinted = `bench: jobs worked [          0 ], inserted [      20000 ], job/sec [        0.0 ] [0s]
bench: jobs worked [       2700 ], inserted [          0 ], job/sec [     1350.0 ] [2s]
bench: total jobs worked [      20000 ], total jobs inserted [      20000 ], overall job/sec [     1351.4 ], running 14.8s
`

func TestRiverRate(t *testing.T) {
	t.Parallel()
	rate, err := riverRate(riverPrinted, nil)
	must(t, err)
	equal(t, "rate", rate, 1351.4)
	if _, err := riverRate("bench: nothing\nof use\n", nil); err == nil || !strings.Contains(err.Error(), "of use") {
		t.Errorf("got %v for an output without a total", err)
	}
	if _, err := riverRate("", errors.New("broken")); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v for a River that failed", err)
	}
}

// fakeRiver is a program that behaves like River. No other test may start a
// process while the file is open: the kernel runs no program that is being written.
func fakeRiver(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "river")
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must(t, os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o700))
	return file
}

func TestRiverBench(t *testing.T) {
	t.Parallel()
	program := fakeRiver(t, `case "$*" in
*migrate-up*) echo migrated >&2; exit 0;;
*duration*) echo 'overall job/sec [ 100.5 ]';;
*num-total-jobs\ 200*) echo 'overall job/sec [ 200.5 ]';;
*) echo "Error: what is $*"; exit 1;;
esac
case "$*" in *synchronous?FULL*) ;; *) echo 'Error: not durable'; exit 1;; esac
`)
	s := testSession(t, 0.01)
	s.river = func() (string, error) { return program, nil }
	rates, err := s.riverBench(t.Context(), sqlite)
	must(t, err)
	equal(t, "rates", rates, riverRates{Continuous: 100.5, BurnDown: 200.5})
}

func TestRiverThatGivesUp(t *testing.T) {
	t.Parallel()
	program := fakeRiver(t, `case "$*" in
*duration*) echo 'Error: timed out'; echo 'Usage:'; echo '  river bench'; exit 1;;
*num-total-jobs*) echo 'overall job/sec [ 200.5 ]';;
esac
`)
	s := testSession(t, 0.01)
	s.river = func() (string, error) { return program, nil }
	rates, err := s.riverBench(t.Context(), sqlite)
	must(t, err)
	equal(t, "rates", rates, riverRates{BurnDown: 200.5, GaveUp: "run River: timed out"})

	anchor := s.riverAnchor(sqlite, rates, rates)
	equal(t, "anchor", anchor, riverAnchor{name: "river bench, burn down", rate: 200.5, burnDown: 200.5})
	equal(t, "warnings", len(s.report.Warnings), 1)
}

func TestRiverThatCannotBeRun(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.01)
	s.river = func() (string, error) { return "", errors.New("no such module") }
	if _, err := s.riverBench(t.Context(), sqlite); err == nil || !strings.Contains(err.Error(), "no such module") {
		t.Errorf("got %v", err)
	}
	s.river = func() (string, error) { return fakeRiver(t, "echo first; echo last; exit 3"), nil }
	if _, err := s.riverBench(t.Context(), sqlite); err == nil || !strings.Contains(err.Error(), "last") {
		t.Errorf("got %v", err)
	}
}

func TestRiverMayBeLeftOut(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	if _, err := s.buildRiver(t.Context()); err == nil || !strings.Contains(err.Error(), "-river") {
		t.Errorf("got %v", err)
	}
}
