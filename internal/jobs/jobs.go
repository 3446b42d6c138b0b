// Package jobs does the work that nobody waits for: ending executions whose worker
// was lost, runs that nobody took, settling lists, removing what is old.
//
// Every job is idempotent and works in small steps, so any number of nodes may do
// the same jobs on one database, and a crash in the middle leaves nothing to fix.
package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/internal/control"
)

// failuresToReport is how often in a row a job must fail before Health says so:
// one failure is often the database restarting.
const failuresToReport = 3

// Job is a piece of background work.
type Job struct {
	Name string
	// Every is the pause between two rounds; a round that says it did something is
	// followed by another at once.
	Every time.Duration
	// Wake, if there is one, says when to begin a round before its time.
	Wake func() <-chan struct{}
	// Observes says that it only looks: its failures are in the log, and Health leaves them
	// out. A node stays ready when only the looking fails.
	Observes bool
	Do       func(ctx context.Context) (did bool, err error)
}

// Runner runs jobs, each in a goroutine of its own.
type Runner struct {
	jobs   []Job
	log    *slog.Logger
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	failures map[string]int
}

// New returns a Runner; Start starts it.
func New(jobs []Job, log *slog.Logger) *Runner {
	return &Runner{jobs: jobs, log: log, failures: map[string]int{}, cancel: func() {}}
}

// For lists the jobs of a control plane whose leases last as long as given.
func For(s *control.Service, lease time.Duration) []Job {
	count := func(do func(context.Context) (int, error)) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			n, err := do(ctx)
			return n > 0, err
		}
	}
	quiet := func(do func(context.Context) error) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) { return false, do(ctx) }
	}
	return []Job{
		{Name: "leases", Every: min(lease/4, 5*time.Second), Do: count(s.ReapLeases)},
		{Name: "queue", Every: 10 * time.Second, Do: count(s.EndOverdue)},
		{Name: "skills", Every: time.Second, Wake: s.SkillsWanted, Do: count(s.FindSkills)},
		{Name: "timers", Every: time.Second, Do: count(s.FireDue)},
		{Name: "lists", Every: time.Second, Do: s.SettleRuns},
		{Name: "logs", Every: 300 * time.Millisecond, Do: s.SettleDeliveries},
		{Name: "keys", Every: 30 * time.Second, Do: quiet(s.NoteKeyUse)},
		{Name: "deleted", Every: 10 * time.Second, Do: quiet(s.RemoveDeleted)},
		{Name: "master key", Every: time.Hour, Do: count(s.RewrapSecrets)},
		{Name: "rates", Every: 5 * time.Second, Do: count(s.FoldRates)},
		{Name: "old rates", Every: time.Hour, Do: quiet(s.PurgeRates)},
		{Name: "deliveries", Every: 10 * time.Minute, Do: quiet(s.PurgeDeliveries)},
		{Name: "callbacks", Every: 10 * time.Second, Observes: true, Do: quiet(s.WatchCallbacks)},
		{Name: "notifications", Every: 10 * time.Minute, Do: quiet(s.PurgeNotifications)},
		{Name: "retention", Every: 10 * time.Minute, Do: quiet(s.Purge)},
	}
}

// Start starts the jobs; they run until Stop.
func (r *Runner) Start(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, job := range r.jobs {
		r.wg.Go(func() { r.loop(ctx, job) })
	}
}

// Stop ends the jobs and waits for them; it may be called twice.
func (r *Runner) Stop() {
	r.cancel()
	r.wg.Wait()
}

// Health is "" or the name of a job that keeps failing.
func (r *Runner) Health() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range r.jobs {
		if !job.Observes && r.failures[job.Name] >= failuresToReport {
			return job.Name + " keeps failing"
		}
	}
	return ""
}

func (r *Runner) loop(ctx context.Context, job Job) {
	var wake <-chan struct{}
	if job.Wake != nil {
		wake = job.Wake()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-wake:
		}
		did, err := job.Do(ctx)
		if ctx.Err() != nil {
			return
		}
		r.note(ctx, job.Name, err)
		if did && err == nil {
			timer.Reset(0)
		} else {
			timer.Reset(job.Every)
		}
	}
}

func (r *Runner) note(ctx context.Context, name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.failures[name] = 0
		return
	}
	r.failures[name]++
	r.log.LogAttrs(ctx, slog.LevelWarn, "background job", slog.String("job", name), slog.Int("failures", r.failures[name]), slog.Any("err", err))
}
