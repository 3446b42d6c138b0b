package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

func (sh *shell) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lineshaft",
		Short: "Run agents from prompts, over HTTP, on your own machines",
		Long: "Lineshaft runs cloud agents on your own machines.\n\n" +
			"`lineshaft serve` starts a server; the other commands talk to one. They find it through\n" +
			"LINESHAFT_URL (default " + defaultURL + ") and authenticate with LINESHAFT_API_KEY, or through a\n" +
			"saved context (`lineshaft context`); on the server's own machine the admin key in its data\n" +
			"directory is used when nothing else is set.\n\n" +
			"Exit codes: 0 it worked, 1 it failed, 2 the command line is wrong, 3 not found, 4 not allowed.\n" +
			"`lineshaft run --wait` fails when the run does.",
		Example: example(
			"lineshaft serve", "start a server here",
			"lineshaft init", "from nothing to a run that a webhook started",
			`lineshaft run "Fix the failing test" --follow`, "start a run and watch it",
			"lineshaft runs list --state failed", "what went wrong lately",
		),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(sh.in)
	root.SetOut(sh.out)
	root.SetErr(sh.err)
	root.SetFlagErrorFunc(flagError)
	root.Version = aboutBuild().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "show the version of this program") // cobra's own would take -v, too
	flags := root.PersistentFlags()
	flags.StringVar(&sh.url, "url", "", "`ADDRESS` of the server (default $LINESHAFT_URL, else "+defaultURL+")")
	flags.StringVar(&sh.contextName, "context", "", "`NAME` of a saved server to use (default $LINESHAFT_CONTEXT, else the current one)")
	flags.StringVarP(&sh.format, "output", "o", formatTable, "`FORM` of the output: table, json, ndjson or yaml")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return sh.checkFormat(cmd) }
	root.AddCommand(
		sh.serveCommand(), sh.workerCommand(), sh.runCommand(), sh.runsCommand(), sh.apikeyCommand(),
		sh.factoryCommand(), sh.agentCommand(), sh.automationCommand(), sh.webhookCommand(), sh.scheduleCommand(), sh.secretCommand(),
		sh.environmentCommand(), sh.skillCommand(), sh.reportCommand(), sh.contextCommand(), sh.whoamiCommand(), sh.initCommand(), sh.auditCommand(), sh.modelCommand(), sh.docsCommand(),
		sh.notificationCommand(), sh.backupCommand(), sh.restoreCommand(), sh.migrateDatabaseCommand(),
		sh.migrateCommand(), sh.doctorCommand(), sh.versionCommand(), sh.openapiCommand(), superviseCommand(), forwardCommand(), sh.executeCommand(),
	)
	group(root)
	completeWords(root, "output", formats()...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	adopt(root)
	sh.completeNames(root)
	arrange(root)
	sh.wrapHelp(root)
	return root
}

// arrange puts the commands of the first help into groups; what is in none comes last.
func arrange(root *cobra.Command) {
	for _, g := range []struct {
		id, title string
		commands  []string
	}{
		{"start", "Start here:", []string{"init", "serve", "run", "runs"}},
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

// superviseCommand only says that the word is taken; Main has dispatched the real
// one long before.
func superviseCommand() *cobra.Command {
	return &cobra.Command{
		Use: "supervise", Hidden: true, Short: "The process beside each agent; workers start it",
		Example: example("lineshaft supervise", "only says that workers start it"),
		RunE: func(*cobra.Command, []string) error {
			return usage("workers start `supervise` themselves", "Start a server with its worker: lineshaft serve")
		},
	}
}

// forwardCommand only says that the word is taken, too.
func forwardCommand() *cobra.Command {
	return &cobra.Command{
		Use: "forward", Hidden: true, Short: "What an agent without a network is started through; workers start it",
		Example: example("lineshaft forward", "only says that workers start it"),
		RunE: func(*cobra.Command, []string) error {
			return usage("workers start `forward` themselves", "Start a server with its worker: lineshaft serve")
		},
	}
}
