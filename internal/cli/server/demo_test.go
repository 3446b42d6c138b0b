package server

import "testing"

// TestI1TheStoryOfTheDemoIsInOrder: no step is before the end of the one before, since time does not go back.
func TestI1TheStoryOfTheDemoIsInOrder(t *testing.T) {
	t.Parallel()
	team, err := newDemoTeam("ls_key", "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	behind := team.steps[0].Ago
	for i, step := range team.steps {
		if ago := step.Ago; ago > behind {
			t.Errorf("step %d, %s%s, is %s ago, and %s ago the story has come to it", i+1, step.Call, step.Send, ago, behind)
		} else if ago > 0 {
			behind = ago
		}
		behind -= step.Took
	}
	if behind < 0 {
		t.Errorf("the story ends %s from now", -behind)
	}
}
