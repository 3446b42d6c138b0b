package overview

import (
	"context"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// failedLately and refusedLately are how long failures need attention.
	failedLately  = 24 * time.Hour
	refusedLately = time.Hour
	// queueOld is how long a run may wait for a worker that is connected, queueNew how
	// long a run must wait before a missing worker is reported.
	queueOld = 5 * time.Minute
	queueNew = 10 * time.Second
	// attentionEach is how many of one kind are shown.
	attentionEach = 3
	// queueLook and refusedLook are how many runs and deliveries are checked.
	queueLook   = 100
	refusedLook = 500
)

// AttentionKind says what it is that needs attention.
type AttentionKind string

// The kinds, in the order in which they are shown.
const (
	// AttentionBlocked is a run that waits for an answer.
	AttentionBlocked AttentionKind = "blocked"
	// AttentionWorker is a worker that queued runs wait for and that is not connected.
	AttentionWorker AttentionKind = "worker"
	// AttentionQueue is a run that waits long for a worker that is connected.
	AttentionQueue AttentionKind = "queue"
	// AttentionSecret is a webhook whose secret is still to be entered.
	AttentionSecret AttentionKind = "secret"
	// AttentionRefused is a webhook that refused deliveries.
	AttentionRefused AttentionKind = "refused"
	// AttentionSilent is an automation that listens to a webhook that is gone.
	AttentionSilent AttentionKind = "silent"
	// AttentionRepository is a factory whose repository cannot be read or applied.
	AttentionRepository AttentionKind = "repository"
	// AttentionSchedule is a schedule whose last time started no run.
	AttentionSchedule AttentionKind = "schedule"
	// AttentionCallback is an endpoint of callbacks that the server disabled.
	AttentionCallback AttentionKind = "callback"
	// AttentionLate are callbacks that are not even made yet.
	AttentionLate AttentionKind = "late"
	// AttentionFailed is a run that failed.
	AttentionFailed AttentionKind = "failed"
)

func (s *Overviews) findAttention(ctx context.Context, c lineshaft.Caller, view *Overview) error {
	finders := []func(context.Context, lineshaft.Caller, *Overview) ([]Attention, error){s.findBlocked, s.findWaiting}
	if c.Role.May(lineshaft.PermissionFactoriesRead) {
		finders = append(finders, s.findWebhooks, s.findSilent, s.findRepositories, s.findCallbacks)
	}
	for _, find := range append(finders, s.findSchedules, s.findFailed) {
		found, err := find(ctx, c, view)
		if err != nil {
			return err
		}
		view.Attention = append(view.Attention, found...)
	}
	return nil
}

// few cuts a list that was read with one more than is shown.
func few(found []Attention) []Attention {
	if len(found) > attentionEach {
		found = found[:attentionEach]
		found[attentionEach-1].More = true
	}
	return found
}

func ofRuns(kind AttentionKind, runs []store.RunBrief) []Attention {
	var found []Attention
	for _, run := range runs {
		found = append(found, Attention{Kind: kind, ID: run.ID, Name: run.Title, State: run.State, Reason: run.Message, At: run.UpdatedAt})
	}
	return few(found)
}

func ofBroken(kind AttentionKind, broken []store.Broken) []Attention {
	var found []Attention
	for _, b := range broken {
		found = append(found, Attention{
			Kind: kind, ID: b.ID, Name: b.Name, FactoryUID: b.FactoryUID, FactoryName: b.FactoryName, Reason: b.Reason, At: b.At, Count: b.Count,
		})
	}
	return few(found)
}

func (s *Overviews) findBlocked(ctx context.Context, c lineshaft.Caller, _ *Overview) ([]Attention, error) {
	runs, err := s.Store.ListBlocked(ctx, c.FactoryUIDs, attentionEach+1)
	return ofRuns(AttentionBlocked, runs), err
}

func (s *Overviews) findFailed(ctx context.Context, c lineshaft.Caller, view *Overview) ([]Attention, error) {
	runs, err := s.Store.NewestFailed(ctx, c.FactoryUIDs, view.At.Add(-failedLately), attentionEach+1)
	return ofRuns(AttentionFailed, runs), err
}

// findWaiting looks at the head of the queue. Runs that wait for others or for their
// skills are not the workers' fault.
func (s *Overviews) findWaiting(ctx context.Context, c lineshaft.Caller, view *Overview) ([]Attention, error) {
	queued, err := s.Store.OldestQueued(ctx, c.FactoryUIDs, queueLook)
	if err != nil || len(queued) == 0 {
		return nil, err
	}
	view.OldestQueued = queued[0].QueuedAt
	connected, err := s.hosts(ctx)
	if err != nil {
		return nil, err
	}
	var missing, old []Attention
	for _, run := range queued {
		waits := view.At.Sub(run.QueuedAt)
		there := slices.Contains(connected, run.WorkerHost)
		switch {
		case run.Hold != 0:
		case !there && waits >= queueNew:
			at := slices.IndexFunc(missing, func(a Attention) bool { return a.ID == run.WorkerHost })
			if at < 0 {
				at = len(missing)
				missing = append(missing, Attention{Kind: AttentionWorker, ID: run.WorkerHost, Name: run.WorkerHost, At: run.QueuedAt})
			}
			missing[at].Count++
		case there && waits >= queueOld:
			if len(old) == 0 {
				old = []Attention{{Kind: AttentionQueue, ID: run.ID, Name: run.Title, State: run.State, At: run.QueuedAt}}
			}
			old[0].Count++
		}
	}
	return append(few(missing), old...), nil
}

func (s *Overviews) findWebhooks(ctx context.Context, c lineshaft.Caller, view *Overview) ([]Attention, error) {
	unfinished, err := s.Store.UnfinishedWebhooks(ctx, c.FactoryUIDs, attentionEach+1)
	if err != nil {
		return nil, err
	}
	refused, err := s.Store.RefusedDeliveries(ctx, view.At.Add(-refusedLately), refusedLook)
	if err != nil {
		return nil, err
	}
	refused = slices.DeleteFunc(refused, func(b store.Broken) bool { return !c.MaySeeFactory(b.FactoryUID) })
	return append(ofBroken(AttentionSecret, unfinished), ofBroken(AttentionRefused, refused)...), nil
}

func (s *Overviews) findRepositories(ctx context.Context, c lineshaft.Caller, _ *Overview) ([]Attention, error) {
	broken, err := s.Store.BrokenRepositories(ctx, c.FactoryUIDs, attentionEach+1)
	return ofBroken(AttentionRepository, broken), err
}

func (s *Overviews) findSchedules(ctx context.Context, c lineshaft.Caller, _ *Overview) ([]Attention, error) {
	broken, err := s.Store.BrokenSchedules(ctx, c.FactoryUIDs, attentionEach+1)
	return ofBroken(AttentionSchedule, broken), err
}

func (s *Overviews) findCallbacks(ctx context.Context, c lineshaft.Caller, view *Overview) ([]Attention, error) {
	all, err := s.notify.ListNotifications(ctx, c)
	var found, late []Attention
	backlog := s.notify.CallbackBacklog()
	for _, n := range all {
		if n.Enabled && backlog.Late() && late == nil {
			late = []Attention{{Kind: AttentionLate, At: view.At.Add(-backlog.Lag), Reason: lateReason(backlog)}}
		}
		if n.DisabledReason != "" {
			found = append(found, Attention{Kind: AttentionCallback, ID: n.ID, Name: n.Name, Reason: n.DisabledReason, At: n.DisabledAt})
		}
	}
	return append(late, few(found)...), err
}

// lateReason leaves out which transaction it is: that names other databases.
func lateReason(b notify.CallbackBacklog) string {
	if b.HeldBy == "" {
		return "the server's log says why"
	}
	return "a transaction in the database has not ended; the server's log and the Doctor page name it"
}

// Attention is something that a person should look at.
type Attention struct {
	Kind AttentionKind
	// ID and Name are those of the run, webhook, factory, schedule, worker or endpoint.
	ID, Name string
	// FactoryUID and FactoryName are where it is, if in a factory.
	FactoryUID, FactoryName string
	// State is the run's.
	State lineshaft.RunState
	// Reason is what went wrong, in the words that are kept of it.
	Reason string
	// At is since when, or when last; zero where that is not known.
	At time.Time
	// Count is how often, or how many runs wait.
	Count int
	// More says that there are others of this kind which are not listed.
	More bool
}
