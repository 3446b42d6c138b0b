package control_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// The life of runs as a machine: random calls on a few runs, against a model that
// says what each must lead to.
func TestX1LifeOfRunsFollowsTheModel(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var round atomic.Int64
		var found atomic.Bool // then all rounds count, so that it can be made small
		most := int64(max(longRounds(120), 10))
		rapid.Check(b.T, func(rt *rapid.T) {
			number := round.Add(1)
			if number > most && !found.Load() {
				return // the others are for make soak
			}
			defer func() { found.CompareAndSwap(false, rt.Failed()) }()
			m := &machine{b: b, rt: rt, host: fmt.Sprint("host-", number)}
			rt.Repeat(map[string]func(*rapid.T){
				"":          m.check,
				"start":     m.start,
				"claim":     m.claim,
				"report":    m.report,
				"end":       m.end,
				"stray":     m.stray,
				"cancel":    m.cancel,
				"follow up": m.followup,
				"lose":      m.lose,
			})
			m.drain()
		})
	})
}

type machine struct {
	b      *bench
	rt     *rapid.T
	host   string
	runs   []*modelRun
	jobs   []*modelJob
	holder *modelRun // has the concurrency key
	clock  int       // orders the queue
}

type modelRun struct {
	id         string
	keyed      bool
	state      lineshaft.RunState
	max        int
	attempts   int
	prompt     string
	promptDone bool
	queue      []string // messages that wait
	taken      string   // the message that is worked on
	queued     int
	newest     *modelJob
	executions int
}

type modelJob struct {
	lineshaft.Job
	run   *modelRun
	ended bool
	said  int64 // the number of its last event
}

func (r *modelRun) alive() bool   { return r.newest != nil && !r.newest.ended }
func (j *modelJob) current() bool { return !j.ended && j.run.newest == j && j.run.state.Held() }

func (m *machine) claimable() []*modelRun {
	var found []*modelRun
	for _, r := range m.runs {
		if r.state == lineshaft.Queued && !r.alive() && (!r.keyed || m.holder == r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *modelRun) int { return cmp.Compare(a.queued, b.queued) })
	return found
}

// requeue, settle and conclude are what the control plane does at an end.
func (m *machine) requeue(r *modelRun) {
	m.clock++
	r.state, r.queued, r.attempts = lineshaft.Queued, m.clock, 0
	if r.keyed && m.holder == nil {
		m.holder = r
	}
}

func (m *machine) settle(r *modelRun) {
	if m.holder != r || !r.state.Terminal() || r.alive() {
		return
	}
	m.holder = nil
	for _, next := range m.runs {
		if next.keyed && next.state == lineshaft.Queued && (m.holder == nil || next.queued < m.holder.queued) {
			m.holder = next
		}
	}
}

func (m *machine) conclude(r *modelRun) {
	if len(r.queue) > 0 {
		m.requeue(r)
		return
	}
	m.settle(r)
}

func (m *machine) lost(j *modelJob) {
	r, held := j.run, j.current()
	j.ended = true
	if !held {
		m.settle(r)
		return
	}
	if r.state != lineshaft.Claimed {
		r.attempts++
	}
	if r.attempts == 0 || r.attempts < r.max {
		r.state = lineshaft.Queued
		if r.taken != "" {
			r.queue, r.taken = append([]string{r.taken}, r.queue...), ""
		}
		return
	}
	r.state, r.promptDone, r.taken = lineshaft.Errored, true, ""
	m.conclude(r)
}

func pick[T any](m *machine, what string, list []T) T {
	if len(list) == 0 {
		m.rt.Skip("no " + what)
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(m.rt, what)]
}

func (m *machine) want(err error, code lineshaft.Code) {
	m.rt.Helper()
	if code == "" && err != nil || code != "" && (err == nil || lineshaft.CodeOf(err) != code) {
		m.rt.Fatalf("error is %v, want %q", err, code)
	}
}

// told checks what an agent is given next.
func (m *machine) told(r *modelRun, turn lineshaft.Turn) {
	m.rt.Helper()
	want := r.prompt
	if r.promptDone {
		if len(r.queue) == 0 {
			m.rt.Fatalf("the agent was told %q, and nothing waits", turn.Message)
		}
		want = r.queue[0]
		r.taken, r.queue = want, r.queue[1:]
	}
	if turn.Message != want || (turn.FollowupID == "") == r.promptDone {
		m.rt.Fatalf("the agent was told %+v, want %q", turn, want)
	}
}

func (m *machine) start(rt *rapid.T) {
	if len(m.runs) >= 5 {
		rt.Skip("enough runs")
	}
	m.clock++
	r := &modelRun{
		prompt: fmt.Sprint("prompt ", len(m.runs)), state: lineshaft.Queued, queued: m.clock,
		keyed: rapid.Bool().Draw(rt, "keyed"), max: rapid.IntRange(1, 2).Draw(rt, "attempts"),
	}
	config := lineshaft.AgentConfig{WorkerHost: m.host, MaxAttempts: &r.max}
	if r.keyed {
		config.Concurrency = &lineshaft.Concurrency{Key: m.host}
		if m.holder == nil {
			m.holder = r
		}
	}
	started, err := m.b.as(m.b.admin, lineshaft.NewRun{Prompt: r.prompt, Config: config})
	m.want(err, "")
	r.id = started.RunID
	m.runs = append(m.runs, r)
}

func (m *machine) claim(rt *rapid.T) {
	want := m.claimable()
	if len(want) == 0 {
		rt.Skip("nothing to claim")
	}
	m.claimSome(rapid.IntRange(1, 3).Draw(rt, "limit"))
}

func (m *machine) claimSome(limit int) {
	want := m.claimable()
	want = want[:min(limit, len(want))]
	jobs, err := m.b.s.Claim(m.b.Context(), lineshaft.ClaimRequest{WorkerHost: m.host, WorkerID: m.host, Limit: limit, Capacity: limit})
	m.want(err, "")
	if len(jobs) != len(want) {
		m.rt.Fatalf("%d runs were claimed, want %d", len(jobs), len(want))
	}
	for i, job := range jobs {
		r := want[i]
		r.executions++
		if job.RunID != r.id || job.Number != r.executions || job.Resumed != (r.executions > 1) {
			m.rt.Fatalf("claimed %+v, want run %s for the %d. time", job, r.id, r.executions)
		}
		m.told(r, job.Turn)
		r.state, r.newest = lineshaft.Claimed, &modelJob{Job: job, run: r}
		m.jobs = append(m.jobs, r.newest)
	}
}

func (m *machine) report(rt *rapid.T) {
	j := pick(m, "job", m.jobs)
	again := j.said > 0 && rapid.Bool().Draw(rt, "again")
	first := j.said + 1
	if again {
		first = j.said
	}
	r := lineshaft.Report{
		ExecutionRef: j.ExecutionRef, First: first, Events: []lineshaft.Draft{m.b.output("something")},
		Started: rapid.Bool().Draw(rt, "started"), Blocked: rapid.Bool().Draw(rt, "blocked"), Unblocked: rapid.Bool().Draw(rt, "unblocked"),
	}
	refused, err := m.b.s.Report(m.b.Context(), []lineshaft.Report{r})
	m.want(err, "")
	if !j.current() {
		m.want(refused[0], lineshaft.CodeConflict)
		return
	}
	m.want(refused[0], "")
	if r.Started && j.run.state == lineshaft.Claimed {
		j.run.state = lineshaft.InProgress
	}
	switch j.said = max(j.said, first); {
	case again: // what it marks was so when it came first
	case r.Blocked && j.run.state == lineshaft.InProgress:
		j.run.state = lineshaft.Blocked
	case r.Unblocked && j.run.state == lineshaft.Blocked:
		j.run.state = lineshaft.InProgress
	}
}

func (m *machine) end(rt *rapid.T) {
	states := []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed, lineshaft.Errored, lineshaft.Cancelled, lineshaft.Queued}
	m.endTurn(pick(m, "job", m.jobs), lineshaft.TurnResult{
		State: rapid.SampledFrom(states).Draw(rt, "state"), Dead: rapid.Bool().Draw(rt, "dead"),
	})
}

// stray is the last word of an execution that lost its run.
func (m *machine) stray(*rapid.T) {
	var strays []*modelJob
	for _, j := range m.jobs {
		if !j.ended && !j.current() {
			strays = append(strays, j)
		}
	}
	m.endTurn(pick(m, "stray", strays), lineshaft.TurnResult{State: lineshaft.Cancelled, Dead: true})
}

func (m *machine) endTurn(j *modelJob, result lineshaft.TurnResult) {
	r := j.run
	next, err := m.b.s.EndTurn(m.b.Context(), j.ExecutionRef, result)
	switch {
	case j.ended || !j.current() && result.State != lineshaft.Cancelled:
		m.want(err, lineshaft.CodeConflict)
		return
	case !j.current() || result.State == lineshaft.Queued:
		m.want(err, "")
		m.lost(j)
	default:
		m.want(err, "")
		r.promptDone, r.taken = true, ""
		if !result.Dead && len(r.queue) > 0 {
			if next == nil {
				m.rt.Fatalf("no next turn, but %q waits", r.queue)
			}
			m.told(r, *next)
			if r.state == lineshaft.Blocked {
				r.state = lineshaft.InProgress
			}
			return
		}
		r.state, j.ended = result.State, true
		m.conclude(r)
	}
	if next != nil {
		m.rt.Fatalf("another turn: %+v", next)
	}
}

func (m *machine) cancel(*rapid.T) {
	r := pick(m, "run", m.runs)
	_, err := m.b.s.Cancel(m.b.Context(), m.b.admin, r.id, false, nil)
	if r.state.Terminal() {
		m.want(err, lineshaft.CodeInvalidRequest)
		return
	}
	m.want(err, "")
	if r.state == lineshaft.InProgress || r.state == lineshaft.Blocked {
		r.promptDone = true
	}
	r.state, r.queue, r.taken = lineshaft.Cancelled, nil, ""
	m.settle(r)
}

func (m *machine) followup(*rapid.T) {
	r := pick(m, "run", m.runs)
	m.clock++
	message := fmt.Sprint("message ", m.clock)
	result, err := m.b.s.Followup(m.b.Context(), m.b.admin, lineshaft.NewFollowup{RunID: r.id, Message: message}, nil)
	m.want(err, "")
	want := lineshaft.OutcomePending
	switch {
	case r.state.Terminal():
		want = lineshaft.OutcomeHandoff
	case r.state == lineshaft.InProgress || r.state == lineshaft.Blocked:
		want = lineshaft.OutcomeLiveSession
	case r.executions == 0:
		want = lineshaft.OutcomeQueuedPrompt
	}
	if result.Outcome != want {
		m.rt.Fatalf("outcome is %s, want %s", result.Outcome, want)
	}
	if want == lineshaft.OutcomeQueuedPrompt && len(r.queue) == 0 {
		r.prompt += "\n\n" + message
		return
	}
	r.queue = append(r.queue, message)
	if want == lineshaft.OutcomeHandoff {
		m.requeue(r)
	}
}

// lose lets a lease run out, or the worker renew it in time.
func (m *machine) lose(rt *rapid.T) {
	j := pick(m, "job", m.jobs)
	if rapid.Bool().Draw(rt, "renewed") {
		directives, err := m.b.s.Heartbeat(m.b.Context(), m.host, []lineshaft.ExecutionRef{j.ExecutionRef})
		m.want(err, "")
		stop := slices.ContainsFunc(directives, func(d lineshaft.Directive) bool {
			return d.ExecutionID == j.ExecutionID && d.Kind == lineshaft.DirectiveStop
		})
		if stop == j.current() {
			rt.Fatalf("the worker is told to stop: %t, and it holds the run: %t", stop, j.current())
		}
		return
	}
	m.want(m.b.store.Write(m.b.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.ExpireLease(ctx, j.ExecutionID) }), "")
	n, err := m.b.s.ReapLeases(m.b.Context())
	m.want(err, "")
	if j.ended != (n == 0) {
		rt.Fatalf("%d executions were ended", n)
	}
	if !j.ended {
		m.lost(j)
	}
}

// check compares every run with the model.
func (m *machine) check(rt *rapid.T) {
	m.rt = rt
	for _, r := range m.runs {
		run, err := m.b.s.GetRun(m.b.Context(), m.b.admin, r.id)
		m.want(err, "")
		if run.State != r.state || run.Executions != r.executions {
			rt.Fatalf("run is %s after %d executions, want %s after %d", run.State, run.Executions, r.state, r.executions)
		}
		m.want(checkLog(m.b.Context(), m.b.s, m.b.admin, r.id), "")
		executions, err := m.b.store.ListExecutions(m.b.Context(), r.id)
		m.want(err, "")
		for i, e := range executions {
			if live := e.EndedAt.IsZero(); live && i < len(executions)-1 || live != r.alive() && i == len(executions)-1 {
				rt.Fatalf("execution %d of %d lives: %t", i+1, len(executions), live)
			}
		}
	}
}

// drain lets every run come to its end: nobody waits for ever.
func (m *machine) drain() {
	for range 100 {
		for _, j := range m.jobs {
			for !j.ended {
				result := lineshaft.TurnResult{State: lineshaft.Succeeded}
				if !j.current() {
					result.State = lineshaft.Cancelled
				}
				m.endTurn(j, result)
			}
		}
		if len(m.claimable()) == 0 {
			break
		}
		m.claimSome(10)
	}
	m.check(m.rt)
	for _, r := range m.runs {
		if !r.state.Terminal() || len(r.queue) > 0 {
			m.rt.Fatalf("run %s is stuck as %s with %q", r.id, r.state, r.queue)
		}
	}
	if m.holder != nil {
		m.rt.Fatalf("the key is still held by %s", m.holder.id)
	}
}
