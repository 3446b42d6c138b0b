//go:build linux

// Command faults proves what Lineshaft promises while things go wrong: it starts servers and
// workers, calls them as users do, makes faults that a seed decides, and has package check hold
// what the servers say at the end against what they acknowledged. Its reports add up:
// docs/fault-report.md is made of all of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 3 && os.Args[1] == wrapRole {
		fmt.Fprintln(os.Stderr, "faults:", wrap(os.Args[2], os.Args[3:]))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// options of a part.
type options struct {
	bin, engine string
	seed        uint64
	length      time.Duration
	size        sizes
	clients     int
	only        string // a part of the names of the classes to make; empty is all
	keep        string // folder for the history and logs; empty is none
	parts       string // folder of the reports
	report      string // file that all reports are put together in
}

// start reads the arguments: `faults` runs a part, `faults report` only writes the report.
func start(ctx context.Context, args []string, out io.Writer) error {
	o := options{}
	set := flag.NewFlagSet("faults", flag.ContinueOnError)
	set.StringVar(&o.bin, "bin", "bin/lineshaft", "`program` to test")
	set.StringVar(&o.engine, "engine", "sqlite", "sqlite or postgres")
	set.Uint64Var(&o.seed, "seed", 0, "what decides calls and faults; 0 takes the next that has no report")
	minutes := set.Float64("minutes", 1, "how long faults are made")
	set.IntVar(&o.size.servers, "servers", 3, "servers on PostgreSQL")
	set.IntVar(&o.size.workers, "workers", 3, "workers")
	set.IntVar(&o.clients, "clients", 6, "clients that call at once")
	set.StringVar(&o.only, "only", "", "make faults only of classes that have this `text` in their name")
	set.StringVar(&o.keep, "keep", "", "`folder` that gets the history and the logs")
	set.StringVar(&o.parts, "parts", "", "`folder` of the reports of parts; this one is added")
	set.StringVar(&o.report, "report", "", "`file` to write the report of all parts to")
	if err := set.Parse(args); err != nil {
		return err
	}
	o.length = time.Duration(*minutes * float64(time.Minute))
	if o.engine != "sqlite" && o.engine != "postgres" {
		return errors.New("the engine is sqlite or postgres")
	}
	if o.length > 0 {
		if err := o.runPart(ctx, out); err != nil {
			return err
		}
	}
	if o.report != "" {
		return writeReport(o.parts, o.report)
	}
	return nil
}

// runPart runs one part, says how it went, and fails if a promise was broken.
func (o *options) runPart(ctx context.Context, out io.Writer) error {
	if o.seed == 0 {
		o.seed = nextSeed(o.parts, o.engine)
	}
	dir := o.keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "lineshaft-faults-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	// Agents and the database have users of their own.
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return err
	}
	p, err := play(ctx, dir, *o, out)
	if ctx.Err() != nil { // whatever else went wrong then is no finding
		return fmt.Errorf("interrupted: %w", ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("seed %d on %s: %w", o.seed, o.engine, err)
	}
	p.print(out)
	if o.parts != "" {
		if err := p.write(o.parts); err != nil {
			return err
		}
	}
	if len(p.Findings) > 0 {
		return fmt.Errorf("seed %d on %s: %d promises were broken", o.seed, o.engine, len(p.Findings))
	}
	return nil
}
