package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

func (sh Commands) migrateCommand() *cobra.Command {
	settings := &settings{sh: sh.Shell, command: "migrate"}
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database to the schema of this version",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sh.Migrate == nil {
				return notBuilt("migrate")
			}
			cfg, err := settings.load()
			if err != nil {
				return err
			}
			return sh.Migrate(cmd.Context(), cfg, sh.Out)
		},
	}
	settings.bind(cmd.Flags(), []string{"data-dir", "database", "postgres-max-conns"})
	return cmd
}

func (sh Commands) doctorCommand() *cobra.Command {
	settings := &settings{sh: sh.Shell, command: "doctor"}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and these settings",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sh.Doctor == nil {
				return notBuilt("doctor")
			}
			cfg, err := settings.load()
			if err != nil {
				return err
			}
			checks, err := sh.Doctor(cmd.Context(), cfg)
			if err != nil {
				return fmt.Errorf("check this machine: %w", err)
			}
			return sh.showChecks(checks)
		},
	}
	settings.bind(cmd.Flags(), nil)
	return cmd
}

// showChecks fails when a check found a problem.
func (sh Commands) showChecks(checks []config.Check) error {
	if !sh.ForPeople() {
		if err := shell.Documents(sh.Shell, map[string]any{"checks": checks}, checks); err != nil {
			return err
		}
	}
	styles := map[config.CheckState]shell.Style{config.CheckOK: shell.StyleGood, config.CheckWarning: shell.StyleWait, config.CheckProblem: shell.StyleBad}
	var failed error
	for _, check := range checks {
		if check.State == config.CheckProblem {
			failed = shell.ErrTold
		}
		if !sh.ForPeople() {
			continue
		}
		fmt.Fprintf(sh.Out, "%s  %s: %s\n", sh.Paint(sh.OutWidth, styles[check.State], fmt.Sprintf("%-7s", check.State)), check.Name, shell.OneLine(strings.ReplaceAll(strings.TrimSpace(check.Detail), "\n", "; ")))
		if check.Fix != "" {
			fmt.Fprintf(sh.Out, "         %s\n", shell.OneLine(check.Fix))
		}
	}
	return failed
}

// databaseSettings are what these commands need to know of a server.
var databaseSettings = []string{"data-dir", "database"}

func (sh Commands) backupCommand() *cobra.Command {
	settings := &settings{sh: sh.Shell}
	var force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write everything in the database to a file, while the server runs",
		Args:  shell.Needs(1, 1, "the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := settings.load()
			if err != nil {
				return err
			}
			if _, err := os.Lstat(args[0]); !force && !errors.Is(err, fs.ErrNotExist) {
				return shell.Usage(fmt.Sprintf("%s already exists", args[0]), "Choose another file, or replace it with --force.")
			}
			return sh.copyRows(cmd.Context(), args[0], func(ctx context.Context, progress app.Progress) (app.Copied, error) {
				return sh.Backup(ctx, cfg, args[0], progress)
			})
		},
	}
	settings.bind(cmd.Flags(), databaseSettings)
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

func (sh Commands) restoreCommand() *cobra.Command {
	settings := &settings{sh: sh.Shell}
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Fill a new database from a backup, all or nothing",
		Args:  shell.Needs(1, 1, "the file to read"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := settings.load()
			if err != nil {
				return err
			}
			err = sh.copyRows(cmd.Context(), cfg.DatabaseShown(), func(ctx context.Context, progress app.Progress) (app.Copied, error) {
				return sh.Restore(ctx, cfg, args[0], progress)
			})
			if err != nil || !sh.ForPeople() {
				return err
			}
			fmt.Fprintf(sh.Err, "-- the master key is not in a backup: before you start the server, copy the old server's key to %s,\n"+
				"-- or set it as you did on the old one. Existing API keys keep working.\n", cfg.MasterKeyFileOrDefault())
			return nil
		},
	}
	settings.bind(cmd.Flags(), databaseSettings)
	return cmd
}

func (sh Commands) migrateDatabaseCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "migrate-database",
		Short: "Copy a database into a new one on the other engine, and count the rows",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" {
				return shell.Usage("both databases are required",
					"Run: lineshaft migrate-database --from lineshaft-data/lineshaft.db --to postgres://user@host/name")
			}
			return sh.copyRows(cmd.Context(), config.Config{Database: to}.DatabaseShown(), func(ctx context.Context, progress app.Progress) (app.Copied, error) {
				return sh.MoveDatabase(ctx, from, to, progress)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`DATABASE` to read: a path or a postgres:// URL")
	cmd.Flags().StringVar(&to, "to", "", "`DATABASE` to fill, which must be new")
	return cmd
}

// copyRows shows each table on a terminal while it is copied, and the sum at the end.
func (sh Commands) copyRows(ctx context.Context, to string, run func(context.Context, app.Progress) (app.Copied, error)) error {
	if sh.Backup == nil {
		return notBuilt("backup")
	}
	found, err := run(ctx, func(table string, rows int64) {
		if sh.ErrWidth > 0 && rows > 0 {
			fmt.Fprintf(sh.Err, "%12d  %s\n", rows, table)
		}
	})
	if err != nil {
		return err
	}
	if !sh.ForPeople() {
		return shell.Documents(sh.Shell, copiedRows{to, found.Schema, found.Tables, found.Rows, found.Outside}, []copiedRows{{to, found.Schema, found.Tables, found.Rows, found.Outside}})
	}
	fmt.Fprintf(sh.Out, "%d rows of %d tables (schema version %d) are in %s\n", found.Rows, found.Tables, found.Schema, to)
	if found.Outside > 0 {
		fmt.Fprintf(sh.Err, "%d files are kept outside of the database: also copy their directory or bucket\n", found.Outside)
	}
	return nil
}

// copiedRows is the sum for programs.
type copiedRows struct {
	To      string `json:"to"`
	Schema  int    `json:"schema"`
	Tables  int    `json:"tables"`
	Rows    int64  `json:"rows"`
	Outside int64  `json:"files_outside"`
}
