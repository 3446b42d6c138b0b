package lineshaft_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// legal says the rules of SPEC 2.2 in other words than the table does.
func legal(from, to lineshaft.RunState) bool {
	forward := map[lineshaft.RunState]lineshaft.RunState{ //nolint:exhaustive // the way of a run that goes well
		lineshaft.Queued: lineshaft.Pending, lineshaft.Pending: lineshaft.Claimed, lineshaft.Claimed: lineshaft.InProgress,
	}
	works := from == lineshaft.InProgress || from == lineshaft.Blocked
	switch {
	case from == to:
		return false
	case from.Terminal():
		return to == lineshaft.Queued // a follow-up
	case to == lineshaft.Queued:
		return from.Held() // a lost lease
	case to == lineshaft.Succeeded:
		return works
	case to.Terminal():
		return true // everything alive may fail or be cancelled
	case to == lineshaft.Blocked:
		return from == lineshaft.InProgress
	case from == lineshaft.Blocked:
		return to == lineshaft.InProgress
	}
	return forward[from] == to
}

func TestStatesEveryPair(t *testing.T) {
	t.Parallel()
	for _, from := range lineshaft.RunStates() {
		for _, to := range lineshaft.RunStates() {
			if got := lineshaft.CanMove(from, to); got != legal(from, to) {
				t.Errorf("%s to %s: allowed is %t", from, to, got)
			}
		}
	}
	if lineshaft.CanMove("", lineshaft.Queued) || lineshaft.CanMove(lineshaft.Queued, "") {
		t.Error("no state is not a state")
	}
}

// The diagram in the documentation shows what the table allows, each move once.
func TestStatesDiagramShowsTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	diagram := regexp.MustCompile("(?s)```mermaid\nstateDiagram-v2\n(.*?)```").FindSubmatch(text)
	if diagram == nil {
		t.Fatal("docs/architecture.md has no state diagram")
	}
	drawn := map[[2]lineshaft.RunState]int{}
	for _, arrow := range regexp.MustCompile(`(?m)^\s*([A-Z]+) --> ([A-Z]+)`).FindAllSubmatch(diagram[1], -1) {
		drawn[[2]lineshaft.RunState{lineshaft.RunState(arrow[1]), lineshaft.RunState(arrow[2])}]++
	}
	for _, from := range lineshaft.RunStates() {
		for _, to := range lineshaft.RunStates() {
			want := 0
			if lineshaft.CanMove(from, to) {
				want = 1
			}
			pair := [2]lineshaft.RunState{from, to}
			if drawn[pair] != want {
				t.Errorf("%s to %s is drawn %d times, want %d", from, to, drawn[pair], want)
			}
			delete(drawn, pair)
		}
	}
	if len(drawn) > 0 {
		t.Errorf("the diagram has states that do not exist: %v", drawn)
	}
}

func TestStatesAreOfOneKind(t *testing.T) {
	t.Parallel()
	for _, state := range lineshaft.RunStates() {
		kinds := 0
		for _, is := range []bool{state == lineshaft.Queued, state.Held(), state.Terminal()} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s is %d of queued, held and ended", state, kinds)
		}
		if !state.Valid() {
			t.Errorf("%s is not valid", state)
		}
	}
	for _, word := range []lineshaft.RunState{"", "queued", "DONE"} {
		if word.Valid() || word.Terminal() || word.Held() {
			t.Errorf("%q counts as a state", word)
		}
	}
}

// Every state belongs to exactly one task status, so that filters by status see
// all runs.
func TestR4TaskStatusesCoverTheStates(t *testing.T) {
	t.Parallel()
	seen := map[lineshaft.RunState]string{}
	for _, status := range []string{"running", "failed", "blocked", "cancelled", "complete"} {
		states, ok := lineshaft.TaskStatus(status)
		if !ok || len(states) == 0 {
			t.Fatalf("%s is not known", status)
		}
		for _, state := range states {
			if seen[state] != "" {
				t.Errorf("%s belongs to %s and %s", state, seen[state], status)
			}
			seen[state] = status
		}
	}
	if len(seen) != len(lineshaft.RunStates()) {
		t.Errorf("%d of %d states have a status", len(seen), len(lineshaft.RunStates()))
	}
	if _, ok := lineshaft.TaskStatus("RUNNING"); ok {
		t.Error("an unknown status is taken")
	}
}
