package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// head reads a run's head as a transaction sees it.
func head(t *testing.T, s *store.Store, runID string) *store.RunHead {
	t.Helper()
	var h *store.RunHead
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		h, err = tx.LockRun(ctx, runID)
		return err
	})
	return h
}

// move saves a run in another state, with the event of it.
func move(ctx context.Context, tx *store.Tx, runID string, to lineshaft.RunState) error {
	h, err := tx.LockRun(ctx, runID)
	if err != nil {
		return err
	}
	if _, err := h.Move(to, lineshaft.StatusMessage{}, "", time.Now()); err != nil {
		return err
	}
	return tx.SaveRun(ctx, h, stateEvent(to))
}

func fullRun(s *store.Store) *store.NewRun {
	n := newRun(s)
	retryable := false
	n.Head.State, n.Head.FinishedAt = lineshaft.Errored, n.CreatedAt.Add(time.Second)
	n.Head.Status = lineshaft.StatusMessage{Message: "it \"broke\" – ganz", ErrorCode: lineshaft.CodeRunTimeout, Retryable: &retryable}
	n.Head.FactoryUID, n.Head.ParentRunID, n.Head.WorkerHost = "fac", "parent", "mac"
	n.Head.ConcurrencyKey, n.Head.Hold, n.Head.MaxAttempts = "key", lineshaft.HoldConcurrency|lineshaft.HoldExecution, 3
	n.Title, n.Source, n.ScheduleID, n.RootRunID, n.Depth = "Titel ✓", lineshaft.SourceCLI, "sched", "root", 2
	n.Ancestors = []string{"parent", "root"}
	config := lineshaft.AgentConfig{Name: "n", ModelID: "m", EnvironmentID: "e", Skills: []string{"o/r:s"}, WorkerHost: "mac"}
	n.Body = store.RunBody{
		Prompt: "a\nb", Submitted: "a\nb\n\nc", Config: config, Request: lineshaft.AgentConfig{Name: "asked"},
		Origins: map[string]string{"name": "request"}, Metadata: map[string]string{"k": "v", "q": "a=b'\"%"}, Files: 2,
	}
	return n
}

func TestRunRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := fullRun(s)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			err := tx.PutPrincipal(ctx, lineshaft.Principal{UID: "u1", Type: lineshaft.User, DisplayName: "Ada", Email: "a@b"}, time.Now())
			if err != nil {
				return err
			}
			return tx.InsertRun(ctx, n, []lineshaft.Draft{stateEvent(lineshaft.Errored)})
		})
		got, err := s.GetRun(t.Context(), n.Head.ID)
		must(t, err)
		ada := lineshaft.Principal{UID: "u1", Type: lineshaft.User, DisplayName: "Ada", Email: "a@b"}
		want := &lineshaft.Run{
			ID: n.Head.ID, Title: n.Title, Prompt: n.Body.Prompt, Submitted: n.Body.Submitted, State: lineshaft.Errored, Status: n.Head.Status,
			Source: n.Source, Creator: ada, Executor: ada, Config: n.Body.Config, ConversationID: n.ConversationID, SessionID: n.SessionID,
			ParentRunID: "parent", RootRunID: "root", Depth: 2, FactoryUID: "fac", ScheduleID: "sched", Attempt: 1, Metadata: n.Body.Metadata,
			CreatedAt: n.CreatedAt, UpdatedAt: n.Head.UpdatedAt, FinishedAt: n.Head.FinishedAt, LastSequence: 1,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("run\n%s\nwant\n%s", asJSON(t, got), asJSON(t, want))
		}
		body, err := s.GetRunBody(t.Context(), n.Head.ID)
		must(t, err)
		if n.Body.Files = 0; !reflect.DeepEqual(body, &n.Body) { // read with a claim only
			t.Errorf("body\n%s\nwant\n%s", asJSON(t, body), asJSON(t, n.Body))
		}
		h := head(t, s, n.Head.ID)
		if h.ConcurrencyKey != "key" || h.Hold != 3 || h.MaxAttempts != 3 || h.LastSequence != 1 || *h.Status.Retryable ||
			!h.QueueDeadline.Equal(n.Head.QueueDeadline) || !h.QueuedAt.Equal(n.Head.QueuedAt) {
			t.Errorf("head %s", asJSON(t, h))
		}
	})
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", " ")
	must(t, err)
	return string(raw)
}

// Everything of a head that a report changes is written back.
func TestHeadRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, func(n *store.NewRun) { n.Body.Metadata = map[string]string{"k": "v"} })
		var saved store.RunHead
		at := time.UnixMicro(1_800_000_000_000_001).UTC()
		retryable := true
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			h, err := tx.LockRun(ctx, run)
			if err != nil {
				return err
			}
			status := lineshaft.StatusMessage{Message: "m", ErrorCode: lineshaft.CodeInternal, Retryable: &retryable}
			if _, err := h.Move(lineshaft.Errored, status, "", at); err != nil {
				return err
			}
			h.StartedAt, h.RunTime, h.Usage = at.Add(-time.Hour), 90*time.Second, lineshaft.Usage{InputTokens: 1, OutputTokens: 1 << 40, CostMicros: 3}
			h.QueuedAt, h.QueueDeadline, h.Hold, h.ExecutionID, h.WorkerID = at, at.Add(time.Minute), 2, "e1", "w1"
			h.Executions, h.Attempts, h.PromptDone, h.Unread, h.Taken, h.SandboxRunning = 4, 2, true, 3, true, true
			if err := tx.SaveRun(ctx, h, stateEvent(lineshaft.Errored), stateEvent(lineshaft.Errored)); err != nil {
				return err
			}
			saved = *h
			return nil
		})
		if got := head(t, s, run); asJSON(t, got) != asJSON(t, saved) || got.LastSequence != 3 || !got.FinishedAt.Equal(at) {
			t.Errorf("head\n%s\nwant\n%s", asJSON(t, got), asJSON(t, saved))
		}
		runs, _, _, err := s.ScanRuns(t.Context(), store.RunScan{
			Limit: 5, Sort: lineshaft.SortUpdated,
			Filter: lineshaft.RunFilter{Metadata: map[string]string{"k": "v"}, UpdatedAfter: at},
		})
		must(t, err)
		if len(runs) != 1 {
			t.Errorf("the run's tags did not follow its update time: %v", runs)
		}
	})
}

func TestMissingRuns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		missing, _ := s.NewID()
		_, err := s.GetRun(t.Context(), missing)
		wantCode(t, err, lineshaft.CodeNotFound)
		_, err = s.GetRunBody(t.Context(), missing)
		wantCode(t, err, lineshaft.CodeNotFound)
		_, _, err = s.LogEnd(t.Context(), missing)
		wantCode(t, err, lineshaft.CodeNotFound)
		_, _, err = s.NewestOfConversation(t.Context(), missing)
		wantCode(t, err, lineshaft.CodeNotFound)
		_, err = s.ConversationOfSession(t.Context(), missing)
		wantCode(t, err, lineshaft.CodeNotFound)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.LockRun(ctx, missing)
			wantCode(t, err, lineshaft.CodeNotFound)
			_, err = tx.GetLineage(ctx, missing)
			wantCode(t, err, lineshaft.CodeInvalidRequest)
			return nil
		})
	})
}

// A head that was read before the run went to another state cannot be saved.
func TestSaveRunsRefusesAStateThatMoved(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run, other := insertRun(t, s, nil), insertRun(t, s, nil)
		stale, fine := head(t, s, run), head(t, s, other)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return move(ctx, tx, run, lineshaft.Cancelled) })
		for _, events := range [][][]lineshaft.Draft{{nil, nil}, {{stateEvent(lineshaft.Failed)}, nil}} {
			one, two := *stale, *fine
			for _, h := range []*store.RunHead{&one, &two} {
				_, err := h.Move(lineshaft.Failed, lineshaft.StatusMessage{}, "", time.Now())
				must(t, err)
			}
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return tx.SaveRuns(ctx, []*store.RunHead{&one, &two}, events)
			})
			if err == nil {
				t.Fatal("the stale head was saved")
			}
			if a, b := head(t, s, run), head(t, s, other); a.State != lineshaft.Cancelled || b.State != lineshaft.Queued {
				t.Fatalf("states are %s and %s", a.State, b.State)
			}
		}
		wantSequence(t, s, run, 2)
	})
}

// A run that was just inserted can be saved in the same transaction.
func TestInsertThenSave(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := newRun(s)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.InsertRun(ctx, n, []lineshaft.Draft{stateEvent(lineshaft.Queued)}); err != nil {
				return err
			}
			if _, err := n.Head.Move(lineshaft.Cancelled, lineshaft.StatusMessage{}, "", time.Now()); err != nil {
				return err
			}
			return tx.SaveRun(ctx, &n.Head, stateEvent(lineshaft.Cancelled))
		})
		wantSequence(t, s, n.Head.ID, 2)
	})
}

func TestSaveManyRuns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const many = 120
		var ids []string
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			ids = nil
			for range many {
				n := newRun(s)
				ids = append(ids, n.Head.ID)
				if err := tx.InsertRun(ctx, n, nil); err != nil {
					return err
				}
			}
			return nil
		})
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			shuffled := slices.Clone(ids)
			slices.Reverse(shuffled)
			heads, err := tx.LockRuns(ctx, append(shuffled, "missing"))
			if err != nil {
				return err
			}
			if len(heads) != many || !slices.IsSortedFunc(heads, func(a, b *store.RunHead) int { return strings.Compare(a.ID, b.ID) }) {
				return fmt.Errorf("%d heads, or not in order", len(heads))
			}
			events := make([][]lineshaft.Draft, many)
			for i, h := range heads {
				if _, err := h.Move(lineshaft.Cancelled, lineshaft.StatusMessage{}, "", time.Now()); err != nil {
					return err
				}
				events[i] = slices.Repeat([]lineshaft.Draft{stateEvent(lineshaft.Cancelled)}, i%3)
			}
			return tx.SaveRuns(ctx, heads, events)
		})
		for i, id := range ids {
			wantSequence(t, s, id, int64(i%3))
		}
	})
}

// wantSequence checks that a run's log ends at a number and has no holes.
func wantSequence(t *testing.T, s *store.Store, runID string, want int64) {
	t.Helper()
	last, _, err := s.LogEnd(t.Context(), runID)
	must(t, err)
	events, _, err := s.ListEvents(t.Context(), runID, 0, int(want)+10, 1<<30)
	must(t, err)
	for i, e := range events {
		if e.Sequence != int64(i)+1 {
			t.Fatalf("event %d has number %d", i, e.Sequence)
		}
	}
	if last != want || int64(len(events)) != want {
		t.Fatalf("the log ends at %d with %d events, want %d", last, len(events), want)
	}
}

// Transactions over the same runs in other orders do not wait for each other for ever.
func TestLocksInAnyOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ids := []string{insertRun(t, s, nil), insertRun(t, s, nil), insertRun(t, s, nil)}
		must(t, inParallel(8, func(i int) error {
			order := slices.Clone(ids)
			order[0], order[i%3] = order[i%3], order[0]
			for range 5 {
				err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					heads, err := tx.LockRuns(ctx, order)
					if err != nil {
						return err
					}
					events := slices.Repeat([][]lineshaft.Draft{{stateEvent(lineshaft.Queued)}}, len(heads))
					return tx.SaveRuns(ctx, heads, events)
				})
				if err != nil {
					return err
				}
			}
			return nil
		}))
		for _, id := range ids {
			wantSequence(t, s, id, 41)
		}
	})
}

func TestLineage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		root := insertRun(t, s, func(n *store.NewRun) { n.Head.FactoryUID, n.Body.Metadata = "fac", map[string]string{"k": "v"} })
		child := func(parent string, ancestors ...string) string {
			return insertRun(t, s, func(n *store.NewRun) {
				n.Head.ParentRunID, n.RootRunID, n.Depth, n.Ancestors = parent, root, len(ancestors), ancestors
			})
		}
		middle := child(root, root)
		leaf := child(middle, middle, root)
		ended := child(middle, middle, root)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return move(ctx, tx, ended, lineshaft.Cancelled) })
		var top, mid *store.Lineage
		var live int
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			if top, err = tx.GetLineage(ctx, root); err != nil {
				return err
			}
			if mid, err = tx.GetLineage(ctx, middle); err != nil {
				return err
			}
			live, err = tx.CountLiveChildren(ctx, middle)
			return err
		})
		if top.FactoryUID != "fac" || top.Body.Metadata["k"] != "v" || !slices.Equal(top.Ancestors, []string{root}) {
			t.Errorf("root: %+v", top)
		}
		if mid.RootRunID != root || mid.Depth != 1 || live != 1 || !slices.Equal(mid.Ancestors, []string{middle, root}) {
			t.Errorf("middle: %+v", mid)
		}
		for _, pair := range []struct {
			above, below string
			want         bool
		}{{root, leaf, true}, {middle, leaf, true}, {leaf, root, false}, {root, root, false}} {
			if got, err := s.IsAncestor(t.Context(), pair.above, pair.below); err != nil || got != pair.want {
				t.Errorf("IsAncestor(%s, %s) = %v, %v", pair.above, pair.below, got, err)
			}
		}
	})
}

func TestConversations(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first := insertRun(t, s, func(n *store.NewRun) { n.ConversationID, n.SessionID = "c1", "s1" })
		second := insertRun(t, s, func(n *store.NewRun) { n.ConversationID, n.SessionID = "c1", "s2" })
		insertRun(t, s, nil)
		run, session, err := s.NewestOfConversation(t.Context(), "c1")
		if err != nil || run != second || session != "s2" || run == first {
			t.Errorf("newest is %s, %s, %v", run, session, err)
		}
		if conversation, err := s.ConversationOfSession(t.Context(), "s1"); err != nil || conversation != "c1" {
			t.Errorf("conversation is %s, %v", conversation, err)
		}
	})
}

func TestR6PromptGrows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return second(tx.AppendPrompt(ctx, run, "and this")) })
		got, err := s.GetRun(t.Context(), run)
		must(t, err)
		if got.Prompt != "do it" || got.Submitted != "do it\n\nand this" {
			t.Errorf("prompt %q, submitted %q", got.Prompt, got.Submitted)
		}
	})
}

// D-3: a node of the previous version writes the status of an interrupted turn, and not
// the column; and it leaves the column when it replaces the status.
func TestD3InterruptsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		old, over := insertRun(t, s, nil), insertRun(t, s, nil)
		storetest.Exec(t, database,
			"UPDATE runs SET status_message = '"+lineshaft.StatusInterrupted+"' WHERE id = '"+old+"'",
			"UPDATE runs SET interrupted = 1, status_message = 'the agent is working' WHERE id = '"+over+"'")
		for id, want := range map[string]bool{old: true, over: false} {
			run, err := s.GetRun(t.Context(), id)
			must(t, err)
			if h := head(t, s, id); run.Interrupted != want || h.Interrupted != want {
				t.Errorf("interrupted: %t in the run, %t in its life, want %t", run.Interrupted, h.Interrupted, want)
			}
		}
	})
}

// A run's end is written when it changes, in heads that were read and in those that were just made.
func TestR7EndIsWrittenWhenItChanges(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		end := time.UnixMicro(1_700_000_000_000_123).UTC()
		made := newRun(s)
		other := insertRun(t, s, nil)
		move := func(ctx context.Context, tx *store.Tx, h *store.RunHead, to lineshaft.RunState, at time.Time) error {
			h.State, h.FinishedAt = to, at
			beside, err := tx.LockRun(ctx, other)
			if err != nil {
				return err
			}
			return tx.SaveRuns(ctx, []*store.RunHead{h, beside}, make([][]lineshaft.Draft, 2))
		}
		wants := func(want time.Time) {
			t.Helper()
			run, err := s.GetRun(t.Context(), made.Head.ID)
			must(t, err)
			if beside, err := s.GetRun(t.Context(), other); err != nil || !beside.FinishedAt.IsZero() || !run.FinishedAt.Equal(want) {
				t.Errorf("ended at %v, want %v; the other: %+v, %v", run.FinishedAt, want, beside, err)
			}
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			made.Head.State, made.Head.FinishedAt = lineshaft.Succeeded, end
			if err := tx.InsertRun(ctx, made, nil); err != nil {
				return err
			}
			return move(ctx, tx, &made.Head, lineshaft.Queued, time.Time{})
		})
		wants(time.Time{})
		for _, step := range []struct {
			to lineshaft.RunState
			at time.Time
		}{{lineshaft.Cancelled, end}, {lineshaft.Cancelled, end}, {lineshaft.Queued, time.Time{}}, {lineshaft.Failed, end.Add(time.Second)}} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				h, err := tx.LockRun(ctx, made.Head.ID)
				if err != nil {
					return err
				}
				return move(ctx, tx, h, step.to, step.at)
			})
			wants(step.at)
		}
	})
}

// A brief list has the names of a run and nothing that may be long.
func TestH14BriefListOfRuns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		insertRun(t, s, func(n *store.NewRun) {
			n.Body.Config = lineshaft.AgentConfig{Name: `"odd\`, ModelID: "large", BasePrompt: "long"}
		})
		insertRun(t, s, nil)
		runs, _, more, err := s.ScanRuns(t.Context(), store.RunScan{Sort: lineshaft.SortCreated, Ascending: true, Limit: 10, Brief: true})
		must(t, err)
		if len(runs) != 2 || more || runs[0].Config.Name != `"odd\` || runs[0].Config.Model() != "large" || runs[1].Config.Name != "" {
			t.Fatalf("%+v", runs)
		}
		for _, run := range runs {
			if run.Prompt != "" || run.Submitted != "" || run.Config.BasePrompt != "" || run.Title != "a run" {
				t.Errorf("%+v", run)
			}
		}
	})
}
