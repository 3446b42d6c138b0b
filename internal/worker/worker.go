package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/prepared"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// Config sets up a worker. Zero values take the defaults that are named.
type Config struct {
	// WorkerHost is the id that runs are addressed to; default lineshaft.HostedWorker.
	WorkerHost string
	// WorkerID names this process among several with the same host. Required.
	WorkerID string
	// Version of the software, for the control plane's list of workers.
	Version string
	// DataDir holds the workspaces; no other process may use it. Required.
	DataDir string
	// Slots is how many executions run at the same time; default 2 × cores.
	Slots int
	// Harnesses are what agents can be driven by.
	Harnesses harness.Set
	// Git clones the repositories of environments; nil when there is no git.
	Git Cloner
	// Sandbox starts the agents' processes. Nil is for harnesses that start none.
	Sandbox sandbox.Sandbox
	// Limits and Network hold for every process tree.
	Limits  sandbox.Limits
	Network sandbox.Network
	// CacheBytes bounds the prepared environments that are kept, 0 keeps none; CacheAge is
	// how old one gets, 0 is any age.
	CacheBytes int64
	CacheAge   time.Duration
	// NoOverlay has prepared environments copied, even where a run could be on top of one.
	NoOverlay bool
	// SetUp gets how each environment was made ready; it may be nil.
	SetUp func(start Start, saved time.Duration)
	// Workspace bounds artifacts and snapshots.
	Workspace workspace.Limits
	// Gateway is the agents' way to models and tool servers; nil is none.
	Gateway *gateway.Gateway
	// Getenv reads a variable of the worker's own environment; default none has a value.
	Getenv func(name string) string
	// Imaged says that this process itself runs in the image of the run, as in a pod.
	Imaged bool
	// APIURL is what agents get as LINESHAFT_API_URL.
	APIURL string
	// Path is the agents' PATH; default DefaultPath.
	Path string
	// OutputBytes and OutputEvents cap what one execution may say; default 100 MB
	// and 100,000.
	OutputBytes  int64
	OutputEvents int
	// Grace is the time between SIGTERM and SIGKILL; default 2 s.
	Grace time.Duration
	// Drain is how long Stop lets executions continue; default 5 s, negative is none.
	Drain time.Duration
	// Now is the clock for the times of events and workspaces; default time.Now.
	Now func() time.Time
	// Ended is called with the outcome of each execution; it may be nil.
	Ended func(outcome lineshaft.RunState)
	// Logger gets one line per execution, and trouble; default none.
	Logger *slog.Logger
	// Tracer makes spans; nil is none.
	Tracer *tracing.Tracer
}

// DefaultPath is where agents find their programs.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (c Config) withDefaults() Config {
	c.WorkerHost = cmp.Or(c.WorkerHost, lineshaft.HostedWorker)
	c.Slots = cmp.Or(c.Slots, 2*runtime.NumCPU())
	c.Path = cmp.Or(c.Path, DefaultPath)
	c.OutputBytes = cmp.Or(c.OutputBytes, 100<<20)
	c.OutputEvents = cmp.Or(c.OutputEvents, 100_000)
	c.Grace = cmp.Or(c.Grace, 2*time.Second)
	c.Drain = cmp.Or(c.Drain, 5*time.Second)
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.SetUp == nil {
		c.SetUp = func(Start, time.Duration) {}
	}
	if c.Ended == nil {
		c.Ended = func(lineshaft.RunState) {}
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.WorkerID == "" {
		errs = append(errs, errors.New("a worker needs an id"))
	}
	if c.DataDir == "" {
		errs = append(errs, errors.New("a worker needs a data directory"))
	}
	if c.Slots < 0 {
		errs = append(errs, fmt.Errorf("%d slots: at least one is needed", c.Slots))
	}
	return errors.Join(errs...)
}

// Worker claims and executes runs. Start it once; Stop may be called at any time
// and any number of times.
type Worker struct {
	config     Config
	control    Control
	workspaces *workspace.Manager
	layers     *prepared.Store // nil when none are kept
	views      viewer          // nil when layers are copied
	logger     *slog.Logger

	sockets sockets

	// slots holds the numbers of the free ones.
	slots chan int
	// reports, beats and sweeps wake the loops of these names; asks wants a
	// heartbeat now.
	reports, beats, asks, sweeps signal

	mu         sync.Mutex
	started    bool
	draining   bool
	executions map[string]*execution
	// early are the last directives for executions that were not here.
	early []lineshaft.Directive
	// idle is closed while no execution runs; made again with the first.
	idle chan struct{}
	// sweepAt is when the next workspace may go; zero when none is known.
	sweepAt time.Time

	// life is the context of the loops, claiming that of the claim loop.
	life, claiming       context.Context
	endLife, endClaiming context.CancelCauseFunc
	loops, running       sync.WaitGroup
}

// New makes a worker that is not started yet.
func New(config Config, control Control) (*Worker, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("make worker: %w", err)
	}
	workspaces, err := workspace.NewManager(config.DataDir, config.Workspace)
	if err != nil {
		return nil, fmt.Errorf("make worker: %w", err)
	}
	w := &Worker{
		config: config, control: control, workspaces: workspaces,
		logger: config.Logger.With("worker", config.WorkerID),
		slots:  make(chan int, config.Slots), reports: newSignal(), beats: newSignal(), asks: newSignal(), sweeps: newSignal(),
		executions: map[string]*execution{}, idle: make(chan struct{}),
	}
	close(w.idle)
	for slot := range config.Slots {
		w.slots <- slot
	}
	return w, nil
}

// Start checks that the sandbox works, takes over the workspaces of a worker that
// died here, and begins to claim. It returns when that is done; the worker then
// runs until Stop, whatever becomes of ctx.
func (w *Worker) Start(ctx context.Context) error {
	if w.config.Sandbox != nil {
		if err := w.config.Sandbox.Check(ctx); err != nil {
			return fmt.Errorf("start worker: isolation %s: %w", w.config.Sandbox.Name(), err)
		}
	}
	if cleaner, ok := w.config.Sandbox.(cleaner); ok {
		if err := cleaner.Clean(ctx); err != nil {
			return fmt.Errorf("start worker: isolation %s: %w", w.config.Sandbox.Name(), err)
		}
	}
	left, err := w.workspaces.Adopt(ctx, w.config.Now().Add(lineshaft.DefaultIdleMinutes*time.Minute))
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	for _, l := range left {
		// Its agent ended with the worker; the control plane learns it from the lease.
		w.logger.WarnContext(ctx, "execution was left behind by an earlier worker process", "run_id", l.RunID)
	}
	w.openLayers(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started || w.draining {
		return errors.New("start worker: it was started or stopped before")
	}
	w.started = true
	w.life, w.endLife = context.WithCancelCause(context.WithoutCancel(ctx))
	w.claiming, w.endClaiming = context.WithCancelCause(w.life)
	for _, loop := range []func(){w.claimLoop, w.heartbeatLoop, w.directiveLoop, w.reportLoop, w.sweepLoop, w.strayLoop, w.layerLoop} {
		w.loops.Go(loop)
	}
	return nil
}

// cleaner is implemented by sandboxes whose agents can outlive a worker that is killed
// together with its supervisors.
type cleaner interface {
	Clean(ctx context.Context) error
}

// Stop drains: nothing more is claimed, executions may continue for Config.Drain and
// are then ended and handed back. It returns when nothing runs any more. When ctx
// ends, it ends everything at once.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	w.draining = true
	started := w.started
	w.mu.Unlock()
	if !started {
		return nil
	}
	w.endClaiming(errDraining)
	stop := context.AfterFunc(ctx, func() { w.endLife(errDraining) })
	defer stop()
	if !w.waitIdle(w.config.Drain) {
		for _, e := range w.held() {
			e.endWork(errDraining)
		}
	}
	w.running.Wait()
	w.endLife(errDraining)
	w.loops.Wait()
	if w.layers != nil {
		w.layers.Close(ctx)
	}
	if err := w.workspaces.Close(); err != nil {
		w.logger.WarnContext(ctx, "unmount workspaces", "err", err)
	}
	if w.config.Gateway != nil {
		w.config.Gateway.Close()
	}
	w.sockets.remove()
	return ctx.Err()
}

// waitIdle says whether all executions ended within d.
func (w *Worker) waitIdle(d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	for {
		w.mu.Lock()
		idle := w.idle
		w.mu.Unlock()
		select {
		case <-idle:
			return true
		case <-w.life.Done():
			return false
		case <-timer.C:
			return false
		}
	}
}

// Capacity is the number of executions that can run at the same time.
func (w *Worker) Capacity() int { return w.config.Slots }

// Running is the number of executions that run now.
func (w *Worker) Running() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.executions)
}

func (w *Worker) held() []*execution {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.executions))
}

// signal wakes a loop. Any number of pokes while it is busy wake it one more time.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) poke() {
	select {
	case s <- struct{}{}:
	default:
	}
}
