package control_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// an agent's reports are capped like its output, with a mark.
func TestR9ReportsOfAnAgentAreCapped(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		setting func(*base.Config)
		text    string
		taken   int
	}{
		"events": {func(c *base.Config) { c.OutputEvents = 3 }, "x", 3},
		"bytes":  {func(c *base.Config) { c.OutputBytes = 2500 }, strings.Repeat("x", 1000), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(b *bench) {
				runID, job, agent := b.reporter(lineshaft.NewRun{})
				report := func(text string) error {
					_, err := b.s.ReportRun(b.Context(), agent, runID, lineshaft.RunReport{Kind: "message", Text: text})
					return err
				}
				for range tc.taken {
					wantCode(b, report(tc.text), "")
				}
				before := b.run(runID).LastSequence
				wantCode(b, report(tc.text), lineshaft.CodeConflict)
				if e := b.newest(runID); e.Type != lineshaft.EventNotice || !strings.Contains(string(e.Data), "is not kept") {
					b.Errorf("the log ends with %s %s", e.Type, e.Data)
				}
				for range 2 { // even a smaller one
					wantCode(b, report("y"), lineshaft.CodeConflict)
				}
				if after := b.run(runID).LastSequence; after != before+1 {
					b.Errorf("%d events came after the bound, want the mark alone", after-before)
				}
				// The next execution of the run may report again.
				b.end(job, lineshaft.Failed)
				b.followup(runID, "more")
				again := b.claimOne(lineshaft.HostedWorker, runID)
				b.begin(again)
				agent = must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), again.RunToken))
				wantCode(b, report("y"), "")
				b.sound(runID)
			}, tc.setting)
		})
	}
}

// loose are the blobs that nothing keeps.
func (b *bench) loose() []string {
	b.Helper()
	return must[[]string](b)(b.store.ListDeadBlobs(b.Context(), b.clock.now().Add(time.Hour), b.clock.now(), 10))
}

// untouched fails when it is read.
type untouched struct{ *bench }

func (u untouched) Read([]byte) (int, error) {
	u.Error("the content was read")
	return 0, io.EOF
}

// a file that is refused fills no disk.
func TestR11RefusedFilesAreNotStored(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job, agent := b.reporter(lineshaft.NewRun{})
		file := lineshaft.NewArtifact{FileName: "x"}
		broken := io.MultiReader(strings.NewReader(strings.Repeat("x", 600_000)), iotest.ErrReader(io.ErrClosedPipe))
		if _, err := b.s.ReportArtifact(b.Context(), agent, runID, file, broken); err == nil {
			b.Error("half a file was taken")
		}
		// The run ends while the file comes.
		ending := io.MultiReader(strings.NewReader("x"), iotest.DataErrReader(&onRead{func() { b.end(job, lineshaft.Succeeded) }}))
		_, err := b.s.ReportArtifact(b.Context(), agent, runID, file, ending)
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		_, err = b.s.ReportArtifact(b.Context(), agent, runID, file, untouched{b})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		_, err = b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "x"}, strings.NewReader("x"))
		wantCode(b, err, lineshaft.CodeConflict)
		if loose := b.loose(); len(loose) != 0 {
			b.Errorf("left behind: %v", loose)
		}
	})
}

// onRead does something when it is read, and is empty.
type onRead struct{ do func() }

func (o *onRead) Read([]byte) (int, error) {
	o.do()
	return 0, io.EOF
}

// the artifacts of a run are bounded together.
func TestR11ArtifactsOfARunAreBoundedTogether(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, _, agent := b.reporter(lineshaft.NewRun{})
		fill := func(bytes int64) {
			wantCode(b, b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
				h, err := tx.LockRun(ctx, runID)
				if err != nil {
					return err
				}
				uid, _ := b.store.NewID()
				return tx.InsertArtifact(ctx, h, lineshaft.Artifact{UID: uid, Type: lineshaft.ArtifactFile, FileName: "large", SizeBytes: bytes})
			}), "")
		}
		file := lineshaft.NewArtifact{FileName: "x"}
		fill(lineshaft.MaxRunArtifactBytes - 10)
		_, err := b.s.ReportArtifact(b.Context(), agent, runID, file, strings.NewReader("eleven byte"))
		wantCode(b, err, lineshaft.CodeConflict)
		between := io.MultiReader(strings.NewReader("12345"), &onRead{func() { fill(6) }})
		_, err = b.s.ReportArtifact(b.Context(), agent, runID, file, between)
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = b.s.ReportArtifact(b.Context(), agent, runID, file, strings.NewReader("1234"))
		wantCode(b, err, "")
		_, err = b.s.ReportArtifact(b.Context(), agent, runID, file, untouched{b})
		wantCode(b, err, lineshaft.CodeConflict)
		if loose := b.loose(); len(loose) != 0 {
			b.Errorf("left behind: %v", loose)
		}
		_, err = b.s.ReportRun(b.Context(), agent, runID, lineshaft.RunReport{Kind: "message", Text: "still talking"})
		wantCode(b, err, "")
	})
}

// uploads of workers also count, for a run and for the tree that it is in.
func TestR11UploadedArtifactsAreBoundedPerRunAndTree(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		root, rootJob := b.working(lineshaft.NewRun{})
		child, childJob := b.working(lineshaft.NewRun{ParentRunID: root})
		_, grandJob := b.working(lineshaft.NewRun{ParentRunID: child})
		upload := func(job lineshaft.Job, content io.Reader) error {
			_, err := b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "f"}, content)
			return err
		}
		text := func(n int) io.Reader { return strings.NewReader(strings.Repeat("x", n)) }
		wantCode(b, upload(rootJob, text(60)), "")
		wantCode(b, upload(rootJob, text(41)), lineshaft.CodePayloadTooLarge)
		wantCode(b, upload(rootJob, text(40)), "")
		wantCode(b, upload(rootJob, untouched{b}), lineshaft.CodePayloadTooLarge)
		wantCode(b, upload(childJob, text(100)), "")
		between := io.MultiReader(text(30), &onRead{func() { wantCode(b, upload(grandJob, text(30)), "") }})
		wantCode(b, upload(grandJob, between), lineshaft.CodePayloadTooLarge)
		wantCode(b, upload(grandJob, text(20)), "")
		wantCode(b, upload(grandJob, untouched{b}), lineshaft.CodePayloadTooLarge)
		if loose := b.loose(); len(loose) != 0 {
			b.Errorf("left behind: %v", loose)
		}
		// Another tree has a bound of its own, and snapshots are not artifacts.
		_, other := b.working(lineshaft.NewRun{})
		wantCode(b, upload(other, text(100)), "")
		_, err := b.s.Upload(b.Context(), rootJob.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, text(500))
		wantCode(b, err, "")
	}, func(c *base.Config) { c.ArtifactBytes, c.ArtifactTreeBytes = 100, 250 })
}
