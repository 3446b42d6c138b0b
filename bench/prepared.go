package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// The bars of B14: how much longer a start on a prepared environment may take than one without
// any, which part of a cold start one commit later may take, and which part of the layer
// each further run may take of the disk.
const (
	preparedMargin = time.Second
	preparedLater  = 5
	preparedDisk   = 0.02
)

// preparedSize is how large everything is.
type preparedSize struct {
	files, bytes, commits int
	setup                 time.Duration
	samples, together     int
}

func (o *options) preparedSize() preparedSize {
	return preparedSize{
		files: o.count(50_000, 200), bytes: o.count(300_000_000, 1_000_000), commits: o.count(2_000, 20),
		setup: o.time(30*time.Second, time.Second), samples: 3, together: o.count(50, 5),
	}
}

// benchPrepared is B14: from the request to the first thing that an agent does, in an
// environment with a large repository and a slow set-up. The database does not matter.
func benchPrepared(ctx context.Context, s *session) (err error) {
	db, err := s.newDatabase(ctx, sqlite, "prepared")
	if err != nil {
		return err
	}
	size := s.opts.preparedSize()
	s.progress.stepf("B14: a repository of %d files and %d commits", size.files, size.commits)
	forge, err := newPreparedForge(ctx, filepath.Join(s.dir, "prepared-forge"), size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, forge.close()) }()
	srv, err := s.startServer(ctx, db.url, filepath.Join(s.dir, "prepared"), "--forge-url", forge.url, "--environment-cache", "20GB",
		"--max-concurrent-runs", fmt.Sprint(size.together), "--rate-limit", "0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	load := &preparedLoad{size: size, forge: forge, dataDir: srv.dataDir, database: db.url, step: s.progress.stepf}
	if load.client, err = newClient(srv.url); err != nil {
		return err
	}
	found, err := load.measure(ctx)
	if err != nil {
		return err
	}
	s.preparedRows(found)
	return s.dropDatabase(ctx, db)
}

// preparedFound are the times from request to first action, and what else was seen.
type preparedFound struct {
	Without  []time.Duration `json:"without_ns"`
	Cold     time.Duration   `json:"cold_ns"`
	Warm     []time.Duration `json:"warm_ns"`
	Later    []time.Duration `json:"later_ns"`
	Together []time.Duration `json:"together_ns"`
	// Setups is how many of those that started together ran set-up commands.
	Setups int `json:"setups"`
	// Layer is what the disk has for the first layer, Further what each warm run adds.
	Layer   int64 `json:"layer_bytes"`
	Further int64 `json:"further_bytes"`
	// Said is the log of one start of each kind.
	Said map[string][]string `json:"said"`
}

// preparedLoad starts the runs.
type preparedLoad struct {
	client      *client.Client
	size        preparedSize
	forge       *preparedForge
	dataDir     string
	database    string
	environment string
	step        func(format string, args ...any)
}

func (l *preparedLoad) measure(ctx context.Context) (found preparedFound, err error) {
	found.Said = map[string][]string{}
	several := func(what string, before func() error) (times []time.Duration, err error) {
		l.step("B14: %s", what)
		for range l.size.samples {
			if before != nil {
				if err := before(); err != nil {
					return nil, err
				}
			}
			start, err := l.start(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			times, found.Said[what] = append(times, start.took), start.said
		}
		return times, nil
	}
	if found.Without, err = several("without an environment", nil); err != nil {
		return found, err
	}
	made, err := l.client.Environments.Create(ctx, client.EnvironmentConfig{
		Name: "bench", GithubRepos: []client.Repository{{Owner: "bench", Repo: "large"}},
		SetupCommands: []string{l.size.setupCommand(l.size.setup)}, RefreshCommands: []string{l.size.setupCommand(l.size.setup / 30)},
	})
	if err != nil {
		return found, fmt.Errorf("make environment: %w", err)
	}
	l.environment = made.UID
	l.step("B14: cold")
	cold, err := l.start(ctx)
	if err != nil {
		return found, fmt.Errorf("cold: %w", err)
	}
	found.Cold, found.Said["cold"] = cold.took, cold.said
	if found.Layer, err = awaitLayer(ctx, filepath.Join(l.dataDir, "worker", "prepared", "layers")); err != nil {
		return found, err
	}
	before, err := l.disk()
	if err != nil {
		return found, err
	}
	if found.Warm, err = several("warm", nil); err != nil {
		return found, err
	}
	after, err := l.disk()
	if err != nil {
		return found, err
	}
	found.Further = (after - before) / int64(l.size.samples)
	if err := l.together(ctx, &found); err != nil {
		return found, err
	}
	found.Later, err = several("one commit later", func() error { return l.forge.commit(ctx) })
	return found, err
}

// disk is what everything takes: workspaces, layers, mirrors, and the database with snapshots.
func (l *preparedLoad) disk() (int64, error) {
	total, err := diskOf(l.dataDir)
	files, globErr := filepath.Glob(l.database + "*")
	err = errors.Join(err, globErr)
	for _, file := range files {
		bytes, fileErr := diskOf(file)
		total, err = total+bytes, errors.Join(err, fileErr)
	}
	return total, err
}

// together starts many at once.
func (l *preparedLoad) together(ctx context.Context, found *preparedFound) error {
	l.step("B14: %d at once", l.size.together)
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		errs  []error
	)
	for range l.size.together {
		group.Go(func() {
			start, err := l.start(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			found.Together = append(found.Together, start.took)
			if strings.Contains(strings.Join(start.said, "\n"), "Set-up command") {
				found.Setups++
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// preparedStart is one run: how long its agent took to act, and what the log said.
type preparedStart struct {
	took time.Duration
	said []string
}

func (l *preparedLoad) start(ctx context.Context) (start preparedStart, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	sent := time.Now()
	run, err := l.client.Runs.Create(ctx, client.RunRequest{Prompt: startPrompt, Config: &client.AgentConfig{
		EnvironmentID: l.environment, Harness: &client.Harness{Type: "command", Command: clockCommand()},
	}})
	if err != nil {
		return start, fmt.Errorf("create run: %w", err)
	}
	var (
		sample  startSample
		printed strings.Builder
	)
	for event, err := range l.client.Runs.Stream(ctx, run.RunID, 0) {
		if err != nil {
			return start, fmt.Errorf("follow run %s: %w", run.RunID, err)
		}
		if event.Type == client.EventNotice {
			var notice client.NoticeData
			if err := event.Decode(&notice); err != nil {
				return start, err
			}
			start.said = append(start.said, event.Time.Sub(sent).Round(time.Millisecond).String()+" "+notice.Text)
		}
		if err := sample.take(event, &printed); err != nil {
			return start, fmt.Errorf("run %s: %w\n%s", run.RunID, err, strings.Join(start.said, "\n"))
		}
	}
	text := strings.Fields(printed.String())
	if len(text) == 0 {
		return start, errors.New("the agent printed nothing")
	}
	running, err := readClock(text[len(text)-1])
	start.took = running.Sub(sent)
	return start, err
}

// preparedRows writes what was found.
func (s *session) preparedRows(found preparedFound) {
	first, last := ends(found.Without)
	s.report.anchor("B14", "start without an environment (p50)", inMillis(percentile(first, 50)), inMillis(percentile(last, 50)))
	anchor, warm, later := percentile(found.Without, 50), percentile(found.Warm, 50), percentile(found.Later, 50)
	line := func(what string, measured time.Duration) row {
		return row{
			ID: "B14", What: what, Measured: inMillis(measured), Anchor: inMillis(anchor), AnchorName: "a start without an environment",
			Ratio: ratio(float64(measured), float64(anchor)), Verdict: shown,
		}
	}
	cold := line("cold start", found.Cold)
	cold.Detail = found
	s.report.add(cold)
	same := line("warm start, same commit, p50", warm)
	same.Bar, same.Verdict = fmt.Sprintf("≤ anchor + %.1f s", preparedMargin.Seconds()), judge(warm <= anchor+preparedMargin)
	s.report.add(same)
	newer := line("warm start, one commit later, p50", later)
	newer.Bar, newer.Verdict = fmt.Sprintf("≤ cold / %d", preparedLater), judge(later <= found.Cold/preparedLater)
	s.report.add(newer)
	s.report.add(row{
		ID: "B14", What: "disk of each further run", Measured: inMegabytes(found.Further),
		Anchor: inMegabytes(found.Layer), AnchorName: "the layer",
		Ratio: ratio(float64(found.Further), float64(found.Layer)), Bar: fmt.Sprintf("≤ %.0f %%", 100*preparedDisk),
		Verdict: judge(float64(found.Further) <= preparedDisk*float64(found.Layer)),
	})
	many := line(fmt.Sprintf("%d warm starts at once, the slowest", len(found.Together)), percentile(found.Together, 100))
	many.Bar, many.Verdict = "no second set-up", judge(found.Setups == 0)
	many.Note = fmt.Sprintf("p50 %s; %d ran set-up commands", inMillis(percentile(found.Together, 50)), found.Setups)
	s.report.add(many)
}
