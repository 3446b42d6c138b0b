package terminal

// Signal is something that happens to a program on a terminal.
type Signal int

// The signals. After SignalSuspend the program gives the terminal back and calls Suspend;
// after SignalEnd it gives it back and ends.
const (
	SignalResize Signal = iota
	SignalSuspend
	SignalEnd
)
