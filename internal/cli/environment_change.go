package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

// environmentFlags are what an environment can be given on the command line.
type environmentFlags struct {
	name, description, image, credentials string
	repos, commands, secrets              []string
}

func (f *environmentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.description, "description", "", "`TEXT` that says what it is for, at most 240 characters")
	flags.StringVar(&f.image, "image", "", "container `IMAGE`, for workers that isolate agents in containers")
	flags.StringArrayVar(&f.repos, "repo", nil, "`OWNER/NAME` of a repository to clone; repeatable")
	flags.StringArrayVar(&f.commands, "setup-command", nil, "shell `COMMAND` to run before the agent starts; repeatable, in this order")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a secret that every run in it gets as a variable; repeatable")
	flags.StringVar(&f.credentials, "git-credentials", "", "`NAME` of the secret to clone with; agents do not get it")
}

// apply writes the flags that were given into a configuration; a list is replaced as
// a whole, and an empty text empties it.
func (f *environmentFlags) apply(cmd *cobra.Command, config *client.EnvironmentConfig) error {
	for flag, field := range map[string]struct {
		to   *string
		from string
	}{
		"name": {&config.Name, f.name}, "description": {&config.Description, f.description}, "image": {&config.DockerImage, f.image},
		"git-credentials": {&config.GitCredentials, f.credentials},
	} {
		if cmd.Flags().Changed(flag) {
			*field.to = field.from
		}
	}
	if cmd.Flags().Changed("repo") {
		config.GithubRepos = nil
		for _, text := range notEmpty(f.repos) {
			at := strings.LastIndexByte(text, '/') // an owner may have several parts
			if at <= 0 || at == len(text)-1 {
				return usage(fmt.Sprintf("--repo %q is no repository", text), "Write --repo owner/name.")
			}
			config.GithubRepos = append(config.GithubRepos, client.Repository{Owner: text[:at], Repo: text[at+1:]})
		}
	}
	if cmd.Flags().Changed("setup-command") {
		config.SetupCommands = notEmpty(f.commands)
	}
	if cmd.Flags().Changed("secret") {
		config.Secrets = nil
		for _, name := range notEmpty(f.secrets) {
			config.Secrets = append(config.Secrets, client.SecretRef{Name: name})
		}
	}
	return nil
}

func notEmpty(list []string) []string {
	var out []string
	for _, text := range list {
		if strings.TrimSpace(text) != "" {
			out = append(out, text)
		}
	}
	return out
}

func (sh *shell) environmentCreateCommand() *cobra.Command {
	var f environmentFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an environment; its uid goes to standard output",
		Args:  needs(1, 1, "a name for the environment"),
		Example: example(
			"lineshaft environment create shop --repo acme/shop --repo acme/tools --git-credentials FORGE_TOKEN", "private repositories",
			"lineshaft environment create shop --repo acme/shop --setup-command 'cd shop && npm ci' --secret NPM_TOKEN", "with what it needs",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			config := client.EnvironmentConfig{Name: args[0]}
			if err := f.apply(cmd, &config); err != nil {
				return err
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			made, err := c.Environments.Create(cmd.Context(), config)
			if err != nil {
				return err
			}
			if !sh.forPeople() {
				return sh.document(made)
			}
			fmt.Fprintln(sh.out, oneLine(made.UID))
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

func (sh *shell) environmentUpdateCommand() *cobra.Command {
	var f environmentFlags
	cmd := &cobra.Command{
		Use:   "update ENVIRONMENT",
		Short: "Change an environment; what is not named stays",
		Long: "Change an environment. What is not named stays. A list is replaced as a whole: name all repositories,\n" +
			"set-up commands or secrets that it shall have, or an empty text for none.",
		Args: needs(1, 1, "the name or uid of an environment"),
		Example: example(
			"lineshaft environment update shop --setup-command 'cd shop && npm ci' --setup-command 'cd shop && npm run build'", "these two and no others",
			`lineshaft environment update shop --git-credentials ""`, "clone without",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().NFlag() == 0 {
				return usage("there is nothing to change", "Give --name, --description, --image, --repo, --setup-command, --secret or --git-credentials.")
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
			changed, err := c.Environments.Update(cmd.Context(), e.UID, e.Config)
			if err != nil {
				return err
			}
			return sh.showEnvironment(changed)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.name, "name", "", "new `NAME`")
	return cmd
}

func (sh *shell) environmentDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "delete ENVIRONMENT...",
		Short:   "Delete environments; one that a live run, factory, agent or automation uses is refused",
		Args:    needs(1, -1, "the name or uid of an environment (`lineshaft environment list` shows them)"),
		Example: example("lineshaft environment delete shop", "by name or uid"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			return sh.each(cmd.Context(), args, "deleted", func(ctx context.Context, ref string) error {
				uid, err := sh.environmentUID(ctx, c, ref)
				if err != nil {
					return err
				}
				return c.Environments.Delete(ctx, uid)
			})
		}),
	}
}
