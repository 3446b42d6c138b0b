package runs

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func TestX7PlanSteps(t *testing.T) {
	t.Parallel()
	want := []client.PlanStep{{Text: "a", State: "completed"}, {Text: "b", State: "pending"}, {Text: "c", State: "pending"}, {Text: "[y] d", State: "pending"}}
	if got := planSteps([]string{" [X] a ", "", "- [ ] b", "c", "[y] d", "[x]"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// people see a question with its answers, and how far a plan is.
func TestX7QuestionsAndPlansAreShown(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	r := &renderer{sh: commandsIn(shell.Surroundings{Stdout: &out, Stderr: &errs, Environ: []string{}}), runID: "run-1"}
	for _, e := range []struct{ kind, data string }{
		{"plan", `{"steps":[{"text":"a","state":"completed"},{"text":"b","state":"in_progress"},{"text":"c","state":"pending"}]}`},
		{"permission_request", `{"title":"rm -rf x","options":[{"id":"y","name":"Allow","kind":"allow_once"},{"id":"n","name":"Reject","kind":"reject_once"}]}`},
		{"permission_request", `{"title":"ls","decision":"allow"}`},
	} {
		if err := r.event(&client.Event{Type: client.EventType(e.kind), Data: []byte(e.data)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); got != "[x] a\n[~] b\n[ ] c\n" {
		t.Errorf("plan %q", got)
	}
	for _, want := range []string{"? rm -rf x\n  1. Allow\n  2. Reject\n-- answer with: lineshaft runs followup run-1 yes\n", "the agent asked: ls (the policy answered: allow)"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is not in %q", want, errs.String())
		}
	}
}
