package control_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// Workers that crash, leases that run out, people who cancel and continue, all at
// once and on two nodes: in the end every log is sound, every run has ended, no
// message that was not dropped is unread, and at no time had a run two executions.
func TestX1ChaosLeavesNothingBroken(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database)
		other := b
		if store.IsPostgres(database) {
			other = open(t, database)
		}
		c := &chaos{b: b, nodes: []*control.Service{b.s, other.s}}
		for i := range 8 {
			config := lineshaft.AgentConfig{MaxAttempts: new(1 + i%3)}
			if i%2 == 0 {
				config.Concurrency = &lineshaft.Concurrency{Key: "deploy"}
			}
			c.runs = append(c.runs, b.start(lineshaft.NewRun{Config: config}).RunID)
		}
		ctx, stop := context.WithCancel(b.Context())
		var workers, people sync.WaitGroup
		for i := range 3 {
			workers.Go(func() { c.work(ctx, i) })
		}
		for i := range 3 {
			people.Go(func() { c.meddle(i, rounds(400)) })
		}
		people.Wait()
		c.calm.Lock() // from now on workers end what they begin
		c.calmed = true
		c.calm.Unlock()
		b.drain()
		stop()
		workers.Wait()
		b.sound(c.runs...)
		for _, runID := range c.runs {
			c.checkMessages(runID)
		}
		if b.holder() != "" {
			b.Error("the concurrency key is still held")
		}
		b.Logf("%d executions", c.executions)
	})
}

type chaos struct {
	b          *bench
	nodes      []*control.Service
	runs       []string
	calm       sync.Mutex
	calmed     bool
	executions int
	live       sync.Map // run id to the execution that works on it
}

func (c *chaos) isCalm() bool {
	c.calm.Lock()
	defer c.calm.Unlock()
	c.executions++
	return c.calmed
}

// work is a worker that, until all is calm, gives up in every way there is.
func (c *chaos) work(ctx context.Context, who int) {
	s, random := c.nodes[who%2], rand.New(rand.NewPCG(uint64(who), 7))
	req := lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: fmt.Sprint("w", who), Limit: 1, Capacity: 1}
	for ctx.Err() == nil {
		jobs, err := s.Claim(ctx, req)
		if err != nil && ctx.Err() == nil {
			c.b.Error(err)
			return
		}
		for _, job := range jobs {
			c.execute(s, job, random)
		}
	}
}

func (c *chaos) execute(s *control.Service, job lineshaft.Job, random *rand.Rand) {
	ctx := c.b.Context()
	if other, twice := c.live.LoadOrStore(job.RunID, job.ExecutionID); twice {
		c.b.Errorf("run %s has executions %s and %v", job.RunID, other, job.ExecutionID)
	}
	refused, err := s.Report(ctx, []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Started: random.IntN(4) > 0, Events: c.b.outputs(1, 2)}})
	if err != nil {
		c.b.Error(err)
	}
	calm := c.isCalm()
	c.live.Delete(job.RunID) // once it is ended another may begin before this one is notified
	result := lineshaft.TurnResult{State: lineshaft.Succeeded, Dead: random.IntN(2) == 0}
	if !calm {
		switch random.IntN(4) {
		case 0: // crashed: the lease runs out
			c.crash(s, job)
			return
		case 1:
			result.State = lineshaft.Queued
		case 2:
			result.State = lineshaft.Failed
		}
	}
	for turn := &job.Turn; turn != nil && err == nil && refused[0] == nil; {
		turn, err = s.EndTurn(ctx, job.ExecutionRef, result)
	}
	if refused[0] != nil || lineshaft.CodeOf(err) == lineshaft.CodeConflict {
		_, err = s.EndTurn(ctx, job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Cancelled})
	}
	if err != nil && lineshaft.CodeOf(err) != lineshaft.CodeConflict {
		c.b.Error(err)
	}
}

func (c *chaos) crash(s *control.Service, job lineshaft.Job) {
	err := c.b.store.Write(c.b.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.ExpireLease(ctx, job.ExecutionID) })
	if err != nil {
		c.b.Error(err)
	}
	if _, err := s.ReapLeases(c.b.Context()); err != nil {
		c.b.Error(err)
	}
}

// meddle is a person who cancels, continues and interrupts.
func (c *chaos) meddle(who, times int) {
	ctx, s, random := c.b.Context(), c.nodes[who%2], rand.New(rand.NewPCG(uint64(who), 42))
	for i := range times {
		runID := c.runs[random.IntN(len(c.runs))]
		var err error
		switch random.IntN(5) {
		case 0:
			_, err = s.Cancel(ctx, c.b.admin, runID, false, nil)
		case 1:
			err = s.Interrupt(ctx, c.b.admin, runID)
		default:
			_, err = s.Followup(ctx, c.b.admin, lineshaft.NewFollowup{RunID: runID, Message: fmt.Sprint("message ", who, "-", i)}, nil)
		}
		if code := lineshaft.CodeOf(err); err != nil && code != lineshaft.CodeInvalidRequest && code != lineshaft.CodeConflict {
			c.b.Error(err)
		}
	}
}

// checkMessages: nothing waits for an agent of a run that has ended.
func (c *chaos) checkMessages(runID string) {
	err := c.b.store.Write(c.b.Context(), func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		if h.Unread != 0 || h.Taken || h.Hold&lineshaft.HoldExecution != 0 || h.SandboxRunning {
			c.b.Errorf("run %s ended as %+v", runID, h)
		}
		executions, err := tx.ListExecutions(ctx, runID)
		for _, e := range executions {
			if e.EndedAt.IsZero() {
				c.b.Errorf("execution %d of run %s has not ended", e.Number, runID)
			}
		}
		return err
	})
	if err != nil {
		c.b.Error(err)
	}
}
