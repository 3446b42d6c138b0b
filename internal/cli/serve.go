package cli

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/telemetry"
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
	return telemetry.NewLogger(sh.err, cfg.LogFormat, sh.errWidth > 0, level)
}
