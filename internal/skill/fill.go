package skill

import (
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

const argumentsWord = "$ARGUMENTS"

// piece is a part of a body: text as it stands, or what a placeholder is filled with.
type piece struct {
	text   string
	filled bool
}

// pieces cuts a body at its placeholders: $ARGUMENTS is all arguments, $ARGUMENTS[N]
// and $N are one of them, counted from 0. One that is not there is left as it is.
func pieces(body, arguments string) []piece {
	var out []piece
	words := words(arguments)
	for {
		at := strings.IndexByte(body, '$')
		if at < 0 {
			return append(out, piece{text: body})
		}
		value, length, ok := placeholder(body[at:], arguments, words)
		out = append(out, piece{text: body[:at]}, piece{text: value, filled: ok})
		body = body[at+length:]
	}
}

// placeholder reads what begins with a dollar sign: the text to put there and the
// length of what it replaces.
func placeholder(text, arguments string, words []string) (value string, length int, ok bool) {
	rest, all := strings.CutPrefix(text, argumentsWord)
	if !all {
		digits := leadingDigits(text[1:])
		return pick(text[:1+len(digits)], digits, words)
	}
	if inside, bracket := strings.CutPrefix(rest, "["); bracket {
		if digits := leadingDigits(inside); digits != "" && strings.HasPrefix(inside[len(digits):], "]") {
			return pick(text[:len(argumentsWord)+len(digits)+2], digits, words)
		}
	}
	if rest != "" && wordByte(rest[0]) {
		return argumentsWord, len(argumentsWord), false // a longer word
	}
	return arguments, len(argumentsWord), true
}

// pick is the argument of a number, or the placeholder itself.
func pick(whole, digits string, words []string) (value string, length int, ok bool) {
	n, err := strconv.Atoi(digits)
	if err != nil || n >= len(words) {
		return whole, len(whole), false
	}
	return words[n], len(whole), true
}

func leadingDigits(s string) string {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[:n]
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// words splits arguments as a shell does. A quotation begins with a word or after an
// equals sign and has an end; other quotes are text, as in "don't". A backslash
// before a space, a quote or another one takes its meaning away.
func words(arguments string) []string {
	var out []string
	var word strings.Builder
	inWord, mayQuote := false, true
	for i := 0; i < len(arguments); i++ {
		switch c := arguments[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if inWord {
				out = append(out, word.String())
				word.Reset()
			}
			inWord, mayQuote = false, true
		case c == '\\' && i+1 < len(arguments) && strings.IndexByte(" \t\n\r\"'\\", arguments[i+1]) >= 0:
			i++
			word.WriteByte(arguments[i])
			inWord, mayQuote = true, false
		case mayQuote && (c == '"' || c == '\''):
			quoted, length, ok := quotation(arguments[i:])
			word.WriteString(quoted)
			i += length - 1
			inWord, mayQuote = true, ok
		default:
			word.WriteByte(c)
			inWord, mayQuote = true, c == '='
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}

// quotation reads quoted text. One without an end is the quote itself.
func quotation(text string) (inside string, length int, ok bool) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return b.String(), i + 1, true
		case quote == '"' && text[i] == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
		}
		b.WriteByte(text[i])
	}
	return text[:1], 1, false
}

// Fill puts arguments into the placeholders of a body. It says whether any was
// filled: else the arguments have yet to be told.
func Fill(body, arguments string) (text string, filled bool) {
	var b strings.Builder
	for _, p := range pieces(body, arguments) {
		b.WriteString(p.text)
		filled = filled || p.filled
	}
	return b.String(), filled
}

// Compose is what an agent is told first: the base prompt, the skills, and the
// prompt unless a skill has it already.
func Compose(base string, skills []lineshaft.Skill, prompt string) string {
	parts, told := []string{base}, false
	for _, s := range skills {
		text, filled := Fill(s.Body, prompt)
		parts, told = append(parts, text), told || filled
	}
	if !told {
		parts = append(parts, prompt)
	}
	kept := parts[:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n\n")
}

// CheckSize refuses what would be too long when it is composed, without composing it:
// a short body may ask for a long prompt many times.
func CheckSize(base string, skills []lineshaft.Skill, prompt string) error {
	size := len(base) + len(prompt)
	for _, s := range skills {
		for _, p := range pieces(s.Body, prompt) {
			size += len(p.text)
		}
	}
	if size > lineshaft.MaxComposedBytes {
		return lineshaft.Invalid("prompt", "with its skills the prompt would have %d bytes; at most %d are allowed", size, lineshaft.MaxComposedBytes)
	}
	return nil
}
