// Package app assembles the server: it builds every part from the configuration,
// starts them in order and stops them in reverse. Nothing is decided here but the
// wiring; tests start the same assembled program on port 0.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/callback"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/git"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/ingress"
	"github.com/lineshaft/lineshaft/internal/jobs"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/telemetry"
	"github.com/lineshaft/lineshaft/internal/vault"
	"github.com/lineshaft/lineshaft/internal/worker"
)

var (
	_ worker.Control      = (*control.Service)(nil)
	_ base.Git            = (*git.Client)(nil)
	_ base.CallbackSender = (*callback.Sender)(nil)
)

// Options are what the configuration does not say.
type Options struct {
	Version string
	Logger  *slog.Logger
	// Out gets the banner; Terminal says that a person reads it.
	Out      io.Writer
	Terminal bool
	// Supervisor is the argv that runs sandbox.Supervise.
	Supervisor []string
	// Program is the file of this program, for agents to use; it knows the word forward.
	// Empty: agents get none, and agents without a network cannot reach their model.
	Program string
	// Notice is shown on every page of the dashboard, before what there is to warn of.
	Notice string
	// Now is the clock of all but leases, schedules and callbacks, which go by the database's; nil is the machine's.
	Now func() time.Time
	// Harnesses replaces the built-in ones; the benchmark plugs in its own.
	Harnesses []harness.Harness
}

// App is a server that is running.
type App struct {
	cfg     config.Config
	opts    Options
	log     *slog.Logger
	store   *store.Store
	control *control.Service
	worker  executor
	git     *git.Client
	// workerID names the worker in this process.
	workerID string
	jobs     *jobs.Runner
	metrics  *telemetry.Metrics
	traces   *telemetry.Traces
	isolated isolation
	// madeKey is the admin key of a first start; the banner shows it once.
	madeKey  string
	listener net.Listener
	// inner is where agents on this machine reach a server that speaks TLS to others, whose
	// certificate has the public name only; nil without TLS.
	inner net.Listener
	vault *vault.Vault
	// certificates are nil for a server that speaks plain HTTP.
	certificates certificates
	server       *http.Server
	streams      sync.WaitGroup
	stopping     chan struct{}
	// stops are called in reverse order of what was started.
	stops []func(ctx context.Context) error
	done  chan error
}

// Run starts a server and serves until ctx ends, then stops it in an orderly way.
func Run(ctx context.Context, cfg config.Config, opts Options) error {
	// First of all and to the end: a hang-up never ends a server. A hang-up during the
	// start is kept until the server has started.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	if err := closeMemory(); err != nil {
		return err
	}
	floorHeap()
	a, err := Start(ctx, cfg, opts)
	if err != nil {
		return err
	}
	return errors.Join(a.wait(ctx, hangups), a.Stop(context.WithoutCancel(ctx)))
}

// wait serves until ctx ends or the server fails.
func (a *App) wait(ctx context.Context, hangups <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			a.log.InfoContext(ctx, "stopping", "grace", a.cfg.ShutdownGrace)
			return nil
		case err := <-a.done:
			return err
		case <-hangups:
			a.reload(ctx)
		}
	}
}

// Start builds and starts all parts; when it returns without error the server answers.
func Start(ctx context.Context, cfg config.Config, opts Options) (*App, error) {
	a := &App{cfg: cfg, opts: opts, log: opts.Logger, stopping: make(chan struct{}), done: make(chan error, 2), metrics: telemetry.NewMetrics(opts.Version)}
	for _, start := range []func(context.Context) error{a.startTraces, a.openStore, a.ensureAdmin, a.listen, a.openCertificates, a.chooseIsolation, a.startWorker, a.startJobs, a.followFactories, a.serve, a.announce} {
		if err := start(ctx); err != nil {
			return nil, errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
		}
	}
	return a, nil
}

// URL is the address the server answers at.
func (a *App) URL() string {
	if a.cfg.BaseURL != "" {
		return a.cfg.BaseURL
	}
	switch {
	case a.cfg.ACME():
		name := acmeDomains(a.cfg)[0]
		if _, port, err := net.SplitHostPort(a.listener.Addr().String()); err == nil && port != "443" {
			name = net.JoinHostPort(name, port)
		}
		return "https://" + name
	case a.cfg.TLS():
		return "https://" + reachable(a.listener)
	}
	return "http://" + reachable(a.listener)
}

// innerURL is the address of the server for agents on this machine, which may not reach
// its public name.
func (a *App) innerURL() string {
	if a.inner != nil {
		return "http://" + a.inner.Addr().String()
	}
	return "http://" + reachable(a.listener)
}

// reachable is a listener's address as programs on this machine reach it.
func reachable(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return l.Addr().String()
}

// Control is the control plane of this server, for tests and the benchmark.
func (a *App) Control() *control.Service { return a.control }

// Stop ends all parts in reverse order within the configured grace.
func (a *App) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.ShutdownGrace)
	defer cancel()
	var errs []error
	for i := len(a.stops) - 1; i >= 0; i-- {
		errs = append(errs, a.stops[i](ctx))
	}
	a.stops = nil
	return errors.Join(errs...)
}

func (a *App) onStop(fn func(ctx context.Context) error) { a.stops = append(a.stops, fn) }

func (a *App) openStore(ctx context.Context) error {
	if err := os.MkdirAll(a.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	hub := stream.NewHub()
	nodes := stream.NewNodes(nil, hub, a.log)
	blobs, err := a.openBlobs()
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Options{
		Database: a.cfg.DatabaseOrDefault(), MaxConns: a.cfg.PostgresMaxConns, Now: a.opts.Now, Wake: nodes.Publish, Logger: a.log, Blobs: blobs,
	})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	a.store = s
	a.metrics.Gauge("lineshaft_store_deadlocks", "Transactions that were redone because they and others waited for each other.", func() float64 { return float64(s.Deadlocks()) })
	a.onStop(func(context.Context) error { return s.Close() })
	nodes.Attach(s)
	a.background(ctx, nodes.Run)
	if a.vault, err = loadVault(ctx, a.cfg, s); err != nil {
		return err
	}
	if a.git, err = openGit(a.cfg); err != nil {
		return err
	}
	sender := callback.New(callback.Config{AllowPrivate: a.cfg.CallbackAllowPrivate, Version: a.opts.Version, Own: func() []string {
		return []string{a.webhookURL() + ingress.Prefix, a.URL() + ingress.Prefix}
	}})
	a.onStop(func(context.Context) error { sender.Close(); return nil })
	a.control, err = control.New(ctx, s, hub, stream.New(s, hub, api.EncodeSSE), base.Config{
		Defaults: runDefaults(a.cfg), Lease: a.cfg.Lease, RunRetention: a.cfg.RunRetention, MaxWebhooks: a.cfg.MaxWebhooks,
		DefaultHarness: childAllowance(a.cfg, a.opts).DefaultHarness, DefaultModels: defaultModels(a.cfg),
		Children:    childAllowance(a.cfg, a.opts),
		Trees:       base.TreeLimits{Depth: a.cfg.MaxRunDepth, LiveChildren: a.cfg.MaxLiveChildren, Descendants: a.cfg.MaxDescendants},
		OutputBytes: a.cfg.OutputLimit, OutputEvents: int64(a.cfg.EventLimit), ArtifactBytes: a.cfg.ArtifactLimit, ArtifactTreeBytes: a.cfg.ArtifactTreeLimit,
		DeliveryRetention: a.cfg.DeliveryRetention, DeliveryKeep: a.cfg.DeliveryKeep, OIDCSessionLife: a.cfg.OIDCSessionLife, Git: a.git, RepositoryPoll: a.cfg.RepositoryPoll, Vault: a.vault, Logger: a.log,
		Callbacks: sender, ObserveCallback: a.metrics.ObserveCallback, RunURL: func(runID string) string { return a.URL() + "/runs/" + runID },
		Tracer: a.traces.Tracer(),
	})
	if err == nil {
		a.gaugeCallbacks()
	}
	return err
}

// startTraces comes first, so that it stops last: every part may have spans left.
func (a *App) startTraces(ctx context.Context) (err error) {
	if a.traces, err = newTraces(ctx, a.cfg, a.opts, "lineshaft"); err != nil {
		return err
	}
	a.onStop(a.traces.Stop)
	return nil
}

// newTraces sets tracing up as the settings say; nil when they say nothing.
func newTraces(ctx context.Context, cfg config.Config, opts Options, service string) (*telemetry.Traces, error) {
	return telemetry.NewTraces(ctx, telemetry.TraceConfig{
		Endpoint: cfg.OTLPEndpoint, Sample: cfg.TraceSample, Service: service, Version: opts.Version, Logger: opts.Logger,
	})
}

func (a *App) startJobs(ctx context.Context) error {
	a.jobs = jobs.New(jobs.For(a.control, a.cfg.Lease), a.log)
	a.jobs.Start(ctx)
	a.onStop(func(context.Context) error {
		a.jobs.Stop()
		return nil
	})
	a.control.AddPart("background jobs", a.jobs.Health)
	return nil
}

// followFactories reads all webhooks before the first delivery can come, keeps them
// current and factories in step with their repositories, starts what waits for the end
// of runs, and notifies endpoints of state changes.
func (a *App) followFactories(ctx context.Context) error {
	if err := a.control.RefreshHooks(ctx); err != nil {
		return fmt.Errorf("read webhooks: %w", err)
	}
	a.background(ctx, a.control.FollowFactories)
	a.background(ctx, a.control.FollowRepositories)
	a.background(ctx, a.control.FollowChains)
	a.background(ctx, a.control.FollowNotifications)
	a.background(ctx, a.control.SendCallbacks)
	return nil
}

// background runs a part until the server stops.
func (a *App) background(ctx context.Context, run func(context.Context)) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		run(life)
	}()
	a.onStop(func(context.Context) error {
		end()
		<-over
		return nil
	})
}

// drainWait is how long streams and requests get to end before the parts below stop.
const drainWait = 3 * time.Second
