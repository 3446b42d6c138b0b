package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/pause"
)

const (
	// workersHost is the id that all workers of B12 share.
	workersHost = "fleet"
	// workersSlots is how many runs each works on at the same time.
	workersSlots = 2
	// workersCallers create the runs.
	workersCallers = 32
	// workersWithin is when it is given up.
	workersWithin = 2 * time.Minute
	// workersIdle is how long the workers are watched while there is nothing to do.
	workersIdle = 20 * time.Second
)

// The bars of B12.
const (
	workersMemoryBar = 250_000_000
	// workersShareBar is the part of an even share that every worker gets at least.
	workersShareBar = 0.5
	// workersIdleBar is how much of one core idle workers may take.
	workersIdleBar = 0.10
)

// benchWorkers is B12: many self-hosted workers of one id at one server.
func benchWorkers(ctx context.Context, s *session) error {
	return s.onEach(ctx, "B12", "self-hosted workers", func(ctx context.Context, engine string) error {
		db, err := s.newDatabase(ctx, engine, "workers")
		if err != nil {
			return err
		}
		found, err := s.measureWorkers(ctx, db)
		if err != nil {
			return err
		}
		s.workersRows(engine, found)
		return s.dropDatabase(ctx, db)
	})
}

// workersFound is what was found.
type workersFound struct {
	Workers int `json:"workers"`
	Runs    int `json:"runs"`
	// Ended is less than Runs when the time was over before.
	Ended int `json:"ended"`
	// Twice counts runs that were given out more than once.
	Twice int `json:"given_out_twice"`
	// Errors counts calls to the server that failed.
	Errors int           `json:"errors"`
	Took   time.Duration `json:"took_ns"`
	// Claims has the number of runs that each worker got, in order.
	Claims []int `json:"claims_by_worker"`
	// Calls counts the requests of all workers while they worked.
	Calls int `json:"calls"`
	// Processor and Memory are the server's: the time while runs were worked on, and
	// the most it held.
	Processor time.Duration `json:"processor_ns"`
	Memory    int64         `json:"memory_bytes"`
	// Idle is the processor time of the server while nothing was queued for Watched.
	Idle    time.Duration `json:"idle_processor_ns"`
	Watched time.Duration `json:"idle_watched_ns"`
	// Load is that of the machine when the clock started.
	Load string `json:"load"`
}

func (s *session) measureWorkers(ctx context.Context, db *database) (found workersFound, err error) {
	found.Workers, found.Runs = s.opts.count(200, 8), s.opts.count(2000, 80)
	srv, err := s.startWorkersServer(ctx, db)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	s.progress.stepf("B12 %s: create %d runs", db.engine, found.Runs)
	if err := queueForWorkers(ctx, srv.url, found.Runs); err != nil {
		return found, err
	}
	if err := awaitLists(ctx, db); err != nil {
		return found, err
	}
	f, err := newFleet(srv.url, filepath.Join(s.dir, "fleet-"+db.engine), found)
	if err != nil {
		return found, err
	}
	if err := f.start(ctx); err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, f.stop(context.WithoutCancel(ctx))) }()
	s.progress.stepf("B12 %s: %d workers, %d runs", db.engine, found.Workers, found.Runs)
	if err := s.watchFleet(ctx, f, srv.cmd.Process.Pid, &found); err != nil {
		return found, err
	}
	return found, found.check(ctx, db)
}

// startWorkersServer starts the real program, or this one if a profile is wanted.
func (s *session) startWorkersServer(ctx context.Context, db *database) (*server, error) {
	dataDir := filepath.Join(s.dir, "workers-"+db.engine)
	if profile := s.profileFile("workers-" + db.engine); profile != "" {
		return s.startChild(ctx, serveOrder{Database: db.url, DataDir: dataDir, Profile: profile, NoWorker: true})
	}
	return s.startServer(ctx, db.url, dataDir, "--no-worker")
}

// queueForWorkers creates the runs.
func queueForWorkers(ctx context.Context, url string, runs int) error {
	c, err := newClient(url)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workersCallers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(runs) && ctx.Err() == nil; n = next.Add(1) {
				_, err := c.Runs.Create(ctx, client.RunRequest{Prompt: fmt.Sprintf("Do nothing, for the %dth time.", n), Config: &client.AgentConfig{WorkerHost: workersHost}})
				if err != nil {
					cancel(fmt.Errorf("create run: %w", err))
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// watchFleet lets the workers begin, waits for the last run, and then watches what
// they cost while there is nothing to do.
func (s *session) watchFleet(ctx context.Context, f *fleet, pid int, found *workersFound) error {
	found.Load = firstLine("/proc/loadavg")
	before, err := usageOf(pid)
	if err != nil {
		return err
	}
	began := time.Now()
	close(f.begin)
	select {
	case <-f.done:
	case <-time.After(workersWithin):
	case <-ctx.Done():
		return ctx.Err()
	}
	found.Took = time.Since(began)
	f.summarise(found)
	worked, err := usageOf(pid)
	if err != nil {
		return err
	}
	found.Processor = worked.processor - before.processor
	found.Watched = s.opts.time(workersIdle, time.Second)
	if !pause.For(ctx, time.Second) { // the last reports
		return ctx.Err()
	}
	rest, err := usageOf(pid)
	if err != nil {
		return err
	}
	if !pause.For(ctx, found.Watched) {
		return ctx.Err()
	}
	idle, err := usageOf(pid)
	if err != nil {
		return err
	}
	found.Idle = idle.processor - rest.processor
	found.Memory, err = peakBytes(pid)
	found.Errors = int(f.errors.Load())
	return err
}

// check makes sure that each run was worked on once.
func (found *workersFound) check(ctx context.Context, db *database) error {
	if found.Ended < found.Runs {
		return nil // the table says so
	}
	succeeded, err := db.number(ctx, "SELECT COUNT(*) FROM runs WHERE state = 'SUCCEEDED'")
	if err != nil {
		return err
	}
	executions, err := db.number(ctx, "SELECT COUNT(*) FROM executions")
	if err != nil {
		return err
	}
	if succeeded != int64(found.Runs) || executions != int64(found.Runs) {
		return fmt.Errorf("%d of %d runs succeeded, in %d executions: each has to be worked on once", succeeded, found.Runs, executions)
	}
	return nil
}

// workersRows writes what was found.
func (s *session) workersRows(engine string, found workersFound) {
	what := plural(found.Workers, "worker")
	even := float64(found.Runs) / float64(found.Workers)
	fewest, middle, most := found.Claims[0], found.Claims[len(found.Claims)/2], slices.Max(found.Claims)
	s.report.add(row{
		ID: "B12", What: fmt.Sprintf("%s, %s", what, plural(found.Runs, "run")), Engine: engine, Measured: figure{ratio(float64(found.Ended), found.Took.Seconds()), perSecond},
		Bar: "all end, once, no errors", Verdict: judge(found.Ended == found.Runs && found.Twice == 0 && found.Errors == 0), Detail: found,
		Note: fmt.Sprintf("%s of %s runs ended in %.1f s, %d were given out twice; %d of %s calls did not work; load of the machine at the start %s",
			thousands(int64(found.Ended)), thousands(int64(found.Runs)), found.Took.Seconds(), found.Twice, found.Errors, thousands(int64(found.Calls)), found.Load),
	})
	s.report.add(row{
		ID: "B12", What: what + ": fewest runs of one", Engine: engine, Measured: figure{float64(fewest), pieces}, Anchor: figure{even, pieces}, AnchorName: "an even share",
		Ratio: ratio(float64(fewest), even), Bar: fmt.Sprintf("≥ %.1f of an even share", workersShareBar), Verdict: judge(float64(fewest) >= workersShareBar*even),
		Note: fmt.Sprintf("the middle one got %d, the busiest %d", middle, most),
	})
	s.report.add(row{
		ID: "B12", What: what + ": server's processor time for a run", Engine: engine, Measured: inMillis(found.Processor / time.Duration(max(found.Ended, 1))), Verdict: shown,
		Note: fmt.Sprintf("%.1f s of processor time in all, without the database server's", found.Processor.Seconds()),
	})
	s.report.add(row{
		ID: "B12", What: what + ": server's memory, at its most", Engine: engine, Measured: inMegabytes(found.Memory), Bar: fmt.Sprintf("≤ %s", inMegabytes(workersMemoryBar)),
		Verdict: judge(found.Memory <= workersMemoryBar),
	})
	share := ratio(found.Idle.Seconds(), found.Watched.Seconds())
	s.report.add(row{
		ID: "B12", What: what + ", idle: part of a core", Engine: engine, Measured: figure{100 * share, "%"}, Bar: fmt.Sprintf("≤ %.0f %%", 100*workersIdleBar),
		Verdict: judge(share <= workersIdleBar), Note: fmt.Sprintf("%.2f s of processor time in %.0f s", found.Idle.Seconds(), found.Watched.Seconds()),
	})
}
