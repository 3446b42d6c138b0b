package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// ReportCommand is for agents: they report something about the run that they work on.
func (sh Commands) reportCommand() *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "report",
		Short: "Inside a run: report artifacts, pull requests, plans and messages",
	},
		sh.reportArtifactCommand(),
		sh.reportAddressCommand("pull-request", "pull_request", "Report a pull request", "https://forge.example/acme/shop/pull/7"),
		sh.reportAddressCommand("reference", "reference", "Report another link that the run produced, such as a ticket", "https://tickets.example/OPS-12"),
		sh.reportMessageCommand(), sh.reportNoticeCommand(), sh.reportPlanCommand(),
	)
}

// reporting is a client with the run's own token, and the run.
func (sh Commands) reporting() (*client.Client, string, error) {
	runID := sh.Env["LINESHAFT_RUN_ID"]
	if runID == "" || sh.Env["LINESHAFT_RUN_TOKEN"] == "" {
		return nil, "", shell.Usage("this is not inside a run: LINESHAFT_RUN_ID and LINESHAFT_RUN_TOKEN are not set",
			"`lineshaft report` is for agents; people send messages with `lineshaft runs followup`.")
	}
	address := sh.URL
	if address == "" {
		address = sh.Env["LINESHAFT_API_URL"]
	}
	c, err := sh.ClientFor(address, sh.Env["LINESHAFT_RUN_TOKEN"])
	return c, runID, err
}

// report sends one report and shows the result.
func (sh Commands) report(ctx context.Context, r client.RunReport) error {
	c, runID, err := sh.reporting()
	if err != nil {
		return err
	}
	done, err := c.Runs.Report(ctx, runID, r)
	if err != nil {
		return err
	}
	return sh.reported(done, strings.ReplaceAll(r.Type, "_", " "))
}

func (sh Commands) reported(done *client.RunReported, what string) error {
	return sh.Show(done, func() { fmt.Fprintln(sh.Err, strings.TrimSpace("reported "+what+" "+done.ArtifactUID)) })
}

func (sh Commands) reportArtifactCommand() *cobra.Command {
	var a client.NewArtifact
	cmd := &cobra.Command{
		Use:   "artifact FILE...",
		Short: "Store files as artifacts of the run, at most 100 MB each",
		Args:  shell.Needs(1, -1, "the files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && a.FileName != "" {
				return shell.Usage("--name is for one file", "Leave it out, or report the files one by one.")
			}
			c, runID, err := sh.reporting()
			if err != nil {
				return err
			}
			for _, path := range args {
				if err := sh.reportFile(cmd.Context(), c, runID, path, a); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&a.FileName, "name", "", "`NAME` to store it under (default: the file's name)")
	cmd.Flags().StringVar(&a.Type, "type", "", "`TYPE`: FILE, SCREENSHOT or PLAN (default FILE)")
	cmd.Flags().StringVar(&a.Title, "title", "", "`TITLE` that lists show")
	cmd.Flags().StringVar(&a.Description, "description", "", "`TEXT` that describes it")
	shell.CompleteWords(cmd, "type", "FILE", "SCREENSHOT", "PLAN")
	return cmd
}

func (sh Commands) reportFile(ctx context.Context, c *client.Client, runID, path string, a client.NewArtifact) error {
	file, err := os.Open(path)
	if err != nil {
		return shell.Usage(fmt.Sprintf("%s cannot be read: %v", path, err), "Check the name.")
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return shell.Usage(path+" is a folder", "Pack it first, such as: tar -czf out.tgz "+path)
	}
	if a.FileName == "" {
		a.FileName = filepath.Base(path)
	}
	a.Type = strings.ToUpper(a.Type)
	done, err := c.Runs.ReportArtifact(ctx, runID, a, file)
	if err != nil {
		return err
	}
	return sh.reported(done, "artifact "+a.FileName)
}

func (sh Commands) reportAddressCommand(use, kind, short, address string) *cobra.Command {
	return &cobra.Command{
		Use: use + " URL", Short: short, Args: shell.Needs(1, 1, "its address"),
		Example: shell.Example("lineshaft report "+use+" "+address, "it is listed with the run's artifacts"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sh.report(cmd.Context(), client.RunReport{Type: kind, URL: args[0]})
		},
	}
}

func (sh Commands) reportMessageCommand() *cobra.Command {
	return &cobra.Command{
		Use: "message TEXT", Short: "Add a message to the run's conversation; - reads it from standard input", Args: shell.Needs(1, 1, "the text in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := sh.TextOrStdin(args[0])
			if err != nil {
				return err
			}
			return sh.report(cmd.Context(), client.RunReport{Type: "message", Text: text})
		},
	}
}

func (sh Commands) reportNoticeCommand() *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use: "notice TEXT", Short: "Add a notice to the run's log", Args: shell.Needs(1, 1, "the text in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sh.report(cmd.Context(), client.RunReport{Type: "notice", Text: args[0], Level: level})
		},
	}
	cmd.Flags().StringVar(&level, "level", "info", "`LEVEL`: info, warning or error")
	shell.CompleteWords(cmd, "level", "info", "warning", "error")
	return cmd
}

func (sh Commands) reportPlanCommand() *cobra.Command {
	return &cobra.Command{
		Use: "plan STEP...", Short: "Report the run's plan: all steps, each time it changes; - reads them from standard input", Args: shell.Needs(1, -1, "the steps, each in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "-" {
				text, err := sh.TextOrStdin("-")
				if err != nil {
					return err
				}
				args = strings.Split(text, "\n")
			}
			return sh.report(cmd.Context(), client.RunReport{Type: "plan", Steps: planSteps(args)})
		},
	}
}

// planSteps reads steps as people write lists of things to do.
func planSteps(lines []string) []client.PlanStep {
	var steps []client.PlanStep
	for _, line := range lines {
		text, state := strings.TrimSpace(line), "pending"
		if rest, bullet := strings.CutPrefix(text, "- "); bullet {
			text = strings.TrimSpace(rest)
		}
		for mark, means := range map[string]string{"[x]": "completed", "[X]": "completed", "[~]": "in_progress", "[ ]": "pending"} {
			if rest, marked := strings.CutPrefix(text, mark); marked {
				text, state = strings.TrimSpace(rest), means
				break
			}
		}
		if text != "" {
			steps = append(steps, client.PlanStep{Text: text, State: state})
		}
	}
	return steps
}
