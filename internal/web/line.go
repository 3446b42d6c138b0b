package web

import (
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// planText shows a plan as a list of things to do.
func planText(d lineshaft.PlanData) string {
	lines := make([]string, len(d.Steps))
	for i, step := range d.Steps {
		mark := "[ ] "
		switch step.State {
		case "completed":
			mark = "[x] "
		case "in_progress":
			mark = "[~] "
		}
		lines[i] = mark + step.Text
	}
	return strings.Join(lines, "\n")
}

// questionText shows a question with the answers that can be given, or how the policy
// answered it.
func questionText(d lineshaft.PermissionData) string {
	if d.Decision != "" {
		return fmt.Sprintf("%s\nanswered by the policy: %s", d.Title, d.Decision)
	}
	lines := []string{"? " + d.Title}
	for i, option := range d.Options {
		lines = append(lines, fmt.Sprintf("  %d. %s", i+1, option.Name))
	}
	return strings.Join(append(lines, "Answer with a follow-up, such as yes or no."), "\n")
}
