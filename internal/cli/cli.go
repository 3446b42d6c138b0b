// Package cli is the lineshaft command: it reads arguments, environment and files,
// talks to a server through package client and prints for people and for programs.
//
// It holds no rules of the product and opens no database: what runs in this process
// (serve, migrate, doctor, supervise) is handed in as functions, so that tests need no
// server; Program has the real ones. Only main may import it.
//
// Exit codes: 0 done, 1 failed, 2 used wrongly, 3 not found, 4 denied. Results
// go to standard output, everything else to standard error. Colour and progress
// appear only on a terminal, and never when NO_COLOR is set.
package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/cli/find"
	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

// Deps is what main hands in.
type Deps struct {
	server.Programs
	shell.Surroundings
}

// Main runs the command with its arguments, without the program's name, and
// returns the exit code.
func Main(ctx context.Context, args []string, deps Deps) int {
	// Every start of an agent waits for this, so it comes before everything else,
	// signals included: the supervisor handles those itself.
	if len(args) > 0 && args[0] == "supervise" && deps.Supervise != nil {
		return deps.Supervise(ctx)
	}
	if len(args) > 0 && args[0] == "forward" && deps.Forward != nil {
		return deps.Forward(ctx, args[1:])
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks; with the handler gone, a second one kills.
	context.AfterFunc(ctx, stop)
	return execute(ctx, args, deps)
}

// program is one run of the command.
type program struct{ find.Finder }

func newProgram(in shell.Surroundings) program {
	return program{find.Finder{Shell: shell.New(in, version)}}
}

func execute(ctx context.Context, args []string, deps Deps) int {
	sh := newProgram(deps.Surroundings)
	root := sh.root(deps.Programs) //nolint:contextcheck // cobra hands the context to the commands
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return shell.ExitOK
	}
	sh.Command = cmd.CommandPath()
	return sh.Complain(err)
}

// Program is the real program: commands that run a server run the one of package app.
func Program() Deps {
	return Deps{Programs: server.Programs{
		Serve: func(ctx context.Context, cfg config.Config, out io.Writer, logger *slog.Logger) error {
			set := options(logger, out)
			set.Terminal = shell.TerminalWidth(out) > 0
			return app.Run(ctx, cfg, set)
		},
		Demo: func(ctx context.Context, cfg config.Config, now func() time.Time, out io.Writer, logger *slog.Logger) error {
			set := options(logger, out)
			set.Now = now
			set.Notice = "This is a demo: everything here is made up, and is gone when the demo ends."
			return app.Run(ctx, cfg, set)
		},
		Work: func(ctx context.Context, cfg config.Config, as app.RemoteWorker, out io.Writer, logger *slog.Logger) error {
			return app.RunWorker(ctx, cfg, options(logger, out), as)
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
			return app.Doctor(ctx, cfg, options(slog.New(slog.DiscardHandler), nil)), nil
		},
		Install: func(root string) error { return app.Install(self(), root) },
		Execute: func(ctx context.Context, root string, logger *slog.Logger) error {
			return app.Execute(ctx, root, options(logger, nil))
		},
		Supervise: app.Supervise,
		Forward:   app.Forward,
		OpenAPI:   app.OpenAPI,
	}}
}

// options are how this program says what it is, and how it starts itself next to an agent.
func options(logger *slog.Logger, out io.Writer) app.Options {
	return app.Options{Version: Version(), Logger: logger, Out: out, Supervisor: []string{self(), "supervise"}, Program: self()}
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// version is set by the linker in release builds.
var version = "dev"

// Version is what this program calls itself.
func Version() string { return version }

func (sh program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of this program",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			about := aboutBuild()
			return sh.Show(about, func() { fmt.Fprintln(sh.Out, about) })
		},
	}
}

type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// String is the build in one line.
func (b build) String() string {
	line := "lineshaft " + b.Version
	if b.Commit != "" {
		line += " (" + b.Commit + ")"
	}
	return line + ", " + b.Go + ", " + b.Platform
}

func aboutBuild() build {
	about := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return about
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			about.Commit = setting.Value[:min(12, len(setting.Value))]
		}
	}
	return about
}
