package web_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// edits lets the next run change a file and end.
func (s *site) edits(path string, result lineshaft.TurnResult) string {
	s.Helper()
	job := s.begin()
	call := lineshaft.ToolCallData{ID: "c", Name: "edit", Input: map[string]any{"path": path, "old": "a\n", "new": "b\nc\n"}}
	events := []lineshaft.Draft{lineshaft.NewDraft(lineshaft.EventToolCall, time.Now(), call)}
	s.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: events})
	result.Turn = lineshaft.PromptTurn
	s.end(job, result)
	return s.lastRun().ID
}

func TestI2CompareWithTheRunBefore(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	triage := h.automate("Triage", "")
	h.deliver("one", `{}`)
	good := h.edits("README.md", lineshaft.TurnResult{State: lineshaft.Succeeded})
	h.shows("/runs/"+good+"/compare", "Nothing to compare with")
	h.deliver("two", `{}`)
	bad := h.edits("main.go", lineshaft.TurnResult{State: lineshaft.Failed, Code: lineshaft.CodeRunTimeout})
	changed := factories.AutomationChange{Config: &lineshaft.AgentConfig{ModelID: "opus-9"}}
	if _, err := h.control.UpdateAutomation(t.Context(), h.admin, h.factory, triage.UID, changed); err != nil {
		t.Fatal(err)
	}
	h.deliver("three", `{}`)
	h.consume("opus-9", 10, 500_000)
	last := h.lastRun().ID
	h.start("of somebody else")
	at := "/runs/" + last + "/compare"
	h.shows("/runs/"+last, `href="`+at+`"`)
	h.shows(at, "/runs/"+bad, "of the same automation", "Failed (run_timeout)", "Succeeded", "$0.50", "main.go",
		"&#43;2 −1", "opus-9", "model_id", "1 file, &#43;2 −1", ">none<", "Compared with")
	h.shows("/runs/"+bad+"/changes", "1 file changed", "main.go", `!aria-label="Files"`) // one file needs no list
	h.shows(at+"?with=succeeded", "/runs/"+good, "README.md", "!main.go")
	h.shows(at+"?with="+bad, "/runs/"+bad, "!of the same automation")
	h.shows("/runs/"+bad+"/compare", "/runs/"+good, "The prompts differ") // each names its delivery
	if status, _, _ := h.get(at + "?with=nobody"); status != http.StatusNotFound {
		t.Errorf("with nobody: %d", status)
	}
	// Attempts are compared with the attempt before.
	first := h.start("again and again")
	h.finish(lineshaft.TurnResult{State: lineshaft.Succeeded}) // another person's
	h.finish(lineshaft.TurnResult{State: lineshaft.Failed})
	for range 2 {
		if _, err := h.control.Rerun(t.Context(), h.admin, first, lineshaft.SourceWebApp, nil); err != nil {
			t.Fatal(err)
		}
		h.finish(lineshaft.TurnResult{State: lineshaft.Failed})
	}
	third := h.lastRun()
	second := must(h.control.GetRun(t.Context(), h.admin, first)).Reruns[0].RunID
	h.shows("/runs/"+third.ID+"/compare", "/runs/"+second+`"`, "the previous attempt", "Both have the same prompt")
	h.shows("/runs/"+second+"/compare", "/runs/"+first+`"`, "the previous attempt")
	// A key of another factory sees neither.
	h.as(lineshaft.RoleViewer, h.another("Far away", "builds").factory)
	for _, path := range []string{at, at + "?with=" + bad} {
		if status, _, _ := h.get(path); status != http.StatusNotFound {
			t.Errorf("%s as a stranger: %d", path, status)
		}
	}
}
