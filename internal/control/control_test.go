package control_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/controltest"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// adminKey opens every control plane of these tests.
const adminKey = "ls_the-key-of-the-administrator"

// bench is a control plane on a fresh database with one worker's view of it.
type bench struct {
	*testing.T
	s     *control.Service
	store *store.Store
	admin lineshaft.Caller
	clock *clock
}

// each runs fn with a fresh control plane on every engine. Where it is about rules alone,
// make test has SQLite, and make test-all the other.
func each(t *testing.T, fn func(b *bench), settings ...func(*base.Config)) {
	t.Helper()
	if rulesAlone() {
		engine, database := "sqlite", storetest.SQLite
		if os.Getenv("LINESHAFT_TEST_ALL") != "" {
			engine, database = "postgres", storetest.Postgres
		}
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			fn(open(t, database(t), settings...))
		})
		return
	}
	storetest.EachDatabase(t, func(t *testing.T, database string) { fn(open(t, database, settings...)) })
}

// ruleFiles have tests that ask what is allowed and what is answered. Nothing in them is
// about locks, order, time or several nodes, and their SQL has tests on both engines in
// internal/store.
const ruleFiles = " agent attention automation automationdraft backtest case childattack definition definitioncheck definitionpublished " +
	"definitionrevision definitionround definitionwebhook dispatch environment factory keyowner layers modelkey needs notificationaccess notificationchange " +
	"outsideattack overview permission prepare repository repositorylook repositorypush schedule schedulefires skill skillgit skilllist testfilter title " +
	"toolsecret webhook webhookattack webhookdocs webhooklist webhookrotate webhookupdate "

// rulesAlone says whether the test that calls is in one of them.
func rulesAlone() bool {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.Contains(frame.Function, "control_test.Test") {
			return strings.Contains(ruleFiles, " "+strings.TrimSuffix(filepath.Base(frame.File), "_test.go")+" ")
		}
		if !more {
			return false
		}
	}
}

// open returns a control plane on a database, as a node of its own, with its
// administrator.
func open(t *testing.T, database string, settings ...func(*base.Config)) *bench {
	t.Helper()
	b := bare(t, database, settings...)
	if _, err := b.s.EnsureAdmin(t.Context(), adminKey); err != nil {
		t.Fatal(err)
	}
	b.admin = must[lineshaft.Caller](b)(b.s.Authenticate(t.Context(), adminKey))
	return b
}

// bare is open without any key.
func bare(t *testing.T, database string, settings ...func(*base.Config)) *bench {
	t.Helper()
	b := &bench{T: t, clock: &clock{}}
	cfg := base.Config{}
	for _, set := range settings {
		set(&cfg)
	}
	plane := controltest.Open(t, database, controltest.Options{Config: cfg, Now: b.clock.now, NoAdmin: true})
	b.s, b.store = plane.Service, plane.Store
	return b
}

func (b *bench) start(req lineshaft.NewRun) runs.Started {
	b.Helper()
	if req.Prompt == "" {
		req.Prompt = "do it"
	}
	if req.Source == "" {
		req.Source = lineshaft.SourceAPI
	}
	started, err := b.s.StartRun(b.Context(), b.admin, req, nil)
	if err != nil {
		b.Fatal(err)
	}
	return started
}

func (b *bench) claim(limit int) []lineshaft.Job {
	b.Helper()
	jobs, err := b.s.Claim(b.Context(), lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: "w1", Limit: limit, Capacity: limit})
	if err != nil {
		b.Fatal(err)
	}
	return jobs
}

func (b *bench) begin(jobs ...lineshaft.Job) {
	b.Helper()
	var reports []lineshaft.Report
	for _, job := range jobs {
		reports = append(reports, lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Started: true})
	}
	refused, err := b.s.Report(b.Context(), reports)
	if err = errors.Join(append(refused, err)...); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) end(job lineshaft.Job, state lineshaft.RunState) *lineshaft.Turn {
	b.Helper()
	next, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: state})
	if err != nil {
		b.Fatal(err)
	}
	return next
}

func (b *bench) run(runID string) *lineshaft.Run {
	b.Helper()
	run, err := b.s.GetRun(b.Context(), b.admin, runID)
	if err != nil {
		b.Fatal(err)
	}
	return run
}

func (b *bench) want(runID string, state lineshaft.RunState) *lineshaft.Run {
	b.Helper()
	run := b.run(runID)
	if run.State != state {
		b.Fatalf("run is %s (%s), want %s", run.State, run.Status.Message, state)
	}
	return run
}

func TestR1RunGoesThroughItsStates(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		started := b.start(lineshaft.NewRun{Prompt: "# Hello\nworld", Metadata: map[string]string{"k": "v"}})
		if started.State != lineshaft.Queued {
			b.Fatalf("started as %s", started.State)
		}
		jobs := b.claim(4)
		if len(jobs) != 1 || jobs[0].RunID != started.RunID || jobs[0].Turn.Message != "# Hello\nworld" {
			b.Fatalf("claimed %+v", jobs)
		}
		b.want(started.RunID, lineshaft.Claimed)
		b.begin(jobs[0])
		if run := b.want(started.RunID, lineshaft.InProgress); !run.SandboxRunning || run.StartedAt.IsZero() || run.Title != "Hello" {
			b.Fatalf("%+v", run)
		}
		if next := b.end(jobs[0], lineshaft.Succeeded); next != nil {
			b.Fatalf("another turn: %+v", next)
		}
		run := b.want(started.RunID, lineshaft.Succeeded)
		if run.SandboxRunning || run.FinishedAt.IsZero() || run.Executions != 1 {
			b.Fatalf("%+v", run)
		}
		page, err := b.s.Events(b.Context(), b.admin, run.ID, 0, 100)
		if err != nil {
			b.Fatal(err)
		}
		for i, e := range page.Events {
			if e.Sequence != int64(i+1) {
				b.Fatalf("event %d has sequence %d", i, e.Sequence)
			}
		}
		if len(page.Events) != 6 {
			b.Fatalf("%d events", len(page.Events))
		}
	})
}
