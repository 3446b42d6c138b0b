package main

import (
	"context"
	"io"
	"os"
	"testing"
	"time"
)

// TestMain lets the test binary also be the benchmark's child processes.
func TestMain(m *testing.M) {
	if args := os.Args[1:]; len(args) == 1 && (args[0] == superviseRole || roles()[args[0]] != nil) {
		os.Exit(start(context.Background(), args))
	}
	os.Exit(m.Run())
}

// testSession is a session without what asks other programs.
func testSession(t *testing.T, scale float64) *session {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	s := &session{
		opts: options{scale: scale, engines: []string{sqlite}}, dir: t.TempDir(), self: self, progress: newProgress(io.Discard), settle: notAtAll,
		report: &report{Scale: scale, Versions: map[string]string{}, Settings: map[string]string{}}, filled: map[string]*database{},
	}
	t.Cleanup(func() {
		for _, db := range s.databases {
			if err := db.drop(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// millis makes durations of numbers.
func millis(values ...int) []time.Duration {
	out := make([]time.Duration, len(values))
	for i, v := range values {
		out[i] = time.Duration(v) * time.Millisecond
	}
	return out
}
