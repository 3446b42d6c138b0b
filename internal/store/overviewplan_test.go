package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// overviewLooks are what a look at the overview reads, for everyone and for keys that
// see only some factories, and what the job behind it does.
func overviewLooks(s *store.Store) map[string]lookup {
	since, late := time.UnixMicro(1), time.UnixMicro(1<<50)
	active := []lineshaft.RunState{lineshaft.Queued, lineshaft.Pending, lineshaft.Claimed, lineshaft.InProgress, lineshaft.Blocked}
	looks := map[string]lookup{
		"ended": {11, func(ctx context.Context) error {
			return second(s.EndedAfter(ctx, store.RateMark{FinishedAt: since}, late, 10))
		}, nil},
		"mark":  {1, func(ctx context.Context) error { return second(s.GetRateMark(ctx)) }, nil},
		"rates": {168, func(ctx context.Context) error { return third(s.ListRates(ctx, time.Hour, []string{""}, rateTime(32))) }, nil},
		"their rates": {30, func(ctx context.Context) error {
			return third(s.ListRates(ctx, time.Hour, []string{"f7", "f8"}, rateTime(190)))
		}, nil},
		"newest of": {24, func(ctx context.Context) error {
			return second(s.NewestOf(ctx, []string{"common", "rare", "none"}, 10))
		}, nil},
		"runs of factories": {101, func(ctx context.Context) error {
			return second(s.CountRuns(ctx, []string{"fac0", "none"}, lineshaft.RunFilter{States: active, UpdatedAfter: since}, 100))
		}, nil},
		"refused":   {50, func(ctx context.Context) error { return second(s.RefusedDeliveries(ctx, since, 50)) }, nil},
		"lock mark": {1, nil, func(ctx context.Context, tx *store.Tx) error { return second(tx.LockRateMark(ctx)) }},
		"move mark": {1, nil, func(ctx context.Context, tx *store.Tx) error { return tx.MoveRateMark(ctx, store.RateMark{}) }},
		"add": {1, nil, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddRates(ctx, []store.RunRate{rate("f7", rateTime(3), 1)})
		}},
		"old": {10, nil, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.DeleteOldRates(ctx, time.Hour, rateTime(100), 10))
		}},
	}
	for name, factories := range map[string][]string{"all": nil, "some": {"fac0", "fac1", "none"}} {
		looks["count "+name] = lookup{101, func(ctx context.Context) error { return second(s.CountActive(ctx, factories, active, 100)) }, nil}
		looks["queued "+name] = lookup{20, func(ctx context.Context) error { return second(s.OldestQueued(ctx, factories, 20)) }, nil}
		looks["blocked "+name] = lookup{5, func(ctx context.Context) error { return second(s.ListBlocked(ctx, factories, 4)) }, nil}
		looks["failed "+name] = lookup{5, func(ctx context.Context) error { return second(s.NewestFailed(ctx, factories, since, 4)) }, nil}
		looks["webhooks "+name] = lookup{4, func(ctx context.Context) error { return second(s.UnfinishedWebhooks(ctx, factories, 4)) }, nil}
		looks["schedules "+name] = lookup{4, func(ctx context.Context) error { return second(s.BrokenSchedules(ctx, factories, 4)) }, nil}
		looks["repositories "+name] = lookup{4, func(ctx context.Context) error { return second(s.BrokenRepositories(ctx, factories, 4)) }, nil}
	}
	return looks
}

// rateTime is the beginning of stretch number i of fillOverview.
func rateTime(i int) time.Time { return time.UnixMicro(int64(i) * 3_600_000_000) }

// fillOverview makes the runs of fillRuns end when they were last changed, and adds
// tallies of 40 factories over 200 hours.
func fillOverview(t *testing.T, s *store.Store) {
	t.Helper()
	fillRuns(t, s, 0, planSize(s))
	must(t, s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE runs SET finished_at = updated_at WHERE state <> 'QUEUED'"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < 200), f (j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM f WHERE j < 40)
			INSERT INTO run_rates (span, factory_uid, bucket, succeeded, failed, errored, cancelled, waits, times, reasons)
			SELECT 3600, CASE WHEN j = 0 THEN '' ELSE 'f' || CAST(j AS TEXT) END, CAST(i AS BIGINT) * 3600000000, 1, 1, 1, 1, '{}', '{}', '{}' FROM n CROSS JOIN f`)
		return err
	}))
}

// The overview reads the same amount however many runs there are (I-2).
func TestI2OverviewFollowsIndexes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillOverview(t, s)
		fillHooks(t, s, planSize(s))
		analyze(t, s)
		reads := s.Record()
		for name, look := range overviewLooks(s) {
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
				if bad := wholeTable(t, s, st); bad != "" {
					t.Errorf("%s\n%s", bad, st.Text)
				}
			}
		}
	})
}

// wholeTable names a table that SQLite would read as a whole. Parts of a statement, whose
// names are as short as these or that are put together first, and the backlog of lists (c) are
// read whole: each is bounded.
func wholeTable(t *testing.T, s *store.Store, st store.Statement) string {
	t.Helper()
	if s.Engine() != "sqlite" {
		return "" // there the rows were counted
	}
	within := map[string]bool{"s": true, "c": true, "d": true, "v": true}
	for _, line := range explainSQLite(t, s.DB(), st) {
		words := strings.Fields(line.detail)
		if words[0] == "CO-ROUTINE" || words[0] == "MATERIALIZE" {
			within[words[1]] = true
		}
		part := len(words) > 1 && (within[words[1]] || words[1][0] == 'p')
		if words[0] == "SCAN" && !part && !strings.Contains(line.detail, " USING ") && !strings.Contains(line.detail, "CONSTANT ROW") {
			return line.detail
		}
	}
	return ""
}

func TestOverviewPlanCheckFindsWholeTables(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		bad := wholeTable(t, s, store.Statement{Text: "SELECT uid FROM webhooks WHERE needs_secret = 2"})
		if (bad == "") != (s.Engine() == "postgres") {
			t.Errorf("found %q", bad)
		}
	})
}
