package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/mattn/go-isatty"

	"github.com/lineshaft/lineshaft/internal/terminal"
)

const defaultWidth = 80

// terminalWidth tells the columns of a terminal, and 0 for anything else.
func terminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !isatty.IsTerminal(file.Fd()) {
		return 0
	}
	if columns, _ := terminal.Size(file); columns > 0 {
		return columns
	}
	return defaultWidth
}

// style is how a word is shown on a terminal.
type style string

const (
	stylePlain style = ""
	styleGood  style = "32"
	styleBad   style = "31"
	styleBusy  style = "36"
	styleWait  style = "33"
	styleDim   style = "2"
	styleBold  style = "1"
)

// paint colours text for a terminal of that width; 0 is no terminal.
func (sh *shell) paint(width int, s style, text string) string {
	if width == 0 || s == stylePlain || !sh.colours() {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// colours says that people and their terminal want them.
func (sh *shell) colours() bool { return sh.env["NO_COLOR"] == "" && sh.env["TERM"] != "dumb" }

// clean makes text of others harmless for a terminal.
func clean(text string) string { return terminal.Clean(text) }

// harmless is clean for an agent's output, whose colours may stay where there are any.
func harmless(text string, colours bool) string {
	if colours {
		return terminal.Harmless(text)
	}
	return clean(text)
}

// oneLine is clean text for a cell of a table.
func oneLine(text string) string { return terminal.OneLine(text) }

// clip shortens to a number of columns; 0 does not.
func clip(text string, columns int) string { return terminal.Clip(text, columns) }

// openURL shows a page in the browser of the person in front of the terminal.
func openURL(ctx context.Context, url string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	if err := exec.CommandContext(ctx, program, url).Run(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return nil
}
