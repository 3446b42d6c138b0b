// Package shell is what all commands share: the streams, variables and flags of one run of the
// program, the server that they choose, the forms of output, errors with what to do next, and
// how arguments are read. It knows no noun of the product but those of its connection.
package shell

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// Surroundings are those of the process; zero values mean the real ones.
type Surroundings struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Environ holds NAME=value pairs; nil means those of the process.
	Environ []string
	// Width is the columns of a terminal, and 0 for anything else.
	Width func(io.Writer) int
	// OpenURL shows a page to the person in front of the terminal.
	OpenURL func(ctx context.Context, url string) error
	// Now is the clock.
	Now func() time.Time

	// ClientOptions make tests fast.
	ClientOptions []client.Option
	// Live replaces what moves without a key.
	Live LiveHooks
}

// Shell is one run of the command.
type Shell struct {
	Deps     Surroundings
	Version  string // of this program
	In       io.Reader
	Out, Err io.Writer
	Env      map[string]string
	Now      func() time.Time
	// OutWidth and errWidth are the columns of the terminals; 0 is for anything else.
	OutWidth, ErrWidth int

	// url, contextName and format are the flags that all commands have.
	URL         string
	ContextName string
	Format      string
	// Saved is the context that the server comes from; nil when none does.
	Saved *SavedContext
	// Command is the command that failed, for hints.
	Command string
	// Completing says that a shell asks for proposals: nothing may be asked or shown.
	Completing bool
	// keyFile is where the key came from; empty when it came from the environment.
	keyFile string
}

// New begins a run of the program of that version.
func New(deps Surroundings, version string) *Shell {
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
		deps.Width = TerminalWidth
	}
	if deps.OpenURL == nil {
		deps.OpenURL = openURL
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	sh := &Shell{Deps: deps, Version: version, In: deps.Stdin, Out: deps.Stdout, Err: deps.Stderr, Env: map[string]string{}, Now: deps.Now}
	for _, pair := range deps.Environ {
		name, value, _ := strings.Cut(pair, "=")
		sh.Env[name] = value
	}
	sh.OutWidth, sh.ErrWidth = deps.Width(sh.Out), deps.Width(sh.Err)
	return sh
}

// LiveHooks replace what moves on a terminal without a key; zero values mean the real ones.
type LiveHooks struct {
	Ticks   <-chan time.Time
	Signals <-chan terminal.Signal
	Suspend func()
	Height  func(io.Writer) int
}
