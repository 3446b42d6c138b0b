package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/terminal"
	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

// pty opens both ends of a pseudo-terminal.
func pty(t *testing.T) (person, tty *os.File) {
	t.Helper()
	return terminaltest.PTY(t)
}

func TestS2TheTerminalDoesNotShowTheValue(t *testing.T) {
	t.Parallel()
	person, tty := pty(t)
	s := newStage(t)
	s.deps.Stdin = tty
	s.answer("POST /api/v1/secrets", 201, secretAnswer)
	if _, err := person.WriteString("typed-by-a-person\n"); err != nil { // it waits in the terminal
		t.Fatal(err)
	}
	r := s.run(t.Context(), "secret", "create", "TOKEN")
	if r.code != shell.ExitOK || !strings.Contains(r.err, "Value of TOKEN (not shown): ") || strings.Contains(r.err+r.out, "typed-by") {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(s.requests()[0].body, `"value":"typed-by-a-person"`) {
		t.Errorf("sent %s", s.requests()[0].body)
	}
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil || state.Lflag&unix.ECHO == 0 {
		t.Errorf("the terminal stays silent: %v", err)
	}
	restore, err := terminal.Hide(tty)
	if err != nil {
		t.Fatal(err)
	}
	if state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS); err != nil || state.Lflag&unix.ECHO != 0 {
		t.Errorf("the terminal would show it: %v", err)
	}
	restore()
}

func TestS2InterruptedPromptRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	person, tty := pty(t)
	s := newStage(t)
	s.deps.Stdin = tty
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := s.run(ctx, "secret", "create", "TOKEN"); r.code == shell.ExitOK || len(s.requests()) > 0 {
		t.Errorf("%+v", r)
	}
	if state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS); err != nil || state.Lflag&unix.ECHO == 0 {
		t.Errorf("the terminal stays silent: %v", err)
	}
	if _, err := person.WriteString("\n"); err != nil { // lets the reader end
		t.Fatal(err)
	}
}

// TestS2TheTerminalDoesNotShowTheKey of a context that a person types.
func TestS2TheTerminalDoesNotShowTheKey(t *testing.T) {
	t.Parallel()
	person, tty := pty(t)
	s, _ := contextStage(t)
	s.deps.Stdin = tty
	if _, err := person.WriteString("ls_typed\n"); err != nil { // it waits in the terminal
		t.Fatal(err)
	}
	r := s.run(t.Context(), "context", "add", "prod", "--url", s.url)
	if r.code != shell.ExitOK || s.usedKey() != "ls_typed" || !strings.Contains(r.err, "API key for http://server (not shown): ") || strings.Contains(r.out+r.err, "ls_typed") {
		t.Errorf("%+v", r)
	}
}
