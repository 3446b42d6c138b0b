package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// settleDatabase names the database of the process that TestR4SettlingIsKilled kills.
const settleDatabase = "LINESHAFT_TEST_SETTLE"

// Settling that is killed at any moment loses no run that was acknowledged, lists none twice,
// and continues with what is left (R-4, D-2).
func TestR4SettlingIsKilled(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		rounds := 5
		switch {
		case os.Getenv("LINESHAFT_SOAK") != "":
			rounds = 200
		case longTest() && !raced():
			rounds = 50
		}
		random := rand.New(rand.NewPCG(3, 3))
		for range rounds {
			made, deleted := killSettling(t, database, 1+random.IntN(60))
			s, err := store.Open(t.Context(), store.Options{Database: database})
			must(t, err)
			checkAcknowledged(t, s, made, deleted)
			settleAll(t, s)
			checkAcknowledged(t, s, made, deleted)
			listed := texts(t, s.DB(), "SELECT id, state, updated_at, name FROM run_list ORDER BY id")
			there := texts(t, s.DB(), "SELECT id, state, updated_at, name FROM runs ORDER BY id")
			if !slices.EqualFunc(listed, there, slices.Equal[[]string]) {
				t.Fatalf("%d runs are settled, %d there are", len(listed), len(there))
			}
			must(t, s.Close())
		}
	})
}

// checkAcknowledged looks for the runs of a process, by list and by word: each must be found once.
func checkAcknowledged(t *testing.T, s *store.Store, made, deleted []string) {
	t.Helper()
	all := pages(t.Context(), t, s, store.RunScan{Sort: lineshaft.SortUpdated}, []int{500})
	slices.Sort(all)
	if once := slices.Compact(slices.Clone(all)); len(once) != len(all) {
		t.Fatalf("%d of %d runs are listed twice", len(all)-len(once), len(all))
	}
	for _, runID := range made {
		_, found := slices.BinarySearch(all, runID)
		if gone := slices.Contains(deleted, runID); found == gone {
			t.Fatalf("run %s: listed %v, deleted %v", runID, found, gone)
		}
	}
	for _, runID := range made[:min(3, len(made))] {
		var want []string
		if !slices.Contains(deleted, runID) {
			want = []string{runID}
		}
		q := store.RunScan{Filter: lineshaft.RunFilter{Query: "word" + runID[24:]}, Sort: lineshaft.SortUpdated}
		if got := pages(t.Context(), t, s, q, []int{10}); !slices.Equal(got, want) {
			t.Fatalf("run %s: its word finds %v", runID, got)
		}
	}
}

// killSettling has another process write runs and settle them, and kills it after so many
// acknowledgements.
func killSettling(t *testing.T, database string, after int) (made, deleted []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestR4SettleUntilKilled$", "-test.count=1")
	cmd.Env = append(os.Environ(), settleDatabase+"="+database)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines, seen := bufio.NewScanner(out), 0
	for lines.Scan() { // to the end: what it said before it died counts
		what, runID, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "made":
			made = append(made, runID)
		case "deleting": // the acknowledgement may be on its way
			made = slices.DeleteFunc(made, func(id string) bool { return id == runID })
		case "deleted":
			made, deleted = append(made, runID), append(deleted, runID)
		default:
			t.Fatalf("the process said %q", lines.Text())
		}
		if seen++; seen == after {
			must(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); seen < after || err == nil {
		t.Fatalf("the process ended with %v after %d lines, before it was killed", err, seen)
	}
	if store.IsPostgres(database) { // the other ends of its connections may still finish what it asked for
		storetest.Exec(t, database, cutOthers)
	}
	return made, deleted
}

// TestR4SettleUntilKilled is the process that is killed.
func TestR4SettleUntilKilled(t *testing.T) {
	t.Parallel()
	database := os.Getenv(settleDatabase)
	if database == "" {
		return // TestR4SettlingIsKilled starts it
	}
	s, err := store.Open(t.Context(), store.Options{Database: database})
	must(t, err)
	go func() { _ = keepSettling(t.Context(), s) }()
	for i := 0; ; i++ {
		runID := insertRun(t, s, func(n *store.NewRun) {
			n.Body.Prompt, n.Body.Metadata = "word"+n.Head.ID[24:], map[string]string{"round": fmt.Sprint(i % 7)}
		})
		fmt.Fprintln(os.Stdout, "made", runID)
		if i%3 > 0 {
			continue
		}
		onRun(t, s, runID, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
			h.State, h.UpdatedAt = lineshaft.Failed, s.Now()
			return tx.SaveRun(ctx, h)
		})
		if i%2 > 0 {
			continue
		}
		fmt.Fprintln(os.Stdout, "deleting", runID)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, runID) })
		fmt.Fprintln(os.Stdout, "deleted", runID)
	}
}
