package control_test

import (
	"crypto/sha256"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	controlbase "github.com/lineshaft/lineshaft/internal/control/base"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func idem(key, body string) *controlbase.Idempotency {
	return &controlbase.Idempotency{Key: key, Method: "POST", Path: "/agent/runs", BodyHash: sha256.Sum256([]byte(body))}
}

func doIt() lineshaft.NewRun { return lineshaft.NewRun{Prompt: "do it", Source: lineshaft.SourceAPI} }

func TestH9SameKeyGivesTheSameRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := must[controlruns.Started](b)(b.s.StartRun(b.Context(), b.admin, doIt(), idem("k", "1")))
		if first.Replayed || !first.AtCapacity {
			b.Fatalf("%+v", first)
		}
		b.claimOne(lineshaft.HostedWorker, first.RunID) // the run continues; the answer stays
		again := must[controlruns.Started](b)(b.s.StartRun(b.Context(), b.admin, doIt(), idem("k", "1")))
		if !again.Replayed {
			b.Fatalf("%+v", again)
		}
		again.Replayed = false
		if again != first {
			b.Fatalf("the answer changed from %+v to %+v", first, again)
		}
		_, err := b.s.StartRun(b.Context(), b.admin, doIt(), idem("k", "2"))
		wantCode(b, err, lineshaft.CodeIdempotencyMismatch)
		if runs := b.list(lineshaft.RunFilter{}); len(runs) != 1 {
			b.Fatalf("%d runs", len(runs))
		}
	})
}

func TestH9KeysAreScoped(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		other := b.caller(lineshaft.RoleMember)
		base, method, path := idem("k", "1"), idem("k", "1"), idem("k", "1")
		method.Method, path.Path = "PUT", "/agent/run"
		seen := map[string]bool{}
		for _, call := range []struct {
			caller lineshaft.Caller
			key    *controlbase.Idempotency
		}{{b.admin, base}, {other, base}, {b.admin, method}, {b.admin, path}, {b.admin, idem("k2", "1")}} {
			started := must[controlruns.Started](b)(b.s.StartRun(b.Context(), call.caller, doIt(), call.key))
			if started.Replayed || seen[started.RunID] {
				b.Fatalf("%+v is an answer to somebody else", started)
			}
			seen[started.RunID] = true
		}
	})
}

func TestH9FailuresAreNotKept(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{}).RunID
		b.cancel(runID)
		_, err := b.s.Cancel(b.Context(), b.admin, runID, false, idem("c", ""))
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		b.followup(runID, "go on")
		result, err := b.s.Cancel(b.Context(), b.admin, runID, false, idem("c", ""))
		if err != nil || result.Replayed || result.RunID != runID {
			b.Fatalf("%+v %v", result, err)
		}
		result, err = b.s.Cancel(b.Context(), b.admin, runID, false, idem("c", ""))
		if err != nil || !result.Replayed || result.RunID != runID {
			b.Fatalf("%+v %v", result, err)
		}
	})
}

func TestH9FollowupOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		req := lineshaft.NewFollowup{RunID: runID, Message: "more"}
		results := make([]controlruns.FollowupResult, 16)
		errs := make([]error, len(results))
		together(len(results), func(i int) {
			results[i], errs[i] = b.s.Followup(b.Context(), b.admin, req, idem("f", "1"))
		})
		fresh := 0
		for i, result := range results {
			wantCode(b, errs[i], "")
			if !result.Replayed {
				fresh++
			}
			if result.FollowupID != results[0].FollowupID || result.Outcome != lineshaft.OutcomeLiveSession {
				b.Fatalf("%+v", result)
			}
		}
		if fresh != 1 {
			b.Fatalf("%d calls did the work", fresh)
		}
		if turn := b.end(job, lineshaft.Succeeded); turn == nil || turn.Message != "more" {
			b.Fatalf("%+v", turn)
		}
		if turn := b.end(job, lineshaft.Succeeded); turn != nil {
			b.Fatalf("it came twice: %+v", turn)
		}
	})
}

func TestH9ManyAtOnceStartOneRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) { startOnce(b, []*control.Service{b.s}) })
}

func TestH9TwoNodesStartOneRun(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	b := open(t, database)
	startOnce(b, []*control.Service{b.s, open(t, database).s})
}

func startOnce(b *bench, nodes []*control.Service) {
	b.Helper()
	var fresh atomic.Int64
	ids := make([]string, 64)
	together(len(ids), func(i int) {
		started, err := nodes[i%len(nodes)].StartRun(b.Context(), b.admin, doIt(), idem("k", "1"))
		if err != nil {
			b.Error(err)
		}
		if !started.Replayed {
			fresh.Add(1)
		}
		ids[i] = started.RunID
	})
	for _, id := range ids {
		if id == "" || id != ids[0] {
			b.Fatalf("runs %s and %s", ids[0], id)
		}
	}
	if fresh.Load() != 1 || len(b.list(lineshaft.RunFilter{})) != 1 {
		b.Fatalf("%d calls did the work, %d runs", fresh.Load(), len(b.list(lineshaft.RunFilter{})))
	}
}

func TestH9KeyIsFreeAfterADay(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		first := must[controlruns.Started](b)(b.s.StartRun(b.Context(), b.admin, doIt(), idem("k", "1")))
		b.clock.advance(23*time.Hour + 59*time.Minute)
		wantCode(b, b.s.Purge(b.Context()), "") // cleaning up does not free it early
		again := must[controlruns.Started](b)(b.s.StartRun(b.Context(), b.admin, doIt(), idem("k", "1")))
		if again.RunID != first.RunID {
			b.Fatal("the answer was not kept for a day")
		}
		b.clock.advance(2 * time.Minute)
		ids := make([]string, 8)
		together(len(ids), func(i int) {
			started, err := b.s.StartRun(b.Context(), b.admin, doIt(), idem("k", "2"))
			if err != nil {
				b.Error(err)
			}
			ids[i] = started.RunID
		})
		for _, id := range ids {
			if id == first.RunID || id != ids[0] {
				b.Fatalf("%s, %s", id, ids[0])
			}
		}
	})
}
