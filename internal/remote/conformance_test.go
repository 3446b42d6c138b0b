package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// The life of an execution, as worker.Control tells it.
func TestX1LifeOfAnExecution(t *testing.T) {
	t.Parallel()
	bothWays(t, func(b *bench, c worker.Control) {
		runID := b.start(lineshaft.AgentConfig{})
		jobs := b.claim(c, 2)
		if len(jobs) != 1 || jobs[0].RunID != runID || jobs[0].Number != 1 || jobs[0].Turn.Message != "do it" || jobs[0].RunToken == "" || jobs[0].Lease == 0 {
			b.Fatalf("jobs %+v", jobs)
		}
		ref := jobs[0].ExecutionRef
		b.want(runID, lineshaft.Claimed)
		answers, err := c.Report(b.Context(), []lineshaft.Report{{ExecutionRef: ref, First: 1, Started: true, Events: []lineshaft.Draft{output(0), output(1)}}})
		if err != nil || len(answers) != 1 || answers[0] != nil {
			b.Fatal(answers, err)
		}
		b.want(runID, lineshaft.InProgress)
		if directives, err := c.Heartbeat(b.Context(), host+"/p1", []lineshaft.ExecutionRef{ref}); err != nil || len(directives) != 0 {
			b.Fatal(directives, err)
		}
		next, err := c.EndTurn(b.Context(), ref, lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Succeeded, Message: "done"})
		if err != nil || next != nil {
			b.Fatal(next, err)
		}
		b.want(runID, lineshaft.Succeeded)
		_, err = c.EndTurn(b.Context(), ref, lineshaft.TurnResult{State: lineshaft.Succeeded})
		wantCode(b, err, lineshaft.CodeConflict)
	})
}

// a batch whose answer was lost is sent again, whole or longer, and nothing is
// doubled; a gap is refused.
func TestX3BatchesAreSentAgain(t *testing.T) {
	t.Parallel()
	bothWays(t, func(b *bench, c worker.Control) {
		runID := b.start(lineshaft.AgentConfig{})
		ref := b.claim(c, 1)[0].ExecutionRef
		send := func(first int64, events ...lineshaft.Draft) error {
			b.Helper()
			answers, err := c.Report(b.Context(), []lineshaft.Report{{ExecutionRef: ref, First: first, Started: true, Events: events}})
			if err != nil || len(answers) != 1 {
				b.Fatal(answers, err)
			}
			return answers[0]
		}
		broken := lineshaft.Draft{Type: lineshaft.EventOutput, Data: json.RawMessage("{")}
		wantCode(b, send(1, output(0), output(1)), "")
		wantCode(b, send(1, output(0), output(1)), "")
		wantCode(b, send(2, output(1), output(2), broken), "")
		wantCode(b, send(6, output(5)), lineshaft.CodeConflict)
		page, err := b.service.Events(b.Context(), b.admin, runID, 0, 100)
		if err != nil {
			b.Fatal(err)
		}
		var text strings.Builder
		notices := 0
		for _, e := range page.Events {
			switch e.Type {
			case lineshaft.EventOutput:
				var data lineshaft.OutputData
				if err := json.Unmarshal(e.Data, &data); err != nil {
					b.Fatal(err)
				}
				text.WriteString(data.Text)
			case lineshaft.EventNotice:
				notices++
			default: // moves of the run
			}
		}
		if text.String() != "abc" || notices != 1 {
			b.Errorf("output %q, %d notices", text.String(), notices)
		}
	})
}

// a follow-up is told, given with the end of the turn, and given again when the
// answer was lost.
func TestR6FollowUps(t *testing.T) {
	t.Parallel()
	bothWays(t, func(b *bench, c worker.Control) {
		runID := b.start(lineshaft.AgentConfig{})
		job := b.claim(c, 1)[0]
		// From the first question on, what happens between two of them is kept.
		brief, cancel := context.WithTimeout(b.Context(), 200*time.Millisecond)
		defer cancel()
		for brief.Err() == nil { // it may return early with nothing: wake-ups can come without need
			if list, _ := c.Directives(brief, host+"/p1"); len(list) != 0 {
				b.Fatal(list)
			}
		}
		_, err := c.Report(b.Context(), []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Started: true}})
		wantCode(b, err, "")
		_, err = b.service.Followup(b.Context(), b.admin, lineshaft.NewFollowup{
			RunID: runID, Message: "more", Attachments: []lineshaft.NewAttachment{{FileName: "a.txt", MimeType: "text/plain", Data: []byte("attached")}},
		}, nil)
		wantCode(b, err, "")
		list, err := c.Heartbeat(b.Context(), host+"/p1", []lineshaft.ExecutionRef{job.ExecutionRef})
		if err != nil || len(list) != 1 || list[0].Kind != lineshaft.DirectiveFollowup || list[0].FollowupID == "" {
			b.Fatal(list, err)
		}
		if list, err = c.Directives(b.Context(), host+"/p1"); err != nil || len(list) != 1 || list[0].Kind != lineshaft.DirectiveFollowup {
			b.Errorf("directives %+v, %v", list, err)
		}
		var turns []*lineshaft.Turn
		for range 2 { // the second call is the first one again
			next, err := c.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Succeeded})
			if err != nil || next == nil || next.Message != "more" || len(next.Attachments) != 1 || next.Attachments[0].FileName != "a.txt" {
				b.Fatal(next, err)
			}
			turns = append(turns, next)
		}
		if turns[0].FollowupID != turns[1].FollowupID {
			b.Error("another turn came the second time")
		}
		content, err := c.Download(b.Context(), job.ExecutionRef, turns[0].Attachments[0].BlobID)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = content.Close() }()
		if text, err := io.ReadAll(content); err != nil || string(text) != "attached" {
			b.Errorf("%q, %v", text, err)
		}
	})
}

func TestR7CancelAndInterruptAreTold(t *testing.T) {
	t.Parallel()
	bothWays(t, func(b *bench, c worker.Control) {
		runID := b.start(lineshaft.AgentConfig{})
		job := b.claim(c, 1)[0]
		_, err := c.Report(b.Context(), []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Started: true}})
		wantCode(b, err, "")
		wantCode(b, b.service.Interrupt(b.Context(), b.admin, runID), "")
		list, err := c.Heartbeat(b.Context(), host+"/p1", []lineshaft.ExecutionRef{job.ExecutionRef})
		if err != nil || len(list) != 1 || list[0].Kind != lineshaft.DirectiveInterrupt {
			b.Fatal(list, err)
		}
		_, err = b.service.Cancel(b.Context(), b.admin, runID, false, nil)
		wantCode(b, err, "")
		list, err = c.Heartbeat(b.Context(), host+"/p1", []lineshaft.ExecutionRef{job.ExecutionRef})
		if err != nil || len(list) == 0 || list[0].Kind != lineshaft.DirectiveStop || list[0].ExecutionID != job.ExecutionID {
			b.Fatal(list, err)
		}
		_, err = c.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = c.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Cancelled})
		wantCode(b, err, "")
		b.want(runID, lineshaft.Cancelled)
	})
}

// a file is stored whole or not at all.
func TestR11UploadsAreWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	bothWays(t, func(b *bench, c worker.Control) {
		runID := b.start(lineshaft.AgentConfig{})
		ref := b.claim(c, 1)[0].ExecutionRef
		_, err := c.Report(b.Context(), []lineshaft.Report{{ExecutionRef: ref, First: 1, Started: true}})
		wantCode(b, err, "")
		upload := lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "bär.bin", FilePath: "out/bär.bin", MimeType: "application/x"}
		broken := errors.New("the disk is gone")
		large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		_, err = c.Upload(b.Context(), ref, upload, io.MultiReader(bytes.NewReader(large), iotest.ErrReader(broken)))
		if err == nil {
			b.Fatal("half a file was taken")
		}
		if run, err := b.service.GetRun(b.Context(), b.admin, runID); err != nil || len(run.Artifacts) != 0 {
			b.Fatalf("artifacts %+v, %v", run.Artifacts, err)
		}
		blobID, err := c.Upload(b.Context(), ref, upload, bytes.NewReader(large))
		wantCode(b, err, "")
		run, err := b.service.GetRun(b.Context(), b.admin, runID)
		if err != nil || len(run.Artifacts) != 1 || run.Artifacts[0].FileName != "bär.bin" || run.Artifacts[0].FilePath != "out/bär.bin" || run.Artifacts[0].SizeBytes != int64(len(large)) {
			b.Fatalf("artifacts %+v, %v", run.Artifacts, err)
		}
		content, err := c.Download(b.Context(), ref, blobID)
		wantCode(b, err, "")
		defer func() { _ = content.Close() }()
		if got, err := io.ReadAll(content); err != nil || !bytes.Equal(got, large) {
			b.Errorf("%d bytes came back, %v", len(got), err)
		}
		_, err = c.Download(b.Context(), ref, "01890000-0000-7000-8000-000000000000")
		if code := lineshaft.CodeOf(err); err == nil || code != lineshaft.CodeConflict && code != lineshaft.CodeNotFound {
			b.Errorf("a blob of nobody: %v", err)
		}
	})
}

// a token that is not the execution's opens nothing.
func TestX1StaleTokens(t *testing.T) {
	t.Parallel()
	bothWays(t, func(b *bench, c worker.Control) {
		runID := b.start(lineshaft.AgentConfig{})
		ref := b.claim(c, 1)[0].ExecutionRef
		ref.Token += "x"
		answers, err := c.Report(b.Context(), []lineshaft.Report{{ExecutionRef: ref, First: 1, Started: true}})
		wantCode(b, err, "")
		wantCode(b, answers[0], lineshaft.CodeConflict)
		_, err = c.EndTurn(b.Context(), ref, lineshaft.TurnResult{State: lineshaft.Succeeded})
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = c.Upload(b.Context(), ref, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, strings.NewReader("x"))
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = c.Download(b.Context(), ref, "x")
		wantCode(b, err, lineshaft.CodeConflict)
		list, err := c.Heartbeat(b.Context(), host+"/p1", []lineshaft.ExecutionRef{ref})
		if err != nil || len(list) != 1 || list[0].Kind != lineshaft.DirectiveStop {
			b.Errorf("%+v, %v", list, err)
		}
		b.want(runID, lineshaft.Claimed)
	})
}
