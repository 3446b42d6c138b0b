package control_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// outputs makes numbered lines from first to last.
func (b *bench) outputs(first, last int) []lineshaft.Draft {
	var drafts []lineshaft.Draft
	for i := first; i <= last; i++ {
		drafts = append(drafts, b.output(fmt.Sprint("line ", i)))
	}
	return drafts
}

// lines are the output lines in a run's log.
func (b *bench) lines(runID string) []string {
	b.Helper()
	var lines []string
	for _, e := range b.events(runID) {
		if e.Type == lineshaft.EventOutput {
			lines = append(lines, decode[lineshaft.OutputData](b, e).Text)
		}
	}
	return lines
}

func wantLines(n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprint("line ", i+1))
	}
	return lines
}

func TestX3BatchesMayBeSentAgain(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		send := func(first, last int) error {
			b.Helper()
			return b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: int64(first), Events: b.outputs(first, last)})
		}
		for _, batch := range [][2]int{{1, 3}, {1, 3}, {2, 5}, {1, 4}, {6, 6}, {5, 5}, {1, 8}} { // same, overlapping, old, longer
			wantCode(b, send(batch[0], batch[1]), "")
		}
		wantCode(b, send(10, 11), lineshaft.CodeConflict) // 9 is missing
		wantCode(b, send(9, 9), "")
		if got := b.lines(runID); !slices.Equal(got, wantLines(9)) {
			b.Fatalf("the log has %q", got)
		}
		b.sound(runID)
	})
}

// Whatever is sent again, split and overlapped, the log has each line once.
func TestX3AnyResendGivesTheSameLog(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		rapid.Check(b.T, func(rt *rapid.T) {
			runID, job := b.working(lineshaft.NewRun{})
			taken := 0
			for range rapid.IntRange(1, 6).Draw(rt, "batches") {
				first := rapid.IntRange(1, taken+2).Draw(rt, "first")
				last := first - 1 + rapid.IntRange(0, 5).Draw(rt, "length")
				err := b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: int64(first), Events: b.outputs(first, last)})
				if gap := first > taken+1; gap != (err != nil) {
					rt.Fatalf("batch %d to %d after %d: %v", first, last, taken, err)
				}
				if err == nil {
					taken = max(taken, last)
				}
			}
			if got := b.lines(runID); !slices.Equal(got, wantLines(taken)) {
				rt.Fatalf("%d lines were taken, the log has %q", taken, got)
			}
			b.end(job, lineshaft.Succeeded)
		})
	})
}

func TestX3SameBatchAtOnceIsTakenOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		batch := lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: append(b.outputs(1, 5), b.usage(10, 1, 100))}
		together(8, func(int) {
			if refused, err := b.s.Report(b.Context(), []lineshaft.Report{batch}); err != nil || refused[0] != nil {
				b.Error(err, refused)
			}
		})
		if got := b.lines(runID); !slices.Equal(got, wantLines(5)) {
			b.Fatalf("%q", got)
		}
		if usage := b.run(runID).Usage; usage.Total() != 11 {
			b.Fatalf("usage is %+v", usage)
		}
		b.sound(runID)
	})
}

func (b *bench) usage(in, out, cost int64) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventUsage, b.clock.now(), lineshaft.UsageData{InputTokens: in, OutputTokens: out, CostMicros: cost})
}

// A word is found however the worker wrote it, and nobody finds what is not theirs.
func TestR9WordsAreFoundHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		escaped := lineshaft.Draft{Type: lineshaft.EventOutput, Time: b.clock.now(), Data: []byte(`{"text":"a n\u0065\u0045dle \u003c"}`)}
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{escaped}}), "")
		match := runs.EventMatch{Words: []string{"needle"}}
		found, err := b.s.FindEvents(b.Context(), b.admin, runID, 0, match, 10)
		if wantCode(b, err, ""); len(found.Events) != 1 || found.More {
			b.Errorf("found %+v", found)
		}
		stranger := b.admin
		stranger.FactoryUIDs = []string{"another"}
		_, err = b.s.FindEvents(b.Context(), stranger, runID, 0, match, 10)
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

// One call carries reports of many executions; one that is refused does not hurt
// the others.
func TestX1OneRefusedReportDoesNotHurtOthers(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		goodID, good := b.working(lineshaft.NewRun{})
		goneID, gone := b.working(lineshaft.NewRun{})
		gapID, gap := b.working(lineshaft.NewRun{})
		b.cancel(goneID)
		refused, err := b.s.Report(b.Context(), []lineshaft.Report{
			{ExecutionRef: gone.ExecutionRef, First: 1, Events: b.outputs(1, 1)},
			{ExecutionRef: good.ExecutionRef, First: 1, Events: b.outputs(1, 1)},
			{ExecutionRef: gap.ExecutionRef, First: 5, Events: b.outputs(5, 5), Blocked: true},
			{ExecutionRef: good.ExecutionRef, First: 2, Events: b.outputs(2, 2)},
		})
		wantCode(b, err, "")
		wantCode(b, refused[0], lineshaft.CodeConflict)
		wantCode(b, refused[1], "")
		wantCode(b, refused[2], lineshaft.CodeConflict)
		wantCode(b, refused[3], "")
		if got := b.lines(goodID); !slices.Equal(got, wantLines(2)) {
			b.Fatalf("%q", got)
		}
		b.want(gapID, lineshaft.InProgress)
		if got := append(b.lines(goneID), b.lines(gapID)...); len(got) > 0 {
			b.Fatalf("%q", got)
		}
		b.sound(goodID, goneID, gapID)
		if refused := must[[]error](b)(b.s.Report(b.Context(), nil)); len(refused) != 0 {
			b.Fatalf("%v", refused)
		}
	})
}

// Reports share a transaction with those of others, but nobody can report with the token of
// another, or take the run away from it: each is known by its own.
func TestX1TokensOfABatchAreTheirOwn(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		wrong := job.ExecutionRef
		wrong.Token += "x"
		for i, refs := range [][]lineshaft.ExecutionRef{{job.ExecutionRef, wrong}, {wrong, job.ExecutionRef}} {
			var reports []lineshaft.Report
			for _, ref := range refs {
				reports = append(reports, lineshaft.Report{ExecutionRef: ref, First: int64(i) + 1, Events: b.outputs(i+1, i+1)})
			}
			for j, refused := range must[[]error](b)(b.s.Report(b.Context(), reports)) {
				if (refused == nil) != (refs[j] == job.ExecutionRef) {
					b.Errorf("round %d, report %d: %v", i, j, refused)
				}
			}
		}
		if got := b.lines(runID); !slices.Equal(got, wantLines(2)) {
			b.Errorf("%q", got)
		}
		b.sound(runID)
	})
}

func TestX7UsageIsSummed(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{b.usage(100, 20, 3), b.usage(1, 2, 4)}}), "")
		b.followup(runID, "more")
		b.end(job, lineshaft.Succeeded)
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 3, Events: []lineshaft.Draft{b.usage(-1000, -1000, -1000)}}), "")
		b.end(job, lineshaft.Succeeded)
		b.followup(runID, "and more")
		next := b.claimOne(lineshaft.HostedWorker, runID)
		b.begin(next)
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: next.ExecutionRef, First: 1, Events: []lineshaft.Draft{b.usage(1000, 0, 0)}}), "")
		if got, want := b.run(runID).Usage, (lineshaft.Usage{InputTokens: 1101, OutputTokens: 22, CostMicros: 7}); got != want {
			b.Fatalf("usage is %+v, want %+v", got, want)
		}
		if want := (lineshaft.Usage{InputTokens: 101, OutputTokens: 22, CostMicros: 7}); next.Used != want || job.Used != (lineshaft.Usage{}) {
			b.Fatalf("the executions begin with %+v and %+v, want nothing and %+v", job.Used, next.Used, want)
		}
	})
}

func TestX7UsageByModel(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		draft := func(u lineshaft.UsageData) lineshaft.Draft {
			return lineshaft.NewDraft(lineshaft.EventUsage, b.clock.now(), u)
		}
		long := strings.Repeat("é", 200)
		report := lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{
			draft(lineshaft.UsageData{ModelID: "large", InputTokens: 100, CachedInputTokens: 40, OutputTokens: 5, CostMicros: 9}),
			draft(lineshaft.UsageData{ModelID: "small", InputTokens: 10, OutputTokens: 1, CostUnknown: true}),
			draft(lineshaft.UsageData{ModelID: "large", InputTokens: 100, OutputTokens: 5, CostMicros: 1}),
			draft(lineshaft.UsageData{ModelID: long + "\x00", InputTokens: 1 << 62, OutputTokens: -7}),
			{Type: lineshaft.EventUsage, Data: []byte(`{"input_tokens":"many"}`)},
		}}
		wantCode(b, b.report(report), "")
		wantCode(b, b.report(report), "") // sent again, it is not counted again
		run := must[*lineshaft.Run](b)(b.s.GetRun(b.Context(), b.admin, runID))
		want := []lineshaft.ModelUsage{
			{ModelID: long[:256], Usage: lineshaft.Usage{InputTokens: maxUsageOfOne}},
			{ModelID: "large", Usage: lineshaft.Usage{InputTokens: 200, OutputTokens: 10, CostMicros: 10}, CachedInputTokens: 40},
			{ModelID: "small", Usage: lineshaft.Usage{InputTokens: 10, OutputTokens: 1}, UnpricedTokens: 11},
		}
		if !slices.Equal(run.UsageByModel, want) || run.Usage != (lineshaft.Usage{InputTokens: maxUsageOfOne + 210, OutputTokens: 11, CostMicros: 10}) {
			b.Fatalf("usage is %+v, by model %+v", run.Usage, run.UsageByModel)
		}
	})
}

// maxUsageOfOne is what one event can count at most.
const maxUsageOfOne = 1_000_000_000_000

func (b *bench) link(kind lineshaft.ArtifactType, url string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventArtifact, b.clock.now(), lineshaft.ArtifactData{Type: string(kind), URL: url})
}

func TestR11ArtifactsByAddressAreStoredOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		const url = "https://git.example.com/o/r/pull/1"
		runID, job := b.working(lineshaft.NewRun{})
		drafts := []lineshaft.Draft{b.link(lineshaft.ArtifactPullRequest, url), b.link(lineshaft.ArtifactPullRequest, url)}
		batch := lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: drafts}
		wantCode(b, b.report(batch), "")
		wantCode(b, b.report(batch), "")
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 3, Events: []lineshaft.Draft{b.link(lineshaft.ArtifactPullRequest, url)}}), "")
		run := b.run(runID)
		if len(run.Artifacts) != 1 || run.Artifacts[0].URL != url || run.Artifacts[0].Type != lineshaft.ArtifactPullRequest || run.Artifacts[0].UID == "" {
			b.Fatalf("%+v", run.Artifacts)
		}
		if string(drafts[0].Data) != string(b.link(lineshaft.ArtifactPullRequest, url).Data) {
			b.Fatalf("the worker's report was changed: %s", drafts[0].Data) // sent again it would not be stored
		}
		if found := must[string](b)(b.s.RunByReference(b.Context(), b.admin, url)); found != runID {
			b.Fatalf("found %s", found)
		}
		_, err := b.s.RunByReference(b.Context(), b.admin, url+"2")
		wantCode(b, err, lineshaft.CodeNotFound)
		_, second := b.working(lineshaft.NewRun{})
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: second.ExecutionRef, First: 1, Events: drafts[:1]}), "")
		if found := must[string](b)(b.s.RunByReference(b.Context(), b.admin, url)); found != second.RunID {
			b.Fatal("the newest run is not found")
		}
	})
}

// Whatever a worker sends, it is accepted or replaced, never stuck: the same batch
// would come again and again.
func TestX3OddEventsDoNotStopTheLog(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		raw := func(kind lineshaft.EventType, data string) lineshaft.Draft {
			return lineshaft.Draft{Type: kind, Time: b.clock.now(), Data: json.RawMessage(data)}
		}
		drafts := []lineshaft.Draft{
			raw(lineshaft.EventOutput, ""), raw(lineshaft.EventOutput, "{"), raw(lineshaft.EventOutput, "{\"text\":\"\xff\"}"),
			raw(lineshaft.EventOutput, `{"text":"nul \u0000"}`), raw(lineshaft.EventUsage, `"no object"`), raw(lineshaft.EventArtifact, `[]`),
			raw(lineshaft.EventState, `{"from":"INPROGRESS","to":"SUCCEEDED"}`), // a worker cannot move the run by saying so
			b.link("PAINTING", "https://example.com/1"), b.link(lineshaft.ArtifactPlan, "https://example.com/\x00"),
			{Type: lineshaft.EventThought, Data: json.RawMessage(`{"text":"no time"}`)},
			raw("brand_new", `{"x":1}`), b.output("last"),
		}
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: drafts}), "")
		run := b.want(runID, lineshaft.InProgress)
		if len(run.Artifacts) > 0 || run.LastSequence != int64(5+len(drafts)) {
			b.Fatalf("%+v", run)
		}
		b.sound(runID)
		if _, err := json.Marshal(b.events(runID)); err != nil { //nolint:musttag // only whether it can be encoded
			b.Fatalf("the log cannot be read any more: %v", err)
		}
		if lines := b.lines(runID); lines[len(lines)-1] != "last" {
			b.Fatalf("%q", lines)
		}
	})
}

func TestR2BlockedAndBack(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{}).RunID
		job := b.claimOne(lineshaft.HostedWorker, runID)
		report := func(r lineshaft.Report) *lineshaft.Run {
			b.Helper()
			r.ExecutionRef, r.First = job.ExecutionRef, 1
			wantCode(b, b.report(r), "")
			return b.run(runID)
		}
		for _, step := range []struct {
			report lineshaft.Report
			want   lineshaft.RunState
		}{
			{lineshaft.Report{Blocked: true}, lineshaft.Claimed}, // nothing runs that could ask
			{lineshaft.Report{Started: true}, lineshaft.InProgress},
			{lineshaft.Report{Started: true}, lineshaft.InProgress},
			{lineshaft.Report{Unblocked: true}, lineshaft.InProgress},
			{lineshaft.Report{Blocked: true}, lineshaft.Blocked},
			{lineshaft.Report{Blocked: true}, lineshaft.Blocked},
			{lineshaft.Report{Started: true}, lineshaft.Blocked},
			{lineshaft.Report{Unblocked: true}, lineshaft.InProgress},
			{lineshaft.Report{Blocked: true}, lineshaft.Blocked},
		} {
			if run := report(step.report); run.State != step.want || !run.FinishedAt.IsZero() {
				b.Fatalf("after %+v the run is %s", step.report, run.State)
			}
		}
		if states := b.states(runID); len(states) != 7 {
			b.Fatalf("it went %v", states)
		}
		b.end(job, lineshaft.Succeeded)
		b.sound(runID)
	})
}

// A report can come late, after the one that was sent again and others after it: what it marks
// is no longer so.
func TestX3LateReportMarksNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		asks := lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: b.outputs(1, 1), Blocked: true}
		wantCode(b, b.report(asks), "")
		b.want(runID, lineshaft.Blocked)
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 2, Events: b.outputs(2, 2), Unblocked: true}), "")
		b.want(runID, lineshaft.InProgress)
		wantCode(b, b.report(asks), "")
		b.want(runID, lineshaft.InProgress)
		b.sound(runID)
	})
}

// Output does not count as an update of the run, a move does.
func TestR4OutputIsNoUpdate(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Metadata: map[string]string{"k": "v"}})
		before := b.run(runID).UpdatedAt
		wantCode(b, b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: b.outputs(1, 3)}), "")
		if after := b.run(runID).UpdatedAt; !after.Equal(before) {
			b.Fatal("output moved the run in the list")
		}
		b.clock.advance(-time.Hour) // a node whose clock is behind
		b.end(job, lineshaft.Succeeded)
		if after := b.run(runID).UpdatedAt; !after.After(before) {
			b.Fatal("the update time went back")
		}
	})
}

func TestX1ResultOfTheTurnBecomesTheStatus(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for _, test := range []struct {
			result    lineshaft.TurnResult
			started   bool
			retryable *bool
		}{
			{lineshaft.TurnResult{State: lineshaft.Succeeded, Message: "done"}, true, nil},
			{lineshaft.TurnResult{State: lineshaft.Succeeded, Message: "no start was reported"}, false, nil},
			{lineshaft.TurnResult{State: lineshaft.Failed, Message: "exit 1", Code: lineshaft.CodeAgentProcessFailed}, true, new(false)},
			{lineshaft.TurnResult{State: lineshaft.Failed, Message: "set-up", Code: lineshaft.CodeEnvironmentSetupFailed, Dead: true}, false, new(false)},
			{lineshaft.TurnResult{State: lineshaft.Errored, Message: "broke", Code: lineshaft.CodeInternal}, true, new(true)},
		} {
			runID := b.start(lineshaft.NewRun{}).RunID
			job := b.claimOne(lineshaft.HostedWorker, runID)
			if test.started {
				b.begin(job)
			}
			must[*lineshaft.Turn](b)(b.s.EndTurn(b.Context(), job.ExecutionRef, test.result))
			run := b.want(runID, test.result.State)
			if run.Status.Message != test.result.Message || run.Status.ErrorCode != test.result.Code {
				b.Errorf("%+v", run.Status)
			}
			if (run.Status.Retryable == nil) != (test.retryable == nil) || test.retryable != nil && *run.Status.Retryable != *test.retryable {
				b.Errorf("%s: retryable is %v", test.result.Message, run.Status.Retryable)
			}
			b.sound(runID)
		}
	})
}
