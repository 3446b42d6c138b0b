package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// How long the supervisor tries to remove a container, one call to the program may
// take, and it pauses between two tries.
const (
	removeWithin = 30 * time.Second
	toolWithin   = 10 * time.Second
	removePause  = 200 * time.Millisecond
)

// errNotRemoved is for the log: the worker removes what is left a few minutes later.
var errNotRemoved = errors.New("the container could not be removed; it may still run")

// contained is what the supervisor must know of an agent that runs in a
// container, outside its own tree.
type contained struct {
	Program string // docker or podman
	Name    string
	Env     []string // of the program
	State   string   // folder to remove at the end
	Bounded bool     // there is a memory limit that may have ended it
}

// tool runs the program with a bound. Only what it prints counts: its exit status
// may go to the goroutine that waits for all children.
func (c *contained) tool(ctx context.Context, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, toolWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Program, args...)
	cmd.Env = c.Env
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run()
	return out.String()
}

// outOfMemory asks whether the kernel ended the container for its memory.
func (c *contained) outOfMemory(ctx context.Context) bool {
	return c.Bounded && strings.TrimSpace(c.tool(ctx, "inspect", "--format", "{{.State.OOMKilled}}", c.Name)) == "true"
}

// remove ends the container with its volumes and returns when it is gone. It counts as
// gone only when the program lists containers and this one is not among them,
// twice for a container that was never seen: a daemon may still be making it.
func (c *contained) remove(ctx context.Context) error {
	defer func() { _ = os.RemoveAll(c.State) }()
	believe := 2
	if c.made() {
		believe = 1
	}
	for deadline := time.Now().Add(removeWithin); ; {
		c.tool(ctx, "rm", "-f", "-v", c.Name)
		list := c.tool(ctx, "ps", "-a", "--filter", "name="+c.Name)
		switch {
		case strings.HasPrefix(list, "CONTAINER ID") && !strings.Contains(list, c.Name):
			if believe--; believe == 0 {
				return nil
			}
		case strings.Contains(list, c.Name):
			believe = 1
		}
		if time.Now().After(deadline) {
			return errNotRemoved
		}
		select {
		case <-time.After(removePause):
		case <-ctx.Done():
			return errNotRemoved
		}
	}
}

// made says that the program saw the container made.
func (c *contained) made() bool {
	info, err := os.Stat(filepath.Join(c.State, cidFile))
	return err == nil && info.Size() > 0
}

// await returns when the container exists, or when the program pid ended without one.
func (c *contained) await(pid int) error {
	const pause = 5 * time.Millisecond
	for !c.made() {
		if syscall.Kill(pid, 0) != nil {
			if c.made() {
				break
			}
			return errors.New(filepath.Base(c.Program) + " could not make a container")
		}
		<-time.After(pause)
	}
	return nil
}
