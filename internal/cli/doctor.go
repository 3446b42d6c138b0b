package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/config"
)

func (sh *shell) migrateCommand() *cobra.Command {
	settings := &settings{sh: sh, command: "migrate"}
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Bring the database to the schema of this version",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft migrate --database postgres://lineshaft@db/lineshaft", "before the nodes of the new version start"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sh.deps.Migrate == nil {
				return notBuilt("migrate")
			}
			cfg, err := settings.load()
			if err != nil {
				return err
			}
			return sh.deps.Migrate(cmd.Context(), cfg, sh.out)
		},
	}
	settings.bind(cmd.Flags(), []string{"data-dir", "database", "postgres-max-conns"})
	return cmd
}

func (sh *shell) doctorCommand() *cobra.Command {
	settings := &settings{sh: sh, command: "doctor"}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine this machine and these settings",
		Long:  "Examine this machine and these settings: what a server here can run, what holds its agents, and what is missing.\nExit code 1 when something would keep it from working.",
		Args:  needs(0, 0, ""),
		Example: example(
			"lineshaft doctor", "before the first start, or when something is odd",
			"lineshaft doctor -o json", "for a monitor",
		),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sh.deps.Doctor == nil {
				return notBuilt("doctor")
			}
			cfg, err := settings.load()
			if err != nil {
				return err
			}
			checks, err := sh.deps.Doctor(cmd.Context(), cfg)
			if err != nil {
				return fmt.Errorf("examine this machine: %w", err)
			}
			return sh.showChecks(checks)
		},
	}
	settings.bind(cmd.Flags(), nil)
	return cmd
}

// showChecks fails when a check found a problem.
func (sh *shell) showChecks(checks []config.Check) error {
	if !sh.forPeople() {
		if err := documents(sh, map[string]any{"checks": checks}, checks); err != nil {
			return err
		}
	}
	styles := map[config.CheckState]style{config.CheckOK: styleGood, config.CheckWarning: styleWait, config.CheckProblem: styleBad}
	var failed error
	for _, check := range checks {
		if check.State == config.CheckProblem {
			failed = errTold
		}
		if !sh.forPeople() {
			continue
		}
		fmt.Fprintf(sh.out, "%s  %s: %s\n", sh.paint(sh.outWidth, styles[check.State], fmt.Sprintf("%-7s", check.State)), check.Name, oneLine(strings.ReplaceAll(strings.TrimSpace(check.Detail), "\n", "; ")))
		if check.Mend != "" {
			fmt.Fprintf(sh.out, "         %s\n", oneLine(check.Mend))
		}
	}
	return failed
}
