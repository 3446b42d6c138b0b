package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/cli/contexts"
	"github.com/lineshaft/lineshaft/internal/cli/factories"
	"github.com/lineshaft/lineshaft/internal/cli/runs"
	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/setup"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/cli/team"
)

func (sh program) root(programs server.Programs) *cobra.Command {
	root := &cobra.Command{
		Use:   "lineshaft",
		Short: "Run agents from prompts, over HTTP, on your own machines",
		Long: "Lineshaft runs cloud agents on your own machines.\n\n" +
			"`lineshaft serve` starts a server; the other commands talk to one. They find it through\n" +
			"LINESHAFT_URL (default " + shell.DefaultURL + ") and authenticate with LINESHAFT_API_KEY, or through a\n" +
			"saved context (`lineshaft context`). On the server's own machine, they use the admin key in its data\n" +
			"directory if nothing else is set.\n\n" +
			"Exit codes: 0 it worked, 1 it failed, 2 the command line is wrong, 3 not found, 4 not allowed.\n" +
			"`lineshaft run --wait` fails when the run does.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(sh.In)
	root.SetOut(sh.Out)
	root.SetErr(sh.Err)
	root.SetFlagErrorFunc(shell.FlagError)
	root.Version = aboutBuild().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "show the version of this program") // cobra's own would also take -v
	flags := root.PersistentFlags()
	flags.StringVar(&sh.URL, "url", "", "`ADDRESS` of the server (default $LINESHAFT_URL, else "+shell.DefaultURL+")")
	flags.StringVar(&sh.ContextName, "context", "", "`NAME` of a saved server to use (default $LINESHAFT_CONTEXT, else the current one)")
	flags.StringVarP(&sh.Format, "output", "o", shell.FormatTable, "`FORMAT` of the output: table, json, ndjson or yaml")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return sh.CheckFormat(cmd) }
	ofRuns := runs.Commands{Finder: sh.Finder}
	ofFactories := factories.Commands{Commands: ofRuns}
	root.AddCommand(server.Commands{Shell: sh.Shell, Programs: programs}.All()...)
	root.AddCommand(contexts.Commands{Shell: sh.Shell}.All()...)
	root.AddCommand(ofRuns.All()...)
	root.AddCommand(ofFactories.All()...)
	root.AddCommand(team.Commands{Finder: sh.Finder}.All()...)
	if environment, _, err := root.Find([]string{"environment"}); err == nil {
		environment.AddCommand(ofRuns.PrepareCommand()) // it starts a run
	}
	root.AddCommand(setup.Commands{Commands: ofFactories}.Command(), sh.docsCommand(), sh.versionCommand())
	explain(root)
	shell.Group(root)
	shell.CompleteWords(root, "output", shell.Formats()...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	shell.Adopt(root)
	sh.completeNames(root)
	arrange(root)
	sh.WrapHelp(root)
	return root
}

// arrange puts the commands of the first help into groups; what is in none comes last.
func arrange(root *cobra.Command) {
	for _, g := range []struct {
		id, title string
		commands  []string
	}{
		{"start", "Start here:", []string{"demo", "init", "serve", "run", "runs"}},
		{"factory", "What starts runs, and what they need:", []string{"factory", "agent", "automation", "webhook", "schedule", "environment", "secret", "skill", "notification"}},
		{"server", "Servers and workers:", []string{"worker", "apikey", "audit", "model", "doctor", "migrate", "migrate-database", "backup", "restore"}},
		{"own", "This command:", []string{"context", "whoami", "completion", "docs", "help", "version"}},
		{"agent", "For agents:", []string{"report"}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, sub := range root.Commands() {
			if slices.Contains(g.commands, sub.Name()) {
				sub.GroupID = g.id
			}
		}
	}
}
