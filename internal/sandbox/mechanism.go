package sandbox

import (
	"log/slog"
	"strings"
	"sync"
)

// Report names, for each limit, what holds it on this machine: "cgroup v2",
// "cgroup v1", "rlimit", "polled" (the supervisor looks several times a second
// and ends the tree) or "not held".
type Report struct {
	Memory    string `json:"memory"`
	Processes string `json:"processes"`
	CPU       string `json:"cpu"`
	FileSize  string `json:"file_size"`
	Disk      string `json:"disk"`
	Kill      string `json:"kill"`                   // how the tree is ended
	Calls     string `json:"system_calls,omitempty"` // which of them agents can make
	Advice    string `json:"advice,omitempty"`       // what to do for a better mechanism
}

const (
	heldByRlimit  = "rlimit"
	heldByPolling = "polled"
	notHeld       = "not held"
)

// limiter finds out once what the machine can hold.
type limiter struct {
	once   sync.Once
	found  hierarchy
	warned sync.Once
}

func (l *limiter) hierarchy() hierarchy {
	l.once.Do(func() { l.found = detect() })
	return l.found
}

// report says what holds the limits; processes is what does without a group.
func (l *limiter) report(processes string) Report {
	h := l.hierarchy()
	r := Report{
		Memory:    describeVersion(h.version(controllerMemory), polling()),
		Processes: describeVersion(h.version(controllerPids), processes),
		CPU:       describeVersion(h.version(controllerCPU), notHeld),
		FileSize:  heldByRlimit,
		Disk:      polling(),
	}
	var missing []string
	for _, c := range []string{controllerMemory, controllerPids, controllerCPU} {
		if h.version(c) == 0 {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 {
		r.Advice = "for exact limits give the server a control group of its own with " + strings.Join(missing, ", ") +
			": under systemd set Delegate=yes and DelegateSubgroup=" + serverGroup
	}
	return r
}

// warn says once which of the limits asked for are not held.
func (l *limiter) warn(log *slog.Logger, limits Limits) {
	if limits.CPUs > 0 && l.hierarchy().version(controllerCPU) == 0 {
		l.warned.Do(func() {
			log.Warn("limit is not held on this machine", "limit", "cpus", "advice", l.report("").Advice)
		})
	}
}
