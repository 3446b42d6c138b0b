package page

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
)

// MaxShown is how much of one text a page shows; the rest is behind a link.
const MaxShown = 24 << 10

// Shown is a text as far as a page shows it.
type Shown struct {
	Text string
	// Left is how many bytes are left out.
	Left int64
}

// ShowText cleans and bounds a text.
func ShowText(text string) Shown { return ShowMost(text, MaxShown) }

// ShowMost shows at most so many bytes, whole lines of them unless a line is very long.
func ShowMost(text string, most int) Shown {
	text = Plain(text)
	head := lineshaft.CutBytes(text, most)
	if end := strings.LastIndexByte(head, '\n') + 1; len(head) < len(text) && end > most/2 {
		head = head[:end]
	}
	return Shown{head, int64(len(text) - len(head))}
}

// Plain is a text as HTML can hold it: no codes of terminals, no NUL, and every kind
// of line end as a line feed. The rest is the same in the first page, where a
// parser would change it, and in what a script puts in.
func Plain(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexByte(text, '\x1b') >= 0 {
		text = withoutCodes(text)
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return strings.ReplaceAll(text, "\x00", "\uFFFD")
}

// withoutCodes drops the codes that colour a terminal, move in it or name a link.
func withoutCodes(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for {
		i := strings.IndexByte(text, '\x1b')
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:i])
		text = text[i+codeLength(text[i:]):]
	}
}

// codeLength is the length of the code that a text begins with. A code that does not
// end within sight counts as its first character only: text must not vanish behind it.
func codeLength(text string) int {
	const sight = 4096
	if len(text) < 2 {
		return len(text)
	}
	switch text[1] {
	case '[':
		for i := 2; i < min(len(text), 64); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return i
			}
		}
		return min(len(text), 64)
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < min(len(text), sight); i++ {
			switch {
			case text[i] == '\a':
				return i + 1
			case text[i] == '\x1b' && i+1 < len(text) && text[i+1] == '\\':
				return i + 2
			case text[i] == '\n', text[i] == '\x1b': // so that no text is looked through again and again
				return 2
			}
		}
		return 2
	case '(', ')':
		return min(len(text), 3)
	}
	if text[1] < utf8.RuneSelf && text[1] >= ' ' {
		return 2
	}
	return 1
}

// OneLine is the beginning of a text, for a summary.
func OneLine(text string, most int) string {
	return lineshaft.Clip(strings.Join(strings.Fields(lineshaft.CutBytes(Plain(text), 4*most)), " "), most)
}

// formula is what a spreadsheet takes for the beginning of one. Some separate cells by semicolons.
var formula = regexp.MustCompile(`(^|;)(\s*)([=+\-@＝＋－＠])`)

// Cell is a text on one line that no spreadsheet takes for a formula.
func Cell(text string) string {
	return formula.ReplaceAllString(strings.Join(strings.FieldsFunc(text, unicode.IsControl), " "), "$1$2'$3")
}
