package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// demoEvent is something that a run reports, some seconds before now.
type demoEvent struct {
	ago  float64
	kind string
	data object
}

func demoSays(ago float64, text string) demoEvent {
	return demoEvent{ago, "message", object{"role": "assistant", "text": text}}
}

// demoCall is a tool call with its output and result.
func demoCall(ago, took float64, id, command, output string, code int) []demoEvent {
	state, result := "completed", object{}
	if code != 0 {
		state, result = "failed", object{"exit_code": code}
	}
	return []demoEvent{
		{ago, "tool_call", object{"id": id, "category": "command", "name": "bash", "input": object{"command": command}}},
		{ago - took/2, "output", object{"stream": "stdout", "text": output, "tool_call_id": id}},
		{ago - took, "tool_result", object{"id": id, "category": "command", "name": "bash", "state": state, "output": result}},
	}
}

func demoEdit(ago float64, id, path, before, after string) []demoEvent {
	return []demoEvent{
		{ago, "tool_call", object{"id": id, "category": "files", "name": "edit", "input": object{"path": path, "old": before, "new": after}}},
		{ago - 0.2, "tool_result", object{"id": id, "category": "files", "name": "edit", "state": "completed", "output": object{}}},
	}
}

func demoUsage(ago float64, in, out, micros int) demoEvent {
	return demoEvent{ago, "usage", object{"model_id": "claude-demo", "input_tokens": in, "output_tokens": out, "cost_micros": micros}}
}

// demoStep is what a live run says as time goes by.
func demoStep(step int) []demoEvent {
	id := fmt.Sprintf("live-%d", step)
	switch step % 3 {
	case 0:
		return []demoEvent{demoSays(0, fmt.Sprintf("Step %d is done. Next file.", step)), demoUsage(0, 2100, 90, 9_000)}
	case 1:
		return demoCall(2.2, 1.9, id, fmt.Sprintf("grep -rn flag_%d src | head", step), fmt.Sprintf("src/flags.ts:%d: flag_%d: false\n", 10+step, step), 0)
	}
	return demoEdit(1, id, "src/flags.ts", fmt.Sprintf("flag_%d: false,", step), "")
}

// work is what most runs of the demo do before they end in their way.
func demoWork() []demoEvent {
	list := []demoEvent{
		demoSays(170, "I'll look at the code first."),
		{169, "plan", object{"steps": []object{{"text": "Find the place", "state": "completed"}, {"text": "Change it", "state": "in_progress"}, {"text": "Run the tests", "state": "pending"}}}},
		demoUsage(165, 5400, 320, 41_000),
	}
	list = append(list, demoCall(165, 3, "c1", "grep -rn coupon src | head -3", "src/cart.ts:42: const coupon = session.coupon\nsrc/cart.ts:57: if (!coupon) return total\nsrc/session.ts:12: delete session.coupon\n", 0)...)
	list = append(list, demoUsage(150, 7100, 410, 52_000))
	list = append(list, demoEdit(150, "c2", "src/session.ts", "  delete session.coupon\n  session.user = user", "  session.user = user")...)
	return list
}

// perform lets a run happen: most succeed, some fail, ask or keep running.
func (t *demoTeam) perform(ctx context.Context, job *demoJob) error {
	if err := t.report(ctx, job, object{"started": true}); err != nil {
		return err
	}
	if err := t.tell(ctx, job, demoWork()...); err != nil {
		return err
	}
	tests := demoCall(140, 62, "c3", "npm test", " ✓ cart.test.ts (14 tests)\n ✓ session.test.ts (9 tests)\n\n Tests  23 passed\n", 0)
	switch {
	case strings.HasPrefix(job.title, "Deploy"):
		t.held, t.asked = append(t.held, job), append(t.asked, job)
		return t.ask(ctx, job)
	case strings.HasPrefix(job.title, "Clean up"), strings.HasPrefix(job.title, "Review"), strings.HasPrefix(job.title, "Translate"):
		t.held, t.live = append(t.held, job), append(t.live, job)
		return nil
	case strings.HasPrefix(job.title, "Upgrade"), strings.HasPrefix(job.title, "Write a migration"):
		tests = demoCall(140, 91, "c3", "npm test", " ✗ cart.test.ts: expected 19.00, got 20.00\n\n Tests  1 failed, 22 passed\n", 1)
		if err := t.tell(ctx, job, append(tests, demoSays(40, "One test fails, and I do not know which number is right."))...); err != nil {
			return err
		}
		return t.end(ctx, job, object{"state": "FAILED", "message": "the agent exited with 1", "code": "agent_process_failed"})
	}
	tests = append(tests, demoUsage(70, 8200, 150, 38_000), demoSays(68, "Done: the tests pass. The change is in **src/session.ts**."))
	if err := t.tell(ctx, job, tests...); err != nil {
		return err
	}
	return t.end(ctx, job, object{"state": "SUCCEEDED", "message": "the agent has finished"})
}

// ask lets a run wait for an answer.
func (t *demoTeam) ask(ctx context.Context, job *demoJob) error {
	question := object{"title": "bash: kubectl apply -f preview.yaml", "options": []object{
		{"id": "allow", "name": "Allow", "kind": "allow_once"}, {"id": "reject", "name": "Reject", "kind": "reject_once"},
	}}
	if err := t.tell(ctx, job, demoEvent{5, "permission_request", question}); err != nil {
		return err
	}
	return t.end(ctx, job, object{"state": "BLOCKED", "ask": "demo-question"})
}

// answered says that a person has answered a run, which then continues and ends.
func (t *demoTeam) answered(ctx context.Context, job *demoJob) bool {
	var said struct {
		Next *struct {
			FollowupID string `json:"followup_id"`
			Message    string `json:"message"`
		} `json:"next"`
	}
	body := job.ref()
	body["result"] = object{"turn": job.turn(), "state": "BLOCKED", "ask": "demo-question"}
	if err := t.worker(ctx, "end-turn", body, &said); err != nil || said.Next == nil {
		return err != nil // one that was cancelled waits no more
	}
	job.Turn.FollowupID = said.Next.FollowupID
	_ = t.tell(ctx, job, demoSays(0, "You said: "+said.Next.Message+". Nothing is deployed from a demo, so this is the end of it.")) // a run that was cancelled takes no more
	_ = t.end(ctx, job, object{"state": "SUCCEEDED", "message": "the agent has finished"})
	return true
}

// turn names what the agent works on.
func (j *demoJob) turn() string { return cmp.Or(j.Turn.FollowupID, "prompt") }

func (t *demoTeam) end(ctx context.Context, job *demoJob, result object) error {
	result["turn"] = job.turn()
	body := job.ref()
	body["result"] = result
	return t.worker(ctx, "end-turn", body, nil)
}

// tell reports events of a run.
func (t *demoTeam) tell(ctx context.Context, job *demoJob, events ...demoEvent) error {
	now := time.Now()
	list := make([]object, len(events))
	for i, e := range events {
		at := now.Add(-time.Duration(e.ago * float64(time.Second)))
		list[i] = object{"type": e.kind, "time": at.UTC().Format(time.RFC3339Nano), "data": e.data}
	}
	return t.report(ctx, job, object{"events": list})
}

func (t *demoTeam) report(ctx context.Context, job *demoJob, report object) error {
	for name, value := range job.ref() {
		report[name] = value
	}
	report["first"] = job.next
	var answered struct {
		Errors []any `json:"errors"`
	}
	if err := t.worker(ctx, "report", object{"reports": []object{report}}, &answered); err != nil {
		return err
	}
	if len(answered.Errors) > 0 && answered.Errors[0] != nil {
		return fmt.Errorf("report: %v", answered.Errors[0])
	}
	if events, ok := report["events"].([]object); ok {
		job.next += len(events)
	}
	return nil
}
