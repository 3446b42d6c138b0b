package control_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

func TestR12RetentionTakesOldEndedRunsOnly(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		old, oldJob := b.working(lineshaft.NewRun{Attachments: []lineshaft.NewAttachment{{FileName: "f", Data: []byte("x")}}})
		file := must[[]lineshaft.Attachment](b)(b.s.Attachments(b.Context(), b.admin, old))[0]
		b.end(oldJob, lineshaft.Succeeded)
		waiting := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}).RunID
		long, longJob := b.working(lineshaft.NewRun{})
		going, goingJob := b.working(lineshaft.NewRun{})
		b.clock.advance(8 * 24 * time.Hour)
		b.end(longJob, lineshaft.Failed) // created long ago, ended now
		b.cancel(going)                  // its processes may be alive
		young := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}).RunID
		b.cancel(young)
		must[bool](b)(b.s.SettleRuns(b.Context()))
		wantCode(b, b.s.Purge(b.Context()), "")
		left := b.list(lineshaft.RunFilter{})
		slices.Sort(left)
		if want := []string{waiting, long, going, young}; !slices.Equal(left, want) {
			b.Fatalf("left are %v, want %v", left, want)
		}
		_, err := b.s.OpenBlob(b.Context(), file.BlobID)
		wantCode(b, err, lineshaft.CodeNotFound)
		if entries := b.audits(old); entries[len(entries)-1].Action != "run.delete" || entries[len(entries)-1].Actor.UID != "system" {
			b.Errorf("%+v", entries)
		}
		b.clock.advance(8 * 24 * time.Hour)
		must[bool](b)(b.s.SettleRuns(b.Context()))
		wantCode(b, b.s.Purge(b.Context()), "") // the one whose processes may be alive is not an obstacle
		b.end(goingJob, lineshaft.Cancelled)
		must[bool](b)(b.s.SettleRuns(b.Context()))
		wantCode(b, b.s.Purge(b.Context()), "")
		if left := b.list(lineshaft.RunFilter{}); !slices.Equal(left, []string{waiting}) {
			b.Fatalf("left are %v, want %v", left, waiting)
		}
	}, func(c *base.Config) { c.RunRetention = 7 * 24 * time.Hour })
}

func TestR12WithoutRetentionRunsStay(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Attachments: []lineshaft.NewAttachment{{FileName: "f", Data: []byte("x")}}})
		snapshot := must[string](b)(b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, strings.NewReader("tree")))
		b.end(job, lineshaft.Succeeded)
		b.clock.advance(6 * 24 * time.Hour)
		wantCode(b, b.s.Purge(b.Context()), "")
		if _, err := b.s.OpenBlob(b.Context(), snapshot); err != nil {
			b.Fatal("the snapshot was not kept for a week:", err)
		}
		b.clock.advance(400 * 24 * time.Hour)
		wantCode(b, b.s.Purge(b.Context()), "")
		_, err := b.s.OpenBlob(b.Context(), snapshot)
		wantCode(b, err, lineshaft.CodeNotFound)
		b.want(runID, lineshaft.Succeeded)
		files := must[[]lineshaft.Attachment](b)(b.s.Attachments(b.Context(), b.admin, runID))
		if _, err := b.s.OpenBlob(b.Context(), files[0].BlobID); err != nil {
			b.Fatal(err)
		}
	})
}

// A job never names a snapshot that is gone: its worker would look for it in vain.
func TestR6ExpiredSnapshotIsNotNamed(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		must[string](b)(b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, strings.NewReader("tree")))
		b.end(job, lineshaft.Succeeded)
		b.clock.advance(8 * 24 * time.Hour)
		wantCode(b, b.s.Purge(b.Context()), "")
		b.followup(runID, "after a week")
		if next := b.claimOne(lineshaft.HostedWorker, runID); next.Snapshot != "" {
			_, err := b.s.Download(b.Context(), next.ExecutionRef, next.Snapshot)
			b.Fatalf("snapshot %s: %v", next.Snapshot, err)
		}
	})
}

// Files of calls that failed belong to nobody and go.
func TestR2LooseFilesGo(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		req := doIt()
		req.Attachments = []lineshaft.NewAttachment{{FileName: "f", Data: []byte("x")}}
		first := must[runs.Started](b)(b.s.StartRun(b.Context(), b.admin, req, idem("k", "1")))
		if _, _, err := b.store.PutBlob(b.Context(), strings.NewReader("of a call that failed"), 100); err != nil {
			b.Fatal(err)
		}
		b.clock.advance(25 * time.Hour)
		loose := func() []string {
			b.Helper()
			return must[[]string](b)(b.store.ListDeadBlobs(b.Context(), b.clock.now(), b.clock.now(), 10))
		}
		if got := loose(); len(got) != 1 {
			b.Fatalf("%d loose files", len(got))
		}
		wantCode(b, b.s.Purge(b.Context()), "")
		if got := loose(); len(got) != 0 {
			b.Fatalf("%d loose files", len(got))
		}
		if files := must[[]lineshaft.Attachment](b)(b.s.Attachments(b.Context(), b.admin, first.RunID)); len(files) != 1 {
			b.Fatalf("%+v", files)
		}
	})
}

// A run is found by its words at once, and still when it is settled.
func TestR4SearchFindsBeforeAndAfterSettling(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{Prompt: "find the needle"}).RunID
		for range 2 {
			if found := b.list(lineshaft.RunFilter{Query: "needl"}); !slices.Equal(found, []string{runID}) {
				b.Fatalf("%v", found)
			}
			if more := must[bool](b)(b.s.SettleRuns(b.Context())); more {
				b.Fatal("one run is not settled by one step")
			}
		}
	})
}
