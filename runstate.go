package lineshaft

import "slices"

// RunState is the state of a run. The values are the published ones.
type RunState string

// The states of a run.
const (
	Queued     RunState = "QUEUED"
	Pending    RunState = "PENDING"
	Claimed    RunState = "CLAIMED"
	InProgress RunState = "INPROGRESS"
	Blocked    RunState = "BLOCKED"
	Succeeded  RunState = "SUCCEEDED"
	Failed     RunState = "FAILED"
	Errored    RunState = "ERROR"
	Cancelled  RunState = "CANCELLED"
)

// RunStates lists every state in the order of a run's life.
func RunStates() []RunState {
	return []RunState{Queued, Pending, Claimed, InProgress, Blocked, Succeeded, Failed, Errored, Cancelled}
}

// moves is the whole state machine: a move that is not listed is refused. It
// feeds the UPDATE statements of the store, the diagram in the docs and the test
// that tries every pair.
//
// Back to Queued: a lease was lost and a retry is allowed, or a follow-up reopened
// an ended run.
func moves() map[RunState][]RunState {
	return map[RunState][]RunState{
		Queued:     {Pending, Cancelled, Errored, Failed},
		Pending:    {Claimed, Queued, Cancelled, Failed, Errored},
		Claimed:    {InProgress, Queued, Cancelled, Failed, Errored},
		InProgress: {Blocked, Queued, Succeeded, Failed, Errored, Cancelled},
		Blocked:    {InProgress, Queued, Succeeded, Failed, Errored, Cancelled},
		Succeeded:  {Queued},
		Failed:     {Queued},
		Errored:    {Queued},
		Cancelled:  {Queued},
	}
}

// Valid says whether s is a published state.
func (s RunState) Valid() bool { return slices.Contains(RunStates(), s) }

// Terminal says whether a run in this state has ended; a follow-up may reopen it.
func (s RunState) Terminal() bool {
	return s == Succeeded || s == Failed || s == Errored || s == Cancelled
}

// Held says whether a worker holds a run in this state under a lease.
func (s RunState) Held() bool { return s == Pending || s == Claimed || s == InProgress || s == Blocked }

// Interruptible says whether a worker has a run in this state, so that its turn can be
// ended.
func (s RunState) Interruptible() bool { return s == Claimed || s == InProgress || s == Blocked }

// LiveStates lists the states of runs that have not ended.
func LiveStates() []RunState { return []RunState{Queued, Pending, Claimed, InProgress, Blocked} }

// CanMove says whether a run may go from one state to the other.
func CanMove(from, to RunState) bool { return slices.Contains(moves()[from], to) }

// TaskStatus maps a published task status to the states it covers.
func TaskStatus(status string) ([]RunState, bool) {
	switch status {
	case "running":
		return []RunState{Queued, Pending, Claimed, InProgress}, true
	case "failed":
		return []RunState{Failed, Errored}, true
	case "blocked":
		return []RunState{Blocked}, true
	case "cancelled":
		return []RunState{Cancelled}, true
	case "complete":
		return []RunState{Succeeded}, true
	}
	return nil, false
}
