package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// claim takes up to limit runs for a worker, as the control plane does.
func claim(ctx context.Context, s *store.Store, workerID string, limit int, lease time.Duration) ([]*store.Claim, error) {
	var claims []*store.Claim
	err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if claims, err = tx.PickQueued(ctx, lineshaft.HostedWorker, limit); err != nil || len(claims) == 0 {
			return err
		}
		if err := tx.InsertExecutions(ctx, claims, workerID, lease); err != nil {
			return err
		}
		heads := make([]*store.RunHead, len(claims))
		events := make([][]lineshaft.Draft, len(claims))
		for i, c := range claims {
			if _, err := c.Head.Move(lineshaft.Pending, lineshaft.StatusMessage{}, "", s.Now()); err != nil {
				return err
			}
			heads[i], events[i] = c.Head, []lineshaft.Draft{stateEvent(lineshaft.Pending)}
		}
		return tx.SaveRuns(ctx, heads, events)
	})
	return claims, err
}

// claimOne takes the only queued run.
func claimOne(t *testing.T, s *store.Store, workerID string, lease time.Duration) *store.Claim {
	t.Helper()
	claims, err := claim(t.Context(), s, workerID, 10, lease)
	must(t, err)
	if len(claims) != 1 {
		t.Fatalf("%d claims", len(claims))
	}
	return claims[0]
}

// Claimers at once never get the same run, and together get all of them.
func TestX1NoRunIsClaimedTwice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const runs, claimers = 200, 8
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for range runs {
				if err := tx.InsertRun(ctx, newRun(s), nil); err != nil {
					return err
				}
			}
			return nil
		})
		var mu sync.Mutex
		owner := map[string]string{}
		must(t, inParallel(claimers, func(i int) error {
			worker := fmt.Sprintf("w%d", i)
			for {
				claims, err := claim(t.Context(), s, worker, 7, time.Minute)
				if err != nil {
					return err
				}
				mu.Lock()
				for _, c := range claims {
					if other := owner[c.Head.ID]; other != "" {
						t.Errorf("run %s was given to %s and %s", c.Head.ID, other, worker)
					}
					owner[c.Head.ID] = worker
				}
				done := len(owner) == runs
				mu.Unlock()
				if done {
					return nil
				}
			}
		}))
		if rows := texts(t, s.DB(), "SELECT run_id FROM executions"); len(rows) != runs {
			t.Errorf("%d executions for %d runs", len(rows), runs)
		}
	})
}

func TestClaimsFollowTheQueue(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		queued := func(second int64, change func(*store.NewRun)) string {
			return insertRun(t, s, func(n *store.NewRun) {
				n.Head.QueuedAt = time.Unix(1000+second, 0)
				n.Body.Submitted, n.Body.Files = "go", 1
				if change != nil {
					change(n)
				}
			})
		}
		third := queued(3, nil)
		first := queued(1, nil)
		queued(0, func(n *store.NewRun) { n.Head.Hold = lineshaft.HoldConcurrency })
		queued(0, func(n *store.NewRun) { n.Head.WorkerHost = "mac" })
		queued(0, func(n *store.NewRun) { n.Head.State = lineshaft.InProgress })
		second := queued(1, nil)
		claims, err := claim(t.Context(), s, "w1", 2, time.Minute)
		must(t, err)
		more, err := claim(t.Context(), s, "w2", 5, time.Minute)
		must(t, err)
		var got []string
		for _, c := range append(claims, more...) {
			got = append(got, c.Head.ID)
			if c.Body.Submitted != "go" || c.Body.Files != 1 || c.Title != "a run" || c.Source != lineshaft.SourceAPI || c.ConversationID == "" ||
				c.Token == "" || c.RunToken == "" || c.ExecutionID == "" || c.Head.Executions != 1 {
				t.Errorf("claim %+v", c)
			}
		}
		if want := []string{first, second, third}; !slices.Equal(got, want) {
			t.Errorf("claimed %v, want %v", got, want)
		}
		live, queuedNow, err := s.CountBusy(t.Context(), lineshaft.HostedWorker, 10)
		if live != 3 || queuedNow != 0 || err != nil {
			t.Errorf("busy: %d live, %d queued, %v", live, queuedNow, err)
		}
		for host, want := range map[string]int{lineshaft.HostedWorker: 0, "mac": 1} {
			if n, err := s.CountQueued(t.Context(), host, 10); n != want || err != nil {
				t.Errorf("%s: %d queued, %v", host, n, err)
			}
		}
		live, queuedNow, err = s.CountBusy(t.Context(), "mac", 10)
		if live != 0 || queuedNow != 1 || err != nil {
			t.Errorf("busy: %d live, %d queued, %v", live, queuedNow, err)
		}
	})
}

func extend(t *testing.T, s *store.Store, worker string, ids ...string) []string {
	t.Helper()
	var renewed []string
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		renewed, err = tx.ExtendLeases(ctx, worker, ids, time.Minute)
		return err
	})
	return renewed
}

func stillExpired(t *testing.T, s *store.Store, executionID string) bool {
	t.Helper()
	var expired bool
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		expired, err = tx.StillExpired(ctx, executionID)
		return err
	})
	return expired
}

// A lease that is over is not renewed, so that at most one execution is live.
func TestX1Leases(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		insertRun(t, s, nil)
		live := claimOne(t, s, "w1", time.Minute).ExecutionID
		insertRun(t, s, nil)
		over := claimOne(t, s, "w1", -time.Second).ExecutionID
		insertRun(t, s, nil)
		older := claimOne(t, s, "w1", -time.Hour).ExecutionID

		if renewed := extend(t, s, "w1", live, over, older, "missing"); !slices.Equal(renewed, []string{live}) {
			t.Errorf("renewed %v, want only %s", renewed, live)
		}
		if renewed := extend(t, s, "w2", live); len(renewed) != 0 {
			t.Errorf("another worker renewed %v", renewed)
		}
		if renewed := extend(t, s, "w1"); len(renewed) != 0 {
			t.Errorf("nothing renewed %v", renewed)
		}
		expired, err := s.ListExpired(t.Context(), 10)
		must(t, err)
		if len(expired) != 2 || expired[0].ID != older || expired[1].ID != over {
			t.Errorf("expired %v", expired)
		}
		if stillExpired(t, s, live) || !stillExpired(t, s, over) || stillExpired(t, s, "missing") {
			t.Error("StillExpired is wrong")
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.ExpireLease(ctx, live) })
		if !stillExpired(t, s, live) || len(extend(t, s, "w1", live)) != 0 {
			t.Error("a lease that was taken away is still there")
		}
		endExecution(t, s, over)
		if stillExpired(t, s, over) {
			t.Error("an ended execution is expired")
		}
	})
}

func endExecution(t *testing.T, s *store.Store, executionID string, snapshots ...string) {
	t.Helper()
	snapshot := strings.Join(snapshots, "")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveExecutions(ctx, []*store.Execution{{ID: executionID, StartedAt: time.Unix(1, 0), EndedAt: time.Unix(2, 0), LastNumber: 9, SnapshotID: snapshot}})
	})
}

// The reaper and the worker's heartbeat at once: one of them wins, never both.
func TestX1HeartbeatRacesTheReaper(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for range 10 {
			insertRun(t, s, nil)
			c := claimOne(t, s, "w1", time.Minute)
			var renewed []string
			var reaped bool
			must(t, inParallel(3, func(i int) error {
				return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
					switch i {
					case 0:
						return tx.ExpireLease(ctx, c.ExecutionID)
					case 1:
						renewed, err = tx.ExtendLeases(ctx, "w1", []string{c.ExecutionID}, time.Minute)
						return err
					}
					if reaped, err = tx.StillExpired(ctx, c.ExecutionID); err != nil || !reaped {
						return err
					}
					return tx.SaveExecutions(ctx, []*store.Execution{{ID: c.ExecutionID, EndedAt: time.Unix(2, 0)}})
				})
			}))
			if after := extend(t, s, "w1", c.ExecutionID); reaped && len(after) != 0 {
				t.Fatalf("the execution was ended and still renewed (%v before)", renewed)
			}
		}
	})
}

// References with a wrong token are nobody's.
func TestX1FencingToken(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		insertRun(t, s, nil)
		c := claimOne(t, s, "w1", time.Minute)
		right := lineshaft.ExecutionRef{ExecutionID: c.ExecutionID, Token: c.Token}
		wrong := lineshaft.ExecutionRef{ExecutionID: c.ExecutionID, Token: "guess"}
		for _, ref := range []lineshaft.ExecutionRef{wrong, {ExecutionID: "missing", Token: c.Token}} {
			if found, err := s.GetExecutions(t.Context(), []lineshaft.ExecutionRef{ref}); err != nil || len(found) != 0 {
				t.Errorf("found %v, %v", found, err)
			}
		}
		found, err := s.GetExecutions(t.Context(), []lineshaft.ExecutionRef{right})
		must(t, err)
		if e := found[c.ExecutionID]; e == nil || e.RunID != c.Head.ID || e.Number != 1 || e.WorkerID != "w1" || e.ClaimedAt.IsZero() {
			t.Errorf("found %+v", e)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			executions, heads, err := tx.LockExecutions(ctx, []lineshaft.ExecutionRef{right})
			if err != nil || executions[c.ExecutionID] == nil || heads[c.Head.ID] == nil || heads[c.Head.ID].ExecutionID != c.ExecutionID {
				t.Errorf("locked %v, %v, %v", executions, heads, err)
			}
			if executions, heads, err = tx.LockExecutions(ctx, []lineshaft.ExecutionRef{wrong}); err != nil || len(executions)+len(heads) != 0 {
				t.Errorf("locked %v, %v, %v", executions, heads, err)
			}
			return nil
		})
		if rows := texts(t, s.DB(), "SELECT token_hash, run_token_hash FROM executions"); rows[0][0] == c.Token || rows[0][1] == c.RunToken {
			t.Error("a token is stored as it is")
		}
	})
}

// A run's token opens something only while its execution lives.
func TestX7RunTokenDiesWithTheExecution(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		insertRun(t, s, nil)
		c := claimOne(t, s, "w1", time.Minute)
		run, err := s.RunOfToken(t.Context(), c.RunToken)
		if err != nil || run.RunID != c.Head.ID || run.ExecutionID != c.ExecutionID {
			t.Fatalf("token of %+v, %v", run, err)
		}
		if _, err := s.RunOfToken(t.Context(), c.Token); !store.IsNoRows(err) {
			t.Errorf("the fencing token is a run token: %v", err)
		}
		endExecution(t, s, c.ExecutionID)
		if _, err := s.RunOfToken(t.Context(), c.RunToken); !store.IsNoRows(err) {
			t.Errorf("after the end: %v", err)
		}
		insertRun(t, s, nil)
		c = claimOne(t, s, "w1", -time.Second)
		if _, err := s.RunOfToken(t.Context(), c.RunToken); !store.IsNoRows(err) {
			t.Errorf("after the lease: %v", err)
		}
	})
}

func TestExecutionRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		c := claimOne(t, s, "w1", time.Minute)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SetInterrupted(ctx, c.ExecutionID) })
		held, err := s.ListHeld(t.Context(), "w1")
		must(t, err)
		if len(held) != 1 || !held[0].Interrupted || !held[0].Current || held[0].FollowupID != "" || held[0].RunID != run || held[0].State != lineshaft.Pending {
			t.Errorf("held %+v", held)
		}
		if snapshot, err := s.NewestSnapshot(t.Context(), run); snapshot != "" || err != nil {
			t.Errorf("snapshot %q, %v", snapshot, err)
		}
		snap, _, err := s.PutBlob(t.Context(), strings.NewReader("workspace"), 100)
		must(t, err)
		endExecution(t, s, c.ExecutionID, snap)
		list, err := s.ListExecutions(t.Context(), run)
		must(t, err)
		if len(list) != 1 || list[0].LastNumber != 9 || list[0].StartedAt.Unix() != 1 || list[0].EndedAt.Unix() != 2 || !list[0].Interrupted {
			t.Errorf("executions %+v", list)
		}
		for until, want := range map[time.Time]string{{}: snap, time.Now().Add(time.Hour): snap, time.Now().Add(-time.Hour): ""} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.KeepBlob(ctx, snap, run, until) })
			if snapshot, err := s.NewestSnapshot(t.Context(), run); snapshot != want || err != nil {
				t.Errorf("kept until %v: snapshot %q, %v", until, snapshot, err)
			}
		}
		if held, err = s.ListHeld(t.Context(), "w1"); len(held) != 0 || err != nil {
			t.Errorf("an ended execution is held: %v, %v", held, err)
		}
	})
}

// An interrupt is taken once, by whichever caller.
func TestR8InterruptIsTakenOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		insertRun(t, s, nil)
		c := claimOne(t, s, "w1", time.Minute)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SetInterrupted(ctx, c.ExecutionID) })
		taken := make([]bool, 6)
		must(t, inParallel(len(taken), func(i int) error {
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
				taken[i], err = tx.TakeInterrupt(ctx, c.ExecutionID, true)
				return err
			})
		}))
		count := 0
		for _, took := range taken {
			if took {
				count++
			}
		}
		if count != 1 {
			t.Errorf("taken %d times", count)
		}
	})
}
