package terminal_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/terminal"
	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

func TestI1InputTakesKeysAndGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	p := terminaltest.Sit(t, 80, 24)
	if !p.Echoes() {
		t.Fatal("a new terminal does not show what is typed")
	}
	input, err := terminal.OpenInput(p.Terminal)
	if err != nil {
		t.Fatal(err)
	}
	if p.Echoes() {
		t.Error("what is typed is shown")
	}
	stop, keys, done := make(chan struct{}), make(chan terminal.Key), make(chan error)
	go func() { done <- input.Read(stop, func(k terminal.Key) { keys <- k }) }()
	p.Types("a\x1b[A")
	p.Types("\x1b") // alone, so it is the key after a while
	for _, want := range []terminal.Key{{Rune: 'a'}, {Name: terminal.KeyUp}, {Name: terminal.KeyEscape}} {
		if got := <-keys; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	input.Restore()
	input.Restore()
	if !p.Echoes() {
		t.Error("the terminal stays mute")
	}
	if err := input.Take(); err != nil || p.Echoes() {
		t.Errorf("it was not taken again: %v", err)
	}
	input.Restore()
	if columns, rows := terminal.Size(p.Terminal); columns != 80 || rows != 24 {
		t.Errorf("%d columns and %d rows", columns, rows)
	}
}

// TestI1InputEndsWithTheTerminal: a window that was closed does not keep the program busy.
func TestI1InputEndsWithTheTerminal(t *testing.T) {
	t.Parallel()
	person, slave := terminaltest.PTY(t)
	input, err := terminal.OpenInput(slave)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- input.Read(nil, func(terminal.Key) {}) }()
	if err := person.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done: // with or without an error: it is over
	case <-time.After(time.Minute):
		t.Error("it reads on")
	}
}

func TestInputIsATerminal(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := terminal.OpenInput(null); err == nil {
		t.Error("the null device is a terminal")
	}
	if columns, rows := terminal.Size(null); columns != 0 || rows != 0 {
		t.Error("the null device has a size")
	}
}

// TestSignals: those of a terminal are told.
//
//nolint:paralleltest // signals are for the whole process
func TestSignals(t *testing.T) {
	signals, stop := terminal.Signals()
	for _, tc := range []struct {
		send syscall.Signal
		want terminal.Signal
	}{{syscall.SIGWINCH, terminal.SignalResize}, {syscall.SIGTSTP, terminal.SignalSuspend}, {syscall.SIGHUP, terminal.SignalEnd}, {syscall.SIGQUIT, terminal.SignalEnd}} {
		if err := syscall.Kill(os.Getpid(), tc.send); err != nil {
			t.Fatal(err)
		}
		if got := <-signals; got != tc.want {
			t.Errorf("%v became %v", tc.send, got)
		}
	}
	stop()
	for range signals { // it is closed when nothing more comes
	}
}
