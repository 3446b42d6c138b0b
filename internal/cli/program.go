package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

// Program is the real program: commands that run a server run the one of package app.
func Program() Deps {
	return Deps{
		Serve: func(ctx context.Context, cfg config.Config, out io.Writer, logger *slog.Logger) error {
			return app.Run(ctx, cfg, app.Options{
				Version: Version(), Logger: logger, Out: out, Terminal: terminalWidth(out) > 0, Supervisor: supervisor(), Program: self(),
			})
		},
		Work: func(ctx context.Context, cfg config.Config, as app.RemoteWorker, out io.Writer, logger *slog.Logger) error {
			return app.RunWorker(ctx, cfg, app.Options{Version: Version(), Logger: logger, Out: out, Supervisor: supervisor(), Program: self()}, as)
		},
		Migrate: func(ctx context.Context, cfg config.Config, out io.Writer) error {
			number, err := app.Migrate(ctx, cfg)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "the database has schema version %d\n", number)
			return err
		},
		Backup: app.Backup, Restore: app.Restore, MoveDatabase: app.MoveDatabase,
		Doctor: func(ctx context.Context, cfg config.Config) ([]config.Check, error) {
			return app.Doctor(ctx, cfg, app.Options{Version: Version(), Logger: slog.New(slog.DiscardHandler), Supervisor: supervisor(), Program: self()}), nil
		},
		Install: func(root string) error { return app.Install(self(), root) },
		Execute: func(ctx context.Context, root string, logger *slog.Logger) error {
			return app.Execute(ctx, root, app.Options{Version: Version(), Logger: logger, Supervisor: supervisor(), Program: self()})
		},
		Supervise: app.Supervise,
		Forward:   app.Forward,
		OpenAPI:   app.OpenAPI,
		Stdin:     os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
}

// supervisor is how this program starts itself as the supervisor of an agent.
func supervisor() []string { return []string{self(), "supervise"} }

// self is the file of this program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
