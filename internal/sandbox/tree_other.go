//go:build !linux

package sandbox

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxRSSUnit is the unit of Rusage.Maxrss in bytes.
const maxRSSUnit = 1

// processStart is the zero of bootTime.
var processStart = time.Now()

// Without /proc there is no way to find the processes of a tree: only the
// process group is ended, see agent.kill.
func killTree(int) {}

// exceeded holds nothing: there is no portable way to look.
func (polled) exceeded() string { return "" }

func bootTime() time.Duration { return time.Since(processStart) }

func signalName(s syscall.Signal) string { return unix.SignalName(s) }

func duplicate(from, to int) error { return unix.Dup2(from, to) }

func polling() string { return notHeld }
