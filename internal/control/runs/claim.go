package runs

import (
	"context"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

const (
	// longPoll is how long Claim and Directives wait before they return nothing.
	longPoll = 20 * time.Second
	// queuePoll is how often a waiting claim looks without being woken.
	queuePoll = time.Second
)

// Claim gives queued runs to a worker, waiting until there is one. It returns
// nothing when none came for a while. Claims for the same worker id are served in
// turn, and each gets at most an even share while others wait.
func (s *Runs) Claim(ctx context.Context, req lineshaft.ClaimRequest) ([]lineshaft.Job, error) {
	place := s.lines.join(req.WorkerHost, req.FactoryUIDs, s.Hub)
	defer place.leave()
	deadline := time.NewTimer(longPoll)
	defer deadline.Stop()
	poll := time.NewTicker(queuePoll)
	defer poll.Stop()
	for {
		if err := s.noteWorker(ctx, req); err != nil {
			return nil, err
		}
		jobs, err := s.claimNow(ctx, req, place)
		if err != nil || len(jobs) > 0 {
			return jobs, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, nil
		case <-place.look:
		case <-place.woken():
			place.passOn()
		case <-poll.C:
		}
	}
}

// claimNow claims what is queued, if it is this one's turn. It looks before it writes,
// so an idle worker costs the writer nothing, unless the last claim of its line found as many as it asked for.
func (s *Runs) claimNow(ctx context.Context, req lineshaft.ClaimRequest, place *claimPlace) ([]lineshaft.Job, error) {
	count, front := place.atFront(req.Limit)
	if !front {
		return nil, nil
	}
	waiting := req.Limit
	var err error
	if count > 0 {
		if waiting, err = s.Store.CountQueued(ctx, req.WorkerHost, count, req.FactoryUIDs...); err != nil {
			return nil, err
		}
	}
	share := place.take(waiting, req.Limit)
	if share == 0 {
		return nil, nil
	}
	var jobs []lineshaft.Job
	var queued []time.Time
	granted := time.Now() // the leases begin later, in the transaction: this errs on the safe side
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		jobs = nil
		claims, err := tx.PickQueued(ctx, req.WorkerHost, share, req.FactoryUIDs...)
		if err != nil || len(claims) == 0 {
			return err
		}
		jobs, err = s.claim(ctx, tx, req, claims)
		queued = base.QueuedAt(claims)
		return err
	})
	if err != nil {
		jobs = nil
	}
	place.taken(share, len(jobs), err)
	if err != nil {
		return nil, err // the runs are still queued, also for others
	}
	for i := range jobs {
		jobs[i].Granted = granted
		s.TraceClaim(ctx, &jobs[i], queued[i], req.WorkerID)
	}
	return jobs, nil
}

// claim moves picked runs through PENDING to CLAIMED and makes their jobs.
func (s *Runs) claim(ctx context.Context, tx *store.Tx, req lineshaft.ClaimRequest, claims []*store.Claim) ([]lineshaft.Job, error) {
	if err := tx.InsertExecutions(ctx, claims, req.WorkerID, s.Cfg.Lease); err != nil {
		return nil, err
	}
	now := s.Store.Now()
	jobs := make([]lineshaft.Job, len(claims))
	heads := make([]*store.RunHead, len(claims))
	events := make([][]lineshaft.Draft, len(claims))
	prepare := preparations{s: s, tx: tx}
	for i, claim := range claims {
		h := claim.Head
		h.WorkerID = req.WorkerID
		for _, to := range []lineshaft.RunState{lineshaft.Pending, lineshaft.Claimed} {
			from := h.State
			if _, err := h.Move(to, lineshaft.StatusMessage{Message: "a worker is preparing the workspace"}, req.WorkerID, now); err != nil {
				return nil, err
			}
			events[i] = append(events[i], lineshaft.StateEvent(now, from, to, lineshaft.StatusMessage{}, req.WorkerID))
		}
		job, err := s.job(ctx, tx, claim)
		if err != nil {
			return nil, err
		}
		if err := prepare.fill(ctx, &job, h.FactoryUID); err != nil {
			return nil, err
		}
		heads[i], jobs[i] = h, job
		tx.Wake(stream.RunTopic(h.ID))
	}
	tx.Wake(stream.StatesTopic)
	return jobs, tx.SaveRuns(ctx, heads, events)
}

// job makes what the worker gets: the prompt if it is still open, otherwise the oldest
// follow-up.
func (s *Runs) job(ctx context.Context, tx *store.Tx, claim *store.Claim) (lineshaft.Job, error) {
	h := claim.Head
	job := lineshaft.Job{
		ExecutionRef: lineshaft.ExecutionRef{ExecutionID: claim.ExecutionID, Token: claim.Token},
		RunID:        h.ID, Number: h.Executions, Title: claim.Title, Config: claim.Body.Config, RunToken: claim.RunToken,
		Lease: s.Cfg.Lease, Source: claim.Source, Turn: lineshaft.Turn{Message: claim.Body.Submitted}, Resumed: h.Executions > 1,
		Used: h.Usage, TraceParent: claim.TraceParent,
	}
	job.Config.WorkerHost = h.WorkerHost
	err := s.secrets.GiveSecrets(ctx, tx, &job)
	if err != nil {
		return job, err
	}
	if err := s.giveSkills(ctx, tx, claim, &job); err != nil {
		return job, err
	}
	if h.PromptDone {
		turn, err := s.takeTurn(ctx, tx, h)
		if err != nil {
			return job, err
		}
		if turn != nil {
			job.Turn = *turn
		}
	} else if claim.Body.Files > 0 {
		if job.Turn.Attachments, err = tx.ListAttachments(ctx, h.ID, ""); err != nil {
			return job, err
		}
	}
	if h.ParentRunID != "" || job.Resumed { // others have nothing above or below them
		if err := limitJob(ctx, tx, &job); err != nil {
			return job, err
		}
	}
	if job.Resumed {
		if job.Snapshot, err = tx.NewestSnapshot(ctx, h.ID); err != nil {
			return job, err
		}
	}
	return job, s.giveConversation(ctx, tx, claim.Body.Continues, &job)
}

// takeTurn hands the oldest unread follow-up to the run's execution.
func (s *Runs) takeTurn(ctx context.Context, tx *store.Tx, h *store.RunHead) (*lineshaft.Turn, error) {
	f, err := tx.TakeFollowup(ctx, h)
	if err != nil || f == nil {
		return nil, err
	}
	return s.turnOf(ctx, tx, f)
}

func (s *Runs) turnOf(ctx context.Context, tx *store.Tx, f *store.Followup) (*lineshaft.Turn, error) {
	attachments, err := tx.ListAttachments(ctx, f.RunID, f.ID)
	if err != nil {
		return nil, err
	}
	return &lineshaft.Turn{FollowupID: f.ID, Message: f.Message, Attachments: attachments}, nil
}

// noteWorker records that a worker is alive, at most every few seconds.
func (s *Runs) noteWorker(ctx context.Context, req lineshaft.ClaimRequest) error {
	return s.recordWorker(ctx, store.Worker{
		ID: req.WorkerID, WorkerHost: req.WorkerHost, Version: req.Version, Capacity: req.Capacity, Running: req.Capacity - req.Limit,
		Labels: req.Labels, FactoryUIDs: req.FactoryUIDs,
	})
}

func (s *Runs) recordWorker(ctx context.Context, w store.Worker) error {
	now, due := s.seenNow(w.ID)
	if !due {
		return nil
	}
	w.LastSeenAt = now
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutWorker(ctx, w, s.WorkerCutoff())
	})
}

// seenNow notes that a worker has called, and says whether to record that again.
func (s *Runs) seenNow(workerID string) (now time.Time, due bool) {
	now = s.Store.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.seen[workerID]) < s.Cfg.Lease/6 {
		return now, false
	}
	if len(s.seen) >= maxInboxes { // forgetting costs a few writes
		clear(s.seen)
	}
	s.seen[workerID] = now
	return now, true
}

// ForgetWorker removes a worker process that has stopped from the list of connected ones.
func (s *Runs) ForgetWorker(ctx context.Context, workerID string) error {
	s.mu.Lock()
	s.inbox.drop(workerID)
	delete(s.seen, workerID)
	s.mu.Unlock()
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteWorker(ctx, workerID) })
}

// Heartbeat extends the leases of what a worker holds and returns what changed. What
// was not extended any more is lost: the worker must end it.
func (s *Runs) Heartbeat(ctx context.Context, workerID string, held []lineshaft.ExecutionRef) ([]lineshaft.Directive, error) {
	known, err := s.Store.GetExecutions(ctx, held)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(known))
	for executionID := range known {
		ids = append(ids, executionID)
	}
	slices.Sort(ids)
	var renewed []string
	if len(ids) > 0 {
		now, due := s.seenNow(workerID) // a worker without free slots does not claim
		err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			if due {
				if err := tx.TouchWorker(ctx, workerID, len(held), now); err != nil {
					return err
				}
			}
			renewed, err = tx.ExtendLeases(ctx, workerID, ids, s.Cfg.Lease)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	directives, err := s.directives(ctx, workerID)
	if err != nil {
		return nil, err
	}
	for _, ref := range held {
		if !slices.Contains(renewed, ref.ExecutionID) {
			directives = append(directives, lineshaft.Directive{ExecutionID: ref.ExecutionID, Kind: lineshaft.DirectiveStop, Reason: "the lease is lost"})
		}
	}
	return directives, nil
}

// Directives waits for something to send to a worker process. What it returns is read
// from the store, so the next heartbeat makes up for a lost wake-up.
func (s *Runs) Directives(ctx context.Context, workerID string) ([]lineshaft.Directive, error) {
	box, done := s.listen(workerID)
	defer done()
	deadline := time.NewTimer(longPoll)
	defer deadline.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-deadline.C:
		return nil, nil
	case <-box.C:
		return s.directives(ctx, workerID)
	}
}

func (s *Runs) directives(ctx context.Context, workerID string) ([]lineshaft.Directive, error) {
	held, err := s.Store.ListHeld(ctx, workerID)
	if err != nil {
		return nil, err
	}
	var out []lineshaft.Directive
	for _, h := range held {
		switch {
		case !h.Current || h.State.Terminal() || h.State == lineshaft.Queued:
			out = append(out, lineshaft.Directive{ExecutionID: h.ExecutionID, Kind: lineshaft.DirectiveStop, Reason: "the run is " + string(h.State)})
		case h.Interrupted:
			var mine bool
			err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
				mine, err = tx.TakeInterrupt(ctx, h.ExecutionID, h.State != lineshaft.Claimed)
				return err
			})
			if err != nil {
				return nil, err
			}
			if mine {
				out = append(out, lineshaft.Directive{ExecutionID: h.ExecutionID, Kind: lineshaft.DirectiveInterrupt})
			}
		case h.FollowupID != "":
			out = append(out, lineshaft.Directive{ExecutionID: h.ExecutionID, Kind: lineshaft.DirectiveFollowup, FollowupID: h.FollowupID})
		}
	}
	return out, nil
}
