package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// ChainSetting is how far state changes were processed, by whichever node.
const ChainSetting = "chain_position"

// FollowChains starts the automations that wait for the end of a run, until ctx ends.
// Any number of nodes may do it: each end starts each automation once.
func (s *Triggers) FollowChains(ctx context.Context) {
	sub := s.Hub.Subscribe(stream.StatesTopic)
	defer sub.Close()
	s.Loop(ctx, "start automations of finished runs", sub.C, nil, func(ctx context.Context) (time.Duration, error) {
		more, err := s.RunChains(ctx)
		if more {
			return 0, err
		}
		return base.ChangePoll, err
	})
}

// RunChains looks at some state changes of runs and starts what waits for them. It
// reports whether there may be more.
func (s *Triggers) RunChains(ctx context.Context) (more bool, err error) {
	c := &s.chains
	c.Lock()
	defer c.Unlock()
	if table := s.hooks.chains.Load(); table == nil || len(table.watches) == 0 {
		return false, s.idleChains(ctx)
	}
	if err := c.Resume(ctx, s.Store); err != nil {
		return false, err
	}
	changes, err := s.Store.ListStateChanges(ctx, *c.At.Load(), base.ChangeBatch)
	if err != nil || len(changes) == 0 {
		return false, err
	}
	passed := len(changes)
	if more = passed == base.ChangeBatch; more {
		passed-- // what follows the last one is not known yet
	}
	ends := endsOf(changes, passed, s.Store.Now())
	to := changes[passed-1].Position
	starts, err := s.chainStarts(ctx, ends)
	switch {
	case err != nil:
		return false, err
	case len(starts) == 0:
		return more, c.Pass(ctx, s.Store, to)
	}
	return true, s.startChains(ctx, ends, starts, to)
}

// idleChains is a round while nobody waits for the end of a run: now and then it notes
// where it will begin when someone does.
func (s *Triggers) idleChains(ctx context.Context) error {
	c := &s.chains
	if !c.Rested() {
		return nil
	}
	end, err := s.Store.StateEnd(ctx)
	if err != nil {
		return err
	}
	// Whoever came to wait before the last of these changes is seen now.
	if err := s.RefreshHooks(ctx); err != nil {
		return err
	}
	if err := c.Resume(ctx, s.Store); err != nil || len(s.hooks.chains.Load().watches) > 0 {
		return err
	}
	c.At.Store(&end)
	return c.Note(ctx, s.Store)
}

// chainStarts finds the automations that ends of runs start, with copies of the
// factories that are newer than the ends.
func (s *Triggers) chainStarts(ctx context.Context, ends []*chainEnd) ([]chainStart, error) {
	if len(ends) == 0 {
		return nil, nil
	}
	if err := s.RefreshHooks(ctx); err != nil {
		return nil, err
	}
	ids := make([]string, len(ends))
	for i, end := range ends {
		ids[i] = end.ID
	}
	runs, err := s.Store.ListEndedRuns(ctx, ids)
	if err != nil {
		return nil, err
	}
	table := s.hooks.chains.Load()
	var starts []chainStart
	for _, end := range ends {
		if run, there := runs[end.ID]; there {
			end.EndedRun = run
			starts = append(starts, table.starts(end)...)
		}
	}
	return starts, nil
}

// chainTries bounds how often a round begins again because a factory was changed.
const chainTries = 5

// startChains moves on with the runs that it starts.
func (s *Triggers) startChains(ctx context.Context, ends []*chainEnd, starts []chainStart, to store.StatePosition) error {
	for range chainTries {
		var spans base.StartSpans
		err := s.chains.Move(ctx, s.Store, to, func(ctx context.Context, tx *store.Tx) (err error) {
			spans, err = s.chainAll(ctx, tx, starts)
			return err
		})
		spans.End(err)
		if !errors.Is(err, ErrStale) {
			return err
		}
		if starts, err = s.chainStarts(ctx, ends); err != nil {
			return err
		}
	}
	return lineshaft.Unavailable(nil, "the factories keep changing")
}

// chainAll starts the runs, if the copies of their factories are current.
func (s *Triggers) chainAll(ctx context.Context, tx *store.Tx, starts []chainStart) (base.StartSpans, error) {
	if len(starts) == 0 {
		return nil, nil
	}
	uids := make([]string, len(starts))
	for i, st := range starts {
		uids[i] = st.automation.FactoryUID
	}
	revisions, err := tx.ShareFactories(ctx, uids)
	if err = cmp.Or(err, tx.Await(ctx)); err != nil {
		return nil, err
	}
	b := s.newStarter(tx)
	var needs controlruns.StartNeeds
	for _, st := range starts {
		if revisions[st.automation.FactoryUID] != st.revision {
			return nil, ErrStale
		}
		needs.Add(st.automation.keys(nil), st.automation.brake())
	}
	if err := needs.Lock(ctx, tx); err != nil {
		return nil, err
	}
	for _, st := range starts {
		if err := b.forEnd(ctx, st); err != nil {
			return nil, err
		}
	}
	return b.Spans, b.Flush(ctx)
}

// forEnd starts one automation because a run has ended. There is no log of ends: the
// server's own log says what starts nothing.
func (b *starter) forEnd(ctx context.Context, st chainStart) error {
	a, end := st.automation, st.end
	start := a.start()
	start.Detail = map[string]string{"finished_run": end.ID}
	if a.Broken == "" && end.Depth+1 > b.room.Cfg.Trees.Depth {
		return b.Add(ctx, start, b.room.brokenChain(st), nil)
	}
	outcome := lineshaft.DeliveryOutcome{}
	err := b.forPayload(ctx, a, nil, start, &outcome, func(rule *lineshaft.Concurrency) (*store.NewRun, []lineshaft.Attachment) {
		n := b.room.chainRun(st, rule)
		n.TraceParent = end.TraceParent
		return n, nil
	})
	if err != nil {
		return err
	}
	if outcome.RunID == "" {
		b.room.Log.LogAttrs(ctx, slog.LevelWarn, "a finished run starts nothing", slog.String("automation", a.UID), slog.String("finished_run", end.ID),
			slog.String("result", string(outcome.Result)), slog.String("reason", outcome.Reason))
	}
	return nil
}

// chainRun makes the run of an automation for the end of another. It is below that one,
// but not its child in what its agent may reach: what the parent may say to its own
// children is not what an automation was given secrets for.
func (s *Triggers) chainRun(st chainStart, rule *lineshaft.Concurrency) *store.NewRun {
	a, end := st.automation, st.end
	config := a.config
	config.Concurrency = rule
	n := s.runs.DraftRun(a.caller, lineshaft.NewRun{
		Prompt: chainEnvelope(a.Prompt, end), Title: a.TitleFor("", nil), Source: lineshaft.SourceOrchestration, AgentUID: a.agentUID, ParentRunID: end.ID,
		Metadata: map[string]string{lineshaft.MetadataAutomation: a.UID, lineshaft.MetadataFinishedRun: end.ID},
	}, config, a.origins)
	n.Head.FactoryUID, n.Body.Request = a.FactoryUID, config
	n.RootRunID, n.Depth = end.RootRunID, end.Depth+1
	return n
}

func (s *Triggers) brokenChain(st chainStart) *store.NewRun {
	n := s.chainRun(st, nil)
	n.Head.State, n.Head.FinishedAt = lineshaft.Cancelled, n.CreatedAt
	n.Head.Status = lineshaft.StatusMessage{Message: fmt.Sprintf(
		"not started: run %s ends a chain of %d runs below run %s, and a longer chain is treated as a loop; narrow the run/finished trigger of automation %q",
		st.end.ID, s.Cfg.Trees.Depth, st.end.RootRunID, st.automation.Name)}
	return n
}

// ChainsDone says whether every state change that can be seen was processed.
func (s *Triggers) ChainsDone(ctx context.Context) (bool, error) {
	s.chains.Lock()
	defer s.chains.Unlock()
	at := s.chains.At.Load()
	if at == nil {
		at = &store.StatePosition{}
	}
	left, err := s.Store.ListUnsettled(ctx, *at)
	return err == nil && len(left) == 0, err
}

// ReadChainsAgain makes the next round find its place in what the nodes share, as after
// a restart.
func (s *Triggers) ReadChainsAgain() {
	s.chains.Lock()
	defer s.chains.Unlock()
	s.chains.At.Store(&store.StatePosition{})
	s.chains.Noted, s.chains.Last = "", time.Time{}
}
