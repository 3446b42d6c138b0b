package store_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// lookup is a look-up with the most rows of a table it may read. It reads from the
// store or works in a transaction that is undone.
type lookup struct {
	most int
	read func(ctx context.Context) error
	work func(ctx context.Context, tx *store.Tx) error
}

func lookups(s *store.Store) map[string]lookup {
	run := bulkID(0)
	refs := []lineshaft.ExecutionRef{{ExecutionID: "e" + run, Token: "x"}}
	look := store.Look{Events: 1000, Bytes: 1 << 20, Limit: 10, Size: 1 << 20}
	queued := store.EventMatch{Types: []lineshaft.EventType{lineshaft.EventState}, Words: []string{"queued"}}
	return map[string]lookup{
		"claim": {10, nil, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.PickQueued(ctx, lineshaft.HostedWorker, 10))
		}},
		"claim self": {10, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.PickQueued(ctx, "mac", 10)) }},
		"claim none": {1, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.PickQueued(ctx, "away", 10)) }},
		"busy":       {201, func(ctx context.Context) error { return third(s.CountBusy(ctx, lineshaft.HostedWorker, 5)) }, nil},
		"queued":     {5, func(ctx context.Context) error { return second(s.CountQueued(ctx, lineshaft.HostedWorker, 5)) }, nil},
		"lock":       {1, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.LockRun(ctx, run)) }},
		"save":       {3, nil, func(ctx context.Context, tx *store.Tx) error { return touchRun(ctx, tx, run) }},
		"executions": {1, nil, func(ctx context.Context, tx *store.Tx) error { return third(tx.LockExecutions(ctx, refs)) }},
		"extend": {40, nil, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.ExtendLeases(ctx, "w1", []string{"e" + run}, time.Minute))
		}},
		"expired":   {20, func(ctx context.Context) error { return second(s.ListExpired(ctx, 100)) }, nil},
		"still":     {1, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.StillExpired(ctx, "e"+run)) }},
		"held":      {40, func(ctx context.Context) error { return second(s.ListHeld(ctx, "w1")) }, nil},
		"of run":    {1, func(ctx context.Context) error { return second(s.ListExecutions(ctx, run)) }, nil},
		"snapshot":  {1, func(ctx context.Context) error { return second(s.NewestSnapshot(ctx, run)) }, nil},
		"find":      {10, func(ctx context.Context) error { return second(s.FindEvents(ctx, run, 0, queued, look)) }, nil},
		"run token": {1, func(ctx context.Context) error { return ignoreNoRows(second(s.RunOfToken(ctx, "nobody's"))) }, nil},
		"follow-up": {1, nil, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.TakeFollowup(ctx, &store.RunHead{RunLife: lineshaft.RunLife{ID: run, Unread: 1}}))
		}},
		"times": {1, func(ctx context.Context) error { return second(s.FollowupTimes(ctx, run)) }, nil},
		"taken": {1, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.TakenFollowup(ctx, run)) }},
		"finish": {1, nil, func(ctx context.Context, tx *store.Tx) error {
			return tx.FinishFollowups(ctx, &store.RunHead{RunLife: lineshaft.RunLife{ID: run, Taken: true}})
		}},
		"return": {1, nil, func(ctx context.Context, tx *store.Tx) error {
			return tx.ReturnFollowups(ctx, &store.RunHead{RunLife: lineshaft.RunLife{ID: run, Taken: true}})
		}},
		"drop": {1, nil, func(ctx context.Context, tx *store.Tx) error {
			return tx.DropFollowups(ctx, &store.RunHead{RunLife: lineshaft.RunLife{ID: run, Unread: 1}})
		}},
		"queued hosts": {8, func(ctx context.Context) error { return second(s.QueuedHosts(ctx, 10)) }, nil},
		"scheduled":    {4, func(ctx context.Context) error { return second(s.NewestScheduled(ctx, []string{"sched", "none"})) }, nil},
		"audit":        {10, func(ctx context.Context) error { return second(s.ListAudit(ctx, lineshaft.AuditFilter{}, "", 10)) }, nil},
		"audit actor": {10, func(ctx context.Context) error {
			return second(s.ListAudit(ctx, lineshaft.AuditFilter{Actor: "rare", Until: time.Unix(1<<40, 0)}, "", 10))
		}, nil},
		"audit action": {10, func(ctx context.Context) error {
			return second(s.ListAudit(ctx, lineshaft.AuditFilter{Action: "rare"}, "", 10))
		}, nil},
		"audit target": {10, func(ctx context.Context) error {
			return second(s.ListAudit(ctx, lineshaft.AuditFilter{Target: "rare"}, "", 10))
		}, nil},
		"skill waits": {10, func(ctx context.Context) error { return second(s.ListSkillWaiting(ctx, store.WaitingRun{}, 10)) }, nil},
		"skill runs": {4, func(ctx context.Context) error {
			return second(s.NewestOfSkills(ctx, lineshaft.RunFilter{}, []string{"rare/r:s", "none/r:s"}))
		}, nil},
		"agent name": {1, func(ctx context.Context) error { return second(s.AgentName(ctx, run)) }, nil},
		"set skills": {3, nil, func(ctx context.Context, tx *store.Tx) error { return tx.SetSkills(ctx, run, &store.RunBody{}) }},
		"overdue":    {10, func(ctx context.Context) error { return second(s.ListOverdue(ctx, time.UnixMicro(1<<50), 10)) }, nil},
		"old":        {10, func(ctx context.Context) error { return second(s.ListOldRuns(ctx, time.UnixMicro(1<<50), 10)) }, nil},
		"log":        {1, func(ctx context.Context) error { return third(s.ListEvents(ctx, run, 0, 100, 1<<20)) }, nil},
		"messages":   {1, func(ctx context.Context) error { return second(s.ListMessages(ctx, run, 100, 3, 1<<20)) }, nil},
		"log end":    {1, func(ctx context.Context) error { return third(s.LogEnd(ctx, run)) }, nil},
		"states": {50, func(ctx context.Context) error {
			return second(s.ListStateChanges(ctx, store.StatePosition{Txid: 500}, 50))
		}, nil},
		"ended runs": {3, func(ctx context.Context) error {
			return second(s.ListEndedRuns(ctx, []string{run, bulkID(4), bulkID(9)}))
		}, nil},
		"states end":   {1, func(ctx context.Context) error { return second(s.StateEnd(ctx)) }, nil},
		"waiting":      {200, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.ListWaiting(ctx, "key")) }},
		"free slot":    {1, nil, func(ctx context.Context, tx *store.Tx) error { return freeSlot(ctx, tx, "key", run) }},
		"conversation": {1, func(ctx context.Context) error { return third(s.NewestOfConversation(ctx, "c7")) }, nil},
		"session":      {1, func(ctx context.Context) error { return second(s.ConversationOfSession(ctx, "s7")) }, nil},
		"delete":       {3, nil, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, bulkID(4)) }},
		"keys": {10, nil, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.DeleteOldKeys(ctx, time.UnixMicro(500), 10))
		}},
	}
}

// treeLookups are those of runs with children, and of workers that are bound to factories.
func treeLookups(s *store.Store) map[string]lookup {
	run := bulkID(0)
	return map[string]lookup{
		"claim bound": {10, nil, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.PickQueued(ctx, "mac", 10, "f1", "f2"))
		}},
		"queued bound": {10, func(ctx context.Context) error { return second(s.CountQueued(ctx, "mac", 5, "f1", "f2")) }, nil},
		"grow tree": {2, nil, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.GrowTree(ctx, []string{run, bulkID(1)}, lineshaft.Budget{MaxTokens: 1}, run))
		}},
		"spend trees": {4, nil, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.SpendTrees(ctx, map[string]lineshaft.Usage{run: {InputTokens: 1}}))
		}},
		"steps of environments": {4, func(ctx context.Context) error {
			return second(s.ListEnvironmentSteps(ctx, []string{run, bulkID(1), bulkID(2), "none"}, "warm", "cold"))
		}, nil},
		"trees of": {4, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.TreesOf(ctx, run)) }},
	}
}

// callbackStates are the looks of callbacks at state changes.
func callbackStates(s *store.Store) map[string]lookup {
	run := bulkID(0)
	all := map[string]lookup{
		"states of a run": {60, func(ctx context.Context) error {
			return second(s.ListRunStateChanges(ctx, store.StatePosition{Txid: 1000, RunID: bulkID(max(0, planSize(s)-50_000))}, run, 1<<40))
		}, nil},
		"states of a run far ahead": {1, func(ctx context.Context) error {
			return second(s.ListRunStateChanges(ctx, store.StatePosition{}, run, 1))
		}, nil},
		"next state": {1, func(ctx context.Context) error {
			return third(s.NextStateChange(ctx, store.StatePosition{Txid: 500}))
		}, nil},
	}
	if s.Engine() == "postgres" { // the other one has nothing to ask
		all["held back"] = lookup{1, func(ctx context.Context) error { return third(s.HeldBack(ctx)) }, nil}
	}
	return all
}

func second[A any](_ A, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }

func ignoreNoRows(err error) error {
	if store.IsNoRows(err) {
		return nil
	}
	return err
}

func touchRun(ctx context.Context, tx *store.Tx, runID string) error {
	h, err := tx.LockRun(ctx, runID)
	if err != nil {
		return err
	}
	h.Touch(h.UpdatedAt)
	return tx.SaveRun(ctx, h)
}

func freeSlot(ctx context.Context, tx *store.Tx, key, runID string) error {
	if _, err := tx.TakeSlot(ctx, key, runID); err != nil {
		return err
	}
	_, err := tx.FreeSlot(ctx, key, runID)
	return err
}

var errUndo = errors.New("undo this")

// A claim touches O(claimed) rows, and every other look-up of the hot paths as
// many as it is for (BENCH: complexity bars).
func TestX1LookupsFollowAnIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillRuns(t, s, 0, planSize(s))
		fillRest(t, s)
		fillKeys(t, s, planSize(s)/10)
		fillAudit(t, s)
		analyze(t, s)
		reads := s.Record()
		all := lookups(s)
		maps.Copy(all, treeLookups(s))
		maps.Copy(all, callbackStates(s))
		for name, look := range all {
			t.Log(name) // shown with what fails
			var sent []store.Statement
			if look.read != nil {
				must(t, look.read(t.Context()))
				sent = reads.Take()
			} else {
				err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					recorder := tx.Record()
					err := look.work(ctx, tx)
					sent = recorder.Take()
					return errors.Join(err, errUndo)
				})
				if !errors.Is(err, errUndo) || lineshaft.CodeOf(err) != lineshaft.CodeInternal {
					must(t, err)
				}
			}
			if len(sent) == 0 {
				t.Fatalf("%s: no statement", name)
			}
			for _, st := range sent {
				checkReads(t, s, st, look.most, false)
				if !strings.Contains(st.Text, "LIMIT $") { // there a generic plan must guess, looks bad, and is not taken
					checkReads(t, s, st, look.most, true)
				}
			}
		}
	})
}

func fillKeys(t *testing.T, s *store.Store, n int) {
	t.Helper()
	must(t, s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO idempotency_keys (id, body_hash, answer, created_at)
			SELECT 'k' || id, '', '', created_at - 1000000 FROM runs WHERE id < $1`, bulkID(n))
		return err
	}))
}

// fillAudit makes an entry for each run, of which the oldest hundredth is rare.
func fillAudit(t *testing.T, s *store.Store) {
	t.Helper()
	must(t, s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		rare := "CASE WHEN id < '" + bulkID(planSize(s)/100) + "' THEN 'rare' ELSE 'common' END"
		_, err := tx.Exec(ctx, `INSERT INTO audit_log (id, actor_uid, actor_type, actor_name, key_id, action, target_type, target_id, remote_addr, request_id, detail)
			SELECT id, `+rare+`, '', '', '', `+rare+`, '', `+rare+`, '', '', '{}' FROM runs`)
		return err
	}))
}

// The checks above must be able to fail.
func TestPlanChecksFindBadPlans(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillRuns(t, s, 0, 1000)
		for _, text := range []string{
			"SELECT id FROM runs ORDER BY status_message LIMIT 1",
			"SELECT id FROM runs WHERE creator_uid = 'rare' ORDER BY status_message LIMIT 1",
			"SELECT id FROM runs WHERE session_id || '' = 's7'",
		} {
			st := store.Statement{Text: text}
			var bad bool
			if s.Engine() == "sqlite" {
				bad = liteBad(explainSQLite(t, s.DB(), st)) != ""
			} else {
				explainPostgres(t, s.DB(), st, false).each(func(n pgNode) { bad = bad || n.read() > 1 })
			}
			if !bad {
				t.Errorf("%q passes", text)
			}
		}
	})
}

// SQLite has no statistics: by an index that all queued runs are in, it would pass over the
// whole queue of other hosts, and over runs that are held.
func TestX1QueuesAreReadByTheirOwnIndex(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{Database: storetest.SQLite(t)})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	must(t, s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		sent := tx.Record()
		for index, look := range map[string]func() error{
			"runs_skill_wait":    func() error { return second(tx.ListSkillWaiting(ctx, store.WaitingRun{}, 10)) },
			"runs_queue":         func() error { return second(tx.PickQueued(ctx, "mac", 5)) },
			"runs_queue_factory": func() error { return second(tx.PickQueued(ctx, "mac", 5, "f1")) },
		} {
			for range 2 { // the second looks at what others count
				must(t, look())
				look = func() error {
					return errors.Join(second(tx.CountQueued(ctx, "mac", 5)), third(tx.CountBusy(ctx, "mac", 5)))
				}
				found := ""
				for _, st := range sent.Take() {
					for _, line := range explainSQLite(t, s.DB(), st) {
						found += line.detail + "\n"
					}
				}
				if !strings.Contains(found, "INDEX "+index+" ") || strings.Contains(found, "INDEX runs_queued ") {
					t.Errorf("got %s, want %s", found, index)
				}
				index = "runs_queue"
			}
		}
		return nil
	}))
}
