package sandbox

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The worker and the supervisor talk over two pipes, at these descriptors of the
// supervisor. On the control pipe the worker writes one order, as a gob because
// paths and variables need not be UTF-8, and then commands, a line each; its end
// means that the worker is gone. On the status pipe the supervisor writes reports
// as lines of JSON.
//
// The order goes through the pipe because it holds secrets: every user of the machine
// can read arguments, and every process of the same user can read the
// environment.
const (
	controlFD = 3
	statusFD  = 4
)

// The commands of the control pipe. Term is followed by the grace in nanoseconds.
const (
	commandFeed = "feed"
	commandTerm = "term"
	commandKill = "kill"
)

// order is all that the supervisor must know. The worker makes the decisions, so
// that the supervisor has little to do and little to get wrong.
type order struct {
	Path       string // program to execute, as the supervisor sees it
	Argv       []string
	Env        []string
	Dir        string
	UID        int // user and group of the program; 0 keeps the supervisor's
	FileBytes  int64
	Processes  int // RLIMIT_NPROC of a program in its own user namespace
	FeedWithin time.Duration
	Groups     []group
	Polled     polled
	Disk       quota
	Wrap       *wrap      // set for bubblewrap
	Container  *contained // set for a container
}

// polled are the limits that the supervisor holds by looking, where there is no
// control group.
type polled struct {
	MemoryBytes int64
	Private     bool // the agent has folders of memory to itself, which count
	Processes   int
}

// wrap is what bubblewrap gets through descriptors. The supervisor puts the
// numbers of the descriptors in front.
type wrap struct {
	Args    []string // options, among them the environment of the agent
	Files   []file   // small files to make in the sandbox
	Filter  []byte   // of system calls; empty: none
	Sources []string // host paths that the user of the program must be able to reach
}

type file struct {
	Path    string
	Content string
}

// report is one line of the status pipe: first Started or Error, then, unless it
// was Error, Exit, with an Error when something may be left.
type report struct {
	Started int    `json:"started,omitempty"` // process id of the agent, or of bubblewrap
	Error   string `json:"error,omitempty"`
	Exit    *Exit  `json:"exit,omitempty"`
}

func termCommand(grace time.Duration) string {
	return commandTerm + " " + strconv.FormatInt(int64(grace), 10)
}

// parseCommand reads one line of the control pipe.
func parseCommand(line string) (name string, grace time.Duration, err error) {
	name, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch name {
	case commandFeed, commandKill:
		return name, 0, nil
	case commandTerm:
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || n < 0 {
			return "", 0, fmt.Errorf("grace of %q is not a number of nanoseconds", line)
		}
		return name, time.Duration(n), nil
	}
	return "", 0, fmt.Errorf("unknown command %q", line)
}
