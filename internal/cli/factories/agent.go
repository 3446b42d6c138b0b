package factories

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func (sh Commands) agentCommand() *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:     "agent",
		Aliases: []string{"agents"},
		Short:   "Create, list, change and delete agents: named configurations for runs",
	}, sh.agentListCommand(), sh.agentGetCommand(), sh.agentCreateCommand(), sh.agentUpdateCommand(), sh.agentDeleteCommand())
}

const agentRefs = "an agent by name or uid (`lineshaft agent list` shows them)"

func agentsFlag(cmd *cobra.Command, factory *string, usage string) {
	cmd.Flags().StringVar(factory, "factory", "", usage)
}

func (sh Commands) agentListCommand() *cobra.Command {
	var factory string
	cmd := shell.Listing[client.Agent]{
		Key: "agents", None: "no agents; create one: lineshaft agent create NAME", Head: []string{"UID", "TYPE", "FACTORY", "UPDATED", "NAME"},
		Row: func(a *client.Agent) []shell.Cell {
			return shell.Cells(a.UID, strings.ToLower(shell.OneLine(a.AgentType)), shell.OrDash(a.FactoryUID), sh.When(a.UpdatedAt), a.Name)
		},
	}.Command(sh.Shell, "List the agents that your key may see",
		func(ctx context.Context, c *client.Client) ([]client.Agent, error) { return sh.Agents(ctx, c, factory) },
		"lineshaft agent list", "all of them", "lineshaft agent list --factory shop -o json", "those of one factory")
	agentsFlag(cmd, &factory, "only those of this `FACTORY`, by uid, alias or name")
	return cmd
}

func (sh Commands) thisAgent(ctx context.Context, factory, ref string) (*client.Client, string, error) {
	c, err := sh.Connect(ctx)
	if err != nil {
		return nil, "", err
	}
	uid, err := sh.AgentUID(ctx, c, factory, ref)
	return c, uid, err
}

// agents are those that --factory says, with a sample for an example.
func (sh Commands) agents(factory *string, sample string) shell.Noun[string] {
	return shell.Noun[string]{
		Sh: sh.Shell, Word: "agent", Sample: sample, Refs: agentRefs,
		Open: shell.Finding(sh.Shell, func(ctx context.Context, c *client.Client, ref string) (string, error) {
			return sh.AgentUID(ctx, c, *factory, ref)
		}),
	}
}

func (sh Commands) agentDeleteCommand() *cobra.Command {
	var factory string
	cmd := sh.agents(&factory, "reviewer --factory shop").Each("delete", "deleted", "Delete agents; their runs stay",
		"not the foreman or one that an automation names",
		func(ctx context.Context, c *client.Client, uid string) error { return c.Agents.Delete(ctx, uid) })
	agentsFlag(cmd, &factory, "the `FACTORY` they belong to, if several have agents of that name")
	return cmd
}

func (sh Commands) agentGetCommand() *cobra.Command {
	var factory string
	cmd := sh.agents(&factory, "").Get("Show an agent with its configuration and its prompt",
		func(ctx context.Context, c *client.Client, uid string) error {
			return shell.Shown(sh.showAgent)(c.Agents.Get(ctx, uid))
		},
		"lineshaft agent get reviewer --factory shop", "by name or uid", "lineshaft agent get reviewer -o json", "everything about it")
	agentsFlag(cmd, &factory, "the `FACTORY` it belongs to, if several have an agent of that name")
	return cmd
}

func (sh Commands) showAgent(a *client.Agent) error {
	return sh.Show(a, func() {
		list := [][2]string{
			{"Agent", a.UID}, {"Name", a.Name}, {"Type", strings.ToLower(shell.OneLine(a.AgentType))}, {"Factory", shell.OrDash(a.FactoryUID)},
		}
		var secrets []string
		for _, s := range a.Secrets {
			secrets = append(secrets, s.Name)
		}
		harness := ""
		if a.Harness != nil {
			harness = strings.TrimSpace(a.Harness.Type + " " + a.Harness.ModelID)
		}
		for _, pair := range [][2]string{
			{"Description", a.Description},
			{"Model", a.BaseModel},
			{"Harness", harness},
			{"Environment", a.EnvironmentID},
			{"Runner", a.DefaultRunnerUID},
			{"Host", a.WorkerHost},
			{"Secrets", strings.Join(secrets, ", ")},
			{"Skills", strings.Join(a.Skills, ", ")},
			{"Tools", strings.Join(slices.Sorted(maps.Keys(a.MCPServers)), ", ")},
		} {
			if pair[1] != "" {
				list = append(list, [2]string{pair[0], shell.OneLine(pair[1])})
			}
		}
		sh.Pairs(append(list, [2]string{"Created", sh.When(a.CreatedAt)}, [2]string{"Updated", sh.When(a.UpdatedAt)}))
		if a.Prompt != "" {
			fmt.Fprintf(sh.Out, "\n%s\n", strings.TrimRight(shell.Clean(a.Prompt), "\n"))
		}
	})
}

// agentFlags are what an agent can be given on the command line.
type agentFlags struct {
	factory, promptFile string
	req                 client.AgentRequest
	secrets, skills     []string
}

func (sh Commands) agentCreateCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an agent; its uid goes to standard output",
		Args:  shell.Needs(1, 1, "a name for the agent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := f.request(sh, args[0])
			if err != nil {
				return err
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			if f.factory != "" {
				if req.FactoryUID, err = sh.FactoryUID(cmd.Context(), c, f.factory); err != nil {
					return err
				}
			}
			if err := sh.resolveEnvironment(cmd.Context(), c, &req.EnvironmentID); err != nil {
				return err
			}
			return shell.Shown(func(made *client.Agent) error { return sh.Made(made, made.UID) })(c.Agents.Create(cmd.Context(), req))
		},
	}
	agentsFlag(cmd, &f.factory, "the `FACTORY` it belongs to, by uid, alias or name (default: the whole team)")
	f.add(cmd)
	return cmd
}

// resolveEnvironment puts the uid of an environment in the place of its name; none stays none.
func (sh Commands) resolveEnvironment(ctx context.Context, c *client.Client, ref *string) (err error) {
	if ref != nil && *ref != "" {
		*ref, err = sh.EnvironmentUID(ctx, c, *ref)
	}
	return err
}

func agentTypes() []string {
	return []string{"custom", "foreman", "triage", "spec", "implement", "review", "verify"}
}

func (f *agentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.req.AgentType, "type", "", "`TYPE` of agent: custom, foreman, triage, spec, implement, review or verify")
	flags.StringVar(&f.req.Prompt, "prompt", "", "`TEXT` that comes before the prompts of its runs")
	flags.StringVar(&f.promptFile, "prompt-file", "", "the same from a `FILE`; - is standard input")
	flags.StringVar(&f.req.Description, "description", "", "what it is for, as `TEXT`")
	flags.StringVar(&f.req.BaseModel, "model", "", "`ID` of the language model")
	flags.StringVar(&f.req.EnvironmentID, "environment", "", "`NAME` or uid of the environment of its runs")
	flags.StringVar(&f.req.WorkerHost, "host", "", "`ID` of the worker of its runs (default: the server's own)")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a managed secret that its runs get as a variable; repeatable")
	flags.StringArrayVar(&f.skills, "skill", nil, "`SKILL` of its runs, such as owner/repo:name; repeatable")
	shell.CompleteWords(cmd, "type", agentTypes()...)
}

// check brings the values of flags into the form of the request.
func (f *agentFlags) check(sh Commands) error {
	f.req.AgentType = strings.ToLower(f.req.AgentType)
	if err := shell.OneOf("type", f.req.AgentType, agentTypes()); err != nil {
		return err
	}
	f.req.AgentType = strings.ToUpper(f.req.AgentType)
	if f.promptFile == "" {
		return nil
	}
	if f.req.Prompt != "" {
		return shell.Usage("an agent has one prompt", "Give --prompt TEXT or --prompt-file FILE, not both.")
	}
	var err error
	f.req.Prompt, err = sh.TextFile(f.promptFile)
	return err
}

// lists are the secrets and skills of the flags; an empty one means none.
func (f *agentFlags) lists() ([]client.SecretRef, []string) {
	return append([]client.SecretRef{}, shell.SecretRefs(f.secrets)...), append([]string{}, shell.WithoutEmpty(f.skills)...)
}

func (f *agentFlags) request(sh Commands, name string) (client.AgentRequest, error) {
	err := f.check(sh)
	req := f.req
	req.Name = name
	req.Secrets, req.Skills = f.lists()
	return req, err
}

func (sh Commands) agentUpdateCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "update AGENT",
		Short: "Change an agent: its type, prompt, model, secrets, skills or name",
		Args:  shell.Needs(1, 1, agentRefs),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := f.change(cmd, sh)
			if err != nil {
				return err
			}
			c, uid, err := sh.thisAgent(cmd.Context(), f.factory, args[0])
			if err != nil {
				return err
			}
			if err := sh.resolveEnvironment(cmd.Context(), c, change.EnvironmentID); err != nil {
				return err
			}
			return shell.Shown(sh.showAgent)(c.Agents.Update(cmd.Context(), uid, change))
		},
	}
	agentsFlag(cmd, &f.factory, "the `FACTORY` it belongs to, if several have an agent of that name")
	cmd.Flags().StringVar(&f.req.Name, "name", "", "new `NAME`")
	f.add(cmd)
	return cmd
}

// change is what the flags say about an agent that exists.
func (f *agentFlags) change(cmd *cobra.Command, sh Commands) (client.AgentUpdate, error) {
	var change client.AgentUpdate
	if err := f.check(sh); err != nil {
		return change, err
	}
	for flag, field := range map[string]struct {
		to    **string
		value string
	}{
		"name": {&change.Name, f.req.Name}, "type": {&change.AgentType, f.req.AgentType}, "description": {&change.Description, f.req.Description},
		"prompt": {&change.Prompt, f.req.Prompt}, "prompt-file": {&change.Prompt, f.req.Prompt}, "model": {&change.BaseModel, f.req.BaseModel},
		"environment": {&change.EnvironmentID, f.req.EnvironmentID}, "host": {&change.WorkerHost, f.req.WorkerHost},
	} {
		shell.IfChanged(cmd, flag, field.to, field.value)
	}
	secrets, skills := f.lists()
	shell.IfChanged(cmd, "secret", &change.Secrets, secrets)
	shell.IfChanged(cmd, "skill", &change.Skills, skills)
	if reflect.ValueOf(change).IsZero() {
		return change, shell.Usage("there is nothing to change",
			"Give --prompt, --model, --secret or another flag; see `lineshaft agent update --help`.")
	}
	return change, nil
}
