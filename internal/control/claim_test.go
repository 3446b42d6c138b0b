package control_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestX1ClaimKeepsTheOrderOfTheQueue(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var want []string
		for range 5 {
			want = append(want, b.start(lineshaft.NewRun{}).RunID)
		}
		var got []string
		for _, limit := range []int{2, 1, 10} {
			for _, job := range b.claim(limit) {
				got = append(got, job.RunID)
			}
		}
		if !slices.Equal(got, want) {
			b.Fatalf("claimed %v, want %v", got, want)
		}
	})
}

// a claim that was not committed gives nothing away: its run is still queued, and the
// next one who claims it would be a second one that works on it.
func TestX1AClaimThatIsNotCommittedGivesNothing(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database)
		id := b.start(lineshaft.NewRun{}).RunID
		w := &timing{bench: b, database: database}
		w.poison("full_disk", "INSERT", "events", "NEW.run_id = '"+id+"'")
		req := lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: "w", Limit: 1, Capacity: 1}
		if jobs, err := b.s.Claim(b.Context(), req); err == nil || len(jobs) > 0 {
			b.Errorf("the database refused the claim, and the worker got %d jobs: %v", len(jobs), err)
		}
		w.cure("full_disk", "events")
		if jobs := b.claim(1); len(jobs) != 1 || jobs[0].RunID != id {
			b.Errorf("afterwards: %+v", jobs)
		}
	})
}

func TestX1ClaimIsForOneHost(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		own := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}).RunID
		hosted := b.start(lineshaft.NewRun{}).RunID
		if jobs := b.claimFor("box", 5); len(jobs) != 1 || jobs[0].RunID != own || jobs[0].Config.WorkerHost != "box" {
			b.Fatalf("%+v", jobs)
		}
		if jobs := b.claimFor(lineshaft.HostedWorker, 5); len(jobs) != 1 || jobs[0].RunID != hosted {
			b.Fatalf("%+v", jobs)
		}
	})
}

// A claim that waits is woken by a run that comes.
func TestX1ClaimWaits(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		got := make(chan []lineshaft.Job)
		go func() {
			jobs, err := b.s.Claim(b.Context(), lineshaft.ClaimRequest{WorkerHost: "box", WorkerID: "w", Limit: 1, Capacity: 1})
			if err != nil {
				b.Error(err)
			}
			got <- jobs
		}()
		runID := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}).RunID
		if jobs := <-got; len(jobs) != 1 || jobs[0].RunID != runID {
			b.Fatalf("%+v", jobs)
		}
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		if _, err := b.s.Claim(ctx, lineshaft.ClaimRequest{WorkerHost: "nobody", WorkerID: "w", Limit: 1}); !errors.Is(err, context.Canceled) {
			b.Fatal(err)
		}
	})
}

// Many workers, one queue: each run is given out once.
func TestX1ManyClaimersShareTheQueue(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		const runs, workers = 40, 8
		for range runs {
			b.start(lineshaft.NewRun{})
		}
		got := make([][]string, workers)
		together(workers, func(i int) {
			for range runs / workers {
				req := lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: fmt.Sprint("w", i), Limit: 1, Capacity: 5}
				jobs, err := b.s.Claim(b.Context(), req)
				if err != nil || len(jobs) != 1 {
					b.Error(len(jobs), err)
					return
				}
				got[i] = append(got[i], jobs[0].RunID)
			}
		})
		all := slices.Concat(got...)
		slices.Sort(all)
		if len(slices.Compact(all)) != runs {
			b.Fatalf("%d of %d runs were claimed", len(all), runs)
		}
	})
}

func TestX1FencingByToken(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		_, other := b.working(lineshaft.NewRun{})
		for name, ref := range map[string]lineshaft.ExecutionRef{
			"wrong token":   {ExecutionID: job.ExecutionID, Token: "x"},
			"no token":      {ExecutionID: job.ExecutionID},
			"other's token": {ExecutionID: job.ExecutionID, Token: other.Token},
			"run token":     {ExecutionID: job.ExecutionID, Token: job.RunToken},
			"unknown":       {ExecutionID: b.newID(), Token: job.Token},
		} {
			_, err := b.s.EndTurn(b.Context(), ref, lineshaft.TurnResult{State: lineshaft.Succeeded})
			_, strayErr := b.s.EndTurn(b.Context(), ref, lineshaft.TurnResult{State: lineshaft.Cancelled})
			_, uploadErr := b.s.Upload(b.Context(), ref, lineshaft.Upload{Kind: lineshaft.BlobArtifact}, strings.NewReader("x"))
			reportErr := b.report(lineshaft.Report{ExecutionRef: ref, First: 1, Events: []lineshaft.Draft{b.output("x")}})
			for _, err := range []error{err, strayErr, uploadErr, reportErr} {
				if lineshaft.CodeOf(err) != lineshaft.CodeConflict {
					b.Errorf("%s: %v", name, err)
				}
			}
			directives := must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "w-hosted", []lineshaft.ExecutionRef{ref}))
			if len(directives) != 1 || directives[0].Kind != lineshaft.DirectiveStop {
				b.Errorf("%s: heartbeat answers %+v", name, directives)
			}
		}
		if run := b.want(runID, lineshaft.InProgress); len(run.Artifacts) > 0 {
			b.Errorf("%+v", run.Artifacts)
		}
	})
}

func TestX1HeartbeatExtendsAndTells(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		keepID, keep := b.working(lineshaft.NewRun{})
		cancelledID, cancelled := b.working(lineshaft.NewRun{})
		_, expired := b.working(lineshaft.NewRun{})
		b.cancel(cancelledID)
		b.expire(expired)
		held := []lineshaft.ExecutionRef{keep.ExecutionRef, cancelled.ExecutionRef, expired.ExecutionRef}
		stops := map[string]bool{}
		for _, d := range must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "w-hosted", held)) {
			if d.Kind != lineshaft.DirectiveStop || d.Reason == "" {
				b.Errorf("%+v", d)
			}
			stops[d.ExecutionID] = true
		}
		if stops[keep.ExecutionID] || !stops[cancelled.ExecutionID] || !stops[expired.ExecutionID] {
			b.Fatalf("stops are %v", stops)
		}
		// Another process cannot extend it, even with the token.
		if d := must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "thief", held[:1])); len(d) != 1 || d[0].Kind != lineshaft.DirectiveStop {
			b.Fatalf("%+v", d)
		}
		b.followup(keepID, "psst")
		d := must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "w-hosted", held[:1]))
		if !slices.ContainsFunc(d, func(d lineshaft.Directive) bool {
			return d.Kind == lineshaft.DirectiveFollowup && d.ExecutionID == keep.ExecutionID
		}) {
			b.Fatalf("the follow-up is not announced: %+v", d)
		}
	})
}

// A lease holds exactly as long as heartbeats come, by the database's clock.
func TestX1LeaseRunsOutWithoutHeartbeat(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		if n := must[int](b)(b.s.ReapLeases(b.Context())); n != 0 {
			b.Fatal("a fresh lease was ended")
		}
		b.clock.advance(time.Hour) // this node's clock does not matter
		if n := must[int](b)(b.s.ReapLeases(b.Context())); n != 0 {
			b.Fatal("a lease was ended by the node's clock")
		}
		must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "w-hosted", []lineshaft.ExecutionRef{job.ExecutionRef}))
		b.lost(job)
		b.want(runID, lineshaft.Errored)
	})
}

func TestX1DirectivesAreWokenByCancel(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		got := make(chan []lineshaft.Directive)
		go func() {
			for {
				d, err := b.s.Directives(b.Context(), "w-hosted")
				if err != nil {
					b.Error(err)
				}
				if len(d) > 0 || err != nil {
					got <- d
					return
				}
			}
		}()
		b.cancel(runID)
		// The wake-up may have come before the subscription; a heartbeat makes it good.
		d := must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "w-hosted", []lineshaft.ExecutionRef{job.ExecutionRef}))
		if len(d) != 1 || d[0].Kind != lineshaft.DirectiveStop || d[0].ExecutionID != job.ExecutionID {
			b.Fatalf("%+v", d)
		}
		var woken []lineshaft.Directive
		eventually(b.T, func() bool {
			b.followup(runID, "again") // one that comes before the worker waits is not missed for good
			select {
			case woken = <-got:
				return true
			default:
				return false
			}
		})
		if len(woken) != 1 || woken[0].Kind != lineshaft.DirectiveStop {
			b.Fatalf("woken with %+v, want the stop", woken)
		}
		wantCode(b, b.s.ForgetWorker(b.Context(), "w-hosted"), "")
	})
}

func TestX2WorkersAreListedWhileTheyLive(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}).RunID
		if run := b.run(runID); !strings.Contains(run.Status.Message, `"box"`) || !strings.Contains(run.Status.Message, "not connected") {
			b.Fatalf("message is %q", run.Status.Message)
		}
		page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.admin, lineshaft.RunQuery{Sort: lineshaft.SortUpdated, Limit: 5}))
		if !strings.Contains(page.Runs[0].Status.Message, "not connected") {
			b.Fatalf("list says %q", page.Runs[0].Status.Message)
		}
		var job lineshaft.Job
		for _, process := range []string{"p1", "p2"} {
			started := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}).RunID
			jobs := must[[]lineshaft.Job](b)(b.s.Claim(b.Context(), lineshaft.ClaimRequest{WorkerHost: "box", WorkerID: process, Limit: 1, Capacity: 4}))
			job = jobs[0]
			_ = started
		}
		workers := must[[]controlruns.Worker](b)(b.s.Workers(b.Context(), b.admin))
		if len(workers) != 1 || workers[0].WorkerHost != "box" || workers[0].ConnectionCount != 2 || workers[0].Capacity != 8 || workers[0].ConnectedAt.IsZero() {
			b.Fatalf("%+v", workers)
		}
		waiting := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}).RunID
		if run := b.run(waiting); run.Status.Message != "waiting for a worker" {
			b.Fatalf("message is %q", run.Status.Message)
		}
		b.clock.advance(5 * time.Minute)
		// p2 has no free slot and does not claim; its heartbeats keep it on the list.
		must[[]lineshaft.Directive](b)(b.s.Heartbeat(b.Context(), "p2", []lineshaft.ExecutionRef{job.ExecutionRef}))
		workers = must[[]controlruns.Worker](b)(b.s.Workers(b.Context(), b.admin))
		if len(workers) != 1 || workers[0].ConnectionCount != 1 || workers[0].Running != 1 {
			b.Fatalf("%+v", workers)
		}
		wantCode(b, b.s.ForgetWorker(b.Context(), "p2"), "")
		if workers := must[[]controlruns.Worker](b)(b.s.Workers(b.Context(), b.admin)); len(workers) != 0 {
			b.Fatalf("%+v", workers)
		}
	})
}

func TestX10AtCapacity(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		box := lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}
		if !b.start(box).AtCapacity {
			b.Fatal("there is no worker, and a slot was free")
		}
		req := lineshaft.ClaimRequest{WorkerHost: "box", WorkerID: "w", Limit: 3, Capacity: 3}
		first := must[[]lineshaft.Job](b)(b.s.Claim(b.Context(), req))
		for i, want := range []bool{false, false, true, true} { // one of three slots is taken
			if got := b.start(box).AtCapacity; got != want {
				b.Fatalf("start %d: at capacity is %t", i, got)
			}
		}
		if !b.start(lineshaft.NewRun{}).AtCapacity {
			b.Fatal("the slots of another worker counted")
		}
		b.end(first[0], lineshaft.Succeeded)
		must[[]lineshaft.Job](b)(b.s.Claim(b.Context(), req))
		if !b.start(box).AtCapacity {
			b.Fatal("more runs than slots, and one was free")
		}
	})
}

func TestR11UploadAndDownload(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		_, other := b.working(lineshaft.NewRun{})
		upload := lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "report.txt", FilePath: "out/report.txt", MimeType: "text/plain"}
		blobID := must[string](b)(b.s.Upload(b.Context(), job.ExecutionRef, upload, strings.NewReader("content")))
		run := b.run(runID)
		if len(run.Artifacts) != 1 || run.Artifacts[0].FileName != "report.txt" || run.Artifacts[0].SizeBytes != 7 || run.Artifacts[0].Type != lineshaft.ArtifactFile {
			b.Fatalf("%+v", run.Artifacts)
		}
		artifact := must[*lineshaft.Artifact](b)(b.s.Artifact(b.Context(), b.admin, run.Artifacts[0].UID))
		if artifact.BlobID != blobID || artifact.RunID != runID || artifact.CreatedAt.IsZero() {
			b.Fatalf("%+v", artifact)
		}
		events := b.events(runID)
		if data := decode[lineshaft.ArtifactData](b, events[len(events)-1]); data.UID != artifact.UID || data.FileName != "report.txt" {
			b.Fatalf("%+v", data)
		}
		content := must[[]byte](b)(io.ReadAll(must[io.ReadCloser](b)(b.s.Download(b.Context(), job.ExecutionRef, blobID))))
		if string(content) != "content" {
			b.Fatalf("%q", content)
		}
		_, err := b.s.Download(b.Context(), other.ExecutionRef, blobID)
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = b.s.Download(b.Context(), job.ExecutionRef, b.newID())
		wantCode(b, err, lineshaft.CodeNotFound)
		if found := b.list(lineshaft.RunFilter{ArtifactType: lineshaft.ArtifactFile}); !slices.Equal(found, []string{runID}) {
			b.Fatalf("the list by artifact has %v", found)
		}
		// The snapshot of one execution is where the next begins.
		must[string](b)(b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, strings.NewReader("old")))
		snapshot := must[string](b)(b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, strings.NewReader("tree")))
		b.end(job, lineshaft.Succeeded)
		_, err = b.s.Download(b.Context(), job.ExecutionRef, blobID)
		wantCode(b, err, lineshaft.CodeConflict)
		b.followup(runID, "more")
		next := b.claimOne(lineshaft.HostedWorker, runID)
		if next.Snapshot != snapshot {
			b.Fatalf("snapshot %q, want %q", next.Snapshot, snapshot)
		}
		tree := must[[]byte](b)(io.ReadAll(must[io.ReadCloser](b)(b.s.Download(b.Context(), next.ExecutionRef, snapshot))))
		if string(tree) != "tree" {
			b.Fatalf("%q", tree)
		}
	})
}

// An upload that breaks off leaves nothing behind that anyone sees.
func TestR11BrokenUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		broken := io.MultiReader(strings.NewReader("half"), brokenReader{})
		_, err := b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "f"}, broken)
		if !errors.Is(err, io.ErrClosedPipe) {
			b.Fatal(err)
		}
		if run := b.run(runID); len(run.Artifacts) > 0 {
			b.Fatalf("%+v", run.Artifacts)
		}
		b.clock.advance(25 * time.Hour)
		wantCode(b, b.s.Purge(b.Context()), "")
		dead := must[[]string](b)(b.store.ListDeadBlobs(b.Context(), b.clock.now(), b.clock.now(), 10))
		if len(dead) > 0 {
			b.Fatalf("loose blobs are left: %v", dead)
		}
	})
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }
