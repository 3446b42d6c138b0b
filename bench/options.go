package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// riverVersion is the release of River that is the anchor of B6.
const riverVersion = "v0.34.0"

// options are the flags.
type options struct {
	only       []string
	scale      float64
	engines    []string
	dir        string
	out        string
	binary     string
	river      string
	cpuProfile string
	rivals     bool
	quick      bool
}

func parseOptions(args []string, errOut io.Writer) (options, error) {
	var o options
	var only, engine string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&only, "only", "", "measure these alone, such as `B6,B7`")
	flags.Float64Var(&o.scale, "scale", 1, "`FACTOR` of all counts and times; figures at any other than 1 are for debugging")
	flags.StringVar(&engine, "engine", "both", "`ENGINE` to measure on: sqlite, postgres or both")
	flags.StringVar(&o.dir, "dir", "", "`FOLDER` for the databases; default: the system's for temporary files")
	flags.StringVar(&o.out, "out", "", "`FILE` for the figures as JSON; default: bench/results/latest.json")
	flags.StringVar(&o.binary, "binary", "", "lineshaft `PROGRAM` to measure; default: built from this tree")
	flags.StringVar(&o.river, "river", riverVersion, "`VERSION` of River to compare with; empty leaves it out")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "write CPU profiles of what is measured to files that begin with `NAME`")
	flags.BoolVar(&o.rivals, "rivals", true, "fetch and measure what B11 compares with")
	flags.BoolVar(&o.quick, "quick", false, "measure each at a size that takes seconds; its ratios hold, its figures less so")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q: there are no arguments, only flags", flags.Arg(0))
	}
	switch engine {
	case "both":
		o.engines = []string{sqlite, postgres}
	case sqlite, postgres:
		o.engines = []string{engine}
	default:
		return o, fmt.Errorf("-engine %q is not one of sqlite, postgres, both", engine)
	}
	if o.scale <= 0 || o.scale > 1 {
		return o, errors.New("-scale must be above 0 and at most 1")
	}
	if o.quick && o.scale != 1 {
		return o, errors.New("-quick has sizes of its own: leave -scale out")
	}
	return o, o.choose(only)
}

// choose reads the list of benchmarks.
func (o *options) choose(only string) error {
	for name := range strings.SplitSeq(strings.ToUpper(only), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.ContainsFunc(benchmarks(), func(b benchmark) bool { return b.id == name }) {
			return fmt.Errorf("-only %s: there is no such benchmark", name)
		}
		o.only = append(o.only, name)
	}
	return nil
}

// wants says whether a benchmark is measured: when it is named, or when none is and it has a
// size for what is asked.
func (o *options) wants(b benchmark) bool {
	if len(o.only) > 0 {
		return slices.Contains(o.only, b.id)
	}
	return !o.quick || b.quick > 0
}

// scaleOf is the size of a benchmark; one that has none for -quick is measured whole.
func (o *options) scaleOf(b benchmark) float64 {
	if o.quick && b.quick > 0 {
		return b.quick
	}
	return o.scale
}

// within is how long a benchmark should take: -quick has a tenth of the time.
func (o *options) within(b benchmark) time.Duration {
	minutes := b.minutes
	if o.quick {
		minutes /= 10
	}
	return time.Duration(minutes * float64(time.Minute))
}

// count scales a number of things, to no less than least.
func (o *options) count(n, least int) int { return max(least, int(float64(n)*o.scale)) }

// time scales a duration, to no less than least.
func (o *options) time(d, least time.Duration) time.Duration {
	return max(least, time.Duration(float64(d)*o.scale))
}
