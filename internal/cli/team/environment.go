package team

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const environmentRefs = "the name or uid of an environment"

func (sh Commands) environmentCommand() *cobra.Command {
	of := shell.Noun[string]{
		Sh: sh.Shell, Word: "environment", Sample: "shop", Open: shell.Finding(sh.Shell, sh.EnvironmentUID), Refs: environmentRefs,
	}
	several := of
	several.Refs += " (`lineshaft environment list` shows them)"
	return shell.Group(&cobra.Command{
		Use:     "environment",
		Aliases: []string{"environments", "env"},
		Short:   "Create, list, change and delete environments",
	},
		sh.environmentListCommand(), sh.environmentCreateCommand(), sh.environmentUpdateCommand(),
		of.Get("Show an environment", func(ctx context.Context, c *client.Client, uid string) error {
			return shell.Shown(sh.showEnvironment)(c.Environments.Get(ctx, uid))
		}, "lineshaft environment get shop", "by name or uid"),
		several.Each("delete", "deleted", "Delete environments, unless a live run, factory, agent or automation uses them", "by name or uid",
			func(ctx context.Context, c *client.Client, uid string) error { return c.Environments.Delete(ctx, uid) }),
	)
}

func (sh Commands) environmentListCommand() *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the environments",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			order := by
			switch by {
			case "updated":
				order = "last_updated"
			case "name":
			default:
				return shell.Usage(fmt.Sprintf("--sort %q is neither name nor updated", by), "Write --sort name or --sort updated.")
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Environments.List(cmd.Context(), order)
			return shell.Listing[client.Environment]{
				Key: "environments", None: "no environments; create one: lineshaft environment create NAME",
				Head: []string{"UID", "SET-UP", "UPDATED", "NAME", "REPOSITORIES"},
				Row: func(e *client.Environment) []shell.Cell {
					return shell.Cells(e.UID, environmentState(e), sh.When(e.LastUpdated), e.Config.Name, shell.OrDash(repositories(e.Config, " ")))
				},
			}.Show(sh.Shell, list, err)
		},
	}
	cmd.Flags().StringVar(&by, "sort", "updated", "`ORDER`: name or updated")
	shell.CompleteWords(cmd, "sort", "name", "updated")
	return cmd
}

// environmentState is how the set-up of the newest run went.
func environmentState(e *client.Environment) shell.Cell {
	switch {
	case e.SetupFailed:
		return shell.Styled("failed", shell.StyleBad)
	case e.LastRun == nil, e.LastRun.StartedAt == nil:
		return shell.Cell{Text: "-"}
	}
	return shell.Styled("ok", shell.StyleGood)
}

func repositories(config client.EnvironmentConfig, between string) string {
	var names []string
	for _, r := range config.GithubRepos {
		names = append(names, shell.OneLine(r.Owner+"/"+r.Repo))
	}
	return strings.Join(names, between)
}

func (sh Commands) showEnvironment(e *client.Environment) error {
	return sh.Show(e, func() {
		secrets := make([]string, len(e.Config.Secrets))
		for i, s := range e.Config.Secrets {
			secrets[i] = shell.OneLine(s.Name)
		}
		rows := [][2]string{
			{"Environment", e.UID},
			{"Name", e.Config.Name},
			{"Description", e.Config.Description},
			{"Image", e.Config.DockerImage},
			{"Repositories", repositories(e.Config, ", ")},
			{"Secrets", strings.Join(secrets, ", ")},
			{"Git credentials", e.Config.GitCredentials},
		}
		for i, command := range e.Config.SetupCommands {
			rows = append(rows, [2]string{fmt.Sprintf("Command %d", i+1), command})
		}
		for i, command := range e.Config.RefreshCommands {
			rows = append(rows, [2]string{fmt.Sprintf("Refresh %d", i+1), command})
		}
		if run := e.LastRun; run != nil {
			rows = append(rows, [2]string{"Newest run", run.ID + " " + run.State})
		}
		state := environmentState(e)
		rows = append(rows, [2]string{"Set-up", state.Text}, [2]string{"Updated", sh.When(e.LastUpdated)})
		sh.Pairs(rows, shell.Styled("Set-up", state.Style))
	})
}

// thisEnvironment connects and reads the environment that a command is about.
func (sh Commands) thisEnvironment(ctx context.Context, ref string) (*client.Client, *client.Environment, error) {
	c, err := sh.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	uid, err := sh.EnvironmentUID(ctx, c, ref)
	if err != nil {
		return nil, nil, err
	}
	e, err := c.Environments.Get(ctx, uid)
	return c, e, err
}

// environmentFlags are what an environment can be given on the command line.
type environmentFlags struct {
	name, description, image, credentials string
	repos, commands, refresh, secrets     []string
}

func (f *environmentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.description, "description", "", "`TEXT` that says what it is for, at most 240 characters")
	flags.StringVar(&f.image, "image", "", "container `IMAGE`, for workers that isolate agents in containers")
	flags.StringArrayVar(&f.repos, "repo", nil, "`OWNER/NAME` of a repository to clone; repeatable")
	flags.StringArrayVar(&f.commands, "setup-command", nil, "shell `COMMAND` to run before the agent starts; repeatable, in this order")
	flags.StringArrayVar(&f.refresh, "refresh-command", nil,
		"shell `COMMAND` to run instead if the workspace was prepared for an older commit; repeatable (default: the set-up commands)")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a secret that every run in it gets as a variable; repeatable")
	flags.StringVar(&f.credentials, "git-credentials", "", "`NAME` of the secret to clone with; agents do not get it")
}

// apply writes the given flags into a configuration; a list is replaced as
// a whole, and an empty text empties it.
func (f *environmentFlags) apply(cmd *cobra.Command, config *client.EnvironmentConfig) error {
	shell.SetTexts(cmd, map[string]struct{ To, From *string }{
		"name": {&config.Name, &f.name}, "description": {&config.Description, &f.description}, "image": {&config.DockerImage, &f.image},
		"git-credentials": {&config.GitCredentials, &f.credentials},
	})
	if cmd.Flags().Changed("repo") {
		config.GithubRepos = nil
		for _, text := range notEmpty(f.repos) {
			at := strings.LastIndexByte(text, '/') // an owner may have several parts
			if at <= 0 || at == len(text)-1 {
				return shell.Usage(fmt.Sprintf("--repo %q is not a repository", text), "Write --repo owner/name.")
			}
			config.GithubRepos = append(config.GithubRepos, client.Repository{Owner: text[:at], Repo: text[at+1:]})
		}
	}
	if cmd.Flags().Changed("setup-command") {
		config.SetupCommands = notEmpty(f.commands)
	}
	if cmd.Flags().Changed("refresh-command") {
		config.RefreshCommands = notEmpty(f.refresh)
	}
	if cmd.Flags().Changed("secret") {
		config.Secrets = shell.SecretRefs(notEmpty(f.secrets))
	}
	return nil
}

func notEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return strings.TrimSpace(text) == "" })
}

func (sh Commands) environmentCreateCommand() *cobra.Command {
	var f environmentFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an environment; its uid goes to standard output",
		Args:  shell.Needs(1, 1, "a name for the environment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			config := client.EnvironmentConfig{Name: args[0]}
			if err := f.apply(cmd, &config); err != nil {
				return err
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			return shell.Shown(func(made *client.Environment) error { return sh.Made(made, made.UID) })(c.Environments.Create(cmd.Context(), config))
		},
	}
	f.add(cmd)
	return cmd
}

func (sh Commands) environmentUpdateCommand() *cobra.Command {
	var f environmentFlags
	cmd := &cobra.Command{
		Use:   "update ENVIRONMENT",
		Short: "Change an environment; settings that you do not give stay",
		Args:  shell.Needs(1, 1, environmentRefs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().NFlag() == 0 {
				return shell.Usage("there is nothing to change",
					"Give --name, --description, --image, --repo, --setup-command, --secret or --git-credentials.")
			}
			if err := f.apply(cmd, &client.EnvironmentConfig{}); err != nil { // before anything is asked of the server
				return err
			}
			c, e, err := sh.thisEnvironment(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := f.apply(cmd, &e.Config); err != nil {
				return err
			}
			return shell.Shown(sh.showEnvironment)(c.Environments.Update(cmd.Context(), e.UID, e.Config))
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.name, "name", "", "new `NAME`")
	return cmd
}
