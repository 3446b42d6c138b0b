package client

import (
	"context"
	"strings"
	"testing"
)

func TestX7ReportCalls(t *testing.T) {
	t.Parallel()
	for _, tc := range []callCase{
		{
			"report", 200, `{"run_id":"r1"}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Runs.Report(ctx, "r1", RunReport{Type: "plan", Steps: []PlanStep{{Text: "a", State: "completed"}}})
			},
			seen{method: "POST", path: "/api/v1/agent/runs/r1/reports", body: `{"type":"plan","steps":[{"text":"a","state":"completed"}]}`},
			&RunReported{RunID: "r1"},
		},
		{
			"artifact", 200, `{"run_id":"r1","artifact_uid":"a1"}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Runs.ReportArtifact(ctx, "r1", NewArtifact{FileName: "a b.txt", Type: "PLAN", Title: "t"}, strings.NewReader("content"))
			},
			seen{method: "POST", path: "/api/v1/agent/runs/r1/artifacts", query: "filename=a+b.txt&title=t&type=PLAN", body: "content"},
			&RunReported{RunID: "r1", ArtifactUID: "a1"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.check(t)
		})
	}
}

func TestX7ReportArtifactErrors(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, answer(413, `{"code":"payload_too_large","detail":"too large"}`))
	if _, err := c.Runs.ReportArtifact(t.Context(), "r1", NewArtifact{FileName: "x"}, strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("error %v", err)
	}
	if _, err := c.Runs.ReportArtifact(t.Context(), "", NewArtifact{FileName: "x"}, strings.NewReader("x")); err == nil {
		t.Error("a run without an id")
	}
	c, _ = scripted(t, answer(200, `nonsense`))
	if _, err := c.Runs.ReportArtifact(t.Context(), "r1", NewArtifact{FileName: "x"}, strings.NewReader("x")); err == nil {
		t.Error("an answer that is none")
	}
}
