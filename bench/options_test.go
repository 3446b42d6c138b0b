package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	o, err := parseOptions(nil, io.Discard)
	must(t, err)
	if !slices.Equal(o.engines, []string{sqlite, postgres}) || o.scale != 1 || o.river != riverVersion {
		t.Errorf("the defaults are %+v", o)
	}
	for _, b := range benchmarks() {
		equal(t, b.id+" is wanted", o.wants(b), true)
	}
	o, err = parseOptions(strings.Fields("-only b6,B7 -engine sqlite -scale 0.5"), io.Discard)
	must(t, err)
	equal(t, "B6 is wanted", o.wants(benchmark{id: "B6"}), true)
	equal(t, "B5 is wanted", o.wants(benchmark{id: "B5"}), false)
	o, err = parseOptions([]string{"-quick", "-engine", "sqlite"}, io.Discard)
	must(t, err)
	equal(t, "quick without a size is wanted", o.wants(benchmark{id: "B11"}), false)
	equal(t, "size when quick", o.scaleOf(benchmark{quick: 0.25}), 0.25)
	if !slices.Equal(o.engines, []string{sqlite}) {
		t.Errorf("the engines are %v", o.engines)
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-only B99":         "B99",
		"-engine mysql":     "mysql",
		"-scale 0":          "-scale",
		"-scale 2":          "-scale",
		"-quick -scale 1/2": "scale",
		"-quick -scale 0.5": "-quick",
		"-scale fast":       "scale",
		"B6":                "B6",
		"-no-such-option":   "no-such-option",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			_, err := parseOptions(strings.Fields(args), io.Discard)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		})
	}
}

// TestBudgetsFitTheHour holds the whole run to an hour, and the quick one to six minutes.
func TestBudgetsFitTheHour(t *testing.T) {
	t.Parallel()
	for quick, want := range map[bool]time.Duration{false: time.Hour, true: 6 * time.Minute} {
		o, sum := options{quick: quick, scale: 1}, time.Duration(0)
		for _, b := range benchmarks() {
			if o.within(b) <= 0 {
				t.Errorf("%s has no time", b.id)
			}
			if o.wants(b) {
				sum += o.within(b)
			}
		}
		if sum > want {
			t.Errorf("quick %v: together they may take %s, more than %s", quick, sum, want)
		}
	}
}

func TestEnginesShareTheTime(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	s.opts.engines, s.admin, s.until = []string{sqlite, postgres}, "there is one", time.Now().Add(time.Hour)
	parts := map[string]time.Duration{}
	must(t, s.onEach(t.Context(), "B0", "time", func(_ context.Context, engine string) error {
		parts[engine] = s.share(2)
		return nil
	}))
	// The first has taken nothing, so that the second has all.
	if lite, pg := parts[sqlite], parts[postgres]; lite > 15*time.Minute || lite < 14*time.Minute || pg > 30*time.Minute || pg < 28*time.Minute {
		t.Errorf("the parts are %s and %s", lite, pg)
	}
}

// TestTooLongIsGivenUp makes sure that the others are still measured and shown.
func TestTooLongIsGivenUp(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	endless := benchmark{id: "B0", what: "endless", minutes: 1e-9, run: func(ctx context.Context, _ *session) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	must(t, s.inTime(t.Context(), endless))
	must(t, s.inTime(t.Context(), benchmark{id: "B1", minutes: 1, run: func(context.Context, *session) error { return nil }}))
	equal(t, "rows", len(s.report.Rows), 1)
	if line := s.report.Rows[0]; line.Verdict != notMeasured || !strings.Contains(line.Note, "given up after") {
		t.Errorf("the row is %+v", line)
	}
	equal(t, "minutes", s.report.took(), "minutes: B0 0.0, B1 0.0, together 0.0\n")
	broken := errors.New("broken")
	fails := func(context.Context, *session) error { return broken }
	if err := s.measure(t.Context(), []benchmark{{id: "B2", minutes: 1, run: fails}, {id: "B3", minutes: 1, run: func(context.Context, *session) error {
		s.report.add(row{ID: "B3", Verdict: shown})
		return nil
	}}}); !errors.Is(err, broken) {
		t.Errorf("an error became %v", err)
	}
	equal(t, "rows after an error", len(s.report.Rows), 3)
	equal(t, "what is said of it", s.report.Rows[1].Note, "B2 : broken")
	equal(t, "what was measured after it", s.report.Rows[2].ID, "B3")
}

func TestScale(t *testing.T) {
	t.Parallel()
	o := options{scale: 0.01}
	equal(t, "many", o.count(20_000, 100), 200)
	equal(t, "few", o.count(200, 10), 10)
	equal(t, "long", o.time(20*time.Second, time.Millisecond), 200*time.Millisecond)
	equal(t, "short", o.time(20*time.Second, 2*time.Second), 2*time.Second)
}
