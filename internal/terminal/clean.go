package terminal

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes matches terminal sequences: strings with their terminator, control sequences,
// and the short ones.
var escapes = regexp.MustCompile(`\x1b(?:[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-~]?)`)

var colourEscape = regexp.MustCompile(`^\x1b\[[0-9;:]*m$`)

// Clean makes text of others harmless for a terminal: what could move the cursor,
// rewrite what stands there or ask the terminal for answers goes. Lines and tabs stay.
func Clean(text string) string {
	text = strings.ReplaceAll(escapes.ReplaceAllString(text, ""), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case Acts(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Harmless is Clean for output whose colours may stay. A piece with colours ends
// without, so that they do not run into what follows.
func Harmless(text string) string {
	var b strings.Builder
	coloured := false
	for text != "" {
		at := escapes.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		b.WriteString(Clean(text[:at[0]]))
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

// OneLine is clean text without ends of lines, tabs and runs of spaces.
func OneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// Acts tells a character that does something to a terminal instead of being shown: a
// control, or a mark that turns the direction of text. Ends of lines and tabs are some.
func Acts(r rune) bool { return unicode.IsControl(r) || isBidiControl(r) }

// isBidiControl tells the marks that make text read otherwise than it is.
func isBidiControl(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }
