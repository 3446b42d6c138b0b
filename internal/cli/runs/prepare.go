package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// prepareOnly is a prompt for the shell harness that does nothing.
const prepareOnly = "Prepare the environment, and nothing else.\n```sh\ntrue\n```"

// PrepareCommand is `lineshaft environment prepare`: a run that ends when its environment
// is ready. It belongs below the commands of environments.
func (sh Commands) PrepareCommand() *cobra.Command {
	f := runFlags{harness: "shell"}
	cmd := &cobra.Command{
		Use:   "prepare NAME",
		Short: "Prepare an environment, so that the next run in it starts in a second",
		Args:  shell.Needs(1, 1, "the name or uid of an environment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.environment, f.title = args[0], "Prepare "+args[0]
			return sh.prepare(cmd.Context(), f)
		},
	}
	f.Attend.Flags(cmd)
	cmd.Flags().StringVar(&f.host, "host", "", "`ID` of the worker to prepare it on (default: the server's own)")
	cmd.Flags().StringVar(&f.agent, "agent", "", "`AGENT` whose runs it is for, by name or uid")
	cmd.Flags().StringVar(&f.factory, "factory", "", "the `FACTORY` of the agent, if several have one of that name")
	return cmd
}

func (sh Commands) prepare(ctx context.Context, f runFlags) error {
	c, started, err := sh.start(ctx, []string{prepareOnly}, f)
	if err != nil {
		return err
	}
	err = sh.Started(ctx, c, started, f.Attend)
	switch {
	case !f.Wait && !f.Follow || ctx.Err() != nil:
	case err == nil:
		sh.tellPrepared(ctx, c, started.RunID, f.environment)
	case errors.Is(err, shell.ErrTold) && !f.Follow:
		fmt.Fprintln(sh.Err, "-- what its commands have printed: lineshaft runs logs "+shell.OneLine(started.RunID))
	}
	return err
}

// tellPrepared says what later runs start on, or why on nothing: the run succeeds in both cases.
func (sh Commands) tellPrepared(ctx context.Context, c *client.Client, runID, environment string) {
	var last client.EnvironmentStep
	for event, err := range c.Runs.AllEvents(ctx, runID, client.EventQuery{Limit: 5000}) {
		if err != nil {
			return // how the run has ended is known
		}
		var d client.NoticeData
		if event.Type == client.EventNotice && event.Decode(&d) == nil && d.Environment != nil {
			switch d.Environment.Step {
			case "warm", "newer", "cold", "kept", "unkept":
				last = *d.Environment
			}
		}
	}
	var text string
	style := shell.StyleWait
	layer := fmt.Sprintf("layer %s on worker %s", shell.OneLine(last.Layer), shell.OneLine(last.Worker))
	switch last.Step {
	case "kept":
		text, style = "later runs start on "+layer, shell.StyleDim
	case "warm":
		text, style = "it was prepared before: "+layer+"; to prepare it again, change the environment, if only its description", shell.StyleDim
	case "unkept":
		text = "it is not kept for later runs: " + shell.OneLine(last.Reason)
	case "":
		text = "nothing was prepared; repositories or set-up commands are missing: lineshaft environment update " +
			shell.ShellWord(shell.OneLine(environment)) + " --help"
	default: // it takes longer than the run has waited, or this worker keeps nothing
		text = "its log does not say that it is kept for later runs"
		if last.Reason != "" {
			text += ", and it started cold: " + shell.OneLine(last.Reason)
		}
		text += "; `lineshaft doctor`, run where the worker is, says what that needs"
	}
	fmt.Fprintln(sh.Err, sh.Paint(sh.ErrWidth, style, "-- "+text))
}
