package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"unicode"

	"github.com/mattn/go-isatty"
)

const defaultWidth = 80

// terminalWidth tells the columns of a terminal, and 0 for anything else.
func terminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !isatty.IsTerminal(file.Fd()) {
		return 0
	}
	if n := windowColumns(file); n > 0 {
		return n
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
	if width == 0 || s == stylePlain || sh.env["NO_COLOR"] != "" || sh.env["TERM"] == "dumb" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// escapes are terminal sequences: strings with their terminator, control sequences,
// and the short ones.
var escapes = regexp.MustCompile(`\x1b(?:[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-~]?)`)

var colourEscape = regexp.MustCompile(`^\x1b\[[0-9;:]*m$`)

// clean makes text of others harmless for a terminal: what could move the cursor,
// rewrite what stands there or ask the terminal for answers goes. Lines and tabs stay.
func clean(text string) string {
	text = strings.ReplaceAll(escapes.ReplaceAllString(text, ""), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r) || isBidiControl(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// harmless is clean for an agent's output, whose colours may stay. A piece with
// colours ends without, so that they do not run into what follows.
func harmless(text string, colours bool) string {
	if !colours {
		return clean(text)
	}
	var b strings.Builder
	coloured := false
	for text != "" {
		at := escapes.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		b.WriteString(clean(text[:at[0]]))
		if sequence := text[at[0]:at[1]]; colourEscape.MatchString(sequence) {
			coloured = sequence != "\x1b[0m" && sequence != "\x1b[m"
			b.WriteString(sequence)
		}
		text = text[at[1]:]
	}
	if !coloured {
		return b.String()
	}
	line, ended := strings.CutSuffix(b.String(), "\n")
	if line += "\x1b[0m"; ended {
		line += "\n"
	}
	return line
}

// isBidiControl tells the marks that make text read otherwise than it is.
func isBidiControl(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// oneLine is clean text for a cell of a table.
func oneLine(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }

// clip shortens to a number of columns; 0 does not.
func clip(text string, columns int) string {
	runes := []rune(text)
	if columns <= 0 || len(runes) <= columns {
		return text
	}
	if columns == 1 {
		return "…"
	}
	return string(runes[:columns-1]) + "…"
}

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
