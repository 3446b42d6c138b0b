package lineshaft

import "time"

// Hold has the reasons that keep a queued run from being claimed, one bit each.
type Hold int

// The reasons.
const (
	// HoldConcurrency waits for the run that has the concurrency key.
	HoldConcurrency Hold = 1
	// HoldExecution waits until the last execution is known to be over.
	HoldExecution Hold = 2
	// HoldSkill waits until the run's skills are found.
	HoldSkill Hold = 4
)

// Has says whether a reason is among them.
func (h Hold) Has(reason Hold) bool { return h&reason != 0 }

// RunLife is the part of a run that changes while it lives. Its methods are the rules of
// that life; the holder of the run calls them and then saves it with what happened.
type RunLife struct {
	ID             string
	State          RunState
	Status         StatusMessage
	WorkerHost     string
	CreatorUID     string
	FactoryUID     string
	ParentRunID    string
	UpdatedAt      time.Time
	StartedAt      time.Time
	FinishedAt     time.Time
	RunTime        time.Duration
	Usage          Usage
	LastSequence   int64
	QueuedAt       time.Time
	QueueDeadline  time.Time
	Hold           Hold
	ConcurrencyKey string
	ExecutionID    string
	// WorkerID is the process that holds, or last held, the newest execution.
	WorkerID    string
	Executions  int
	Attempts    int
	MaxAttempts int
	PromptDone  bool
	// Unread counts follow-ups that wait; Taken says that an execution has one.
	Unread         int
	Taken          bool
	SandboxRunning bool
	// Interrupted says that someone interrupted the turn; the next one begins without it.
	Interrupted bool
}

// Move changes the state if the table of moves allows it, and returns the event that says
// so. worker is the process that it is about, if there is one.
func (l *RunLife) Move(to RunState, status StatusMessage, worker string, at time.Time) (Draft, error) {
	if !CanMove(l.State, to) {
		return Draft{}, Conflict("a run cannot go from %s to %s", l.State, to)
	}
	moved := StateEvent(at, l.State, to, status, worker)
	l.State, l.Status, l.Interrupted = to, status, false
	l.Touch(at)
	l.FinishedAt = time.Time{}
	if to.Terminal() {
		l.FinishedAt = l.UpdatedAt
	}
	return moved, nil
}

// StateEvent is the event of a move.
func StateEvent(at time.Time, from, to RunState, status StatusMessage, worker string) Draft {
	return NewDraft(EventState, at, StateData{From: from, To: to, Message: status.Message, ErrorCode: status.ErrorCode, Worker: worker})
}

// Touch sets the update time, which never goes back: lists by it must not lose a
// run because two nodes' clocks differ.
func (l *RunLife) Touch(at time.Time) {
	if !at.After(l.UpdatedAt) {
		at = l.UpdatedAt.Add(time.Microsecond)
	}
	l.UpdatedAt = at
}

// Say changes the status without a move.
func (l *RunLife) Say(message string, at time.Time) {
	l.Status, l.Interrupted = StatusMessage{Message: message}, false
	l.Touch(at)
}

// StatusInterrupted is the status of a run whose turn was interrupted, until the next begins.
const StatusInterrupted = "interrupted; a follow-up continues the run"

// Interrupt notes that someone interrupted the turn.
func (l *RunLife) Interrupt(at time.Time) {
	l.Say(StatusInterrupted, at)
	l.Interrupted = true
}

// Begin is the first word of the agent: it works, unless it was interrupted before.
func (l *RunLife) Begin(worker string, at time.Time) (Draft, error) {
	status, interrupted := StatusMessage{Message: AgentWorking}, l.Interrupted
	if interrupted {
		status = l.Status
	}
	if _, err := l.Move(InProgress, status, worker, at); err != nil {
		return Draft{}, err
	}
	l.Interrupted, l.SandboxRunning = interrupted, true
	if l.StartedAt.IsZero() {
		l.StartedAt = at
	}
	return StateEvent(at, Claimed, InProgress, StatusMessage{}, worker), nil
}

// AgentWorking is the status of a run whose agent works.
const AgentWorking = "the agent is working"

// EndExecution notes that the run's newest execution, which began at a time or never, has
// nothing running any more: the run may be claimed again.
func (l *RunLife) EndExecution(began, at time.Time) {
	l.SandboxRunning, l.Hold = false, l.Hold&^HoldExecution
	if !began.IsZero() {
		l.RunTime += at.Sub(began)
	}
}

// MayTryAgain counts the loss of an execution and says whether the run gets another one.
// A loss before the agent started costs no attempt: nothing was done.
func (l *RunLife) MayTryAgain() bool {
	if l.State == InProgress || l.State == Blocked {
		l.Attempts++
	}
	return l.Attempts == 0 || l.Attempts < l.MaxAttempts
}

// Stop ends a run that has not ended, whatever it does.
func (l *RunLife) Stop(to RunState, status StatusMessage, at time.Time) (Draft, error) {
	from := l.State
	moved, err := l.Move(to, status, "", at)
	if err != nil {
		return Draft{}, err
	}
	if from.Held() {
		l.Hold |= HoldExecution // a follow-up must wait until the old processes are gone
	}
	if from == InProgress || from == Blocked {
		l.PromptDone = true // a follow-up continues it and does not begin it again
	}
	return moved, nil
}

// Requeue brings an ended run back into the queue for a new execution, with as long to wait
// there as the first time. A last execution that is not known to be over holds it there.
func (l *RunLife) Requeue(why string, at time.Time) (Draft, error) {
	wait := l.QueueDeadline.Sub(l.QueuedAt)
	moved, err := l.Move(Queued, StatusMessage{Message: why}, "", at)
	if err != nil {
		return Draft{}, err
	}
	l.QueuedAt, l.QueueDeadline, l.Attempts, l.Hold = at, at.Add(wait), 0, l.Hold&(HoldExecution|HoldSkill)
	return moved, nil
}

// Over says that a run has ended and no execution of it can be alive: its concurrency key
// is free.
func (l *RunLife) Over() bool { return l.State.Terminal() && !l.Hold.Has(HoldExecution) }
