package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) factoryRunCommand() *cobra.Command {
	var a attend
	var req client.FactoryRunRequest
	cmd := &cobra.Command{
		Use:   "run FACTORY PROMPT",
		Short: "Give work to the foreman of a factory; the id of the run goes to standard output",
		Long: "Give work to the foreman of a factory; `-` reads the prompt from standard input. A paused factory takes\n" +
			"it too: the pause is for automations.",
		Args: needs(2, 2, "a factory and a prompt in quotes"),
		Example: example(
			`lineshaft factory run shop "Mend the checkout page" --follow`, "watch it work",
			`lineshaft factory run shop - --ticket jira:SHOP-42 < ticket.md`, "for a ticket, which runs are found by",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := sh.textOrStdin(args[1])
			if err != nil {
				return err
			}
			req.Prompt = prompt
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			uid, err := sh.factoryUID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return sh.dispatch(cmd.Context(), c, uid, req, a)
		},
	}
	a.flags(cmd)
	cmd.Flags().StringVar(&req.Title, "title", "", "`TITLE` (default: made from the prompt)")
	cmd.Flags().StringVar(&req.TicketRef, "ticket", "", "what it is for, as `SOURCE:ID` (default: one is made)")
	cmd.Flags().StringVar(&req.TicketURL, "ticket-url", "", "`ADDRESS` of the ticket")
	return cmd
}

func (sh *shell) dispatch(ctx context.Context, c *client.Client, factoryUID string, req client.FactoryRunRequest, a attend) error {
	done, err := c.Factories.Run(ctx, factoryUID, req)
	if err != nil {
		return err
	}
	if !sh.forPeople() && !a.wait && !a.follow {
		return sh.document(done)
	}
	return sh.started(ctx, c, &client.RunStarted{RunID: done.RunID, State: done.State}, a)
}
