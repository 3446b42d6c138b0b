package cli

import (
	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/config"
)

// executeCommand is what runs in the pods of isolation kubernetes: first with --install
// in a container of our image, then in the one that the agent runs in.
func (sh *shell) executeCommand() *cobra.Command {
	var install bool
	var root string
	cmd := &cobra.Command{
		Use: "execute", Hidden: true, Short: "The worker of one execution in a pod; launchers start it",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft execute --install", "in the pod's first container", "lineshaft execute", "in the agent's container"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sh.deps.Install == nil || sh.deps.Execute == nil {
				return notBuilt("execute")
			}
			if install {
				return sh.deps.Install(root)
			}
			return sh.deps.Execute(cmd.Context(), root, sh.logger(config.Default()))
		},
	}
	cmd.Flags().BoolVar(&install, "install", false, "put this program and the job where the other container finds them")
	cmd.Flags().StringVar(&root, "root", "/lineshaft", "`FOLDER` that the volumes of the pod are in")
	return cmd
}
