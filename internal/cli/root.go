package cli

import (
	"github.com/spf13/cobra"
)

func (sh *shell) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lineshaft",
		Short: "Run agents from prompts, over HTTP, on your own machines",
		Long: "Lineshaft runs cloud agents on your own machines.\n\n" +
			"`lineshaft serve` starts a server; the other commands talk to one. They find it through\n" +
			"LINESHAFT_URL (default " + defaultURL + ") and authenticate with LINESHAFT_API_KEY; on the\n" +
			"server's own machine the admin key in its data directory is used when none is set.\n\n" +
			"Exit codes: 0 it worked, 1 it failed, 2 the command line is wrong, 3 not found, 4 not allowed.\n" +
			"`lineshaft run --wait` fails when the run does.",
		Example: example(
			"lineshaft serve", "start a server here",
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
	flags := root.PersistentFlags()
	flags.StringVar(&sh.url, "url", "", "`ADDRESS` of the server (default $LINESHAFT_URL, else "+defaultURL+")")
	flags.StringVarP(&sh.format, "output", "o", formatTable, "`FORM` of the output: table, json, ndjson or yaml")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return sh.checkFormat(cmd) }
	root.AddCommand(
		sh.serveCommand(), sh.workerCommand(), sh.runCommand(), sh.runsCommand(), sh.apikeyCommand(),
		sh.factoryCommand(), sh.agentCommand(), sh.automationCommand(), sh.webhookCommand(), sh.scheduleCommand(), sh.secretCommand(),
		sh.environmentCommand(), sh.skillCommand(), sh.reportCommand(),
		sh.migrateCommand(), sh.doctorCommand(), sh.versionCommand(), sh.openapiCommand(), superviseCommand(), forwardCommand(), sh.executeCommand(),
	)
	group(root)
	completeWords(root, "output", formats()...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	addMissingExamples(root)
	return root
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
