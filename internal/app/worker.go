package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/git"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/worker"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// startWorker starts the worker in the server's own process.
func (a *App) startWorker(ctx context.Context) error {
	if a.cfg.NoWorker {
		return nil
	}
	a.workerID = "hosted-" + id.Secret(9)
	apiURL := a.innerURL()
	if a.isolated.cluster != nil { // agents are elsewhere
		apiURL = a.URL()
	}
	w, err := newWorker(a.cfg, a.opts, workerParts{
		host: lineshaft.HostedWorker, id: a.workerID, apiURL: apiURL, git: a.git, isolated: a.isolated, tracer: a.traces.Tracer(),
		ended: func(outcome lineshaft.RunState) { a.metrics.ObserveExecution(string(outcome)) },
		setUp: func(start worker.Start, saved time.Duration) { a.metrics.ObserveSetUp(string(start), saved) },
	}, a.control)
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	a.worker = w
	a.onStop(func(ctx context.Context) error {
		return errors.Join(w.Stop(ctx), a.control.ForgetWorker(ctx, a.workerID))
	})
	a.metrics.Gauge("lineshaft_worker_running", "Executions that the worker in this process holds.", func() float64 { return float64(w.Running()) })
	a.metrics.Gauge("lineshaft_worker_capacity", "Slots of the worker in this process.", func() float64 { return float64(w.Capacity()) })
	if local, ok := w.(*worker.Worker); ok {
		a.measurePrepared(local)
	}
	return nil
}

// measurePrepared shows what is kept of environments.
func (a *App) measurePrepared(w *worker.Worker) {
	a.metrics.Gauge("lineshaft_prepared_environments", "Prepared environments that the worker in this process keeps.", func() float64 {
		layers, _ := w.Prepared()
		return float64(layers)
	})
	a.metrics.Gauge("lineshaft_prepared_environment_bytes", "Disk space of these prepared environments.", func() float64 {
		_, bytes := w.Prepared()
		return float64(bytes)
	})
}

// agentGrace is the time between SIGTERM and SIGKILL for an agent, unless a short
// shutdown grace ends it.
const agentGrace = 2 * time.Second

// workerParts are what a worker is made of besides its settings.
type workerParts struct {
	// host is the id that runs are addressed to, id names the process.
	host, id string
	// apiURL is where agents reach the server.
	apiURL   string
	git      *git.Client
	isolated isolation
	tracer   *tracing.Tracer
	ended    func(outcome lineshaft.RunState)
	setUp    func(start worker.Start, saved time.Duration)
	// pod is set for the worker of one execution in a pod.
	pod *podParts
}

// podParts are what a pod has instead of settings of its own.
type podParts struct {
	models model.Set // behind the launcher's gateway
}

// executor takes runs and has them executed: a worker, or the launcher of a cluster.
type executor interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Capacity() int
	Running() int
}

// newWorker makes a worker from the settings, in the server or in a process of its own.
func newWorker(cfg config.Config, opts Options, parts workerParts, control worker.Control) (executor, error) {
	if parts.isolated.cluster != nil {
		return newLauncher(cfg, opts, parts, control)
	}
	return newLocalWorker(cfg, opts, parts, control)
}

func newLocalWorker(cfg config.Config, opts Options, parts workerParts, control worker.Control) (*worker.Worker, error) {
	harnesses := opts.harnesses(cfg)
	models, err := loadModels(cfg)
	if err != nil {
		return nil, err
	}
	if parts.pod != nil {
		models = parts.pod.models
	}
	if unnamed := unnamedModel(models); unnamed != "" && opts.Logger != nil {
		opts.Logger.Warn("no default model", "warning", unnamed, "fix", fixUnnamed)
	}
	_, path, err := agentPath(cfg)
	if err != nil {
		return nil, err
	}
	set := harness.Set{Harnesses: harnesses, Default: defaultHarness(cfg, models, harnesses)}
	if _, err := set.Select(lineshaft.AgentConfig{}); err != nil {
		return nil, fmt.Errorf("default harness: %w; choose another with --default-harness", err)
	}
	return worker.New(worker.Config{
		WorkerHost: parts.host, WorkerID: parts.id, Version: opts.Version,
		DataDir: filepath.Join(cfg.DataDir, "worker"), Slots: cfg.Slots(runtime.NumCPU()),
		Harnesses: set, Git: parts.git, Sandbox: parts.isolated.sandbox, Limits: limitsOf(cfg), Network: sandbox.Network(cfg.Egress), APIURL: parts.apiURL, Path: path,
		Gateway: gateway.New(gateway.Config{
			Models: models, APIURL: parts.apiURL, Hosts: cfg.EgressHosts, AllowLocal: cfg.AllowLocalMCP, Logger: opts.Logger, Tracer: parts.tracer,
		}),
		Getenv: os.Getenv, Imaged: parts.pod != nil,
		CacheBytes: cfg.EnvironmentCache / 2, CacheAge: cfg.EnvironmentCacheAge, SetUp: parts.setUp, // mirrors have the other half
		Workspace:   workspace.Limits{TurnBytes: min(cmp.Or(cfg.DiskLimit, cfg.ArtifactLimit), cfg.ArtifactLimit)},
		OutputBytes: cfg.OutputLimit, OutputEvents: cfg.EventLimit, Drain: cfg.ShutdownGrace / 2, Logger: opts.Logger,
		// What ignores SIGTERM must be gone, and handed back, within the grace of all.
		Grace: min(agentGrace, cfg.ShutdownGrace/4), Ended: parts.ended, Tracer: parts.tracer,
	}, control)
}
