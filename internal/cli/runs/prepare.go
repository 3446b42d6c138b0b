package runs

import (
	"github.com/spf13/cobra"

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
			return sh.run(cmd.Context(), []string{prepareOnly}, f)
		},
	}
	f.Attend.Flags(cmd)
	cmd.Flags().StringVar(&f.host, "host", "", "`ID` of the worker to prepare it on (default: the server's own)")
	cmd.Flags().StringVar(&f.agent, "agent", "", "`AGENT` whose runs it is for, by name or uid")
	cmd.Flags().StringVar(&f.factory, "factory", "", "the `FACTORY` of the agent, if several have one of that name")
	return cmd
}
