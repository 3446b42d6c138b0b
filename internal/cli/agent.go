package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) agentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agent",
		Aliases: []string{"agents"},
		Short:   "Create, list, change and delete agents: named configurations that runs go to",
		Long: "Agents are named configurations that runs go to. An agent belongs to a factory, or to the whole team.\n" +
			"Each factory has one foreman, which gets the work that names no other agent.",
		Example: example(
			"lineshaft agent list --factory shop", "who works there",
			`lineshaft agent create reviewer --factory shop --type review --prompt "You review code."`, "a new one",
			"lineshaft agent update reviewer --type foreman --factory shop", "it gets the work that names no agent",
		),
	}
	cmd.AddCommand(sh.agentListCommand(), sh.agentGetCommand(), sh.agentCreateCommand(), sh.agentUpdateCommand(), sh.agentDeleteCommand())
	group(cmd)
	return cmd
}

const agentRefs = "an agent by name or uid (`lineshaft agent list` shows them)"

// agentsFlag is the flag that says whose agents are meant.
func agentsFlag(cmd *cobra.Command, factory *string, usage string) {
	cmd.Flags().StringVar(factory, "factory", "", usage)
}

func (sh *shell) agentListCommand() *cobra.Command {
	var factory string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the agents that your key may see",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft agent list", "all of them", "lineshaft agent list --factory shop -o json", "those of one factory"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			list, err := sh.agents(cmd.Context(), c, factory)
			return listing[client.Agent]{
				key: "agents", none: "no agents; make one: lineshaft agent create NAME",
				head: []string{"UID", "TYPE", "FACTORY", "UPDATED", "NAME"},
				row: func(a *client.Agent) []cell {
					return []cell{
						plain(oneLine(a.UID)), plain(strings.ToLower(oneLine(a.AgentType))), plain(orDash(oneLine(a.FactoryUID))),
						plain(sh.when(a.UpdatedAt)), plain(oneLine(a.Name)),
					}
				},
			}.show(sh, list, err)
		}),
	}
	agentsFlag(cmd, &factory, "only those of this `FACTORY`, by uid, alias or name")
	return cmd
}

// agents reads all agents, or those of a factory.
func (sh *shell) agents(ctx context.Context, c *client.Client, factory string) ([]client.Agent, error) {
	if factory != "" {
		var err error
		if factory, err = sh.factoryUID(ctx, c, factory); err != nil {
			return nil, err
		}
	}
	list, err := c.Agents.List(ctx, factory)
	if list == nil {
		list = []client.Agent{}
	}
	return list, err
}

// agentUID finds an agent by uid or name, among all or those of a factory.
func (sh *shell) agentUID(ctx context.Context, c *client.Client, factory, ref string) (string, error) {
	if looksLikeUID(ref) {
		return ref, nil
	}
	list, err := sh.agents(ctx, c, factory)
	if err != nil {
		return "", err
	}
	var found, lines []string
	for _, a := range list {
		if a.Name == ref {
			found = append(found, a.UID)
			lines = append(lines, oneLine(a.UID+" of factory "+orDash(a.FactoryUID)))
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &hintError{code: exitNotFound, message: fmt.Sprintf("there is no agent named %q", ref), hint: didYouMean(ref, namesOf(list, func(a client.Agent) string { return a.Name })) + "`lineshaft agent list` shows the agents that your key may see."}
	}
	return "", usage(fmt.Sprintf("%d agents are called %q", len(found), ref), "Add --factory, or give the uid of the one you mean:\n"+strings.Join(lines, "\n"))
}

// thisAgent connects and finds the agent that is the argument of a command.
func (sh *shell) thisAgent(ctx context.Context, factory, ref string) (*client.Client, string, error) {
	c, err := sh.connect(ctx)
	if err != nil {
		return nil, "", err
	}
	uid, err := sh.agentUID(ctx, c, factory, ref)
	return c, uid, err
}

func (sh *shell) agentDeleteCommand() *cobra.Command {
	var factory string
	cmd := &cobra.Command{
		Use:     "delete AGENT...",
		Short:   "Delete agents; their runs stay",
		Args:    needs(1, -1, agentRefs),
		Example: example("lineshaft agent delete reviewer --factory shop", "neither the foreman, nor one that an automation names"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			return sh.each(cmd.Context(), args, "deleted", func(ctx context.Context, ref string) error {
				uid, err := sh.agentUID(ctx, c, factory, ref)
				if err != nil {
					return err
				}
				return c.Agents.Delete(ctx, uid)
			})
		}),
	}
	agentsFlag(cmd, &factory, "the `FACTORY` they belong to, where several have that name")
	return cmd
}
