package client

import (
	"encoding/json"
	"slices"
)

// RunState is the state of a run. A newer server may send values that are not
// listed here.
type RunState string

// The states of a run.
const (
	StateQueued     RunState = "QUEUED"
	StatePending    RunState = "PENDING"
	StateClaimed    RunState = "CLAIMED"
	StateInProgress RunState = "INPROGRESS"
	StateBlocked    RunState = "BLOCKED"
	StateSucceeded  RunState = "SUCCEEDED"
	StateFailed     RunState = "FAILED"
	StateError      RunState = "ERROR"
	StateCancelled  RunState = "CANCELLED"
)

// RunStates lists the states in the order of a run's life.
func RunStates() []RunState {
	return []RunState{
		StateQueued, StatePending, StateClaimed, StateInProgress, StateBlocked,
		StateSucceeded, StateFailed, StateError, StateCancelled,
	}
}

// Terminal says that the run has ended; only a follow-up reopens it.
func (s RunState) Terminal() bool {
	return slices.Contains([]RunState{StateSucceeded, StateFailed, StateError, StateCancelled}, s)
}

// UnmarshalJSON decodes a run and keeps the text for RawJSON.
func (r *Run) UnmarshalJSON(data []byte) error {
	type plain Run
	if err := json.Unmarshal(data, (*plain)(r)); err != nil {
		return err
	}
	r.raw = slices.Clone(data)
	return nil
}

// RawJSON is the run as the server sent it, with fields that this package does
// not know; nil for a run that was not received.
func (r *Run) RawJSON() json.RawMessage { return r.raw }
