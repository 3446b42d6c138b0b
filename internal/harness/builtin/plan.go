package builtin

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
)

const maxSteps = 100

// planSchema is written out: it is the only one with a list.
const planSchema = `{"type":"object","required":["steps"],"properties":{"steps":{"type":"array","items":{"type":"object",
"required":["text","state"],"properties":{"text":{"type":"string"},"state":{"type":"string","enum":["pending","in_progress","completed"]},
"priority":{"type":"string","enum":["high","medium","low"]}}}}}}`

func planTool() tool {
	return tool{category: "documents", silent: true, run: runPlan, Tool: chat.Tool{
		Name: "plan",
		Description: "Show people the steps of your work and how far they are. Give the whole list each time it changes. " +
			"Use it for work of three steps or more.",
		Schema: json.RawMessage(planSchema),
	}}
}

func runPlan(_ context.Context, t *turn, call invocation) outcome {
	var in lineshaft.PlanData
	if err := call.decode(&in); err != nil {
		return problem(err)
	}
	if len(in.Steps) > maxSteps {
		return problem(errors.New("a plan may have 100 steps"))
	}
	for i, step := range in.Steps {
		if step.Text == "" {
			return problem(errors.New("a step has no text"))
		}
		switch step.State {
		case "pending", "in_progress", "completed":
		default:
			return problem(errors.New("the state of a step is pending, in_progress or completed"))
		}
		switch step.Priority {
		case "high", "medium", "low", "":
		default:
			in.Steps[i].Priority = ""
		}
		in.Steps[i].Text = cut(step.Text, 1000)
	}
	t.event(lineshaft.EventPlan, in)
	return done("The plan is shown.")
}
