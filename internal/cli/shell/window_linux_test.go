package shell

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTerminalWidth asks a real pseudo-terminal.
func TestTerminalWidth(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	defer terminal.Close()
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 123}); err != nil {
		t.Fatal(err)
	}
	if got := TerminalWidth(terminal); got != 123 {
		t.Errorf("width %d, want 123", got)
	}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{}); err != nil {
		t.Fatal(err)
	}
	if got := TerminalWidth(terminal); got != defaultWidth {
		t.Errorf("width %d of a terminal that does not say, want %d", got, defaultWidth)
	}
}

func TestOpenURLStartsTheBrowser(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("PATH", directory+":"+os.Getenv("PATH"))
	script := "#!/bin/sh\nprintf '%s' \"$1\" > " + directory + "/seen\n"
	if err := os.WriteFile(filepath.Join(directory, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := openURL(t.Context(), "http://x/?a=1&b=$(id)"); err != nil {
		t.Fatal(err)
	}
	seen, err := os.Open(filepath.Join(directory, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	if text, err := io.ReadAll(seen); err != nil || string(text) != "http://x/?a=1&b=$(id)" {
		t.Errorf("the browser got %q, %v", text, err)
	}
	t.Setenv("PATH", "/nowhere")
	if err := openURL(t.Context(), "http://x"); err == nil {
		t.Error("no browser is no error")
	}
}
