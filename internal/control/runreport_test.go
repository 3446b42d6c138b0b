package control_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// reporter is the agent of a run that works, with its token.
func (b *bench) reporter(req lineshaft.NewRun) (runID string, job lineshaft.Job, agent lineshaft.Caller) {
	b.Helper()
	runID, job = b.working(req)
	return runID, job, must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
}

// newest is the newest event of a run.
func (b *bench) newest(runID string) lineshaft.Event {
	b.Helper()
	page, err := b.s.Events(b.Context(), b.admin, runID, b.run(runID).LastSequence-1, 10)
	if err != nil || len(page.Events) != 1 {
		b.Fatalf("events %+v, %v", page, err)
	}
	return page.Events[0]
}

// an agent reports on its own run, and what it says has no secrets in it.
func TestX7AgentReportsOnItsRun(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("TOKEN", lineshaft.AccessRuns)
		runID, job, agent := b.reporter(naming("TOKEN"))
		for _, tc := range []struct {
			report lineshaft.RunReport
			kind   lineshaft.EventType
			has    string
		}{
			{lineshaft.RunReport{Kind: "message", Text: "I use " + hidden + " and " + job.RunToken}, lineshaft.EventMessage, `"role":"assistant","text":"I use ***TOKEN*** and ***"`},
			{lineshaft.RunReport{Kind: "notice", Text: "careful"}, lineshaft.EventNotice, `"level":"info","text":"careful"`},
			{lineshaft.RunReport{Kind: "plan", Steps: []lineshaft.PlanStep{{Text: "one", State: "pending"}}}, lineshaft.EventPlan, `"steps":[{"text":"one","state":"pending"}]`},
			{lineshaft.RunReport{Kind: "pull_request", URL: "https://forge.test/a/b/pull/7"}, lineshaft.EventArtifact, `"artifact_type":"PULL_REQUEST"`},
			{lineshaft.RunReport{Kind: "reference", URL: "https://tickets.test/7"}, lineshaft.EventArtifact, `"artifact_type":"EXTERNAL_REFERENCE"`},
		} {
			uid, err := b.s.ReportRun(b.Context(), agent, runID, tc.report)
			if err != nil || (uid != "") != (tc.kind == lineshaft.EventArtifact) {
				b.Fatalf("%s: artifact %q, %v", tc.report.Kind, uid, err)
			}
			if e := b.newest(runID); e.Type != tc.kind || !strings.Contains(string(e.Data), tc.has) || !json.Valid(e.Data) {
				b.Errorf("%s became %s %s, want %s", tc.report.Kind, e.Type, e.Data, tc.has)
			}
		}
		if n := len(b.run(runID).Artifacts); n != 2 {
			b.Errorf("%d artifacts", n)
		}
		b.sound(runID)
	})
}

// a file is an artifact at once.
func TestR11AgentReportsAFile(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("TOKEN", lineshaft.AccessRuns)
		runID, _, agent := b.reporter(naming("TOKEN"))
		a := must[*lineshaft.Artifact](b)(b.s.ReportArtifact(b.Context(), agent, runID, lineshaft.NewArtifact{
			FileName: "shot.png", Type: lineshaft.ArtifactScreenshot, MimeType: "image/png", Title: "of " + hidden,
		}, strings.NewReader("pixels")))
		got := b.run(runID).Artifacts
		if len(got) != 1 || got[0].UID != a.UID || got[0].Type != lineshaft.ArtifactScreenshot || got[0].SizeBytes != 6 || got[0].Title != "of ***TOKEN***" {
			b.Fatalf("artifacts %+v", got)
		}
		blob := must[io.ReadCloser](b)(b.s.OpenBlob(b.Context(), got[0].BlobID))
		if text, err := io.ReadAll(blob); err != nil || string(text) != "pixels" {
			b.Errorf("content %q, %v", text, err)
		}
		if e := b.newest(runID); e.Type != lineshaft.EventArtifact || !strings.Contains(string(e.Data), a.UID) {
			b.Errorf("event %s %s", e.Type, e.Data)
		}
	})
}

// only the agent itself may report, on its own run, while its execution lives.
func TestX7WhoMayReport(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job, agent := b.reporter(lineshaft.NewRun{})
		other, _, _ := b.reporter(lineshaft.NewRun{})
		try := func(c lineshaft.Caller, runID string, want lineshaft.Code) {
			b.Helper()
			_, err := b.s.ReportRun(b.Context(), c, runID, lineshaft.RunReport{Kind: "message", Text: "x"})
			wantCode(b, err, want)
			_, err = b.s.ReportArtifact(b.Context(), c, runID, lineshaft.NewArtifact{FileName: "x"}, strings.NewReader("x"))
			wantCode(b, err, want)
		}
		try(b.admin, runID, lineshaft.CodeNotAuthorized)
		try(b.caller(lineshaft.RoleManager), runID, lineshaft.CodeNotAuthorized)
		try(agent, other, lineshaft.CodeNotAuthorized)
		try(agent, runID, "")
		b.end(job, lineshaft.Succeeded)
		before := b.run(runID).LastSequence
		try(agent, runID, lineshaft.CodeNotAuthorized)
		if after := b.run(runID).LastSequence; after != before {
			b.Error("a refused report left an event")
		}
	})
}

func TestX7BadReports(t *testing.T) {
	t.Parallel()
	for _, r := range []lineshaft.RunReport{
		{},
		{Kind: "state", Text: "x"},
		{Kind: "message"},
		{Kind: "message", Text: strings.Repeat("x", lineshaft.MaxReportBytes+1)},
		{Kind: "message", Text: "a\x00b"},
		{Kind: "message", Text: "x", Level: "info"},
		{Kind: "notice", Text: "x", Level: "loud"},
		{Kind: "plan"},
		{Kind: "plan", Steps: []lineshaft.PlanStep{{Text: "x", State: "done"}}},
		{Kind: "plan", Steps: []lineshaft.PlanStep{{State: "pending"}}},
		{Kind: "plan", Steps: []lineshaft.PlanStep{{Text: "x", State: "pending", Priority: "urgent"}}},
		{Kind: "plan", Steps: make([]lineshaft.PlanStep, lineshaft.MaxPlanSteps+1)},
		{Kind: "pull_request"},
		{Kind: "pull_request", URL: "file:///etc/passwd"},
		{Kind: "reference", URL: "https://x.test/" + strings.Repeat("y", lineshaft.MaxAddressBytes)},
	} {
		wantCode(t, r.Validate(), lineshaft.CodeInvalidRequest)
	}
	for _, n := range []lineshaft.NewArtifact{
		{},
		{FileName: "../x"},
		{FileName: "a/b"},
		{FileName: "x", Type: lineshaft.ArtifactPullRequest},
		{FileName: "x", Title: strings.Repeat("y", 201)},
		{FileName: "x", MimeType: "a\x00"},
	} {
		wantCode(t, n.Validate(), lineshaft.CodeInvalidRequest)
	}
}
