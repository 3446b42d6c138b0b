package web

import (
	"encoding/json"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// I-2: the state on a page is not older than the log below it.
func TestI2StateOfAPageIsThatOfItsLog(t *testing.T) {
	t.Parallel()
	state := func(to lineshaft.RunState, message string) lineshaft.Event {
		raw, err := json.Marshal(lineshaft.StateData{To: to, Message: message})
		if err != nil {
			t.Fatal(err)
		}
		return lineshaft.Event{Type: lineshaft.EventState, Data: raw}
	}
	output := lineshaft.Event{Type: lineshaft.EventOutput, Data: json.RawMessage(`{"stream":"stdout","text":"x"}`)}
	for name, tc := range map[string]struct {
		events  []lineshaft.Event
		state   lineshaft.RunState
		message string
	}{
		"nothing is told":     {[]lineshaft.Event{output}, lineshaft.Claimed, "preparing"},
		"the same is told":    {[]lineshaft.Event{state(lineshaft.Claimed, ""), output}, lineshaft.Claimed, "preparing"},
		"a newer one is told": {[]lineshaft.Event{state(lineshaft.Claimed, ""), state(lineshaft.InProgress, "at work"), output}, lineshaft.InProgress, "at work"},
		"it cannot be read":   {[]lineshaft.Event{{Type: lineshaft.EventState, Data: json.RawMessage(`[]`)}}, lineshaft.Claimed, "preparing"},
	} {
		run := &lineshaft.Run{State: lineshaft.Claimed, Status: lineshaft.StatusMessage{Message: "preparing"}}
		if catchUp(run, tc.events); run.State != tc.state || run.Status.Message != tc.message {
			t.Errorf("%s: %s %q", name, run.State, run.Status.Message)
		}
	}
}
