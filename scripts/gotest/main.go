// Command gotest runs `go test` with its own arguments, shows one line per
// package and the full output of whatever failed, and ends with counts, the reasons of the
// skipped tests and the failures again. It exists so that `make test` closes with
// numbers; it is no test framework and changes nothing about how tests run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// summaryEnv names the file that gathers one line of counts per suite.
const summaryEnv = "LINESHAFT_TEST_SUMMARY"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, params{summary: os.Getenv(summaryEnv), args: os.Args[1:]})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

// params says what to run and where to note the outcome.
type params struct {
	dir     string   // where to run; empty means here
	summary string   // file to append the counts to; empty means none
	args    []string // for go test
}

// run runs go test and reports on it.
func run(ctx context.Context, out io.Writer, p params) error {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, p.args...)...)
	cmd.Dir = p.dir
	cmd.Stderr = os.Stderr
	// go test stops its test programs on an interrupt; a kill would orphan them.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	pr, pw := io.Pipe()
	cmd.Stdout = pw
	rep := newReport(out)
	read := make(chan error, 1)
	go func() { read <- rep.read(pr) }()
	runErr := errors.Join(cmd.Run(), pw.Close())
	readErr := <-read
	summary := rep.close(time.Since(began))
	return errors.Join(runErr, readErr, rep.verdict(), record(p.summary, summary))
}

// record appends the summary to the file, when there is one.
func record(file, summary string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open summary: %w", err)
	}
	_, err = fmt.Fprintln(f, summary)
	return errors.Join(err, f.Close())
}
