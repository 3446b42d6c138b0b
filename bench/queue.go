package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/pause"
	"github.com/lineshaft/lineshaft/internal/worker"
)

const (
	queueCallers = 32
	// queueLimit is when a round is ended although runs are left.
	queueLimit = time.Minute
	// statesOfRun is QUEUED, PENDING, CLAIMED, INPROGRESS and SUCCEEDED.
	statesOfRun = 5
)

// queueBars are the least ratios to River.
func queueBars() map[string]float64 { return map[string]float64{sqlite: 1.0, postgres: 0.25} }

// benchQueue is B6: runs of an agent that does nothing, through every state.
func benchQueue(ctx context.Context, s *session) error {
	return s.onEach(ctx, "B6", "queue", func(ctx context.Context, engine string) error {
		first, noRiver := s.riverBench(ctx, engine)
		var rounds []queueRound
		for _, slots := range []int{1, 8, 32} {
			round, err := s.queueRound(ctx, engine, slots)
			if err != nil {
				return fmt.Errorf("%d slots: %w", slots, err)
			}
			rounds = append(rounds, round)
		}
		var last riverRates
		if noRiver == nil {
			last, noRiver = s.riverBench(ctx, engine)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.queueRows(engine, rounds, first, last, noRiver)
		return nil
	})
}

// riverAnchor is what River's two measurements come to.
type riverAnchor struct {
	name string
	// rate is the rate that counts, burnDown the rate with jobs inserted before.
	rate, burnDown float64
}

// riverAnchor notes River's measurements. The continuous mode counts, or the other mode
// where River cannot do it.
func (s *session) riverAnchor(engine string, first, last riverRates) riverAnchor {
	a := riverAnchor{"river bench, continuous", (first.Continuous + last.Continuous) / 2, (first.BurnDown + last.BurnDown) / 2}
	s.report.anchor("B6", "river bench, burn down, "+engine, figure{first.BurnDown, perSecond}, figure{last.BurnDown, perSecond})
	if gaveUp := cmp.Or(first.GaveUp, last.GaveUp); gaveUp != "" {
		s.report.warnf("B6: River could not work continuously on %s (%s): its rate with jobs inserted beforehand is the anchor", engine, gaveUp)
		a.name, a.rate = "river bench, burn down", a.burnDown
		return a
	}
	s.report.anchor("B6", a.name+", "+engine, figure{first.Continuous, perSecond}, figure{last.Continuous, perSecond})
	return a
}

// queueRows writes what was found. The bar holds for the best number of slots:
// River's benchmark also has its own best number of workers.
func (s *session) queueRows(engine string, rounds []queueRound, first, last riverRates, noRiver error) {
	var anchor riverAnchor
	if noRiver == nil {
		anchor = s.riverAnchor(engine, first, last)
	}
	best := slices.MaxFunc(rounds, func(a, b queueRound) int { return cmp.Compare(a.Rate, b.Rate) })
	for _, round := range rounds {
		line := row{
			ID: "B6", What: "queue, " + plural(round.Slots, "slot"), Engine: engine, Measured: figure{round.Rate, perSecond},
			Anchor: figure{anchor.rate, perSecond}, AnchorName: anchor.name, Ratio: ratio(round.Rate, anchor.rate),
			Verdict: shown, Detail: map[string]any{"round": round, "river": []riverRates{first, last}},
		}
		switch bar := queueBars()[engine]; {
		case noRiver != nil:
			line.Anchor, line.Verdict, line.Note = figure{}, notMeasured, "no anchor: "+noRiver.Error()
		case round == best:
			line.Bar, line.Verdict = fmt.Sprintf("≥ %.2f of River", bar), judge(line.Ratio >= bar)
			line.Note = fmt.Sprintf("%.2f of River's %s with jobs inserted before the clock starts, as the runs were (at %s by %d callers); %s of processor time for a run, without the database server's",
				ratio(round.Rate, anchor.burnDown), figure{anchor.burnDown, perSecond}, figure{round.CreateRate, perSecond}, queueCallers, figure{round.CPU, milliseconds})
		}
		s.report.add(line)
	}
}

// queueRound is one measurement.
type queueRound struct {
	Slots int `json:"slots"`
	Runs  int `json:"runs"`
	// Ended is less than Runs when the time was over before.
	Ended int `json:"ended"`
	// Rate is runs per second from the start of the worker to the last end.
	Rate float64 `json:"runs_per_second"`
	// CreateRate is runs per second while they were created.
	CreateRate float64 `json:"created_per_second"`
	// CPU is the processor time of this process for one run, in milliseconds. It
	// moves less than the rate when the machine is not quiet.
	CPU float64 `json:"cpu_ms_per_run"`
}

func (s *session) queueRound(ctx context.Context, engine string, slots int) (round queueRound, err error) {
	db, err := s.newDatabase(ctx, engine, "queue")
	if err != nil {
		return round, err
	}
	cfg := config.Default()
	cfg.Listen, cfg.Database, cfg.NoWorker = "127.0.0.1:0", db.url, true
	cfg.DataDir = filepath.Join(s.dir, fmt.Sprintf("queue-%s-%d", engine, slots))
	server, err := app.Start(ctx, cfg, app.Options{Version: "bench", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return round, err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx)), s.dropDatabase(ctx, db)) }()

	runs := s.opts.count(20_000, 100)
	round = queueRound{Slots: slots, Runs: runs}
	s.progress.stepf("B6 %s, %d slots: create runs", engine, slots)
	if round.CreateRate, err = s.createRuns(ctx, server.Control(), runs); err != nil {
		return round, err
	}
	if err := awaitLists(ctx, db); err != nil {
		return round, err
	}
	s.progress.stepf("B6 %s, %d slots: execute runs", engine, slots)
	err = s.profiled(fmt.Sprintf("queue-%s-%d", engine, slots), func() error {
		return s.drain(ctx, server.Control(), filepath.Join(cfg.DataDir, "worker"), idle{}, &round)
	})
	if err != nil {
		return round, err
	}
	return round, round.check(ctx, db)
}

// createRuns queues runs and says how many per second.
func (s *session) createRuns(ctx context.Context, c *control.Service, runs int) (float64, error) {
	caller := lineshaft.Caller{Principal: lineshaft.Principal{UID: "user_bench", Type: lineshaft.User}, Role: lineshaft.RoleMember}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range queueCallers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(runs) && ctx.Err() == nil; n = next.Add(1) {
				s.progress.at(int(n), runs)
				request := lineshaft.NewRun{Prompt: fmt.Sprintf("Do nothing, for the %dth time.", n), Source: lineshaft.SourceAPI}
				if _, err := c.StartRun(ctx, caller, request, nil); err != nil {
					cancel(fmt.Errorf("create run: %w", err))
				}
			}
		})
	}
	wg.Wait()
	return float64(runs) / time.Since(began).Seconds(), context.Cause(ctx)
}

// awaitLists waits until lists are settled: what is measured next is not the work that is
// left from creating the runs.
func awaitLists(ctx context.Context, db *database) error {
	return awaitNone(ctx, db, "SELECT COUNT(*) FROM run_backlog")
}

// awaitNone waits until a query counts nothing.
func awaitNone(ctx context.Context, db *database, query string) error {
	for {
		left, err := db.number(ctx, query)
		if err != nil || left == 0 {
			return err
		}
		if !pause.For(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// drain lets a worker execute what is queued and notes how many runs per second.
func (s *session) drain(ctx context.Context, c worker.Control, dir string, agent harness.Harness, round *queueRound) error {
	count := &counted{Control: c, want: int64(round.Runs), done: make(chan struct{})}
	w, err := worker.New(worker.Config{
		WorkerID: "bench", Version: "bench", DataDir: dir, Slots: round.Slots,
		Harnesses: harness.Set{Harnesses: []harness.Harness{agent}}, Drain: -1,
	}, count)
	if err != nil {
		return err
	}
	beat := time.NewTicker(redraw)
	defer beat.Stop()
	limit := time.NewTimer(queueLimit)
	defer limit.Stop()
	began, used := time.Now(), processorTime()
	if err := w.Start(ctx); err != nil {
		return err
	}
	for running := true; running; {
		select {
		case <-count.done:
			running = false
		case <-limit.C:
			running = false
		case <-ctx.Done():
			return errors.Join(ctx.Err(), w.Stop(context.WithoutCancel(ctx)))
		case <-beat.C:
			s.progress.at(int(count.ended.Load()), round.Runs)
		}
	}
	round.Ended = int(count.ended.Load())
	round.Rate = float64(round.Ended) / time.Since(began).Seconds()
	round.CPU = ratio(inMillis(processorTime()-used).Value, float64(round.Ended))
	return w.Stop(context.WithoutCancel(ctx))
}

// check makes sure that the runs did what was measured.
func (round *queueRound) check(ctx context.Context, db *database) error {
	if round.Ended < round.Runs { // the rest was handed back half-way
		return nil
	}
	succeeded, err := db.number(ctx, "SELECT COUNT(*) FROM runs WHERE state = 'SUCCEEDED'")
	if err != nil {
		return err
	}
	states, err := db.number(ctx, "SELECT COUNT(*) FROM events WHERE type = 'state'")
	if err != nil {
		return err
	}
	if succeeded != int64(round.Runs) || states != int64(round.Runs)*statesOfRun {
		return fmt.Errorf("%d of %d runs succeeded, with %d state changes: this is no measurement of the queue", succeeded, round.Runs, states)
	}
	return nil
}
