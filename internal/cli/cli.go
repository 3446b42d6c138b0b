package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

// Deps is what main hands in. The functions do the work that does not go through a
// server's API; a nil one makes its command say that it is not part of this build.
// The rest is the process's surroundings; zero values mean the real ones.
type Deps struct {
	// Serve runs a server until ctx ends. It prints its banner to out.
	Serve func(ctx context.Context, cfg config.Config, out io.Writer, logger *slog.Logger) error
	// Work runs a self-hosted worker until ctx ends. It tells out how it stands.
	Work func(ctx context.Context, cfg config.Config, as app.RemoteWorker, out io.Writer, logger *slog.Logger) error
	// Migrate brings the database to this version's schema and tells out what it did.
	Migrate func(ctx context.Context, cfg config.Config, out io.Writer) error
	// Backup writes the database to a file, Restore fills a new one from it, and
	// MoveDatabase copies one into another.
	Backup, Restore func(ctx context.Context, cfg config.Config, file string, progress app.Progress) (app.Copied, error)
	MoveDatabase    func(ctx context.Context, from, to string, progress app.Progress) (app.Copied, error)
	// Doctor examines this machine and these settings.
	Doctor func(ctx context.Context, cfg config.Config) ([]config.Check, error)
	// Supervise is the body of the hidden process beside each agent.
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

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Environ holds NAME=value pairs; nil means those of the process.
	Environ []string
	// Width tells the columns of a terminal, and 0 for anything else.
	Width func(io.Writer) int
	// OpenURL shows a page to the person in front of the terminal.
	OpenURL func(ctx context.Context, url string) error
	// Now is the clock.
	Now func() time.Time

	// clientOptions make tests fast.
	clientOptions []client.Option
	// live replaces what moves by itself.
	live liveHooks
}

// Main runs the command with its arguments, without the program's name, and
// returns the exit code.
func Main(ctx context.Context, args []string, deps Deps) int {
	// Every start of an agent waits for this one, so it comes before everything else,
	// signals included: the supervisor has its own way with them.
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

func execute(ctx context.Context, args []string, deps Deps) int {
	sh := newShell(deps)
	root := sh.root() //nolint:contextcheck // cobra hands the context to the commands
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	sh.command = cmd.CommandPath()
	return sh.complain(err)
}

// shell is one run of the command.
type shell struct {
	deps     Deps
	in       io.Reader
	out, err io.Writer
	env      map[string]string
	now      func() time.Time
	// outWidth and errWidth are the columns of the terminals; 0 is no terminal.
	outWidth, errWidth int

	// url, contextName and format are the flags that all commands have.
	url         string
	contextName string
	format      string
	// saved is the context that the server comes from; nil when none does.
	saved *savedContext
	// command is the one that failed, for hints.
	command string
	// completing says that a shell asks for proposals: nothing may be asked or shown.
	completing bool
	// keyFile is where the key came from; empty when it came from the environment.
	keyFile string
}

func newShell(deps Deps) *shell {
	if deps.Stdin == nil {
		deps.Stdin = os.Stdin
	}
	if deps.Stdout == nil {
		deps.Stdout = os.Stdout
	}
	if deps.Stderr == nil {
		deps.Stderr = os.Stderr
	}
	if deps.Environ == nil {
		deps.Environ = os.Environ()
	}
	if deps.Width == nil {
		deps.Width = terminalWidth
	}
	if deps.OpenURL == nil {
		deps.OpenURL = openURL
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	sh := &shell{deps: deps, in: deps.Stdin, out: deps.Stdout, err: deps.Stderr, env: map[string]string{}, now: deps.Now}
	for _, pair := range deps.Environ {
		name, value, _ := strings.Cut(pair, "=")
		sh.env[name] = value
	}
	sh.outWidth, sh.errWidth = deps.Width(sh.out), deps.Width(sh.err)
	return sh
}
