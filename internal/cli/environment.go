package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

// environmentIDLength is how many letters and digits the uid of an environment has.
const environmentIDLength = 22

func (sh *shell) environmentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "environment",
		Aliases: []string{"environments", "env"},
		Short:   "Create, list, change and delete environments",
		Long: "An environment is what is made ready in the workspace before an agent starts: repositories are cloned\n" +
			"and set-up commands are run. Wherever one is asked for, its uid or its name will do.",
		Example: example(
			"lineshaft environment create shop --repo acme/shop --setup-command 'cd shop && npm ci'", "a new one",
			"lineshaft environment list", "what there is",
			"lineshaft environment get shop", "by name or uid; `lineshaft run --environment shop` works in it",
		),
	}
	cmd.AddCommand(sh.environmentListCommand(), sh.environmentGetCommand(), sh.environmentCreateCommand(), sh.environmentUpdateCommand(), sh.environmentDeleteCommand())
	group(cmd)
	return cmd
}

func (sh *shell) environmentListCommand() *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the environments",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft environment list", "newest change first", "lineshaft environment list --sort name -o json", "by name"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			order := by
			switch by {
			case "updated":
				order = "last_updated"
			case "name":
			default:
				return usage(fmt.Sprintf("--sort %q is neither name nor updated", by), "Write --sort name or --sort updated.")
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Environments.List(cmd.Context(), order)
			return listing[client.Environment]{
				key: "environments", none: "no environments; make one: lineshaft environment create NAME",
				head: []string{"UID", "SET-UP", "UPDATED", "NAME", "REPOSITORIES"},
				row: func(e *client.Environment) []cell {
					return []cell{
						plain(oneLine(e.UID)), environmentState(e), plain(sh.when(e.LastUpdated)), plain(oneLine(e.Config.Name)),
						plain(orDash(repositories(e.Config, " "))),
					}
				},
			}.show(sh, list, err)
		},
	}
	cmd.Flags().StringVar(&by, "sort", "updated", "`ORDER`: name or updated")
	completeWords(cmd, "sort", "name", "updated")
	return cmd
}

// environmentState is how the set-up of the newest run went.
func environmentState(e *client.Environment) cell {
	switch {
	case e.SetupFailed:
		return cell{"failed", styleBad}
	case e.LastRun == nil, e.LastRun.StartedAt == nil:
		return plain("-")
	}
	return cell{"ok", styleGood}
}

func repositories(config client.EnvironmentConfig, between string) string {
	var names []string
	for _, r := range config.GithubRepos {
		names = append(names, oneLine(r.Owner+"/"+r.Repo))
	}
	return strings.Join(names, between)
}

func (sh *shell) environmentGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "get ENVIRONMENT",
		Short:   "Show an environment",
		Args:    needs(1, 1, "the name or uid of an environment"),
		Example: example("lineshaft environment get shop", "by name or uid"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, e, err := sh.thisEnvironment(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.showEnvironment(e)
		},
	}
}

func (sh *shell) showEnvironment(e *client.Environment) error {
	if !sh.forPeople() {
		return sh.document(e)
	}
	secrets := make([]string, len(e.Config.Secrets))
	for i, s := range e.Config.Secrets {
		secrets[i] = oneLine(s.Name)
	}
	rows := [][2]string{
		{"Environment", oneLine(e.UID)},
		{"Name", oneLine(e.Config.Name)},
		{"Description", oneLine(e.Config.Description)},
		{"Image", oneLine(e.Config.DockerImage)},
		{"Repositories", repositories(e.Config, ", ")},
		{"Secrets", strings.Join(secrets, ", ")},
		{"Git credentials", oneLine(e.Config.GitCredentials)},
	}
	for i, command := range e.Config.SetupCommands {
		rows = append(rows, [2]string{fmt.Sprintf("Command %d", i+1), oneLine(command)})
	}
	if run := e.LastRun; run != nil {
		rows = append(rows, [2]string{"Newest run", oneLine(run.ID + " " + run.State)})
	}
	state := environmentState(e)
	sh.pairs(append(rows, [2]string{"Set-up", sh.paint(sh.outWidth, state.style, state.text)}, [2]string{"Updated", sh.when(e.LastUpdated)}))
	return nil
}

// thisEnvironment connects and reads the environment that a command is about.
func (sh *shell) thisEnvironment(ctx context.Context, ref string) (*client.Client, *client.Environment, error) {
	c, err := sh.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	uid, err := sh.environmentUID(ctx, c, ref)
	if err != nil {
		return nil, nil, err
	}
	e, err := c.Environments.Get(ctx, uid)
	return c, e, err
}

// environmentUID finds an environment by its uid or its name. What looks like a uid
// is taken as one, without asking.
func (sh *shell) environmentUID(ctx context.Context, c *client.Client, ref string) (string, error) {
	if len(ref) == environmentIDLength && !strings.ContainsFunc(ref, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return ref, nil
	}
	list, err := c.Environments.List(ctx, "name")
	if err != nil {
		return "", err
	}
	var found []client.Environment
	for _, e := range list {
		if strings.EqualFold(e.Config.Name, ref) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0].UID, nil
	case 0:
		return "", &hintError{
			code: exitNotFound, message: fmt.Sprintf("no environment has the name %q", ref),
			hint: didYouMean(ref, namesOf(list, func(e client.Environment) string { return e.Config.Name })) + "`lineshaft environment list` shows the environments.",
		}
	}
	var lines strings.Builder
	for _, e := range found {
		fmt.Fprintf(&lines, "\n  %s  %s", oneLine(e.UID), oneLine(e.Config.Name))
	}
	return "", usage(fmt.Sprintf("%d environments are called %q", len(found), ref), "Give the uid of the one you mean:"+lines.String())
}
