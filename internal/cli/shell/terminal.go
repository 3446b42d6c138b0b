package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	isatty "github.com/mattn/go-isatty"

	"github.com/lineshaft/lineshaft/internal/jsontext"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// LooksLikeUID says whether text has the form of the server's own ids.
func LooksLikeUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(strings.ToLower(text)) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdef", rune(c)) {
			return false
		}
	}
	return true
}

// OnTerminal says that a person watches who can be shown things that move.
func (sh *Shell) OnTerminal() bool {
	return sh.ForPeople() && sh.OutWidth > 0 && sh.ErrWidth > 0 && sh.Env["TERM"] != "dumb"
}

const defaultWidth = 80

// TerminalWidth is the columns of a terminal, and 0 for anything else.
func TerminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !isatty.IsTerminal(file.Fd()) {
		return 0
	}
	if columns, _ := terminal.Size(file); columns > 0 {
		return columns
	}
	return defaultWidth
}

// Style is how a word is shown on a terminal.
type Style string

// The styles: how something went, or how much it matters.
const (
	StylePlain Style = ""
	StyleGood  Style = "32"
	StyleBad   Style = "31"
	StyleBusy  Style = "36"
	StyleWait  Style = "33"
	StyleDim   Style = "2"
	StyleBold  Style = "1"
)

// Paint colours text for a terminal of that width; 0 is not a terminal.
func (sh *Shell) Paint(width int, s Style, text string) string {
	if width == 0 || s == StylePlain || !sh.Colours() {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Colours says that people and their terminal want them.
func (sh *Shell) Colours() bool { return sh.Env["NO_COLOR"] == "" && sh.Env["TERM"] != "dumb" }

// Clean makes text of others harmless for a terminal.
func Clean(text string) string { return terminal.Clean(text) }

// Harmless is clean for an agent's output, whose colours may stay where there are any.
func Harmless(text string, colours bool) string {
	if colours {
		return terminal.Harmless(text)
	}
	return Clean(text)
}

// OneLine is clean text for a cell of a table.
func OneLine(text string) string { return terminal.OneLine(text) }

// Clip shortens to a number of columns; 0 does not.
func Clip(text string, columns int) string { return terminal.Clip(text, columns) }

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

// ShellWord quotes text for a shell if it needs it.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=+@%,", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// escapeJSON writes what acts on a terminal as \uXXXX, which is the same text for programs.
// JSON has such characters only inside strings; those below a space are escaped already.
func escapeJSON(text []byte) []byte {
	acts := func(r rune) bool { return r > ' ' && terminal.Acts(r) }
	if !bytes.ContainsFunc(text, acts) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if acts(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// safeYAML writes JSON as YAML in which texts of others neither act on a terminal nor break
// the document. The library writes every character as it is; YAML allows some of them
// only in double quotes and escaped. So the library gets placeholders, which are then
// replaced with such texts. Nobody can guess the placeholders.
func safeYAML(text []byte) ([]byte, error) {
	word := "text-" + strings.ToLower(rand.Text()) + "-"
	var plain bytes.Buffer
	var places []string
	for len(text) > 0 {
		start := bytes.IndexByte(text, '"')
		if start < 0 {
			start = len(text)
		}
		plain.Write(text[:start])
		if text = text[start:]; len(text) == 0 {
			break
		}
		literal := text[:jsontext.StringEnd(text)]
		text = text[len(literal):]
		var value string
		if err := json.Unmarshal(literal, &value); err != nil {
			return nil, err
		}
		// Texts of several lines stay readable, but a key, or a tab in a single line, is misread.
		lines := strings.Contains(value, "\n")
		if strings.ContainsFunc(value, needsEscape) || lines && isKey(text) || !lines && strings.Contains(value, "\t") {
			literal = fmt.Appendf(nil, `"%s%d."`, word, len(places)/2)
			places = append(places, strings.Trim(string(literal), `"`), strconv.Quote(value))
		}
		plain.Write(literal)
	}
	out, err := yaml.JSONToYAML(plain.Bytes())
	if err != nil || len(places) == 0 {
		return out, err
	}
	return []byte(strings.NewReplacer(places...).Replace(string(out))), nil
}

// isKey says that text follows the key of an object.
func isKey(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, " \n"), []byte(":")) }

// needsEscape says what acts on a terminal, and what is not a printable character of YAML
// or ends a line in it.
func needsEscape(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2028', '\u2029', '\ufeff', '\ufffe', '\uffff':
		return true
	}
	return terminal.Acts(r)
}
