// Package factories has the commands about factories and what they are made of: agents,
// automations, schedules, webhooks with their deliveries, and definition folders.
package factories

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/runs"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// Commands are those about factories.
type Commands struct{ runs.Commands }

// All are the commands of this room.
func (sh Commands) All() []*cobra.Command {
	return []*cobra.Command{
		sh.factoryCommand(), sh.agentCommand(), sh.automationCommand(), sh.webhookCommand(), sh.scheduleCommand(),
	}
}

func (sh Commands) factoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "factory",
		Aliases: []string{"factories"},
		Short:   "Factories: create, list, change, delete; apply them from a folder",
	}
	cmd.AddCommand(sh.factoryListCommand(), sh.factoryCreateCommand(), sh.factoryGetCommand(), sh.factoryUpdateCommand())
	cmd.AddCommand(sh.factoryDeleteCommand(), sh.factoryRunCommand(), sh.factoryDeliveriesCommand())
	cmd.AddCommand(sh.definitionCommands()...)
	shell.Group(cmd)
	return cmd
}

func (sh Commands) factoryListCommand() *cobra.Command {
	var search string
	cmd := shell.Listing[client.Factory]{
		Key: "factories", None: "no factories; create one: lineshaft factory create NAME", Head: []string{"UID", "ALIAS", "STATE", "UPDATED", "NAME"},
		Row: func(f *client.Factory) []shell.Cell {
			return shell.Cells(f.UID, shell.OrDash(f.Alias), factoryState(f), sh.When(f.UpdatedAt), f.Name)
		},
	}.Command(sh.Shell, "List the factories that your key may see",
		func(ctx context.Context, c *client.Client) ([]client.Factory, error) {
			return shell.Collect(c.Factories.All(ctx, client.FactoryQuery{Search: search, Limit: 100}))
		}, "lineshaft factory list", "all of them", "lineshaft factory list --search shop -o json", "by a part of the name or alias")
	cmd.Flags().StringVar(&search, "search", "", "only those with this `TEXT` in their name or alias, in any case")
	return cmd
}

func factoryState(f *client.Factory) shell.Cell {
	if f.Paused {
		return shell.Styled("paused", shell.StyleWait)
	}
	return shell.Styled("active", shell.StyleGood)
}

func (sh Commands) factoryCreateCommand() *cobra.Command {
	var req client.FactoryRequest
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a factory with a foreman; its uid goes to standard output",
		Args:  shell.Needs(1, 1, "a name for the factory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name = args[0]
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			return shell.Shown(func(made *client.Factory) error { return sh.Made(made, made.UID) })(c.Factories.Create(cmd.Context(), req))
		},
	}
	cmd.Flags().StringVar(&req.Alias, "alias", "", "short unique `NAME`: letters, digits, spaces, '.', '_' and '-'")
	cmd.Flags().StringVar(&req.Description, "description", "", "what it is for, as `TEXT`")
	return cmd
}

func (sh Commands) factoryGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get [FACTORY]",
		Short: "Show a factory",
		Args:  shell.Needs(0, 1, ""),
		RunE: sh.onFactory(func(ctx context.Context, c *client.Client, uid string) error {
			return shell.Shown(sh.showFactory)(c.Factories.Get(ctx, uid))
		}),
	}
}

func (sh Commands) onFactory(do func(ctx context.Context, c *client.Client, uid string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, uid, err := sh.thisFactory(cmd, args)
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, uid)
	}
}

func (sh Commands) thisFactory(cmd *cobra.Command, args []string) (*client.Client, string, error) {
	c, err := sh.Connect(cmd.Context())
	if err != nil {
		return nil, "", err
	}
	uid, err := sh.FindFactory(cmd.Context(), c, strings.Join(args, ""), fmt.Sprintf("Say which: %s UID, alias or name.", cmd.CommandPath()))
	return c, uid, err
}

func (sh Commands) showFactory(f *client.Factory) error {
	return sh.Show(f, func() {
		state := factoryState(f)
		list := [][2]string{
			{"Factory", f.UID},
			{"Name", f.Name},
			{"Alias", f.Alias},
			{"Description", f.Description},
			{"State", state.Text},
			{"Mode", f.Mode},
			{"Foreman", f.ForemanAgent},
			{"Revision", fmt.Sprint(f.Revision)},
			{"Created", sh.When(f.CreatedAt)},
			{"Updated", sh.When(f.UpdatedAt)},
		}
		list = append(list, budgetPairs(f)...)
		sh.Pairs(append(list, sh.repositoryPairs(f.Repository)...), shell.Styled("State", state.Style))
	})
}

// budgetPairs says what a factory may spend in a day, and what it has spent.
func budgetPairs(f *client.Factory) [][2]string {
	var list [][2]string
	if b := f.DailyBudget; b != nil {
		var limits []string
		if b.MaxCostUSD > 0 {
			limits = append(limits, fmt.Sprintf("$%.2f", b.MaxCostUSD))
		}
		if b.MaxTokens > 0 {
			limits = append(limits, shell.Count(int(b.MaxTokens), "token"))
		}
		list = append(list, [2]string{"Daily budget", strings.Join(limits, " and ")})
	}
	if s := f.SpentToday; s != nil && (f.DailyBudget != nil || s.Tokens > 0) {
		list = append(list, [2]string{"Spent today", fmt.Sprintf("$%.2f, %s", s.CostUSD, shell.Count(int(s.Tokens), "token"))})
	}
	return list
}

func (sh Commands) factoryUpdateCommand() *cobra.Command {
	var name, alias, description string
	var pause, resume bool
	var budget client.Budget
	cmd := &cobra.Command{
		Use:   "update [FACTORY]",
		Short: "Change the name, alias or description of a factory, pause it or set its budget",
		Args:  shell.Needs(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			var change client.FactoryUpdate
			shell.IfChanged(cmd, "name", &change.Name, name)
			shell.IfChanged(cmd, "alias", &change.Alias, alias)
			shell.IfChanged(cmd, "description", &change.Description, description)
			if shell.AnyChanged(cmd, "daily-cost", "daily-tokens") {
				change.DailyBudget = &budget
			}
			switch {
			case budget.MaxTokens < 0 || budget.MaxCostUSD < 0:
				return shell.Usage("a budget cannot be negative", "Give 0 to remove it.")
			case pause && resume:
				return shell.Usage("--pause and --resume cannot be used together", "Give one of them.")
			case pause, resume:
				change.Paused = &pause
			case change == client.FactoryUpdate{}:
				return shell.Usage("there is nothing to change",
					"Give --name, --alias, --description, --pause, --resume, --daily-cost or --daily-tokens.")
			}
			c, uid, err := sh.thisFactory(cmd, args)
			if err != nil {
				return err
			}
			return shell.Shown(sh.showFactory)(c.Factories.Update(cmd.Context(), uid, change))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "new `NAME`")
	flags.StringVar(&alias, "alias", "", "new short unique `NAME`; empty removes it")
	flags.StringVar(&description, "description", "", "new `TEXT`; empty removes it")
	flags.BoolVar(&pause, "pause", false, "stop its automations from starting runs")
	flags.BoolVar(&resume, "resume", false, "let them start runs again")
	flags.Float64Var(&budget.MaxCostUSD, "daily-cost", 0, "start no more runs once this many `DOLLARS` are spent in a UTC day; 0 removes the budget")
	flags.Int64Var(&budget.MaxTokens, "daily-tokens", 0, "the same for this `NUMBER` of tokens; both together are one budget")
	return cmd
}

func (sh Commands) factoryDeleteCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete FACTORY...",
		Short: "Delete factories with their automations and webhooks; their runs stay",
		Args:  shell.Needs(1, -1, "a factory (`lineshaft factory list` shows them)"),
		RunE: sh.WithClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if !yes && sh.Asks() {
				what := strings.Join(args, ", ") + " with all automations and webhooks? Webhook secrets cannot be recovered."
				if err := sh.Confirm(cmd.Context(), "Delete "+what); err != nil {
					return err
				}
			}
			return sh.Each(cmd.Context(), args, "deleted", func(ctx context.Context, ref string) error {
				uid, err := sh.FactoryUID(ctx, c, ref)
				if err != nil {
					return err
				}
				return c.Factories.Delete(ctx, uid)
			})
		}),
	}
	shell.YesFlag(cmd, &yes)
	return cmd
}

func factoryFlag(cmd *cobra.Command, ref *string) {
	cmd.PersistentFlags().StringVar(ref, "factory", "", "`FACTORY` by uid, alias or name (default: the only one)")
}

func (sh Commands) factoryRunCommand() *cobra.Command {
	var a runs.Attend
	var req client.FactoryRunRequest
	cmd := &cobra.Command{
		Use:   "run FACTORY PROMPT",
		Short: "Give work to the foreman of a factory; the id of the run goes to standard output",
		Args:  shell.Needs(2, 2, "a factory and a prompt in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := sh.TextOrStdin(args[1])
			if err != nil {
				return err
			}
			req.Prompt = prompt
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			uid, err := sh.FactoryUID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return sh.dispatch(cmd.Context(), c, uid, req, a)
		},
	}
	a.Flags(cmd)
	cmd.Flags().StringVar(&req.Title, "title", "", "`TITLE` (default: made from the prompt)")
	cmd.Flags().StringVar(&req.TicketRef, "ticket", "", "ticket it is for, as `SOURCE:ID` (default: one is made)")
	cmd.Flags().StringVar(&req.TicketURL, "ticket-url", "", "`ADDRESS` of the ticket")
	return cmd
}

func (sh Commands) dispatch(ctx context.Context, c *client.Client, factoryUID string, req client.FactoryRunRequest, a runs.Attend) error {
	done, err := c.Factories.Run(ctx, factoryUID, req)
	if err != nil {
		return err
	}
	if !sh.ForPeople() && !a.Wait && !a.Follow {
		return sh.Document(done)
	}
	return sh.Started(ctx, c, &client.RunStarted{RunID: done.RunID, State: done.State}, a)
}
