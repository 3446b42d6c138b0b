package e2e

import (
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/remote"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// a worker that comes back after its lease, or after a cancel, is refused
// whatever it says, and its log stays as it was.
func TestX1LateReportsAreRefused(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		n := newNode(t, database, "--no-worker", "--lease", "8s") // what must be in time is, on a busy machine too
		n.start(t.Context())
		c := n.client()
		w, err := remote.New(remote.Config{Server: n.url, Key: adminKey, Host: "mac", Process: "mac/late"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, cancelled := range []bool{false, true} {
			runID := onMac(t, c, "echo never", 1)
			jobs, err := w.Claim(t.Context(), lineshaft.ClaimRequest{Limit: 1, Capacity: 1})
			if err != nil || len(jobs) != 1 || jobs[0].RunID != runID {
				t.Fatalf("%+v, %v", jobs, err)
			}
			first := lateReport(jobs[0].ExecutionRef, 1, "in time")
			first.Started = true
			if answers, err := w.Report(t.Context(), []lineshaft.Report{first}); err != nil || answers[0] != nil {
				t.Fatalf("%v, %v", answers, err)
			}
			want := client.RunState("ERROR")
			if cancelled {
				want = "CANCELLED"
				if err := c.Runs.Cancel(t.Context(), runID); err != nil {
					t.Fatal(err)
				}
			}
			if run := waitEnd(t.Context(), t, c, runID); run.State != want {
				t.Fatalf("the run is %s, not %s: %+v", run.State, want, run.StatusMessage)
			}
			refuses(t, w, jobs[0].ExecutionRef)
			if said := countOutput(t, c, runID, "in time"); said != 1 {
				t.Errorf("%s: what came in time is there %d times", want, said)
			}
			if said := countOutput(t, c, runID, "too late"); said != 0 {
				t.Errorf("%s: what came too late is in the log", want)
			}
		}
	})
}

func lateReport(ref lineshaft.ExecutionRef, number int64, text string) lineshaft.Report {
	draft := lineshaft.NewDraft(lineshaft.EventOutput, time.Now(), lineshaft.OutputData{Stream: "stdout", Text: text})
	return lineshaft.Report{ExecutionRef: ref, First: number, Events: []lineshaft.Draft{draft}}
}

// refuses checks that everything about an execution that is over is refused.
func refuses(t *testing.T, w *remote.Client, ref lineshaft.ExecutionRef) {
	t.Helper()
	for _, number := range []int64{1, 2} {
		answers, err := w.Report(t.Context(), []lineshaft.Report{lateReport(ref, number, "too late")})
		if err != nil || lineshaft.CodeOf(answers[0]) != lineshaft.CodeConflict {
			t.Errorf("a late report of event %d: %v, %v", number, answers, err)
		}
	}
	if _, err := w.EndTurn(t.Context(), ref, lineshaft.TurnResult{State: lineshaft.Succeeded}); lineshaft.CodeOf(err) != lineshaft.CodeConflict {
		t.Errorf("a late end: %v", err)
	}
	directives, err := w.Heartbeat(t.Context(), "", []lineshaft.ExecutionRef{ref})
	if err != nil || len(directives) != 1 || directives[0].Kind != lineshaft.DirectiveStop {
		t.Errorf("a late heartbeat: %+v, %v", directives, err)
	}
}
