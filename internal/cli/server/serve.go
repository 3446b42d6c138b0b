// Package server has the commands that run a server or a worker in this process, or look after
// one on this machine: its database, its settings and its health.
package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/telemetry"
)

// Programs do the work that does not go through a server's API; a nil one makes its
// command say that it is not part of this build.
type Programs struct {
	// Serve runs a server until ctx ends. It prints its banner to out.
	Serve func(ctx context.Context, cfg config.Config, out io.Writer, logger *slog.Logger) error
	// Demo is Serve by a clock that may show the past, with a word on every page that what it shows is made up.
	Demo func(ctx context.Context, cfg config.Config, now func() time.Time, out io.Writer, logger *slog.Logger) error
	// Work runs a self-hosted worker until ctx ends. It writes its state to out.
	Work func(ctx context.Context, cfg config.Config, as app.RemoteWorker, out io.Writer, logger *slog.Logger) error
	// Migrate brings the database to this version's schema and writes to out what it did.
	Migrate func(ctx context.Context, cfg config.Config, out io.Writer) error
	// Backup writes the database to a file, Restore fills a new one from it, and
	// MoveDatabase copies one into another.
	Backup, Restore func(ctx context.Context, cfg config.Config, file string, progress app.Progress) (app.Copied, error)
	MoveDatabase    func(ctx context.Context, from, to string, progress app.Progress) (app.Copied, error)
	// Doctor examines this machine and these settings.
	Doctor func(ctx context.Context, cfg config.Config) ([]config.Check, error)
	// Supervise is the body of the hidden process next to each agent.
	Supervise func(ctx context.Context) int
	// Forward is the body of the hidden command that agents without a network are
	// started through.
	Forward func(ctx context.Context, args []string) int
	// Install and Execute are the two steps of a pod that has one execution; root is the
	// folder that the launcher's volumes are in.
	Install func(root string) error
	Execute func(ctx context.Context, root string, logger *slog.Logger) error
	// OpenAPI returns the description of the API as JSON.
	OpenAPI func() ([]byte, error)
}

// Commands are those that run a server or a worker, or look after one on this machine.
type Commands struct {
	*shell.Shell
	Programs
}

// All are the commands of this room.
func (sh Commands) All() []*cobra.Command {
	return []*cobra.Command{
		sh.serveCommand(), sh.demoCommand(), sh.workerCommand(), sh.backupCommand(), sh.restoreCommand(), sh.migrateDatabaseCommand(), sh.migrateCommand(),
		sh.doctorCommand(), sh.openapiCommand(), sh.executeCommand(),
		takenCommand("supervise", "The process next to each agent; workers start it"),
		takenCommand("forward", "The process that starts an agent without a network; workers start it"),
	}
}

const serveHelp = "Start a server, with a worker that executes runs unless --no-worker is given.\n\n" +
	"Settings come from flags, then LINESHAFT_* variables, then a file given with --config, whose\n" +
	"keys are the flags with _ for -. The first start creates an admin key and stores it in the data\n" +
	"directory, where the commands on this machine find it."

func (sh Commands) serveCommand() *cobra.Command {
	settings := &settings{sh: sh.Shell}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start a server",
		Long:  serveHelp,
		Args:  shell.Needs(0, 0, ""),
		Example: shell.Example(
			"lineshaft serve", "on "+config.Default().Listen+", data in ./lineshaft-data",
			"lineshaft serve --listen :8484 --tls-cert c.pem --tls-key k.pem", "for other machines",
			"lineshaft serve --database postgres://lineshaft@db/lineshaft", "many nodes, one database",
		),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sh.Serve == nil {
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
	return shell.Failure(nil, command+" is not part of this program", "Use the lineshaft binary of a release.")
}

func (sh Commands) serve(ctx context.Context, cfg config.Config) error {
	logger := sh.logger(cfg)
	for _, warning := range append(cfg.Warnings(), config.MisspeltEnv(sh.Deps.Environ)...) {
		logger.WarnContext(ctx, "check the settings", "warning", warning)
	}
	return sh.Serve(ctx, cfg, sh.Out, logger)
}

// logger writes to standard error: text for a person at a terminal, JSON else.
func (sh Commands) logger(cfg config.Config) *slog.Logger {
	var level slog.Level
	// Validate has checked the word.
	_ = level.UnmarshalText([]byte(cfg.LogLevel))
	return telemetry.NewLogger(sh.Err, cfg.LogFormat, sh.ErrWidth > 0, level)
}

// settings gathers a server's configuration from flags, environment and file.
type settings struct {
	sh    *shell.Shell
	file  string
	flags map[string][]string
	// command lists the settings in its help; empty is serve.
	command string
	// help replaces that of single settings, where they mean something else here.
	help map[string]string
	// dataDir replaces the default data directory.
	dataDir string
}

// bind adds the flags of the named settings, or of all when names is nil.
func (s *settings) bind(flags *pflag.FlagSet, names []string) {
	s.flags = map[string][]string{}
	flags.StringVar(&s.file, "config", "", "`FILE` with settings in YAML (default $LINESHAFT_CONFIG)")
	for _, f := range config.Fields() {
		if f.EnvOnly || names != nil && !slices.Contains(names, f.Name) {
			continue
		}
		help := cmp.Or(s.help[f.Name], f.Help)
		if words := slices.DeleteFunc(slices.Clone(f.Words), func(w string) bool { return w == "" }); len(words) > 0 {
			help += " (" + strings.Join(words, ", ") + ")"
		}
		flag := flags.VarPF(&collected{in: s.flags, field: f}, f.Name, "", help)
		flag.DefValue = f.Default()
		if f.Name == "data-dir" && s.dataDir != "" {
			flag.DefValue = s.dataDir
		}
		if f.Kind == "switch" {
			flag.NoOptDefVal = "true"
		}
	}
	flags.SortFlags = false
}

// collected is a flag whose values are kept as text: config reads and checks them
// together with those of the other sources, to report all problems at once.
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
	switch c.field.Kind {
	case "switch":
		return "bool"
	case "text":
		return placeholder(c.field.Name)
	}
	return strings.ToUpper(c.field.Kind)
}

// placeholder is what help shows for the value of a text: mostly the last word of its name.
func placeholder(name string) string {
	switch name {
	case "isolation", "egress", "agent-seccomp":
		return "MODE"
	case "listen", "kubernetes-gateway-listen":
		return "ADDRESS"
	case "otlp-endpoint", "oidc-issuer", "acme-directory":
		return "URL"
	case "acme-ca-root", "tls-cert", "tls-key", "kubernetes-config":
		return "FILE"
	}
	return strings.ToUpper(name[strings.LastIndexByte(name, '-')+1:])
}

func (s *settings) load() (config.Config, error) {
	src := config.Sources{FileName: s.file, Environ: s.sh.Deps.Environ, Flags: s.flags, DataDir: s.dataDir}
	if src.FileName == "" {
		src.FileName = s.sh.Env["LINESHAFT_CONFIG"]
	}
	if src.FileName != "" {
		data, err := os.ReadFile(src.FileName)
		if err != nil {
			return config.Config{}, shell.Usage(fmt.Sprintf("cannot read the settings: %v", err),
				"Check the name given with --config or LINESHAFT_CONFIG.")
		}
		src.File = data
	}
	cfg, err := config.Load(src)
	if err != nil {
		return cfg, shell.Usage("the settings are not valid:\n"+err.Error(),
			"`lineshaft "+cmp.Or(s.command, "serve")+" --help` lists all settings.")
	}
	return cfg, nil
}

// executeCommand is what runs in the pods of isolation kubernetes: first with --install
// in a container of our image, then in the agent's container.
func (sh Commands) executeCommand() *cobra.Command {
	var install bool
	var root string
	cmd := &cobra.Command{
		Use: "execute", Hidden: true, Short: "The worker of one execution in a pod; launchers start it",
		Args: shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sh.Install == nil || sh.Execute == nil {
				return notBuilt("execute")
			}
			if install {
				return sh.Install(root)
			}
			return sh.Execute(cmd.Context(), root, sh.logger(config.Default()))
		},
	}
	cmd.Flags().BoolVar(&install, "install", false, "copy this program and the job to where the other container finds them")
	cmd.Flags().StringVar(&root, "root", "/lineshaft", "`FOLDER` where the pod's volumes are mounted")
	return cmd
}

func (sh Commands) openapiCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "openapi",
		Hidden: true,
		Short:  "Print the OpenAPI description of the server's API",
		Args:   shell.Needs(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if sh.OpenAPI == nil {
				return notBuilt("openapi")
			}
			text, err := sh.OpenAPI()
			if err == nil && sh.Format == shell.FormatYAML {
				text, err = yaml.JSONToYAML(text)
			}
			if err != nil {
				return fmt.Errorf("describe the API: %w", err)
			}
			_, err = sh.Out.Write(text)
			return err
		},
	}
}

// takenCommand only says that a word is in use; Main has dispatched the real one long before.
func takenCommand(word, short string) *cobra.Command {
	return &cobra.Command{
		Use: word, Hidden: true, Short: short, Example: shell.Example("lineshaft "+word, "workers start it, not you"),
		RunE: func(*cobra.Command, []string) error {
			return shell.Usage("workers start `"+word+"` themselves", "Start a server with its worker: lineshaft serve")
		},
	}
}
