package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// session is one run of the program: what the benchmarks share.
type session struct {
	opts     options
	dir      string // for everything that is made, removed at the end
	root     string // of the module
	self     string // this program
	progress *progress
	report   *report
	// admin is the URL of the PostgreSQL server; empty when there is none.
	admin     string
	databases []*database
	filled    map[string]*database
	binary    func() (string, error)
	river     func() (string, error)
	// until is when what is measured now should be done.
	until time.Time
	// settle waits after a load until the server has done what it put off.
	settle waiting
}

func newSession(ctx context.Context, opts options, errOut io.Writer) (*session, error) {
	s := &session{
		opts: opts, progress: newProgress(errOut), admin: os.Getenv("LINESHAFT_TEST_POSTGRES"),
		filled: map[string]*database{}, settle: awaitIdle,
		report: &report{
			Time: time.Now().UTC(), Scale: opts.scale, Quick: opts.quick, Versions: map[string]string{}, Settings: map[string]string{},
		},
	}
	var err error
	if s.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	module, err := output(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	s.root = filepath.Dir(module)
	if s.dir, err = os.MkdirTemp(opts.dir, "lineshaft-bench-"); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	// Agents are other users when the server is root, and must get through here.
	if err := os.Chmod(s.dir, 0o755); err != nil {
		return nil, errors.Join(fmt.Errorf("open folder: %w", err), os.RemoveAll(s.dir))
	}
	s.binary = sync.OnceValues(func() (string, error) { return s.buildBinary(ctx) })
	s.river = sync.OnceValues(func() (string, error) { return s.buildRiver(ctx) })
	s.describe(ctx)
	return s, nil
}

// onEach measures on each engine that there is, each in an even part of the time.
func (s *session) onEach(ctx context.Context, id, what string, measure func(ctx context.Context, engine string) error) error {
	end := s.until
	for i, engine := range s.opts.engines {
		if engine == postgres && s.admin == "" {
			s.report.missing(id, what, engine, errNoPostgres)
			continue
		}
		s.until = time.Now().Add(time.Until(end) / time.Duration(len(s.opts.engines)-i))
		if err := measure(ctx, engine); err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
	}
	return nil
}

// share is how long the next of so many parts may take.
func (s *session) share(parts int) time.Duration { return time.Until(s.until) / time.Duration(parts) }

// close removes everything that was made.
func (s *session) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, db := range s.databases {
		if err := db.drop(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}

// save keeps the figures: under the time and the commit, to be compared with others, and as the
// latest; or only where they were asked for.
func (s *session) save() error {
	if s.opts.out != "" {
		return s.report.save(s.opts.out)
	}
	results := filepath.Join(s.root, "bench", "results")
	name := fmt.Sprintf("%s-%s.json", s.report.Time.Format("20060102T150405"), s.report.Commit)
	return errors.Join(s.report.save(filepath.Join(results, name)), s.report.save(filepath.Join(results, "latest.json")))
}

// buildBinary builds the program the way `make build` does.
func (s *session) buildBinary(ctx context.Context) (string, error) {
	if s.opts.binary != "" {
		return filepath.Abs(s.opts.binary)
	}
	s.progress.stepf("build lineshaft")
	file := filepath.Join(s.dir, "lineshaft")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/lineshaft")
	cmd.Dir, cmd.Env = s.root, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build lineshaft: %w\n%s", err, text)
	}
	return file, nil
}

// profiled calls fn, with a CPU profile of this process if one was asked for.
func (s *session) profiled(name string, fn func() error) error {
	if s.opts.cpuProfile == "" {
		return fn()
	}
	stop, err := profileTo(s.profileFile(name))
	if err != nil {
		return err
	}
	err = fn()
	return errors.Join(err, stop())
}

// profileFile is where a profile goes; empty when none was asked for.
func (s *session) profileFile(name string) string {
	if s.opts.cpuProfile == "" {
		return ""
	}
	return s.opts.cpuProfile + "-" + name + ".prof"
}

// output runs a program and returns what it prints, without the space around it.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(text)))
	}
	return strings.TrimSpace(string(text)), nil
}
