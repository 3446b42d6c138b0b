package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/mask"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// placement is one execution in the cluster, from its claim until nothing is left.
type placement struct {
	l       *Launcher
	job     lineshaft.Job
	name    string
	adopted bool
	began   time.Time
	wake    chan struct{}
	ready   chan struct{} // closed when it is known who has the execution
	// work ends when the run was taken away.
	work context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	models  *PodModels // nil without the gateway
	seen    seen
	taken   bool
	started time.Time // of the container, as far as we saw

	noticed   string
	lastEvent int64
}

func newPlacement(l *Launcher, job lineshaft.Job, adopted bool) *placement {
	p := &placement{l: l, job: job, name: jobName(job.ExecutionID), adopted: adopted, began: time.Now(), wake: make(chan struct{}, 1), ready: make(chan struct{})}
	p.work, p.stop = context.WithCancel(l.life)
	return p
}

// saw takes news of the cluster.
func (p *placement) saw(change func(*seen)) {
	p.mu.Lock()
	change(&p.seen)
	p.mu.Unlock()
	poke(p.wake)
}

func (p *placement) look() seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// ended says that there was a pod and none can run any more: each was seen to have
// ended. A deleted pod may keep running where the cluster does not reach its node.
func (p *placement) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.ended && len(p.seen.open) == 0
}

// nowhere says that no node ever had a pod.
func (p *placement) nowhere() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.adopted && !p.seen.ended && len(p.seen.open) == 0
}

func (p *placement) setTaken() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = true
}

func (p *placement) setOver() { p.stop() }

// over says that the run was taken away, and not that the launcher stops.
func (p *placement) over() bool { return p.work.Err() != nil && p.l.life.Err() == nil }

// holder is who keeps an execution's lease.
type holder int

const (
	heldHere holder = iota
	heldThere
	heldNowhere
)

// holder says who keeps the lease now. Until its pod takes the execution over, we do.
// If a pod has started and does not take it over, the lease runs out.
func (p *placement) holder(lease time.Duration) holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.work.Err() != nil:
		return heldNowhere
	case p.taken || !p.started.IsZero() && time.Since(p.started) > lease:
		return heldThere
	default:
		return heldHere
	}
}

// run places the execution and watches it until it is over. When the launcher stops it
// returns at once and leaves everything as it is.
func (p *placement) run() {
	defer p.stop()
	defer p.l.closeGate(p.job.ExecutionID)
	look := p.judge
	if p.job.Fault != "" {
		look = stays(finding{stage: stageBroken, result: lineshaft.TurnResult{State: lineshaft.Failed, Code: lineshaft.CodeEnvironmentSetupFailed, Message: p.job.Fault, Dead: true}})
	} else if err := p.begin(); err != nil {
		look = stays(unplaced(err))
	}
	for p.work.Err() == nil {
		f, settled := look()
		switch {
		case settled && f.stage == stageLeft:
			if p.left() {
				return
			}
		case settled && (f.stage == stageBroken || f.stage == stageLost):
			if p.conclude(f) {
				return
			}
		case f.stage == stageWaiting && f.notice != "":
			p.notice(f.notice)
		}
		p.wait(settled)
	}
	if p.over() {
		p.evict()
	}
}

// stays is a finding that the cluster cannot change.
func stays(f finding) func() (finding, bool) { return func() (finding, bool) { return f, true } }

// begin makes the Job, or takes on an existing one.
func (p *placement) begin() error {
	defer close(p.ready)
	if err := p.openGate(); err != nil {
		return err
	}
	if p.adopted {
		p.takeOn()
		return nil
	}
	return p.create()
}

// judge reads the present state. A bad one counts when it is still the same a moment
// later, since Jobs and pods are reported separately.
func (p *placement) judge() (f finding, settled bool) {
	f = judge(p.look())
	switch f.stage {
	case stageRunning:
		p.mu.Lock()
		if p.started.IsZero() {
			p.started = time.Now()
		}
		p.mu.Unlock()
		return f, true
	case stageWaiting:
		if waited := time.Since(p.began); waited > p.l.config.StartTimeout {
			return overdue(p.l.config.StartTimeout, f.notice), true
		}
		return f, true
	default:
		timer := time.NewTimer(settleTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.work.Done():
		}
		again := judge(p.look())
		return again, again.stage == f.stage && again.result.State == f.result.State
	}
}

func overdue(limit time.Duration, notice string) finding {
	message := fmt.Sprintf("the pod did not start within %s", limit)
	if notice != "" {
		message += "; " + notice
	}
	return finding{stage: stageBroken, result: lineshaft.TurnResult{State: lineshaft.Errored, Code: lineshaft.CodeInfrastructureTimeout, Message: message, Dead: true}}
}

// wait returns when there may be something new.
func (p *placement) wait(settled bool) {
	pause := min(5*time.Second, max(time.Until(p.began.Add(p.l.config.StartTimeout)), settleTime))
	if !settled {
		pause = settleTime
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-p.wake:
	case <-timer.C:
	case <-p.work.Done():
	}
}

// create makes the Job and its Secret. The pod waits for the Secret; a Job that never
// gets one is ended with the placement.
func (p *placement) create() error {
	ctx, cancel := context.WithTimeout(p.work, p.l.config.StartTimeout)
	defer cancel()
	var made *Job
	err := p.persist(ctx, func(ctx context.Context) (err error) {
		made, err = p.l.cluster.createJob(ctx, p.l.config.Template.job(p.l.config.WorkerHost, p.job))
		return err
	})
	if err != nil {
		return err
	}
	secret, err := p.l.config.Template.secret(p.l.config.WorkerHost, p.job, made, p.models)
	if err != nil {
		return err
	}
	p.saw(func(s *seen) { s.hadJob = true })
	return p.persist(ctx, func(ctx context.Context) error {
		_, err := p.l.cluster.createSecret(ctx, secret)
		return err
	})
}

// persist tries again what the cluster refuses for lack of quota: other pods end.
func (p *placement) persist(ctx context.Context, call func(context.Context) error) error {
	return persist(ctx, func(ctx context.Context) error {
		err := call(ctx)
		if e, ok := errors.AsType[*APIError](err); ok && e.Code == http.StatusForbidden && strings.Contains(e.Message, "exceeded quota") {
			p.notice("The cluster's quota is used up" + said(e.Message))
			return errors.New(e.Message)
		}
		return err
	})
}

// unplaced is the result for a run whose Job cannot be made.
func unplaced(err error) finding {
	result := lineshaft.TurnResult{State: lineshaft.Errored, Code: lineshaft.CodeInfrastructureTimeout, Dead: true, Message: "no Job could be made: " + err.Error()}
	if lineshaft.CodeOf(err) == lineshaft.CodeEnvironmentSetupFailed {
		result.State, result.Code, result.Message = lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed, err.Error()
		return finding{stage: stageBroken, result: result}
	}
	if final(err) {
		result.Code = lineshaft.CodeInternal
	}
	if hasCode(err, http.StatusUnprocessableEntity) || hasCode(err, http.StatusBadRequest) {
		result.State, result.Code = lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed
	}
	return finding{stage: stageBroken, result: result}
}

// takeOn makes an execution ours that an earlier launcher placed. A pod that has it
// keeps it.
func (p *placement) takeOn() {
	var last int64
	err := tell(p.work, func(ctx context.Context) (err error) {
		last, err = p.l.control.TakeOver(ctx, p.job.ExecutionRef, p.l.config.WorkerID, false)
		return err
	})
	if err == nil {
		p.lastEvent = last
		return
	}
	p.setTaken()
	p.l.ask(p.work, []*placement{p}, nil)
}

// notice shows people why it takes long, once for each reason.
func (p *placement) notice(text string) {
	p.mu.Lock()
	taken := p.taken || !p.started.IsZero()
	p.mu.Unlock()
	if p.noticed == text || taken { // the pod reports for itself
		return
	}
	p.noticed = text
	p.report(p.work, lineshaft.NewDraft(lineshaft.EventNotice, time.Now(), lineshaft.NoticeData{Level: "warning", Text: text}))
}

// report adds an event after those that we reported before.
func (p *placement) report(ctx context.Context, draft lineshaft.Draft) {
	err := tell(ctx, func(ctx context.Context) error {
		answers, err := p.l.control.Report(ctx, []lineshaft.Report{{ExecutionRef: p.job.ExecutionRef, First: p.lastEvent + 1, Events: []lineshaft.Draft{draft}}})
		if err == nil && len(answers) == 1 {
			err = answers[0]
		}
		return err
	})
	if err == nil {
		p.lastEvent++
	}
}

// left looks after a pod that ended in good order: its run should also have ended.
func (p *placement) left() (done bool) {
	p.l.ask(p.work, []*placement{p}, nil)
	if !p.over() {
		return p.conclude(lost("its pod ended without saying how the run did"))
	}
	p.clean()
	return true
}

// conclude says how an execution ended whose pod cannot, and removes it. It is not done
// while the pod has the execution and may still run, on a node that the cluster does not
// reach: then the lease must run out, after which the pod's agent has ended.
func (p *placement) conclude(f finding) (done bool) {
	var last int64
	back := p.ended()
	err := tell(p.work, func(ctx context.Context) (err error) {
		last, err = p.l.control.TakeOver(ctx, p.job.ExecutionRef, p.l.config.WorkerID, back)
		return err
	})
	if goneFrom(err) && !back {
		p.setTaken()
		p.l.ask(p.work, []*placement{p}, nil)
		if p.work.Err() == nil && p.noticed != f.result.Message {
			p.noticed = f.result.Message
			p.l.logger.WarnContext(p.work, "the end of a pod was not seen; its lease has to run out", "run_id", p.job.RunID, "execution_id", p.job.ExecutionID, "message", f.result.Message)
		}
		return false
	}
	if err == nil {
		p.lastEvent = last
		p.showLogs(f)
		err = tell(p.work, func(ctx context.Context) error {
			_, err := p.l.control.EndTurn(ctx, p.job.ExecutionRef, f.result)
			return err
		})
	}
	if p.l.life.Err() != nil {
		return true
	}
	if err == nil {
		p.l.config.Ended(f.result.State)
	}
	p.l.logger.InfoContext(p.l.life, "execution ended in the cluster", "run_id", p.job.RunID, "execution_id", p.job.ExecutionID,
		"outcome", string(f.result.State), "code", string(f.result.Code), "message", f.result.Message, "reported", err == nil)
	p.clean()
	return true
}

// showLogs adds what the pod wrote to the run's log.
func (p *placement) showLogs(f finding) {
	pod := p.look().pod
	if !f.logs || pod == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.work, callTime)
	defer cancel()
	for _, container := range []string{"install", containerName} {
		text, err := p.l.cluster.logs(ctx, pod.Metadata.Name, container)
		if err != nil || strings.TrimSpace(text) == "" {
			continue // the pod may be gone with its logs
		}
		p.report(ctx, lineshaft.NewDraft(lineshaft.EventOutput, time.Now(), lineshaft.OutputData{Stream: "stderr", Text: p.mask().String(text)}))
	}
}

// mask covers all that the pod's worker masks, and the token that only the two of us have.
func (p *placement) mask() *mask.Masker {
	secrets := worker.SecretsToMask(p.job)
	secrets["LINESHAFT_EXECUTION_TOKEN"] = p.job.Token
	return mask.New(secrets)
}

// evict removes a pod whose run was taken away: it has a moment to end on its own.
func (p *placement) evict() {
	timer := time.NewTimer(p.l.leave)
	defer timer.Stop()
	s := p.look()
	waiting := judge(s).stage == stageRunning
	for waiting {
		select {
		case <-p.wake:
			waiting = judge(p.look()).stage == stageRunning
		case <-timer.C:
			waiting = false
		case <-p.l.life.Done():
			return
		}
	}
	p.clean()
	if !p.ended() && !p.nowhere() { // it may still run: the server waits for its lease
		return
	}
	ctx, cancel := context.WithTimeout(p.l.life, leaveTime)
	defer cancel()
	err := tell(ctx, func(ctx context.Context) error {
		_, err := p.l.control.EndTurn(ctx, p.job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Cancelled, Message: "the pod was removed", Dead: true})
		return err
	})
	if err != nil && !goneFrom(err) {
		p.l.logger.WarnContext(p.l.life, "last word", "run_id", p.job.RunID, "err", err)
	}
}

// clean removes the Job, its pod and its Secret, and returns when the Job is gone.
func (p *placement) clean() {
	ctx := p.l.life
	for _, remove := range []func(context.Context, string) error{p.l.cluster.deleteJob, p.l.cluster.deleteSecret} {
		if err := persist(ctx, func(ctx context.Context) error { return remove(ctx, p.name) }); err != nil && ctx.Err() == nil {
			p.l.logger.WarnContext(ctx, "the cluster was not cleaned up", "job", p.name, "err", err)
		}
	}
	timer := time.NewTimer(3 * p.l.leave)
	defer timer.Stop()
	for {
		if s := p.look(); s.job == nil && (s.pod == nil || ended(s.pod)) {
			return
		}
		select {
		case <-p.wake:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
