package store_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// tablesOf lists the tables that have rows of a run.
func tablesOf(t *testing.T, s *store.Store, runID string) []string {
	t.Helper()
	var found []string
	for _, table := range []string{
		"runs", "run_bodies", "run_tags", "run_list", "run_backlog", "deleted_runs", "events", "executions", "followups",
		"attachments", "artifacts", "blobs", "run_search", "run_usage",
	} {
		column := "run_id"
		if table == "runs" || table == "run_list" {
			column = "id"
		}
		query := "SELECT " + column + " FROM " + table + " WHERE " + column + " = '" + runID + "'"
		if table == "run_search" && s.Engine() == "sqlite" { // words of nobody are those of the deleted run
			query = "SELECT 1 FROM run_search s LEFT JOIN run_list l ON l.number = s.rowid WHERE l.id IS NULL OR l.id = '" + runID + "'"
		}
		if rows := texts(t, s.DB(), query); len(rows) > 0 {
			found = append(found, table)
		}
	}
	return found
}

// crowdedRun makes a run with rows in every table.
func crowdedRun(t *testing.T, s *store.Store) string {
	t.Helper()
	run := insertRun(t, s, func(n *store.NewRun) { n.Body.Metadata = map[string]string{"k": "v"} })
	settleAll(t, s)
	claimOne(t, s, "w1", time.Minute)
	follow(t, s, run, "more")
	blob, size, err := s.PutBlob(t.Context(), bytes.NewReader(pattern(chunk+1)), 2*chunk)
	must(t, err)
	onRun(t, s, run, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
		uid, _ := s.NewID()
		if err := tx.InsertArtifact(ctx, h, lineshaft.Artifact{UID: uid, Type: lineshaft.ArtifactFile, BlobID: blob}); err != nil {
			return err
		}
		if err := tx.AddUsage(ctx, run, []lineshaft.ModelUsage{{ModelID: "m"}}); err != nil {
			return err
		}
		return tx.InsertAttachments(ctx, run, "", []lineshaft.Attachment{{ID: uid, FileName: "f", Size: size, BlobID: blob}})
	})
	return run
}

// A deleted run is gone from lists at once and from every table later.
func TestR12DeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run, other := crowdedRun(t, s), crowdedRun(t, s)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.DeleteRun(ctx, run); err != nil {
				return err
			}
			return tx.DeleteRun(ctx, run) // twice does no harm
		})
		_, err := s.GetRun(t.Context(), run)
		wantCode(t, err, lineshaft.CodeNotFound)
		for _, f := range []lineshaft.RunFilter{{}, {Metadata: map[string]string{"k": "v"}}, {Query: "do"}} {
			runs, _, _, err := s.ScanRuns(t.Context(), store.RunScan{Filter: f, Sort: lineshaft.SortUpdated, Limit: 10})
			if err != nil || len(runs) != 1 || runs[0].ID != other {
				t.Errorf("list %+v has %v, %v", f, runs, err)
			}
		}
		left, err := s.ListDeletedRuns(t.Context(), 10)
		if err != nil || !slices.Equal(left, []string{run}) {
			t.Errorf("deleted runs %v, %v", left, err)
		}
		must(t, s.DeleteRunRows(t.Context(), run))
		must(t, s.DeleteRunRows(t.Context(), run))
		settleAll(t, s)
		if tables := tablesOf(t, s, run); len(tables) != 0 {
			t.Errorf("rows are left in %v", tables)
		}
		if chunks := texts(t, s.DB(), "SELECT DISTINCT blob_id FROM blob_chunks"); len(chunks) != 1 {
			t.Errorf("chunks of %d blobs", len(chunks))
		}
		want := "runs run_bodies run_tags run_list events executions followups attachments artifacts blobs run_search run_usage"
		if tables := strings.Join(tablesOf(t, s, other), " "); tables != want {
			t.Errorf("the other run has rows in %s, want %s", tables, want)
		}
	})
}

// A long log goes in several writes.
func TestD3LongLogIsDeletedInChunks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		onRun(t, s, run, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
			return tx.SaveRun(ctx, h, slices.Repeat([]lineshaft.Draft{output("x")}, 2100)...)
		})
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, run) })
		must(t, s.DeleteRunRows(t.Context(), run))
		settleAll(t, s)
		if tables := tablesOf(t, s, run); len(tables) != 0 {
			t.Errorf("rows are left in %v", tables)
		}
	})
}

func TestOldAndOverdueRuns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		now := time.Now()
		add := func(state lineshaft.RunState, updated, deadline time.Time) string {
			return insertRun(t, s, func(n *store.NewRun) { n.Head.State, n.Head.UpdatedAt, n.Head.QueueDeadline = state, updated, deadline })
		}
		later := add(lineshaft.Queued, now.Add(-time.Hour), now.Add(-time.Minute))
		sooner := add(lineshaft.Queued, now.Add(-time.Hour), now.Add(-time.Hour))
		add(lineshaft.Queued, now.Add(-time.Hour), now.Add(time.Hour))
		add(lineshaft.InProgress, now.Add(-time.Hour), now.Add(-time.Hour))
		var want []string
		for _, state := range []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed, lineshaft.Errored, lineshaft.Cancelled} {
			want = append(want, add(state, now.Add(-time.Hour), now.Add(-time.Hour)))
			add(state, now, now.Add(-time.Hour))
		}
		if overdue, err := s.ListOverdue(t.Context(), now, 10); err != nil || !slices.Equal(overdue, []string{sooner, later}) {
			t.Errorf("overdue %v, %v", overdue, err)
		}
		settleAll(t, s)
		if old, err := s.ListOldRuns(t.Context(), now.Add(-time.Minute), 10); err != nil || !slices.Equal(old, want) {
			t.Errorf("old %v, %v, want %v", old, err, want)
		}
	})
}

func TestArtifacts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run, newer := insertRun(t, s, nil), insertRun(t, s, nil)
		a := lineshaft.Artifact{
			Type: lineshaft.ArtifactPullRequest, FileName: "f", FilePath: "a/f", MimeType: "text/plain", SizeBytes: 1 << 40,
			URL: "https://x/pull/1", Branch: "b", Title: "T", Description: "D",
		}
		add := func(runID string) {
			onRun(t, s, runID, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
				a.UID, a.CreatedAt = s.NewID()
				a.RunID = runID
				return tx.InsertArtifact(ctx, h, a)
			})
		}
		add(run)
		got, err := s.GetArtifact(t.Context(), a.UID)
		must(t, err)
		if *got != a {
			t.Errorf("artifact %+v, want %+v", got, a)
		}
		whole, err := s.GetRun(t.Context(), run)
		must(t, err)
		if len(whole.Artifacts) != 1 || whole.Artifacts[0] != a {
			t.Errorf("the run has %+v", whole.Artifacts)
		}
		add(newer)
		if found, err := s.RunByURL(t.Context(), a.URL); err != nil || found != newer {
			t.Errorf("run by URL is %s, %v", found, err)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for url, want := range map[string]bool{a.URL: true, "https://x/pull/2": false, "": false} {
				if has, err := tx.HasArtifactURL(ctx, run, url); err != nil || has != want {
					t.Errorf("HasArtifactURL(%q) = %v, %v", url, has, err)
				}
			}
			return nil
		})
		_, err = s.GetArtifact(t.Context(), "missing")
		wantCode(t, err, lineshaft.CodeNotFound)
		_, err = s.RunByURL(t.Context(), "missing")
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}
