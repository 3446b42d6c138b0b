package control_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// When StartRun has answered, another process that opens the database finds
// everything: the run, its body, files, events and audit entry.
func TestR1RunIsDurableInAllItsParts(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database, someSkills)
		data := bytes.Repeat([]byte("0123456789abcdef"), 40_000) // several chunks
		started := b.start(lineshaft.NewRun{
			Prompt: "# Title here\nbody", Metadata: map[string]string{"team": "core"}, Source: lineshaft.SourceCLI,
			Config:      lineshaft.AgentConfig{Name: "ann", ModelID: "m1", Skills: []string{"o/r:s"}, QueueTimeoutMinutes: new(5)},
			Attachments: []lineshaft.NewAttachment{{FileName: "a.bin", MimeType: "x/y", Data: data}, {FileName: "empty"}},
		})
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
		b = open(t, database)
		run := b.want(started.RunID, lineshaft.Queued)
		if run.Title != "Title here" || run.Prompt != "# Title here\nbody" || run.Source != lineshaft.SourceCLI || run.Creator != b.admin.Principal ||
			run.Config.Name != "ann" || run.Config.WorkerHost != lineshaft.HostedWorker || *run.Config.IdleTimeoutMinutes != 10 ||
			run.Metadata["team"] != "core" || run.RootRunID != run.ID || run.Depth != 0 || run.ConversationID == "" || run.SessionID == "" ||
			run.CreatedAt.IsZero() || !run.StartedAt.IsZero() || !run.FinishedAt.IsZero() || run.Executions != 0 {
			b.Fatalf("%+v", run)
		}
		files := must[[]lineshaft.Attachment](b)(b.s.Attachments(b.Context(), b.admin, run.ID))
		if len(files) != 2 || files[0].FileName != "a.bin" || files[0].Size != int64(len(data)) || files[1].Size != 0 {
			b.Fatalf("%+v", files)
		}
		blob := must[io.ReadCloser](b)(b.s.OpenBlob(b.Context(), files[0].BlobID))
		if got := must[[]byte](b)(io.ReadAll(blob)); !bytes.Equal(got, data) {
			b.Fatalf("%d bytes came back of %d", len(got), len(data))
		}
		origins := must[map[string]string](b)(b.s.ExplainRun(b.Context(), b.admin, run.ID))
		if origins["model_id"] != "run" || origins["idle_timeout_minutes"] != "server" || origins["queue_timeout_minutes"] != "run" {
			b.Fatalf("origins are %v", origins)
		}
		events := b.events(run.ID)
		if len(events) != 2 || decode[lineshaft.MessageData](b, events[1]).Text != run.Prompt {
			b.Fatalf("events are %+v", events)
		}
		if entries := b.audits(run.ID); len(entries) != 1 || entries[0].Action != "run.create" || entries[0].Actor.UID != b.admin.Principal.UID {
			b.Fatalf("audit is %+v", entries)
		}
		job := b.claimOne(lineshaft.HostedWorker, run.ID)
		if job.Turn.Message != run.Prompt || len(job.Turn.Attachments) != 2 || job.Number != 1 || job.Resumed || job.Config.ModelID != "m1" {
			b.Fatalf("job is %+v", job)
		}
		b.sound(run.ID)
	})
}

func TestR2BadRequestsAreRefusedOnEveryEngine(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for name, test := range map[string]struct {
			req  lineshaft.NewRun
			code lineshaft.Code
		}{
			"nothing":              {lineshaft.NewRun{}, lineshaft.CodeInvalidRequest},
			"NUL":                  {lineshaft.NewRun{Prompt: "a\x00b"}, lineshaft.CodeInvalidRequest},
			"NUL in metadata":      {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{"k": "\x00"}}, lineshaft.CodeInvalidRequest},
			"no UTF-8":             {lineshaft.NewRun{Prompt: "x", Config: lineshaft.AgentConfig{ModelID: "\xff"}}, lineshaft.CodeInvalidRequest},
			"unknown parent":       {lineshaft.NewRun{Prompt: "x", ParentRunID: b.newID()}, lineshaft.CodeInvalidRequest},
			"parent is no id":      {lineshaft.NewRun{Prompt: "x", ParentRunID: "'; --"}, lineshaft.CodeInvalidRequest},
			"unknown conversation": {lineshaft.NewRun{Prompt: "x", ConversationID: b.newID()}, lineshaft.CodeNotFound},
		} {
			_, err := b.s.StartRun(b.Context(), b.admin, test.req, nil)
			if lineshaft.CodeOf(err) != test.code {
				b.Errorf("%s: %v, want %s", name, err, test.code)
			}
		}
		page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.admin, lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 10}))
		if len(page.Runs) != 0 {
			b.Errorf("%d runs were left", len(page.Runs))
		}
		unusual := "emoji 🦀, \u2028, \ufffd, '\"\\ $1 %s"
		run := b.run(b.start(lineshaft.NewRun{Prompt: unusual, Title: unusual, Metadata: map[string]string{"k": unusual}}).RunID)
		if run.Prompt != unusual || run.Title != unusual || run.Metadata["k"] != unusual {
			b.Errorf("%+v", run)
		}
	})
}

func (b *bench) newID() string {
	id, _ := b.store.NewID()
	return id
}

func TestX7ChildrenInheritAndAreLimited(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		parent := b.start(lineshaft.NewRun{Metadata: map[string]string{"ticket": "1", "team": "a"}}).RunID
		line := []string{parent}
		for depth := 1; depth <= lineshaft.MaxRunDepth; depth++ {
			req := lineshaft.NewRun{ParentRunID: line[len(line)-1], Metadata: map[string]string{"team": fmt.Sprint(depth)}}
			run := b.run(b.start(req).RunID)
			if run.Depth != depth || run.RootRunID != parent || run.Metadata["ticket"] != "1" || run.Metadata["team"] != fmt.Sprint(depth) {
				b.Fatalf("%+v", run)
			}
			line = append(line, run.ID)
		}
		_, err := b.as(b.admin, lineshaft.NewRun{ParentRunID: line[len(line)-1]})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		for i, ancestor := range line {
			found := b.list(lineshaft.RunFilter{AncestorRunID: ancestor})
			slices.Reverse(found) // newest first
			if !reflect.DeepEqual(found, append([]string(nil), line[i+1:]...)) {
				b.Fatalf("below %d are %v, want %v", i, found, line[i+1:])
			}
		}
	})
}

// list returns the ids of the runs that a filter selects, newest first.
func (b *bench) list(f lineshaft.RunFilter) []string {
	b.Helper()
	page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.admin, lineshaft.RunQuery{Filter: f, Sort: lineshaft.SortCreated, Limit: 500}))
	var ids []string
	for _, run := range page.Runs {
		ids = append(ids, run.ID)
	}
	return ids
}

func TestX7InheritedMetadataIsCounted(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		many := map[string]string{}
		for i := range lineshaft.MaxMetadataKeys {
			many[fmt.Sprint("k", i)] = "v"
		}
		parent := b.start(lineshaft.NewRun{Metadata: many}).RunID
		_, err := b.as(b.admin, lineshaft.NewRun{ParentRunID: parent, Metadata: map[string]string{"one-more": "v"}})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		child := b.run(b.start(lineshaft.NewRun{ParentRunID: parent, Metadata: map[string]string{"k0": "own"}}).RunID)
		if len(child.Metadata) != lineshaft.MaxMetadataKeys || child.Metadata["k0"] != "own" || child.Metadata["k1"] != "v" {
			b.Fatalf("%v", child.Metadata)
		}
	})
}

// However many are started at once, a parent never has more than 20 live children.
func TestX7LiveChildrenAreLimitedAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		parent := b.start(lineshaft.NewRun{}).RunID
		codes := make([]lineshaft.Code, 30)
		ids := make([]string, len(codes))
		together(len(codes), func(i int) {
			started, err := b.as(b.admin, lineshaft.NewRun{ParentRunID: parent})
			ids[i] = started.RunID
			if err != nil {
				codes[i] = lineshaft.CodeOf(err)
			}
		})
		taken := 0
		var child string
		for i, code := range codes {
			switch code {
			case "":
				taken, child = taken+1, ids[i]
			case lineshaft.CodeInvalidRequest:
			default:
				b.Errorf("a start failed with %s", code)
			}
		}
		if taken != lineshaft.MaxLiveChildren {
			b.Fatalf("%d children live", taken)
		}
		b.cancel(child)
		b.start(lineshaft.NewRun{ParentRunID: parent})
		_, err := b.as(b.admin, lineshaft.NewRun{ParentRunID: parent})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
	})
}

func TestR12RerunRepeatsTheRequest(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		parent := b.start(lineshaft.NewRun{Metadata: map[string]string{"a": "1"}}).RunID
		first := b.start(lineshaft.NewRun{
			Prompt: "again", Title: "A title", ParentRunID: parent, Metadata: map[string]string{"b": "2"},
			Config:      lineshaft.AgentConfig{ModelID: "m", WorkerHost: "box"},
			Attachments: []lineshaft.NewAttachment{{FileName: "f", MimeType: "text/plain", Data: []byte("content")}},
		}).RunID
		b.followup(first, "and more")
		b.cancel(first)
		second := b.run(must[runs.Started](b)(b.s.Rerun(b.Context(), b.admin, first, lineshaft.SourceAPI, nil)).RunID)
		if second.ID == first || second.Title != "A title" || second.Submitted != "again" || second.Config.ModelID != "m" ||
			second.Config.WorkerHost != "box" || second.Metadata["a"] != "1" || second.Metadata["b"] != "2" || second.State != lineshaft.Queued {
			b.Fatalf("%+v", second)
		}
		origins := must[map[string]string](b)(b.s.ExplainRun(b.Context(), b.admin, second.ID))
		if origins["stall_minutes"] != "server" {
			b.Errorf("defaults were taken for the request: %v", origins)
		}
		files := must[[]lineshaft.Attachment](b)(b.s.Attachments(b.Context(), b.admin, second.ID))
		if len(files) != 1 || files[0].FileName != "f" || files[0].Size != 7 {
			b.Fatalf("%+v", files)
		}
		_, err := b.s.Rerun(b.Context(), b.admin, b.newID(), lineshaft.SourceAPI, nil)
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

func TestR12DeleteTakesEndedRunsOnly(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Prompt: strings.Repeat("needle ", 3), Metadata: map[string]string{"k": "v"}})
		must[bool](b)(b.s.SettleRuns(b.Context()))
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, runID), lineshaft.CodeConflict)
		b.cancel(runID)
		// Its processes may still be alive.
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, runID), lineshaft.CodeConflict)
		b.end(job, lineshaft.Cancelled)
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, runID), "")
		_, err := b.s.GetRun(b.Context(), b.admin, runID)
		wantCode(b, err, lineshaft.CodeNotFound)
		wantCode(b, b.s.DeleteRun(b.Context(), b.admin, runID), lineshaft.CodeNotFound)
		for _, f := range []lineshaft.RunFilter{{}, {Metadata: map[string]string{"k": "v"}}, {Query: "needle"}, {States: []lineshaft.RunState{lineshaft.Cancelled}}} {
			if found := b.list(f); len(found) > 0 {
				b.Errorf("%+v still finds it", f)
			}
		}
		wantCode(b, b.s.RemoveDeleted(b.Context()), "")
		if rows := must[[]string](b)(b.store.ListDeletedRuns(b.Context(), 10)); len(rows) > 0 {
			b.Errorf("rows are left of %v", rows)
		}
		if events, _, err := b.store.ListEvents(b.Context(), runID, 0, 10, 1<<20); err != nil || len(events) > 0 {
			b.Errorf("%d events are left (%v)", len(events), err)
		}
		entries := b.audits(runID)
		if last := entries[len(entries)-1]; last.Action != "run.delete" {
			b.Errorf("last entry is %s", last.Action)
		}
		_, err = b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
		wantCode(b, err, lineshaft.CodeConflict)
	})
}

// A run that was deleted while its execution was not over leaves nothing that the
// reaper stumbles over.
func TestX1ReaperEndsExecutionsWithoutRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, runID) })
		wantCode(b, err, "")
		_, err = b.s.Authenticate(b.Context(), job.RunToken)
		wantCode(b, err, lineshaft.CodeAuthenticationRequired)
		b.lost(job)
		if n := must[int](b)(b.s.ReapLeases(b.Context())); n != 0 {
			b.Fatalf("%d ended twice", n)
		}
	})
}
