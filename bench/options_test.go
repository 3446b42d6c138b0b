package main

import (
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

func TestScale(t *testing.T) {
	t.Parallel()
	o := options{scale: 0.01}
	equal(t, "many", o.count(20_000, 100), 200)
	equal(t, "few", o.count(200, 10), 10)
	equal(t, "long", o.time(20*time.Second, time.Millisecond), 200*time.Millisecond)
	equal(t, "short", o.time(20*time.Second, 2*time.Second), 2*time.Second)
}
