package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/pause"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// Control is what a launcher needs from the control plane: all that a worker needs, and a way
// to give an execution to its pod and take it back.
type Control interface {
	worker.Control
	// TakeOver gives an execution to a process, and returns the number
	// of the last event that was reported about it. Back takes it from the pod that it
	// was placed in, which has ended.
	TakeOver(ctx context.Context, ref lineshaft.ExecutionRef, workerID string, back bool) (lastEvent int64, err error)
}

// Config sets up a launcher.
type Config struct {
	// WorkerHost is the id that runs are addressed to, WorkerID names this process. It
	// must be a new one at each start: what an earlier process placed keeps running.
	WorkerHost, WorkerID string
	Version              string
	// Slots is how many executions are in the cluster at the same time.
	Slots    int
	Template Template
	// StartTimeout is how long a pod may take to start; default 15 minutes.
	StartTimeout time.Duration
	// Gateway is the pods' way to models, which they find at GatewayURL and this process
	// serves on GatewayListen; nil is none.
	Gateway                   *gateway.Gateway
	GatewayURL, GatewayListen string
	// Getenv reads a variable of this process; nil has none.
	Getenv func(name string) string
	// Ended is called with the outcome of each execution that did not report it itself; it may be nil.
	Ended  func(outcome lineshaft.RunState)
	Logger *slog.Logger
}

const (
	defaultStartTimeout = 15 * time.Minute
	// logBytes is how much of a failed pod's output is shown.
	logBytes = 16 << 10
	// leaveTime is how long a pod gets to end on its own when its run was taken away.
	leaveTime = 10 * time.Second
	// settleTime is how long a bad finding must hold: Jobs and pods are reported separately.
	settleTime = 500 * time.Millisecond
)

// Launcher places executions in a cluster. Start it once.
type Launcher struct {
	config  Config
	control Control
	cluster *Client
	logger  *slog.Logger
	leave   time.Duration // leaveTime, but in tests
	beats   chan struct{}
	freed   chan struct{}

	mu         sync.Mutex
	placements map[string]*placement
	sessions   map[string]*gateway.Session // of placements
	lease      time.Duration

	life    context.Context
	end     context.CancelFunc
	loops   sync.WaitGroup
	running sync.WaitGroup
}

// New makes a launcher that is not started yet.
func New(config Config, control Control, cluster *Client) (*Launcher, error) {
	if config.Template.Image == "" {
		return nil, errors.New("isolation kubernetes needs an image that has lineshaft; name it with --kubernetes-image")
	}
	if config.StartTimeout <= 0 {
		config.StartTimeout = defaultStartTimeout
	}
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	if config.Getenv == nil {
		config.Getenv = func(string) string { return "" }
	}
	if config.Ended == nil {
		config.Ended = func(lineshaft.RunState) {}
	}
	return &Launcher{
		config: config, control: control, cluster: cluster, logger: config.Logger.With("worker", config.WorkerID),
		leave: leaveTime, beats: make(chan struct{}, 1), freed: make(chan struct{}, 1), placements: map[string]*placement{}, sessions: map[string]*gateway.Session{}, lease: 30 * time.Second,
	}, nil
}

// Start checks that the cluster can be used, takes on what an earlier launcher placed
// there, and begins to claim.
func (l *Launcher) Start(ctx context.Context) error {
	if err := l.cluster.Check(ctx); err != nil {
		return fmt.Errorf("isolation kubernetes: %w", err)
	}
	if l.config.Template.Egress == "none" {
		if err := l.cluster.CheckPolicy(ctx); err != nil {
			return fmt.Errorf("isolation kubernetes: %w", err)
		}
	}
	listener, err := l.listen(ctx)
	if err != nil {
		return err
	}
	l.life, l.end = context.WithCancel(context.WithoutCancel(ctx))
	if listener != nil {
		l.loops.Go(func() { l.serve(listener) })
	}
	jobs := &watcher[Job]{
		client: l.cluster, kind: jobsKind(), selector: selector(l.config.WorkerHost), logger: l.logger,
		all: l.allJobs, one: l.sawJob, meta: func(j *Job) *Meta { return &j.Metadata },
	}
	pods := &watcher[Pod]{
		client: l.cluster, kind: podsKind(), selector: selector(l.config.WorkerHost), logger: l.logger,
		all: l.allPods, one: l.sawPod, meta: func(p *Pod) *Meta { return &p.Metadata },
	}
	for _, loop := range []func(){
		func() { jobs.run(l.life) }, func() { pods.run(l.life) }, l.claimLoop, l.beatLoop, l.directiveLoop,
	} {
		l.loops.Go(loop)
	}
	return nil
}

// Stop ends the launcher. What it placed keeps running: pods keep their own
// leases, and the next launcher takes them on.
func (l *Launcher) Stop(ctx context.Context) error {
	if l.end == nil {
		return nil
	}
	l.end()
	over := make(chan struct{})
	go func() {
		l.loops.Wait()
		l.running.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Capacity is the number of executions that can be placed at the same time.
func (l *Launcher) Capacity() int { return l.config.Slots }

// Running is the number of executions that are placed now.
func (l *Launcher) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.placements)
}

func poke(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// claimLoop fills the free slots.
func (l *Launcher) claimLoop() {
	l.adoptAll() // a claim gives up what this process has and does not know of
	var again pause.Backoff
	for l.life.Err() == nil {
		free := l.config.Slots - l.Running()
		if free <= 0 {
			select {
			case <-l.freed:
			case <-l.life.Done():
			}
			continue
		}
		jobs, err := l.control.Claim(l.life, lineshaft.ClaimRequest{
			WorkerHost: l.config.WorkerHost, WorkerID: l.config.WorkerID, Capacity: l.config.Slots, Limit: free, Version: l.config.Version,
		})
		for _, job := range jobs {
			l.add(job, false, nil)
		}
		switch {
		case err == nil:
			again.Reset()
		case l.life.Err() == nil:
			l.logger.WarnContext(l.life, "cannot claim a run", "err", err)
			again.Wait(l.life, asked(err))
		}
	}
}

// add begins a placement, of a job that was claimed or that was found in the cluster.
func (l *Launcher) add(job lineshaft.Job, adopted bool, models *PodModels) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.placements[job.ExecutionID] != nil {
		return
	}
	if job.Lease > 0 {
		l.lease = job.Lease
	}
	p := newPlacement(l, job, adopted)
	p.models = models
	l.placements[job.ExecutionID] = p
	l.running.Go(func() {
		p.run()
		l.mu.Lock()
		delete(l.placements, job.ExecutionID)
		l.mu.Unlock()
		poke(l.freed)
	})
	poke(l.beats)
}

func (l *Launcher) find(executionID string) *placement {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.placements[executionID]
}

func (l *Launcher) all() []*placement {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.placements))
}

func (l *Launcher) sawJob(job Job, gone bool) {
	p := l.find(job.Metadata.Labels[labelExecution])
	switch {
	case p != nil:
		p.saw(func(s *seen) {
			s.hadJob = true
			if s.job = &job; gone {
				s.job = nil
			}
		})
	case !gone && job.Metadata.DeletionTimestamp == nil:
		l.running.Go(func() { l.adopt(job) })
	}
}

func (l *Launcher) sawPod(pod Pod, gone bool) {
	p := l.find(pod.Metadata.Labels[labelExecution])
	if p == nil {
		return
	}
	p.saw(func(s *seen) {
		s.hadPod = true
		s.note(&pod)
		if s.pod = &pod; gone && !ended(&pod) { // how it ended counts, whatever deletes it
			s.pod = nil
		}
	})
}

func ended(pod *Pod) bool { return pod.Status.Phase == "Failed" || pod.Status.Phase == "Succeeded" }

func (l *Launcher) allJobs(jobs []Job) {
	there := map[string]bool{}
	for _, job := range jobs {
		there[job.Metadata.Labels[labelExecution]] = true
		l.sawJob(job, false)
	}
	for _, p := range l.all() {
		if !there[p.job.ExecutionID] {
			p.saw(func(s *seen) { s.job = nil })
		}
	}
}

func (l *Launcher) allPods(pods []Pod) {
	there := map[string]bool{}
	for _, pod := range pods {
		there[pod.Metadata.Labels[labelExecution]] = true
		l.sawPod(pod, false)
	}
	for _, p := range l.all() {
		if !there[p.job.ExecutionID] {
			p.saw(func(s *seen) {
				if s.pod != nil && !ended(s.pod) {
					s.pod = nil
				}
			})
		}
	}
}

// beatLoop keeps the leases of executions whose pods have not taken them over yet, and
// asks whether the others are still wanted.
func (l *Launcher) beatLoop() {
	for {
		l.mu.Lock()
		lease := l.lease
		l.mu.Unlock()
		timer := time.NewTimer(lease / 3)
		select {
		case <-l.life.Done():
			timer.Stop()
			return
		case <-l.beats:
			timer.Stop()
		case <-timer.C:
		}
		ctx, cancel := context.WithTimeout(l.life, lease/3)
		l.beat(ctx, lease)
		cancel()
	}
}

func (l *Launcher) beat(ctx context.Context, lease time.Duration) {
	var (
		mine []lineshaft.ExecutionRef
		ask  []*placement
		stop = map[string]bool{}
	)
	for _, p := range l.all() {
		switch p.holder(lease) {
		case heldHere:
			mine = append(mine, p.job.ExecutionRef)
		case heldThere:
			ask = append(ask, p)
		case heldNowhere:
		}
	}
	if len(mine) > 0 {
		directives, err := l.control.Heartbeat(ctx, l.config.WorkerID, mine)
		if err != nil {
			if l.life.Err() == nil {
				l.logger.WarnContext(ctx, "cannot send a heartbeat", "held", len(mine), "err", err)
			}
			return
		}
		for _, d := range directives {
			if d.Kind == lineshaft.DirectiveStop {
				stop[d.ExecutionID] = true
			}
		}
		for id := range stop {
			// Either the run was taken away, or its pod holds it now: asking shows which.
			if p := l.find(id); p != nil {
				ask = append(ask, p)
			}
		}
	}
	l.ask(ctx, ask, stop)
}

// ask finds out whether executions still hold their runs: the server accepts an empty report
// from those that do.
func (l *Launcher) ask(ctx context.Context, list []*placement, stop map[string]bool) {
	if len(list) == 0 {
		return
	}
	reports := make([]lineshaft.Report, len(list))
	for i, p := range list {
		reports[i] = lineshaft.Report{ExecutionRef: p.job.ExecutionRef, First: 1}
	}
	answers, err := l.control.Report(ctx, reports)
	if err != nil || len(answers) != len(list) {
		return // asked again with the next beat
	}
	for i, p := range list {
		switch {
		case goneFrom(answers[i]):
			p.setOver()
		case answers[i] == nil && stop[p.job.ExecutionID]:
			p.setTaken()
		}
	}
}

// directiveLoop learns of executions that are ended before their pod has them.
func (l *Launcher) directiveLoop() {
	var again pause.Backoff
	for l.life.Err() == nil {
		directives, err := l.control.Directives(l.life, l.config.WorkerID)
		for _, d := range directives {
			if p := l.find(d.ExecutionID); p != nil && d.Kind == lineshaft.DirectiveStop {
				poke(l.beats)
			}
		}
		switch {
		case err == nil:
			again.Reset()
		case l.life.Err() == nil:
			again.Wait(l.life, asked(err))
		}
	}
}
