package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/internal/config"
)

const serveHelp = "Start a server, with a worker that executes runs unless --no-worker is given.\n\n" +
	"Settings come from flags, then LINESHAFT_* variables, then a file given with --config, whose\n" +
	"keys are the flags with _ for -. The first start makes an admin key and stores it in the data\n" +
	"directory, where the commands on this machine find it."

func (sh *shell) serveCommand() *cobra.Command {
	settings := &settings{sh: sh}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start a server",
		Long:  serveHelp,
		Args:  needs(0, 0, ""),
		Example: example(
			"lineshaft serve", "on "+config.Default().Listen+", data in ./lineshaft-data",
			"lineshaft serve --listen :8484 --tls-cert c.pem --tls-key k.pem", "for other machines",
			"lineshaft serve --database postgres://lineshaft@db/lineshaft", "many nodes, one database",
		),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sh.deps.Serve == nil {
				return notBuilt("serve")
			}
			cfg, err := settings.load()
			if err != nil {
				return err
			}
			return sh.serve(cmd.Context(), cfg)
		},
	}
	settings.bind(cmd.Flags(), nil)
	return cmd
}

func notBuilt(command string) error {
	return failure(nil, command+" is not part of this program", "Use the lineshaft binary of a release.")
}

func (sh *shell) serve(ctx context.Context, cfg config.Config) error {
	logger := sh.logger(cfg)
	for _, warning := range append(cfg.Warnings(), config.MisspeltEnv(sh.deps.Environ)...) {
		logger.WarnContext(ctx, "check the settings", "warning", warning)
	}
	return sh.deps.Serve(ctx, cfg, sh.out, logger)
}

// logger writes to standard error: text for a person at a terminal, JSON else.
func (sh *shell) logger(cfg config.Config) *slog.Logger {
	var level slog.Level
	// Validate has checked the word.
	_ = level.UnmarshalText([]byte(cfg.LogLevel))
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "text" || cfg.LogFormat == "auto" && sh.errWidth > 0 {
		return slog.New(slog.NewTextHandler(sh.err, options))
	}
	return slog.New(slog.NewJSONHandler(sh.err, options))
}

// settings gathers a server's configuration from flags, environment and file.
type settings struct {
	sh    *shell
	file  string
	flags map[string][]string
}

// bind adds the flags of the named settings, or of all when names is nil.
func (s *settings) bind(flags *pflag.FlagSet, names []string) {
	s.flags = map[string][]string{}
	flags.StringVar(&s.file, "config", "", "`FILE` with settings in YAML (default $LINESHAFT_CONFIG)")
	for _, f := range config.Fields() {
		if f.EnvOnly || names != nil && !slices.Contains(names, f.Name) {
			continue
		}
		help := f.Help
		if words := slices.DeleteFunc(slices.Clone(f.Words), func(w string) bool { return w == "" }); len(words) > 0 {
			help += " (" + strings.Join(words, ", ") + ")"
		}
		flag := flags.VarPF(&collected{in: s.flags, field: f}, f.Name, "", help)
		flag.DefValue = f.Default()
		if f.Kind == "switch" {
			flag.NoOptDefVal = "true"
		}
	}
	flags.SortFlags = false
}

// collected is a flag whose values are kept as text: config reads and checks them
// together with those of the other sources, to tell all problems at once.
type collected struct {
	in    map[string][]string
	field config.Field
}

func (c *collected) Set(text string) error {
	c.in[c.field.Name] = append(c.in[c.field.Name], text)
	return nil
}

func (c *collected) String() string { return "" }

func (c *collected) Type() string {
	if c.field.Kind == "switch" {
		return "bool"
	}
	return c.field.Kind
}

func (s *settings) load() (config.Config, error) {
	src := config.Sources{FileName: s.file, Environ: s.sh.deps.Environ, Flags: s.flags}
	if src.FileName == "" {
		src.FileName = s.sh.env["LINESHAFT_CONFIG"]
	}
	if src.FileName != "" {
		data, err := os.ReadFile(src.FileName)
		if err != nil {
			return config.Config{}, usage(fmt.Sprintf("cannot read the settings: %v", err), "Check the name given with --config or LINESHAFT_CONFIG.")
		}
		src.File = data
	}
	cfg, err := config.Load(src)
	if err != nil {
		return cfg, usage("the settings are not right:\n"+err.Error(), "`lineshaft serve --help` lists all settings.")
	}
	return cfg, nil
}

func (sh *shell) migrateCommand() *cobra.Command {
	settings := &settings{sh: sh}
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
	settings := &settings{sh: sh}
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
		fmt.Fprintf(sh.out, "%s  %s: %s\n", sh.paint(sh.outWidth, styles[check.State], fmt.Sprintf("%-7s", check.State)), check.Name, oneLine(check.Detail))
		if check.Mend != "" {
			fmt.Fprintf(sh.out, "         %s\n", oneLine(check.Mend))
		}
	}
	return failed
}
