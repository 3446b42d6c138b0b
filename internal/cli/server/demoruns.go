package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// demoEntry is something that a run reports: one of Says, Thinks, Plan, Does, Edits, Uses, Opens and Asks.
type demoEntry struct {
	// At is how many seconds after the start of the work.
	At           float64
	Says, Thinks string
	// Plan are steps, the first of which are Done.
	Plan []string
	Done int
	// Does is a command that Prints something and has Took some seconds when it ends with Code; without Took it still runs.
	Does, Prints string
	Took         float64
	Code         int
	// Edits is a file in which New replaces Old.
	Edits, Old, New string
	// Uses are tokens in and out, and what they cost in millionths of a dollar.
	Uses []int
	// Opens is the address of a pull request, Asks a question about the last command.
	Opens, Asks string
}

// numbered is an entry of a run that reports the same in turn.
func (e demoEntry) numbered(n int) demoEntry {
	for _, text := range []*string{&e.Says, &e.Does, &e.Prints, &e.Edits, &e.Old, &e.New} {
		*text = strings.ReplaceAll(*text, "{n}", strconv.Itoa(n))
	}
	return e
}

// events are what a worker reports of an entry. The present tool call is called id.
func (e demoEntry) events(began time.Time, id, model string) (list []object) {
	add := func(after float64, kind string, data object) {
		at := began.Add(time.Duration((e.At + after) * float64(time.Second)))
		list = append(list, object{"type": kind, "time": at.UTC().Format(time.RFC3339Nano), "data": data})
	}
	tool := func(after float64, category, name, key string, value object) {
		kind, data := "tool_call", object{"id": id, "category": category, "name": name, key: value}
		if key == "output" {
			kind, data["state"] = "tool_result", "completed"
			if e.Code != 0 {
				data["state"] = "failed"
			}
		}
		add(after, kind, data)
	}
	switch {
	case e.Says != "":
		add(0, "message", object{"role": "assistant", "text": e.Says})
	case e.Thinks != "":
		add(0, "thought", object{"text": e.Thinks})
	case e.Plan != nil:
		steps := make([]object, len(e.Plan))
		for i, text := range e.Plan {
			steps[i] = object{"text": text, "state": []string{"completed", "in_progress", "pending"}[cmp.Compare(i, e.Done)+1]}
		}
		add(0, "plan", object{"steps": steps})
	case e.Does != "":
		tool(0, "command", "bash", "input", object{"command": e.Does})
		if e.Prints != "" {
			add(e.Took*0.9, "output", object{"stream": "stdout", "text": e.Prints, "tool_call_id": id})
		}
		if e.Took > 0 {
			tool(e.Took, "command", "bash", "output", object{"exit_code": e.Code})
		}
	case e.Edits != "":
		tool(0, "files", "edit", "input", object{"path": e.Edits, "old": e.Old, "new": e.New})
		tool(0.2, "files", "edit", "output", object{"text": "Replaced 1 in " + e.Edits + "."})
	case e.Uses != nil:
		add(0, "usage", object{"model_id": model, "input_tokens": e.Uses[0], "output_tokens": e.Uses[1], "cost_micros": e.Uses[2]})
	case e.Opens != "":
		add(0, "artifact", object{"type": "PULL_REQUEST", "url": e.Opens})
	case e.Asks != "":
		add(0, "permission_request", object{"tool_call_id": id, "title": e.Asks, "options": []object{
			{"id": "allow", "name": "Allow once", "kind": "allow_once"}, {"id": "always", "name": "Always allow", "kind": "allow_always"}, {"id": "no", "name": "Reject", "kind": "reject_once"},
		}})
	}
	return list
}

// demoJob is an execution that the demo plays.
type demoJob struct {
	RunID       string `json:"run_id"`
	ExecutionID string `json:"execution_id"`
	Token       any    `json:"token"`
	Turn        struct {
		FollowupID string `json:"followup_id"`
	} `json:"turn"`
	host, model string
	then        []demoEntry
	// asks says that it waits for an answer.
	asks bool
	// calls and events are how many it has reported.
	calls, events int
}

func (j *demoJob) ref() object { return object{"execution_id": j.ExecutionID, "token": j.Token} }

// play takes the run that a step has started, and lets it happen. Set-up is how long it takes to begin.
func (t *demoTeam) play(ctx context.Context, step demoStep, setUp time.Duration) error {
	known := []string{}
	for _, job := range t.held {
		if job.host == step.By {
			known = append(known, job.ExecutionID)
		}
	}
	var claimed struct {
		Jobs []*demoJob `json:"jobs"`
	}
	t.clock.pass(setUp / 4)
	claim := object{"version": "demo", "limit": 1, "capacity": 4, "known": known}
	if err := t.worker(ctx, step.By, "claim", claim, &claimed); err != nil {
		return err
	}
	if len(claimed.Jobs) != 1 {
		return fmt.Errorf("%s has %d runs to take instead of one", step.By, len(claimed.Jobs))
	}
	job := claimed.Jobs[0]
	job.host, job.model, job.then = step.By, cmp.Or(step.Model, "claude-sonnet-4-5"), step.Then
	t.clock.pass(setUp)
	if err := t.report(ctx, job, object{"started": true}); err != nil {
		return err
	}
	began := t.clock.now()
	t.clock.pass(step.Took)
	if err := t.log(ctx, job, began, slices.Concat(step.Log, step.Rest)...); err != nil {
		return err
	}
	if step.Lives || job.asks {
		t.held = append(t.held, job)
	}
	switch {
	case job.asks:
		return t.endTurn(ctx, job, waiting(), nil)
	case step.Lives:
		return nil
	case step.Ends == nil:
		return t.endTurn(ctx, job, object{"state": "SUCCEEDED", "message": "the agent has finished"}, nil)
	}
	return t.endTurn(ctx, job, step.Ends, nil)
}

// waiting is the result of a turn that waits for an answer, which the next call with it brings.
func waiting() object { return object{"state": "BLOCKED", "ask": "demo-question"} }

// answered says that a person has answered a run, which then continues and ends.
func (t *demoTeam) answered(ctx context.Context, job *demoJob) bool {
	var said struct {
		Next *struct {
			FollowupID string `json:"followup_id"`
			Message    string `json:"message"`
		} `json:"next"`
	}
	if err := t.endTurn(ctx, job, waiting(), &said); err != nil || said.Next == nil {
		return err != nil // one that was cancelled waits no more
	}
	job.Turn.FollowupID = said.Next.FollowupID
	_ = t.log(ctx, job, time.Now(), demoEntry{Says: "You said: " + said.Next.Message + ". Nothing is pushed from a demo, so this is the end of it."}) // a run that was cancelled takes no more
	_ = t.endTurn(ctx, job, object{"state": "SUCCEEDED", "message": "the agent has finished"}, nil)
	return true
}

func (t *demoTeam) endTurn(ctx context.Context, job *demoJob, result object, into any) error {
	result["turn"] = cmp.Or(job.Turn.FollowupID, "prompt")
	body := job.ref()
	body["result"] = result
	return t.worker(ctx, job.host, "end-turn", body, into)
}

// log reports entries of a run that began to report them at some time.
func (t *demoTeam) log(ctx context.Context, job *demoJob, began time.Time, entries ...demoEntry) error {
	events := []object{}
	for _, e := range entries {
		if e.Does != "" || e.Edits != "" {
			job.calls++
		}
		job.asks = job.asks || e.Asks != ""
		events = append(events, e.events(began, fmt.Sprintf("call-%d", job.calls), job.model)...)
	}
	return t.report(ctx, job, object{"events": events})
}

func (t *demoTeam) report(ctx context.Context, job *demoJob, report object) error {
	for name, value := range job.ref() {
		report[name] = value
	}
	report["first"] = job.events + 1
	var answered struct {
		Errors []any `json:"errors"`
	}
	if err := t.worker(ctx, job.host, "report", object{"reports": []object{report}}, &answered); err != nil {
		return err
	}
	if len(answered.Errors) > 0 && answered.Errors[0] != nil {
		return fmt.Errorf("report: %v", answered.Errors[0])
	}
	if events, ok := report["events"].([]object); ok {
		job.events += len(events)
	}
	return nil
}
