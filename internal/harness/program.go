package harness

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// ErrStarved is returned when the supervisor of an agent ended it because the
// worker could not renew the lease in time.
var ErrStarved = errors.New("agent was ended because the lease was not renewed")

// Run starts a program, and returns when it and everything it started is gone.
// Its output goes to the two writers of an Output. The error is the
// platform's fault or, as *lineshaft.Error, the caller's.
func (e Environment) Run(ctx context.Context, program Program) (sandbox.Exit, error) {
	process, err := e.Start(ctx, program)
	if err != nil {
		return sandbox.Exit{}, StartError(program, err)
	}
	exit, err := process.Wait()
	switch {
	case err != nil:
		return exit, fmt.Errorf("run agent: %w", err)
	case exit.Reason == sandbox.ReasonStarved:
		return exit, ErrStarved
	}
	return exit, nil
}

// StartError makes what the caller can change into an error for the caller.
func StartError(program Program, err error) error {
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return &lineshaft.Error{
			Code: lineshaft.CodeAgentProcessFailed, Cause: err,
			Message: fmt.Sprintf("%q was not found in the sandbox; install it on the worker or give its full path%s", program.Command[0], Elsewhere(program.Command[0])),
		}
	case errors.Is(err, sandbox.ErrUnsupported):
		return &lineshaft.Error{
			Code: lineshaft.CodeFeatureNotAvailable, Cause: err,
			Message: "the isolation of this worker cannot do what the run asks for; see the log of the worker",
		}
	}
	return fmt.Errorf("start agent: %w", err)
}

// Elsewhere says where this machine has a program that agents do not find; empty
// when it has none, or the caller gave a path.
func Elsewhere(program string) string {
	if strings.Contains(program, "/") {
		return ""
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; this machine has %s at %s, which agents do not see: install it in /usr/local or /opt, or name its folder with --agent-path", program, found)
}

// Describe says how a program ended that failed.
func Describe(what string, exit sandbox.Exit) string {
	switch {
	case exit.Reason == sandbox.ReasonMemory:
		return what + " used more memory than this worker allows"
	case exit.Reason == sandbox.ReasonProcesses:
		return what + " started more processes than this worker allows"
	case exit.Reason == sandbox.ReasonDisk:
		return what + " took more disk space than this worker allows"
	case exit.Signal != "":
		return fmt.Sprintf("%s was ended by %s", what, exit.Signal)
	}
	return fmt.Sprintf("%s exited with code %d", what, exit.Code)
}

// Good says that a program ended on its own and without an error.
func Good(exit sandbox.Exit) bool { return exit.Code == 0 && exit.Reason == sandbox.ReasonExited }
